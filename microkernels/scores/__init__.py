"""The measured score of each register tile, and the database that keeps it.

Read in this order:

    catalog   the ranked microkernels of a machine, and a score for every tile
    database  the SQLite file that keeps measurements
    records   the measurements of microkernels in the database
"""
