"""The text forms of a problem: every form that is read, every text that is refused, and the printed form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.tuner.dtypes import typed
from tests.support.sampled import examples
from tests.support.search.strategies import problems
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.problem import ProblemError
from tiling.rewrite.dot_groups import in_dot_groups
from tiling.text.shapes import ShapeError, canonical, parse_matmul_shape, parse_shape, problem_of
from tiling.text.suite import suites

R2 = conv2d(c=64, h=56, w=56, k=64, r=3, s=3, padding=1)
SMALL = dict(c=2, h=11, w=8, k=4, r=3, s=2)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("n=1,c=64,h=56,w=56,k=64,r=3,s=3,stride=1,pad=1", R2),
        ("  c=64 h=56,w=56 , k=64\tr = 3 s=3 padding=1,", R2),
        ("c=64,h=56,w=56,k=64,r=3,s=3,pad=1,groups=1", R2),
        ("c=2 h=11 w=8 k=4 r=3 s=2 pad=same", conv2d(**SMALL, padding=((1, 1), (0, 1)))),
        ("c=2 h=11 w=8 k=4 r=3 s=2 pad=same stride=2", conv2d(**SMALL, stride=2, padding=((1, 1), 0))),
        ("c=2 h=11 w=8 k=4 r=3 s=2 pad=same dilation=2", conv2d(**SMALL, dilation=2, padding=(2, 1))),
        ("c=2 h=11 w=8 k=4 r=3 s=2 pad=valid", conv2d(**SMALL)),
        ("c=2 h=11 w=8 k=4 r=3 s=2 layout=nchw", conv2d(**SMALL, layout="nchw")),
        ("c=2 h=11 w=8 k=4 r=3 s=2 layout=NCHW", conv2d(**SMALL, layout="nchw")),
        ("c=2 h=11 w=8 k=4 r=3 s=2 pad_h=2 pad_left=1", conv2d(**SMALL, padding=(2, (1, 0)))),
        ("c=2 h=11 w=8 k=4 r=3 s=2 pad_bottom=1 pad_w=same", conv2d(**SMALL, padding=((0, 1), (0, 1)))),
        ("c=2 h=11 w=8 k=4 r=3 s=2 stride_h=2 dilation_w=3", conv2d(**SMALL, stride=(2, 1), dilation=(1, 3))),
        ("mb1ic64ih56oc64oh56kh3ph1", R2),
        ("mb1ic64ih56oc64oh56kh3", R2),
        ('g1mb1_ic64ih56iw56_oc64oh56ow56_kh3kw3_sh1sw1_ph1pw1_dh0dw0_n"net:conv=2"', R2),
        ("mb1ic64id1ih56oc64od1oh56kd1kh3ph1nresnet_50:conv1", R2),
        ("ic64ih56oc64kh3ph1", conv2d(n=2, c=64, h=56, w=56, k=64, r=3, s=3, padding=1)),
        ("mb1ic3ih224oc64oh112kh7sh2ph3", conv2d(c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3)),
        ("mb1ic2ih11iw8oc4kh3kw2dh1dw2", conv2d(**SMALL, dilation=(2, 3))),
        ("mb1ic2ih11iw8oc4oh11ow8kh3kw2ph1pw0", conv2d(**SMALL, padding=(1, (0, 1)))),
        ("mb1ic2ih11iw8oc4oh6ow4kh3kw2sh2sw2ph1", conv2d(**SMALL, stride=2, padding=(1, 0))),
        ("mb1ic2ih11oc4oh11kh4", conv2d(c=2, h=11, w=11, k=4, r=4, s=4, padding=((1, 2), (1, 2)))),
        ("c=8 h=9 w=9 k=4 r=3 s=3 groups=2", conv2d(c=8, h=9, w=9, k=4, r=3, s=3, groups=2)),
        ("g2mb1ic8ih9oc4kh3", conv2d(c=8, h=9, w=9, k=4, r=3, s=3, groups=2)),
        ("c=2 w=9 k=4 s=3 pad=1 stride=2 dilation=2", conv2d(c=2, w=9, k=4, s=3, padding=1, stride=2, dilation=2)),
        ("c=2 w=9 k=4 s=3 pad_left=2", conv2d(c=2, w=9, k=4, s=3, padding=(2, 0))),
        ("mb1ic2iw9oc4kw3pw1dw1", conv2d(c=2, w=9, k=4, s=3, padding=1, dilation=2)),
        ("mb1ic2ih8oc4oh4kh1sh2", conv2d(c=2, h=8, w=8, k=4, r=1, s=1, stride=2)),
    ],
)
def test_every_form_of_a_shape(text, problem):
    assert parse_shape(text) == problem


@pytest.mark.parametrize(
    "text, named",
    [
        ("", "cannot read the shape ''"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,layout=chwn", "layout='chwn' must be 'nhwc' or 'nchw'"),
        ("R2", "cannot read the shape 'R2'"),
        ("resnet18", "resnet18 is a suite: name one of its layers, as in resnet18:R1"),
        ("m=4,n=4,k=4", "'m=4,n=4,k=4' is a matrix product: give it to python -m search.matmul"),
        ("gpt2:QKV,dtype=bf16", "gpt2:QKV is a matrix product"),
        ("resnet18:R2,batch=4", "'batch=4': unknown key 'batch'"),
        ("resnet18:R2,n=0", "n=0 must be at least 1"),
        ("resnet18:R2 n=2 n=3", "'n=3': n is given twice"),
        ("resnet:R2", "'resnet' (did you mean resnet50 or resnet18"),
        ("vgg:C1", "there is no suite 'vgg' (did you mean vgg16?); there are bert_base convnext_t densenet121"),
        ("../resnet18:R2", "no suite '../resnet18'"),
        ("resnet18.txt:R2", "no suite 'resnet18.txt'"),
        ("__init__:R2", "no suite '__init__'"),
        ("resnet18:r2", "'r2' (did you mean R2"),
        ("yolo9000:Y1", "there are Y0 Y2 Y4 Y5 Y8 Y9 Y12 Y13 Y18 Y19 Y23"),
        ("c=64,h=56,k=64,r=3", "lacks w, s"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,depth=3", "unknown key 'depth'; known are n c h w"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,c=2", "'c=2': c is given twice"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,same", "'same' is not key=value"),
        ("c=1,h=4,w=4,k=1,r=1,s=1.5", "s=1.5: expected a whole number"),
        ("c=-1,h=4,w=4,k=1,r=1,s=1", "c=-1 must be at least 1"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,stride_h=-2", "stride_h=-2 must be at least 1"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,pad=-1", "pad=-1 must be at least 0, or 'same' or 'valid'"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,pad_top=-1", "pad_top=-1 must be at least 0"),
        ("c=0,h=4,w=4,k=1,r=1,s=1", "c=0 must be at least 1"),
        ("c=١,h=4,w=4,k=1,r=1,s=1", "expected a whole number"),
        ("c=2147483648,h=4,w=4,k=1,r=1,s=1", "c=2147483648: larger than 2147483647"),
        ("c=" + "9" * 9000 + ",h=4,w=4,k=1,r=1,s=1", "larger than 2147483647"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,pad=full", "pad=full: expected a whole number or 'same' or 'valid'"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,pad_top=same", "pad_top=same: expected a whole number"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,pad=1,pad_left=1", "pad and pad_left set the same value"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,stride=1,stride_h=1", "stride and stride_h set the same value"),
        ("c=1,w=4,k=1,s=1,pad=1,pad_w=1", "pad and pad_w set the same value"),
        ("c=1,w=4,k=1,s=1,stride=0", "stride=0 must be at least 1"),
        ("c=1,h=4,w=4,k=1,s=1", "the shape lacks r"),
        ("c=1,h=4,w=4,k=1,r=1,s=1,stride=0,pad=same", "stride=0 must be at least 1"),
        ("c=1,h=4,w=4,k=1,r=5,s=1", "the kernel reaches over 5 points along h, the padded input has only 4"),
        ("ic64ih56oc64kh3ph1x", "cannot read 'x'"),
        ("ic64ih56oc64ic64kh3", "ic is given twice"),
        ("ic64ih56oc64", "lacks kh, kw"),
        ("ic64ih56iw56oc64kh3", "lacks kw"),
        ("g5ic64ih56oc64kh3ph1", "groups=5 do not divide c=64"),
        ("c=4,h=4,w=4,k=6,r=1,s=1,groups=4", "groups=4 do not divide k=6"),
        ("c=4,h=4,w=4,k=6,r=1,s=1,groups=0", "groups=0 must be at least 1"),
        ("ic64id5ih56oc64kd3kh3ph1", "id: descriptors of 3-D convolutions are not read: write c=…,d=…"),
        ("ic64ih56oc64oh50kh3ph1", "oh50 does not fit: the other sizes give at least 55 outputs along h"),
        ("ic64ih9oc64oh4kh1sh2", "oh4 does not fit: the other sizes give at least 5"),
        ("ic64ih4oc64kh9", "the kernel reaches over 9 points"),
        ("ic64ih4oc64kh1sh0oh4", "stride=0 must be at least 1"),
        ("mb99999999999ic64ih4oc64kh1", "larger than"),
    ],
)
def test_a_shape_that_cannot_be_read_is_refused_by_part(text, named):
    with pytest.raises(ShapeError) as raised:
        parse_shape(text)
    said = str(raised.value)
    assert named in said and "\n" not in said
    assert len(said.replace(f" there are {' '.join(suites())}", "")) < 300  # all suites are named where one is unknown


def test_a_layer_with_changes():
    assert parse_shape("resnet18:R2,n=8") == conv2d(n=8, c=64, h=56, w=56, k=64, r=3, s=3, padding=1)
    changed = parse_shape("resnet18:R2 dtype=bf16, out=f32, k=32, epilogue=relu(y)")
    assert changed == parse_shape(f"{canonical(R2)},dtype=bf16,out=f32,epilogue=relu(y)".replace("k=64", "k=32"))
    layer = parse_matmul_shape("gpt2:QKV")
    assert parse_matmul_shape("gpt2:QKV,batch=3,epilogue=relu(y)") == parse_matmul_shape(
        f"{canonical(layer)},batch=3,epilogue=relu(y)"
    )
    for text, named in (
        ("gpt2", "gpt2 is a suite: name one of its layers, as in gpt2:"),
        ("QKV", "cannot read the shape 'QKV': give a layer (gpt2:QKV) or key=value pairs"),
        ("resnet18:R2,n=2", "resnet18:R2 is a convolution"),
        ("h=4,c=1,w=4,k=1", "'h=4,c=1,w=4,k=1' is a convolution: give it to python -m search.conv or generate_conv"),
        ("mb1ic64ih56oc64kh3ph1", "is a convolution: give it to python -m search.conv"),
    ):
        with pytest.raises(ShapeError) as raised:
            parse_matmul_shape(text)
        assert named in str(raised.value)


def test_a_recorded_operator_must_be_able_to_compute_its_shape():
    with pytest.raises(ShapeError, match="grouped2d: only convolutions, channels last"):
        problem_of("grouped2d", "c=12,h=9,w=9,k=12,r=3,s=3,groups=4")


def test_canonical_leaves_out_what_is_default():
    assert canonical(R2) == "c=64,h=56,w=56,k=64,r=3,s=3,pad=1"
    assert canonical(conv2d(**SMALL)) == "c=2,h=11,w=8,k=4,r=3,s=2"
    assert canonical(conv2d(**SMALL, n=2, stride=(2, 1), dilation=2)).startswith("n=2,c=2,")
    assert canonical(conv2d(**SMALL, stride=(2, 1), dilation=2)).endswith("s=2,stride_h=2,dilation=2")
    assert canonical(conv2d(**SMALL, groups=2, stride=2)) == "c=2,h=11,w=8,k=4,r=3,s=2,groups=2,stride=2"
    assert (
        canonical(conv2d(**SMALL, layout="nchw", n=2, stride=2)) == "n=2,c=2,h=11,w=8,k=4,r=3,s=2,stride=2,layout=nchw"
    )
    assert canonical(conv2d(**SMALL, padding=(1, 0))).endswith("s=2,pad_h=1")
    assert canonical(conv2d(**SMALL, padding=(0, (0, 1)))).endswith("s=2,pad_right=1")


def test_a_layout_beside_the_text():
    """As --layout gives it; it is there before the epilogue, whose arrays lie as y does."""
    channels_first = parse_shape("c=2,h=11,w=8,k=4,r=3,s=2,epilogue=y + z", "nchw")
    assert channels_first == fused(conv2d(**SMALL, layout="nchw"), "y + z[n,k,h,w]")
    assert parse_shape(canonical(channels_first)) == parse_shape(canonical(channels_first), "nchw") == channels_first
    assert parse_shape("resnet18:R2", "nhwc") == R2
    with pytest.raises(ShapeError, match="says layout=nchw, and nhwc was asked for"):
        parse_shape("c=2,h=11,w=8,k=4,r=3,s=2,layout=nchw", "nhwc")
    with pytest.raises(ShapeError, match="a matrix product has no layout"):
        parse_matmul_shape("m=1,n=2,k=3", "nchw")


@pytest.mark.slow
@examples(300)
@given(problems(), st.integers(1, 3), st.integers(1, 2))
def test_canonical_of_any_problem_parses_back(problem, stride, dilation):
    read = parse_matmul_shape if problem.op == "matmul" else parse_shape
    assert read(canonical(problem)) == problem
    wide = conv2d(c=1, h=9, w=9, k=1, r=3, s=2, stride=(stride, 1), padding=((stride, 4), dilation), dilation=dilation)
    assert parse_shape(canonical(wide)) == wide


@pytest.mark.parametrize(
    "text, named",
    [
        ("m=1,n=2", "lacks k"),
        ("m=1,n=2,k=3,c=4", "unknown key 'c'; known are m n k"),
        ("m=0 n=2 k=3", "m=0 must be"),
        ("m=1 n=2 k=3 batch=0", "batch=0 must be at least 1"),
        ("m=1 n=2 k=3 trans_b=yes", "trans_b=yes: expected 0 or 1"),
    ],
)
def test_a_matmul_shape_that_cannot_be_read(text, named):
    assert parse_matmul_shape("m=1 n=2,k=3,trans_a=0,batch=1") == matmul(m=1, n=2, k=3)
    transposed = matmul(m=1, n=2, k=3, batch=4, transpose_b=True)
    assert (
        canonical(transposed) == "m=1,n=2,k=3,batch=4,trans_b=1"
        and parse_matmul_shape(canonical(transposed)) == transposed
    )
    with pytest.raises(ShapeError) as raised:
        parse_matmul_shape(text)
    assert named in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["c=4,h=9,w=9,k=6,r=3,s=2,groups=2,stride=2,dilation_h=2,pad_left=1", "c=4,h=9,w=9,k=4,r=3,s=3,groups=4,pad=1"],
)
def test_a_problem_shows_all_that_tells_it_from_others(text):
    problem = fused(parse_shape(text + ",dtype=bf16"), "relu(y)")
    assert str(problem) == f"{problem.op} {canonical(problem)}" and parse_shape(canonical(problem)) == problem
    assert str(matmul(m=3, n=4, k=5, batch=2, transpose_a=True)) == "matmul m=3,n=4,k=5,batch=2,trans_a=1"


def test_a_problem_without_a_text_form_shows_its_dims():
    assert str(in_dot_groups(parse_shape("c=8,h=4,w=4,k=8,r=1,s=1,dtype=bf16"))) == "conv2d n=1 k=8 c=4 h=4 w=4 r=1 s=1"


@pytest.mark.parametrize("text", ["c=4,h=6,w=6,k=8,r=1,s=1,k_of=12", "c=4,h=6,w=6,k=8,r=1,s=1,c_of=6"])
def test_images_in_longer_arrays_keep_their_layout_and_dtype(text):
    assert parse_shape(text, "nhwc") == parse_shape(text)
    with pytest.raises(ShapeError, match="lie in longer arrays have layout='nhwc' alone"):
        parse_shape(text, "nchw")
    with pytest.raises(ProblemError, match="_of: such arrays are of f32 on a CPU alone, not of bf16"):
        typed(parse_shape(text), "cpu", "bf16", None)
    with pytest.raises(ProblemError, match="_of: such arrays are of f32 on a CPU alone, not of f16"):
        typed(parse_shape(text), "cuda", None, None)


def test_the_order_of_axes_is_given_once():
    with pytest.raises(ShapeError, match="trans_a and order_a set the same value"):
        parse_matmul_shape("m=4,n=5,k=6,trans_a=1,order_a=km")


@pytest.mark.parametrize("text", ["c=-4,h=5,w=5,k=4,r=3,s=3", "c=0,h=5,w=5,k=4,r=3,s=3"])
def test_an_extent_below_1_is_told_as_one(text):
    with pytest.raises(ProblemError, match=f"{text.partition(',')[0]} must be at least 1"):
        parse_shape(text)


def test_a_problem_as_text_has_its_strides_and_padding():
    assert str(parse_shape("c=4,h=9,w=9,k=4,r=3,s=3,stride=2,pad=1")) == (
        "conv2d c=4,h=9,w=9,k=4,r=3,s=3,stride=2,pad=1"
    )
