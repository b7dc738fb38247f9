"""What a search knows of every target.

Read in this order:

    protocol  a `Backend` knows the target, an `Evaluator` tries candidates on it
    errors    all errors that the toolkit raises
    files     the files that users name
"""
