"""Loops of programs over the rows of large arrays, which come from far.

Read in this order:

    sum_rows         rows that are summed, four from end to end at once
    long_rows        which loops walk long rows of large arrays
    skew_rows        a row is stored while the next one is computed
"""
