"""A model as data, before there is any text.

In reading order: `errors` · `language` · `dtypes` · `node`, the view of a node that operators get, and their
results · `windows` · `regions`, the steps of loops and branches. Decisions about a model are in `graph.passes`.
"""
