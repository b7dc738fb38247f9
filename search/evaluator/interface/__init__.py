"""What a search knows of every target.

Read in this order:

    protocol    a `Backend` knows the target, an `Evaluator` tries candidates on it
    definition  how far a program's kernel is from the definition
    errors      all errors that the toolkit raises
    files       the files that users name
"""
