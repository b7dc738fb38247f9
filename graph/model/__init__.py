"""A model as data, and what is decided of it before there is any text.

In reading order: `errors` · `language` · `dtypes` · `node`, what an operator sees of a node and makes of it ·
`windows` · `regions` · `fuse` · `strided` · `idioms` · `group` · `layouts` · `joins` · `in_place` · `memory` · `waits`.
"""
