"""The order of the channels of each image: what either order costs, the choice, and the model that follows from it.

Read in this order:

    images   which arrays may have either order, and what a step computes with each
    costs    seconds: measured where they are known, else predicted
    cut      the least sum of seconds
    choice   the steps that keep channels last
    explain  what that takes, for readers
    rewrite  the model with these layouts
"""
