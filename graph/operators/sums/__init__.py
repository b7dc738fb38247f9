"""Operators that gather many numbers in one, by sums and other reductions: `SUMS`.

In reading order: `reductions` · `normalisations` · `images`, which are pooled · `products` · `quantised` products ·
`signals` · `counting`.
"""

from graph.operators.sums.counting import COUNTING
from graph.operators.sums.images import IMAGES
from graph.operators.sums.normalisations import NORMALISATIONS
from graph.operators.sums.products import PRODUCTS
from graph.operators.sums.quantised import QUANTISED
from graph.operators.sums.reductions import REDUCTIONS
from graph.operators.sums.signals import SIGNALS

SUMS = {**REDUCTIONS, **NORMALISATIONS, **IMAGES, **PRODUCTS, **QUANTISED, **SIGNALS, **COUNTING}

__all__ = ["SUMS"]
