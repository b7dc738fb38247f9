"""The measured score of each register tile, and the database that keeps it.

Read in this order:

    catalog   the ranked microkernels of a machine, and a score for every tile
    database  the SQLite file that keeps measurements
    unkept    another folder for them, where nothing can be kept
    records   the measurements of microkernels in the database
    kinds     the ranking of a kind of CPU as a text that comes with the package
    shipped   what is known of a machine: its own measurements, else the ranking of its kind
    told      what the user was told already
"""
