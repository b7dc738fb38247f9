"""The loops that pack the weights: made of what `pack_weights` changed, of words made number by number."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.emit import emit
from cpu.passes.memory.pack_weights import pack_weights
from cpu.passes.order import PRODUCT, ProductPass
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import DEPTHWISE
from tests.support.loops.loops import inputs, statements
from tests.support.loops.packed_weights import PACKING, by_loops, forms_that_pack, pack_loops, packed
from tests.support.loops.passes import SAME, TILES, forms_by_name
from tiling.arrays.access import access_of
from tiling.loops.index import constant
from tiling.loops.kernel import Kernel
from tiling.loops.language import Barrier, Comment, For, Load, Store
from tiling.loops.listing import listing
from tiling.loops.lowering.lower import lower_scheme
from tiling.loops.passes import LOWER
from tiling.loops.rewrite import with_values
from tiling.loops.walk import with_blocks
from tiling.operators import conv2d, matmul
from tiling.rewrite.dot_groups import numbers_per_lane, scheme_in_dot_groups
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.weight_groups import packed_words
from tiling.text.notation import parse

KERNELS = [
    (SAME, TILES),
    (matmul(m=7, n=9, k=5), "L(m, 1x3 + 2x2) R(n) S(c) T(k,5) U(m,λ) V(n,{v})"),
    (matmul(m=2, n=20, k=6), "T(k,2) L(n, 1x1 + 2x2) R(m) S(c) U(k,3) U(n,λ) V(n,{v})"),
    (
        conv2d(c=4, k=10, groups=2, h=2, w=2, r=3, s=3, padding=1),
        "R(g) R(k) R(h) S(y) R(r) R(s) U(c,2) U(w,2) V(k,{v})",
    ),
    (conv2d(c=6, k=6, groups=6, h=2, w=2, r=3, s=3, padding=1), "R(c) R(h) R(w) S(y) R(r) R(s) V(c,{v})"),
]


@pytest.mark.parametrize("problem, text", KERNELS)
def test_every_weight_comes_to_where_products_read_it(problem, text):
    by_name, w = forms_by_name(problem, text), inputs(problem)["W"]
    found = by_loops(parse(problem, text.format(v=4)), w)
    np.testing.assert_array_equal(found, packed(by_name[LOWER], by_name[PACKING], w))


def test_loops_that_move_no_weight_are_left_out():
    kernel = pack_loops(parse(SAME, TILES.format(v=4)))
    assert [s.name for s in statements(kernel) if isinstance(s, For)] == ["k", "r", "c", "s_u", "lane"]
    assert len([s for s in statements(kernel) if isinstance(s, Store)]) == 1


@pytest.mark.parametrize(
    "problem, text, wanted",
    [
        (matmul(m=4, n=32, k=32), "T(n,2) T(m,2) S(c) T(k,32) U(m,2) U(n,4) V(n,{v})", ["k_rows", "n", "k"]),
        (
            matmul(m=4, n=32, k=32),
            "T(k,2) T(n,2) T(m,2) S(c) T(k,16) U(m,2) U(n,4) V(n,{v})",
            ["k_1", "k_rows", "n", "k"],
        ),
        (matmul(m=4, n=32, k=30), "T(n,2) T(m,2) S(c) T(k,30) U(m,2) U(n,4) V(n,{v})", ["n", "k"]),  # not in eights
        (matmul(m=4, n=32, k=8), "T(n,2) T(m,2) S(c) T(k,8) U(m,2) U(n,4) V(n,{v})", ["n", "k"]),  # eight rows in all
        (matmul(m=4, n=16, k=32), "T(m,2) S(c) T(k,32) U(m,2) U(n,4) V(n,{v})", ["k"]),  # one panel
        (conv2d(c=32, k=32, h=2, w=2, r=1, s=1), "T(k,2) T(h,2) S(y) T(c,32) U(w,2) U(k,4) V(k,{v})", ["k", "c"]),
    ],
)
def test_rows_of_w_go_to_all_panels(problem, text, wanted):
    scheme, w = parse(problem, text.format(v=4)), inputs(problem)["W"]
    loops = [s.name for s in statements(pack_loops(scheme)) if isinstance(s, For)]
    assert [name for name in loops if name not in ("lane", "n_u", "k_u")] == wanted
    by_name = forms_by_name(problem, text)
    np.testing.assert_array_equal(by_loops(scheme, w), packed(by_name[LOWER], by_name[PACKING], w))


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("problem, text", KERNELS)
def test_threads_share_what_one_thread_packs(problem, text, threads):
    scheme, w = parse(problem, text.format(v=4)), inputs(problem)["W"]
    np.testing.assert_array_equal(by_loops(scheme, w, threads), by_loops(scheme, w))
    *_, (_, kernel) = forms_that_pack(scheme, threads)
    shares = [s for s in statements(kernel) if isinstance(s, For) and "thread" in s.start.names()]
    assert shares and not any(isinstance(s, Barrier) for s in statements(kernel))


def test_a_thread_has_several_steps_of_packing():
    scheme = parse(matmul(m=4, n=32, k=32), "T(n,2) T(m,2) S(c) T(k,32) U(m,2) U(n,4) V(n,4)")
    *_, (_, kernel) = forms_that_pack(scheme, 2)
    (share,) = (s for s in statements(kernel) if isinstance(s, For) and "thread" in s.start.names())
    assert share.stop.at({"thread": 1, "threads": 2}) == 8  # four steps of k_rows, of two panels each


def test_a_column_that_does_not_exist_is_zeros():
    problem, text = KERNELS[1]
    text = listing(pack_loops(parse(problem, text.format(v=4))))
    assert "if n + lane < 9:\n" in text and "= 0" in text


# ---- passes that are not there yet


def mirrored(kernel: Kernel) -> Kernel:
    """The kernel, which reads another weight for each input channel: that of the last one for the first."""

    def mirror(value):
        if not isinstance(value, Load) or value.buffer != "W":
            return None
        k, c, *taps = value.at
        return replace(value, at=(k, constant(SAME.extents["c"] - 1) - c, *taps))

    def walked(statement):
        found = with_values(statement, mirror) if isinstance(statement, Store) else statement
        return with_blocks(found, lambda body: tuple(map(walked, body)))

    return replace(kernel, body=tuple(map(walked, kernel.body)))


def test_a_pass_before_packing_changes_what_is_packed():
    scheme, w = parse(SAME, TILES.format(v=4)), inputs(SAME)["W"]
    mirror = ProductPass("mirror", lambda kernel, facts: mirrored(kernel))
    wanted = by_loops(scheme, np.ascontiguousarray(w[:, ::-1]))
    assert not np.array_equal(wanted, by_loops(scheme, w))
    with patch("cpu.passes.forms.PRODUCT", (mirror, *PRODUCT)):
        np.testing.assert_array_equal(by_loops(scheme, w), wanted)


@pytest.mark.parametrize(
    "text, threads, arrays",
    [
        (TILES, 1, "W, packed"),
        (TILES.replace("R(k) T(h,4)", "T(h,4)@core R(k)"), 2, "W, packed"),
        ("F(2x2,3x3) B(3,8) T(n,2) S(c) T(k,2) U(m,3) V(n,{v})", 1, "W, G, packed"),
    ],
)
def test_a_pass_that_packing_needs_too_comes_into_its_text(text, threads, arrays):
    def remarked(kernel: Kernel, facts) -> Kernel:
        about = Comment(f"{facts.threads} packs: {', '.join(buffer.name for buffer in kernel.arrays)}")
        return replace(kernel, body=(about, *kernel.body))

    scheme = parse(SAME, text.format(v=4))
    for packs in (True, False):
        with patch("cpu.passes.forms.PRODUCT", (*PRODUCT, ProductPass("remark", remarked, packs=packs))):
            written = emit(scheme, ISAS["portable"], 2).text
        _, _, pack = written.partition("_pack_run(")
        assert (f"/* {threads} packs: {arrays} */" in pack) == packs


def test_packing_has_its_own_forms():
    names = [name for name, _ in forms_that_pack(parse(SAME, TILES.format(v=4)))]
    assert names == [PACKING, *(each.name for each in PRODUCT if each.packs or each.whole)]
    before = PRODUCT[: [each.name for each in PRODUCT].index(PACKING) + 1]
    assert len(names) > 1 and not any(each.packs for each in before)


# ---- narrow numbers: a problem, a scheme, and the numbers of each word of W along a new last axis


def _of_channels(w: np.ndarray, numbers: int) -> np.ndarray:
    """Words of neighbouring channels, W being (K,C,R,S)."""
    filled = np.pad(w, [(0, 0), (0, -w.shape[1] % numbers), (0, 0), (0, 0)])
    return np.moveaxis(filled.reshape(w.shape[0], -1, numbers, *w.shape[2:]), 2, -1)


def _of_rows(w: np.ndarray, numbers: int, pixel: int) -> np.ndarray:
    """Words of a window's row, whose pixels have so many numbers: no taps are left."""
    filled = np.pad(w, [(0, 0), (0, pixel - w.shape[1]), (0, 0), (0, 0)])
    rows = np.moveaxis(filled, 1, -1).reshape(*w.shape[::2], -1)  # k, r, numbers of a row
    rows = np.pad(rows, [(0, 0), (0, 0), (0, -rows.shape[-1] % numbers)])
    return np.moveaxis(rows.reshape(*rows.shape[:2], -1, numbers), 2, 1)[:, :, :, np.newaxis]


