"""Counts of n-grams."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from graph.model.node import Made, Node, Text
from tiling.dtypes.formats import INTEGERS


def _tf_idf(node: Node) -> Made:
    """How often each n-gram of a pool occurs in a row, or whether it does, or both by weights."""
    shape, mode = node.shape(), node.attribute("mode").decode()
    grams = node.attribute("pool_int64s")
    if grams is None or node.dtype() not in INTEGERS:
        raise node.refuse("n-grams of texts are not supported")
    indexes, starts = node.attribute("ngram_indexes"), [*node.attribute("ngram_counts"), len(grams)]
    shortest, longest = node.attribute("min_gram_length"), node.attribute("max_gram_length")
    columns, rows = max(indexes) + 1, ["i"] if len(shape) > 1 else []
    row = "i," if rows else ""
    extents, made = {"o": columns}, {}
    if rows:
        extents["i"] = shape[0]
    length_of, place_of = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    text, counted, done = [], [], 0
    for n, (begin, end) in enumerate(pairwise(starts), 1):
        pool = np.asarray(grams[begin:end], np.int64).reshape(-1, n)
        mine = indexes[done : done + len(pool)]
        done += len(pool)
        if not len(pool) or not shortest <= n <= longest:
            continue
        length_of[mine], place_of[mine] = n, np.arange(len(pool))
        made[f"pool{n}"] = pool
        extents[f"g{n}"] = len(pool)
        terms = []
        for skip in range(node.attribute("max_skip_count") + 1 if n > 1 else 1):
            positions = shape[-1] - (n - 1) * (skip + 1)
            if positions < 1:
                continue
            at_ = f"p{n}_{skip}"
            hits = [f"x[{row}{at_} + {k * (skip + 1)}] == pool{n}[g{n},{k}]" for k in range(n)]
            text.append(f"c{n}_{skip}[{row}g{n}] = sum[{at_}] {' and '.join(hits)}")
            extents[at_] = positions
            terms.append(f"(c{n}_{skip}[{row}place[o]] else 0)")
        if terms:
            counted.append(f"where(length[o] == {n}, {' + '.join(terms)}, 0)")
    made |= {"length": length_of, "place": place_of}
    # There may be fewer n-grams of one length than of another: every position is one in the longest pool.
    count = " + ".join(counted) or "0"
    text.append(f"z[{row}o] = {count}")
    value = f"z[{row}o]"
    if mode != "TF":
        made["weight"] = np.ones(columns, np.float32)
        made["weight"][indexes] = np.asarray(node.attribute("weights", np.ones(len(indexes))), np.float32)
        value = f"where(z[{row}o] > 0, weight[o], 0.0)" if mode == "IDF" else f"z[{row}o] * weight[o]"
    text.append(f"y[{row}o] = {value}")
    return Text("; ".join(text), {"x": 0}, extents, ("f32",), made=made)


COUNTING: dict[str, Callable[[Node], Made]] = {
    "TfIdfVectorizer": _tf_idf,
}
