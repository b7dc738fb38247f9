"""Suites: how a line is read, and whether the files hold what they say of their networks."""

import re
from importlib.resources import files

import pytest

from tiling.operators import conv2d, matmul
from tiling.text.shapes import ShapeError, canonical, chosen, parse_matmul_shape, parse_shape, suite
from tiling.text.suite import Layer, layers, suites

PAPER = ("mobilenet", "neighbours", "gemm_square", "hidet_gemm", "triton_gemm", "triton_conv")  # no network's layers
NETWORKS = [name for name in suites() if name not in PAPER]
# One layer's output is the next one's input, pooled or added to another at most: every c is an earlier k.
CHAINS = ("resnet18", "yolo9000", "resnet50", "resnext50", "vgg16", "mobilenet_v2", "efficientnet_b0", "convnext_t")
SHAPE = "c=4 h=5 w=6 k=7 r=1 s=1"


def text_of(name):
    return files("tiling.suites").joinpath(f"{name}.txt").read_text(encoding="utf-8")


def sizes(layer):
    """The numbers of a layer's text, and what is 1 or 0 by default; a layer need not be one that we can compute."""
    given = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", layer.shape)}
    assert len(given) == layer.shape.count("=")
    defaults = {"n": 1, "groups": 1}
    for name, default in (("stride", 1), ("pad", 0)):
        both = given.pop(name, default)
        defaults |= {f"{name}_h": both, f"{name}_w": both}
    return defaults | given