def _alone(w: np.ndarray, numbers: int) -> np.ndarray:
    return np.stack([w, *[np.zeros_like(w)] * (numbers - 1)], axis=-1)


BF16 = conv2d(c=5, h=2, w=3, k=19, r=2, s=3, dtype="bf16", padding=(0, 1))
BYTES = conv2d(c=3, h=9, w=9, k=35, r=2, s=3, stride=2, dtype="int8")
WORDS = {
    "pairs of channels": (BF16, "R(k) R(h) S(y) R(c) R(r) U(s,3) U(w,3) D(c,2) V(k,16)", lambda w: _of_channels(w, 2)),
    "four numbers of a window's row": (
        BYTES,
        "R(k) R(h) R(w) S(y) R(r) R(sc) U(k,3) D(sc,4) V(k,16)",
        lambda w: _of_rows(w, 4, 3),
    ),
    "channels by themselves": (
        conv2d(c=20, h=3, w=3, k=20, r=3, s=3, groups=20, dtype="bf16"),
        "R(c) R(h) R(w) S(y) R(r) U(s,3) V(c,16)",
        lambda w: _alone(w, 2),
    ),
    "blocks of channels": (
        conv2d(c=40, h=1, w=4, k=20, r=1, s=1, dtype="bf16"),
        "R(k) R(w) S(y) R(c) U(k,2) D(c,32) V(k,16)",
        lambda w: _of_channels(w, 32),
    ),
    "blocks of a window's row": (
        conv2d(c=3, h=3, w=9, k=16, r=1, s=3, stride=2, dtype="bf16"),
        "R(h) S(y) U(w,4) D(sc,12) V(k,16)",
        lambda w: _of_rows(w, 12, 4),
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_words_hold_their_numbers_and_zeros(name):
    problem, text, words_of = WORDS[name]
    scheme = parse(problem, text)
    dots, plain = scheme_in_dot_groups(scheme), lower_scheme(scheme_in_dot_groups(scheme))
    after = pack_weights(plain, dots.problem, packed_words(scheme))
    dtype = {"bf16": np.uint16, "int8": np.int8}[problem.dtype]
    w = np.random.default_rng(0).integers(1, 100, access_of(problem).packed.shape).astype(dtype)
    words = words_of(w)
    assert words.shape[:-1] == access_of(dots.problem).packed.shape
    if access_of(dots.problem).by_matrix:  # a block is words
        words = words.reshape(*words.shape[:-1], -1, numbers_per_lane(problem))
    lanes = np.stack([packed(plain, after, words[..., n]) for n in range(words.shape[-1])], axis=-1)
    np.testing.assert_array_equal(by_loops(scheme, w), lanes.reshape(-1))


def test_lanes_that_exchange_have_their_weights_in_the_order_in_which_they_meet_channels():
    problem = grouped2d(conv2d(c=8, h=2, w=2, k=8, r=1, s=1, groups=4))
    w = np.arange(16, dtype=np.float32).reshape(access_of(problem).packed.shape)
    found = by_loops(parse(problem, "R(k) R(h) R(w) S(y) U(c,2) V(k,4)"), w).reshape(2, 2, 4)
    k, met = np.arange(8), np.arange(2)[:, np.newaxis]
    np.testing.assert_array_equal(np.concatenate([*found], axis=1), w[k, met ^ (k % 2), 0, 0])


def test_words_may_hold_numbers_of_several_groups():
    problem = grouped2d(conv2d(c=32, h=2, w=2, k=32, r=1, s=1, groups=16, dtype="int8"))
    w = np.arange(1, 65).astype(np.int8).reshape(access_of(problem).packed.shape)
    found = by_loops(parse(problem, "R(k) R(h) R(w) S(y) D(c,4) V(k,16)"), w).reshape(32, 2, 2)
    for k in range(32):
        own = k % 4 // 2
        np.testing.assert_array_equal(found[k, own], w[k, :, 0, 0])
        np.testing.assert_array_equal(found[k, 1 - own], 0)


def test_a_scheme_of_f32_packs_numbers_as_they_are():
    assert "number" not in listing(pack_loops(parse(DEPTHWISE, "R(n) R(h) R(w) R(c) S(y) R(r) R(s) V(c,4)")))
