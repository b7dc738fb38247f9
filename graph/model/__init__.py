"""A model as data, before there is any text.

In reading order: `errors` · `language` · `dtypes` · `node`, what an operator sees of a node and makes of it ·
`windows` · `regions`, the steps of loops and branches. What is decided of a model is in `graph.passes`.
"""