def outputs(v):
    """Rows and columns of the output."""
    return tuple((v[a] + 2 * v[f"pad_{a}"] - v[t]) // v[f"stride_{a}"] + 1 for a, t in (("h", "r"), ("w", "s")))


def flops(layer):
    v = sizes(layer)
    if "m" in v:
        return 2 * v["m"] * v["n"] * v["k"]
    rows, columns = outputs(v)
    return 2 * v["n"] * v["k"] * rows * columns * v["c"] // v["groups"] * v["r"] * v["s"]


def test_the_suites_there_are():
    assert suites() == tuple(sorted((*PAPER, *NETWORKS)))
    assert {*NETWORKS} == {
        *("resnet18", "yolo9000", "resnet50", "resnext50", "vgg16", "inception_v3", "mobilenet_v2", "efficientnet_b0"),
        *("densenet121", "yolov3", "unet", "convnext_t", "sd_unet", "bert_base", "gpt2"),
    }


def test_layers_are_chosen_by_suite_and_by_name_each_once():
    found = chosen(["yolo9000:Y4", "resnet18", "yolo9000:Y0", "yolo9000:Y4", "resnet18:R2"])
    assert {name: [layer.name for layer in layers] for name, layers in found.items()} == {
        "yolo9000": ["Y4", "Y0"],
        "resnet18": [f"R{i}" for i in range(1, 13)],
    }
    for unknown in ("resnet18:R99", "resnet18:", "resnet81:R1"):
        with pytest.raises(ShapeError, match=r"R99|layer ''|resnet81"):
            chosen([unknown])


def test_suites_hold_the_layers_of_the_paper():
    names = {name: [layer.name for layer in suite(name)] for name in ("resnet18", "yolo9000", "mobilenet")}
    assert names["resnet18"] == [f"R{i}" for i in range(1, 13)]
    assert names["yolo9000"] == [f"Y{i}" for i in (0, 2, 4, 5, 8, 9, 12, 13, 18, 19, 23)]
    assert names["mobilenet"] == [f"M{i}" for i in range(1, 10)]
    assert parse_shape("resnet18:R1") == conv2d(c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3)
    assert parse_shape("resnet18:R11") == conv2d(c=256, h=14, w=14, k=512, r=1, s=1, stride=2)
    assert parse_shape("yolo9000:Y23") == conv2d(c=1024, h=17, w=17, k=28269, r=1, s=1)
    assert parse_shape("mobilenet:M8") == conv2d(c=512, h=14, w=14, k=512, r=3, s=3, stride=2, padding=1)
    half = {"R1", "R4", "R5", "R7", "R8", "R10", "R11", "M2", "M4", "M6", "M8"}
    for layer in (layer for name in ("mobilenet", "neighbours", "resnet18", "yolo9000") for layer in suite(name)):
        extents, rows = layer.problem.extents, layer.problem.broadcast.shape[1] // (2 if layer.name in half else 1)
        assert extents["h"] == extents["w"] == rows, layer


def test_suites_hold_the_products_and_convolutions_of_papers():
    """As the papers print them, Triton's as (M,N,K) and (H,W,C,B,K,R,S)."""
    gemm = [tuple(sizes(layer)[dim] for dim in "mnk") for layer in suite("triton_gemm")]
    square, deep_speech = [(size, size, size) for size in (512, 1024, 2048)], [(35, 8457, 1760), (6144, 32, 1536)]
    deep_speech += [(3072, 128, 1024), (1760, 128, 1760), (7680, 64, 2560), (1760, 7133, 1760)]
    assert gemm == [*square, *deep_speech, (512, 32, 512), (512, 32, 2048), (2048, 32, 512)]
    convolutions = [tuple(sizes(layer)[dim] for dim in "hwcnkrs") for layer in suite("triton_conv")]
    resnet = [(112, 112, 64, 4, 128, 3, 3), (56, 56, 128, 4, 256, 3, 3), (28, 28, 256, 4, 512, 3, 3)]
    resnet += [(14, 14, 512, 4, 512, 3, 3), (7, 7, 512, 4, 512, 3, 3)]
    assert convolutions == [*resnet, (161, 700, 1, 8, 64, 5, 5), (79, 341, 32, 8, 32, 5, 10)]
    hidet = [tuple(sizes(layer)[dim] for dim in "mnk") for layer in suite("hidet_gemm")]
    assert hidet == [(size, size, size) for size in (2048, 2047, 2046, 2045, 2044, 2043, 2042, 2039)]
    assert len(suite("resnet50")) == 23, "Hidet's 23 groups of Conv-BN-ReLU"


@pytest.mark.parametrize("name", suites())
def test_every_layer_can_be_computed(name):
    for layer in suite(name):
        assert layer.unsupported == "" and layer.problem is not None, layer


@pytest.mark.parametrize("name", suites())
def test_every_layer_is_found_by_its_name_and_printed_to_parse_back(name):
    for layer in suite(name):
        if layer.problem is None:
            continue
        read = parse_matmul_shape if layer.problem.op == "matmul" else parse_shape
        assert read(f"{name}:{layer.name}") == read(canonical(layer.problem)) == layer.problem


@pytest.mark.parametrize("name", suites())
def test_the_layers_of_a_suite_are_distinct(name):
    shapes = [tuple(sorted(sizes(layer).items())) for layer in suite(name)]
    assert len(set(shapes)) == len(shapes)


@pytest.mark.parametrize("name", NETWORKS)
def test_counts_and_flops_sum_to_what_the_file_says_of_the_network(name):
    said = re.search(r"^# (\d+) (?:layers|products), ([\d.]+) GFLOP\.$", text_of(name), re.MULTILINE)
    assert sum(layer.count for layer in suite(name)) == int(said[1])
    assert sum(layer.count * flops(layer) for layer in suite(name)) / 1e9 == pytest.approx(float(said[2]), rel=5e-4)
    assert all(layer.problem.flops == flops(layer) for layer in suite(name) if layer.problem)


@pytest.mark.parametrize("name", CHAINS)
def test_a_layer_reads_what_earlier_ones_wrote(name):
    first, *rest = (sizes(layer) for layer in suite(name))
    channels, rows = {first["k"]}, {*outputs(first)}
    for v in rest:
        assert v["c"] in channels, v
        # As it was written, after a pooling by two, or one pixel after squeezing.
        assert v["h"] == v["w"] and v["h"] in {1, *rows, *(-(-size // 2) for size in rows)}, v
        channels.add(v["k"])
        rows |= {*outputs(v)}


def test_a_line_of_a_suite():
    text = f"# a network\n\nA  {SHAPE}\nB1 x12 {SHAPE} pad=1  # conv2\nC x1 m=2 n=3 k=4"
    found = layers("made_up", text, lambda shape: shape)
    assert found == (
        Layer("A", SHAPE, 1, SHAPE),
        Layer("B1", f"{SHAPE} pad=1", 12, f"{SHAPE} pad=1"),
        Layer("C", "m=2 n=3 k=4", 1, "m=2 n=3 k=4"),
    )


def test_a_layer_that_cannot_be_computed_keeps_its_text_and_the_reason():
    def read(shape):
        if "k=9" in shape:
            raise ShapeError("nine is not supported yet")
        return shape

    a, b = layers("made_up", f"A x3 {SHAPE} k=9\nB {SHAPE}", read)
    assert a == Layer("A", f"{SHAPE} k=9", 3, None, "nine is not supported yet")
    assert b.problem == SHAPE and b.unsupported == ""


@pytest.mark.parametrize(
    "text, named",
    [
        (f"A {SHAPE}\nA {SHAPE}", "suite made_up lists A twice"),
        ("A", "expected NAME [xCOUNT] key=value …, found 'A'"),
        ("A x3", "found 'A x3'"),
        (f"A x{'9' * 5000} {SHAPE}", "found 'A x999"),
        (f"A x0 {SHAPE}", "found 'A x0 c=4"),
        (f"A three {SHAPE}", "found 'A three c=4"),
    ],
)
def test_a_line_that_is_none_is_refused(text, named):
    with pytest.raises(ShapeError) as raised:
        layers("made_up", text, lambda shape: shape)
    assert named in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "read, text, named",
    [
        (parse_shape, "bert_base:FFN1", "bert_base:FFN1 is a matrix product (m=128 n=3072 k=768), not a convolution"),
        (parse_matmul_shape, "resnet18:R3", "R3 is a convolution (c=64 h=56 w=56 k=64 r=1 s=1), not a matrix product"),
        (parse_matmul_shape, "mobilenet_v2:D1", "D1 is a convolution (c=32 h=112 w=112 k=32 r=3 s=3 pad=1 groups=32)"),
        (parse_matmul_shape, "gpt3:QKV", "there is no suite 'gpt3' (did you mean gpt2?)"),
        (parse_matmul_shape, "gpt2:qkv", "suite gpt2 has no layer 'qkv' (did you mean QKV?)"),
        (parse_shape, "densenet121:P99", "suite densenet121 has no layer 'P99'"),
    ],
)
def test_a_layer_that_a_command_cannot_take(read, text, named):
    with pytest.raises(ShapeError) as raised:
        read(text)
    assert named in str(raised.value) and len(str(raised.value)) < 300


def test_a_layer_is_meant_that_a_long_list_leaves_out():
    with pytest.raises(ShapeError) as raised:
        parse_shape("efficientnet_b0:PP17")
    named, _, shown = str(raised.value).partition("; there are ")
    assert "no layer 'PP17' (did you mean P17 or " in named and "…" in shown and "P17" not in shown.split()


@pytest.mark.parametrize(
    "text, meant",
    [
        ("yolo9OO0:Y4", "(did you mean yolo9000?)"),
        ("yolo900:Y4", "(did you mean yolo9000 or "),
        ("kernels:Y4", "'kernels';"),
    ],
)
def test_every_suite_is_named_where_there_is_no_such_one(text, meant):
    with pytest.raises(ShapeError) as raised:
        parse_shape(text)
    assert meant in str(raised.value) and str(raised.value).endswith(f"; there are {' '.join(suites())}")


def test_a_layer_of_either_operator():
    assert parse_matmul_shape("gpt2:HEAD") == matmul(m=128, n=50257, k=768)
    assert parse_shape("mobilenet_v2:D1") == conv2d(c=32, h=112, w=112, k=32, r=3, s=3, padding=1, groups=32)
    assert parse_shape("sd_unet:C1") == conv2d(n=2, c=4, h=64, w=64, k=320, r=3, s=3, padding=1)
    assert parse_shape("inception_v3:C9") == parse_shape("c=96 h=35 w=35 k=96 r=3 s=3 stride=2")
