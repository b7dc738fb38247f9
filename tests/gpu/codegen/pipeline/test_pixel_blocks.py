"""Images of few channels: their pixels are read in blocks, as the channels of one."""

import pytest

from gpu.codegen.loops.copier import copier
from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.predict import rank
from gpu.model.space import candidates
from gpu.passes.warpgroups.kinds import as_read, copied
from tests.support.gpu.cases import check_on_twin, image
from tiling.arrays.pixel_blocks import blocked_extents
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.scheme.specifiers import PixelBlock, SchemeError
from tiling.text.notation import parse

H200 = DEVICES["H200"]
FIRST = conv2d(n=64, c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3, dtype="f16", filters="krsc")


def scheme_in(problem, high, wide, columns=64, groups=1, cluster=1, depth=3):
    """One tile after the other of 64 rows for each warpgroup and block."""
    part = 8 if problem.dtype == "tf32" else 16
    sizes = blocked_extents(problem, high, wide)
    rows = -(-problem.extent("nhw") // (64 * groups * cluster))
    return parse(
        problem,
        f"P({high}x{wide}) T(nhw,{rows})@cluster T(k,{-(-problem.extents['k'] // columns)})@cluster "
        f"T(nhw,{cluster})@block S(y) T(r,{sizes['r']}) T(s,{sizes['s']}) T(c,{-(-sizes['c'] // (4 * part))}) "
        f"S(x, {depth}) S(w, {depth}) T(nhw,{groups})@warpgroup U(c,4) M(nhw64k{columns}c{part})",
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("extents", "high", "wide"),
    [
        (dict(c=3, h=13, w=15, r=7, s=7, stride=2, padding=3), 2, 8),
        (dict(c=3, h=14, w=16, r=7, s=7, stride=2, padding=3), 8, 8),
        (dict(c=3, h=9, w=10, r=3, s=3, stride=1, padding=1), 1, 3),
        (dict(c=3, h=10, w=9, r=3, s=3, stride=1, padding=1), 3, 3),
        (dict(c=1, h=11, w=7, r=5, s=5, stride=1, padding=2), 5, 5),
        (dict(c=1, h=8, w=9, r=2, s=3, stride=(1, 2), padding=((0, 1), (1, 0))), 1, 4),
        (dict(c=2, h=16, w=17, r=3, s=5, stride=(2, 1), padding=(1, 2)), 2, 5),
        (dict(c=4, h=13, w=13, r=5, s=5, stride=3, padding=2), 3, 6),
        (dict(c=4, h=6, w=23, r=4, s=11, stride=(2, 4), padding=(0, 3)), 2, 12),
        (dict(c=3, h=12, w=14, r=5, s=7, stride=2, padding=0), 2, 4),  # two blocks of columns in a window
        (dict(c=3, h=9, w=12, r=1, s=1, stride=2, padding=0), 2, 2),
        (dict(c=5, h=7, w=8, r=3, s=3, stride=1, padding=1), 1, 3),
        (dict(c=3, w=50, s=9, stride=2, padding=4), 1, 10),  # one dimension
        (dict(c=3, h=9, w=11, r=3, s=3, stride=1, padding=1, dilation=(2, 1)), None, 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_blocks_of_pixels_are_exact(extents, high, wide, dtype):
    problem = conv2d(n=2, k=40, dtype=dtype, filters="krsc", **extents)
    if high is None:
        with pytest.raises(SchemeError, match="taps of a dilated window are no neighbours along h"):
            scheme_in(problem, 1, wide)
        return
    check_on_twin(scheme_in(problem, high, wide), seeds=(1, 2))


@pytest.mark.parametrize(
    "options", [{"groups": 2}, {"cluster": 2, "columns": 128}, {"columns": 192, "groups": 3, "depth": 2}], ids=str
)
def test_tiles_and_clusters_of_blocks_are_exact(options):
    problem = fused(image(c=3, h=15, w=16, k=200, r=7, s=7, padding=3, stride=2), "relu(y + b + z)")
    check_on_twin(scheme_in(problem, 2, 8, **options), seeds=(1, 2))


def test_the_copy_has_each_pixel_once():
    scheme = scheme_in(FIRST, 2, 8)
    image, weights = copied(scheme)
    assert image.shape == (64, 115, 230, 8) and image.overlapping == (115 * 230 * 8, 230 * 8, 16, 1)
    assert weights.shape == (64, 4, 1, 64)
    assert as_read(scheme).problem.broadcast.shape == (64, 115, 112, 64)
    (x, *_) = emit_scheme(scheme).maps
    assert x.dims == (64, 112, 115, 64) and x.strides == (32, 3680, 423200)
    assert "put4_u16" in copier(emit_scheme(scheme)).text


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        ({}, "P(1x8)", "a block is a multiple of the stride 2 along h"),
        ({}, "P(2x7)", "a block is a multiple of the stride 2 along w"),
        ({"groups": 3, "k": 12}, "P(2x8)", "without groups"),
        ({"layout": "nchw"}, "P(2x8)", "channels last"),
        ({"n": 200_000, "h": 101, "w": 101}, "P(2x8)", "blocks of 64 numbers are more than kernels count"),
        ({}, "P(999999998x8)", "numbers are more than kernels count"),
    ],
)
def test_blocks_that_cannot_be_read_are_refused(options, text, message):
    problem = conv2d(**{"c": 3, "h": 9, "w": 9, "k": 8, "r": 7, "s": 7, "stride": 2, "padding": 3, **options})
    with pytest.raises(SchemeError, match=message):
        parse(problem, f"{text} T(h,1)@cluster S(y) R(h)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T(nhw,3)@cluster P(2x8) S(y) M(nhw64k64c16)", "P stands outermost"),
        ("P(2x8) T(nhw,3)@block S(y) M(nhw64k64c16)", "loop over clusters"),
        ("P(8) S(y)", "is not a whole number"),
    ],
)
def test_schemes_that_say_blocks_wrongly_are_refused(text, message):
    with pytest.raises(SchemeError, match=message):
        parse(image(c=3, r=7, s=7, stride=2, padding=3), text)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
def test_images_of_few_channels_are_read_in_blocks_where_the_model_says_so(dtype):
    layer = conv2d(n=64, c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3, dtype=dtype, filters="krsc")
    assert len(candidates(layer, H200)) < 200
    ranked = rank(layer, H200)
    blocks = [isinstance(each.scheme.specifiers[0], PixelBlock) for each in ranked]
    assert blocks[0] and not all(blocks)
    gathered = next(each for each, of_blocks in zip(ranked, blocks) if not of_blocks)
    assert ranked[0].seconds < 0.75 * gathered.seconds
    wide = conv2d(n=64, c=8, h=56, w=56, k=64, r=3, s=3, padding=1, dtype=dtype, filters="krsc")
    assert not any(isinstance(scheme.specifiers[0], PixelBlock) for scheme in candidates(wide, H200))


def test_blocks_that_are_more_than_kernels_count_are_not_listed():
    """Blocks overlap in memory, and the problem that reads them counts the numbers of every one."""
    many = conv2d(n=4096, c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3, dtype="f16", filters="krsc")
    first = {scheme.specifiers[0] for scheme in candidates(many, H200)}
    assert PixelBlock(2, 8) in first and PixelBlock(8, 8) not in first


def test_a_text_with_blocks_is_read_back():
    best = rank(FIRST, H200)[0].scheme
    assert best.text.startswith("P(2x8) ") and parse(FIRST, best.text) == best
