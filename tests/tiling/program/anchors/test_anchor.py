"""Which statements are problems of `tiling.operators`, what their stores do, and why others are none."""

import pytest

from tiling.program.anchors.anchor import Anchor, anchor_of
from tiling.program.infer import sized
from tiling.program.operators import program_of
from tiling.program.read import read
from tiling.program.rewrite.anchored import anchored

IMAGE = {"h": 10, "w": 12, "k": 16, "c": 8, "r": 3, "s": 3}


def anchor(text, dtype="f32", **extents):
    program = sized(read(text), extents, dtype=dtype)
    return anchor_of(program, program.program.statements[-1].array)


@pytest.mark.parametrize(
    ("text", "extents", "problem"),
    [
        ("y[i,j] = sum[k] a[i,k] * b[k,j]", {"i": 10, "j": 9, "k": 7}, "matmul m=10,n=9,k=7"),
        ("y[i,j] = sum[k] b[k,j] * a[i,k]", {"i": 10, "j": 9, "k": 7}, "matmul m=10,n=9,k=7"),
        ("y[i,j] = sum[k] a[k,i] * b[j,k]", {"i": 6, "j": 5, "k": 7}, "matmul m=6,n=5,k=7,trans_a=1,trans_b=1"),
        ("y[i,j] = sum[k] a[i,k] * b[k,j]", {"i": 1, "j": 5, "k": 7}, "matmul m=1,n=5,k=7"),
        ("y[b,i,h,d] = sum[k] a[b,i,k] * w[k,4*h+d]", {"b": 2, "i": 6, "h": 3, "d": 4, "k": 7},
         "matmul m=12,n=12,k=7"),
        ("y[h,i,j] = sum[c] q[h,i,c] * k[h,j,c]", {"h": 2, "i": 6, "j": 7, "c": 5},
         "matmul m=6,n=7,k=5,batch=2,trans_b=1"),
        ("y[h,w,k] = sum[c,r,s] x[h+r-1,w+s-1,c] * f[k,c,r,s]", IMAGE, "conv2d c=8,h=10,w=12,k=16,r=3,s=3,pad=1"),
        ("y[k,h,w] = sum[c,r,s] x[c,h+r-1,w+s-1] * f[r,s,c,k]", IMAGE,
         "conv2d c=8,h=10,w=12,k=16,r=3,s=3,pad=1,layout=nchw"),
        ("y[h,w,k] = sum[c,r,s] x[2*h+r,2*w+2*s,c] * f[k,c,r,s]", IMAGE,
         "conv2d c=8,h=21,w=27,k=16,r=3,s=3,stride=2,dilation_w=2"),
        ("y[h,w,k] = sum[c,r,s] x[h+r,w+s,8*(k//4)+c] * f[k,c,r,s]", IMAGE,
         "conv2d c=32,h=12,w=14,k=16,r=3,s=3,groups=4"),
        ("y[h,w,c] = sum[r,s] x[h+r,w+s,c] * f[c,r,s]", IMAGE, "depthwise2d c=8,h=12,w=14,k=8,r=3,s=3,groups=8"),
        ("y[w,k] = sum[c,s] x[w+s,c] * f[k,c,s]", IMAGE, "conv2d c=8,h=1,w=14,k=16,r=1,s=3"),
        ("y[n,k,h,w] = sum[c] x[n,c,h,w] * f[k,c]", IMAGE | {"n": 2},
         "conv2d n=2,c=8,h=1,w=120,k=16,r=1,s=1,layout=nchw"),
        ("y[h,w,k] = sum[c] x[2*h,2*w,c] * f[k,c]", IMAGE, "conv2d c=8,h=19,w=23,k=16,r=1,s=1,stride=2"),
        ("y[h,w,k] = sum[c,r,s] x[3*h+r,3*w+s,c] * f[k,c,r,s]", IMAGE, "conv2d c=8,h=30,w=36,k=16,r=3,s=3,stride=3"),
    ],
)  # fmt: skip
def test_statements_that_are_problems(text, extents, problem):
    used = {dim: extent for dim, extent in extents.items() if dim in read(text).dims}
    found = anchor(text, **used)
    assert isinstance(found, Anchor), found
    assert str(found.problem).replace(",filters=krsc", "") == problem


def test_the_convolution_of_the_table_is_an_anchor():
    program = program_of("convolution", (1, 8, 8, 4), (6, 4, 3, 3), stride=2, pad=1)
    assert str(anchor_of(program, "y").problem) == "conv2d c=4,h=8,w=8,k=6,r=3,s=3,stride=2,pad=1"


@pytest.mark.parametrize(
    ("text", "extents", "why"),
    [
        ("y[i] = max[j] x[i,j] * v[j]", {"i": 3, "j": 4}, "it is no sum"),
        ("y[i] = sum[j] x[i,j]", {"i": 3, "j": 4}, "is no product of two elements"),
        ("y[i] = sum[j] x[i,j] * 2", {"i": 3, "j": 4}, "2 is no element"),
        ("y[h,w,k] = sum[c,r,s] (x[h+r-1,w+s-1,c] else 1) * f[k,c,r,s]", IMAGE, "outside of x counts 1, not 0"),
        ("y[i,h,j] = sum[c] q[h,i,c] * k[h,j,c]", {"h": 2, "i": 3, "j": 4, "c": 5}, "not those of a batch"),
        ("y[i,j,m] = sum[k] a[i,k] * b[k,j]", {"i": 6, "j": 5, "k": 7, "m": 2}, "no factor moves with m"),
        ("y[i] = sum[j] x[i+j] * v[j]", {"i": 7, "j": 3}, "it has one channel"),
        ("y[i,j] = sum[k] a[k,k] * b[i,j]", {"i": 6, "j": 5, "k": 7}, "a dim stands twice in a[k, k]"),
        ("y[i,k] = sum[r,c] x[i-r+2,c] * v[r,c,k]", {"i": 7, "r": 3, "c": 4, "k": 4}, "is no window"),
        ("a: f64; y[i,j] = sum[k] a[i,k] * b[k,j]", {"i": 6, "j": 5, "k": 7}, "no kernel multiplies f64 by f32"),
    ],
)
def test_statements_that_are_none(text, extents, why):
    assert why in anchor(text, **extents)


def around(text, outputs=(), **extents):
    return anchored(
        sized(read(text), {d: e for d, e in ({"i": 100, "j": 100, "k": 220} | extents).items() if e}, outputs=outputs)
    )


PRODUCT = "y[i,j] = sum[k] a[i,k] * b[k,j]; "


@pytest.mark.parametrize(
    ("text", "epilogue", "output"),
    [
        ("z[i,j] = relu(y[i,j] + v[j])", "relu(y+v[n])", "z"),
        ("u[i,j] = y[i,j] + r[i,j]; z[i,j] = u[i,j] * sigmoid(u[i,j])", "(y+r[m,n])*sigmoid(y+r[m,n])", "z"),
        ("z[j,i] = max(y[i,j], 0) * v[i]", "max(y,0)*v[n]", "z"),
        ("z[p,q,j] = y[10*p+q,j] - v[j]", "y-v[n]", "z"),
        ("z[i,j] = y[i,j] + x[i]; q[i,j] = z[i,j] + cos(v[j])", "y+x_[m]", "z"),
        ("z[i,j] = y[i,j] + i", "None", "y"),
    ],
)
def test_maps_become_an_epilogue(text, epilogue, output):
    found = around(PRODUCT + text, **({"p": 10, "q": 10} if "[p" in text else {}))
    assert (str(found.stores.problem.epilogue), found.stores.output) == (epilogue, output)


def test_an_output_ends_what_stores_do():
    found = around(PRODUCT + "z[i,j] = y[i,j] + v[j]", outputs=("y", "z"))
    assert found.stores.output == "y" and found.after.outputs == ("z",)
    assert found.stores.stopped == ("z is no part of the stores of y: y is read elsewhere too, or is an output",)


def test_what_is_only_laid_out_anew_is_read_where_it_was():
    found = around("t[k,j] = b[j,k]; y[i,j] = sum[k] a[i,k] * t[k,j]")
    assert found.moved == ("t",) and found.before is None and "trans_b=1" in str(found.anchor.problem)


@pytest.mark.parametrize(
    ("text", "extents", "why"),
    [
        (PRODUCT, {"i": 10, "j": 10, "k": 10}, "it has few multiplications"),
        (PRODUCT, {"i": 4, "j": 4000}, "is used 4 times only"),
        (PRODUCT, {"i": 4000, "j": 4}, "is used 4 times only"),
        (
            "y[h,w,k] = sum[r,s,k2] x[h+r,w+s,k2] * f[k,r,s,k2]",
            {"i": None, "j": None, "h": 90, "w": 90, "k": 4, "k2": 64, "r": 3, "s": 3},
            "only 4 outputs share",
        ),
        (PRODUCT + "z[i] = sum[j] y[i,j] * y[i,j]", {}, "y z are sums of products"),
    ],
)
def test_products_that_go_by_rules(text, extents, why):
    assert why in around(text.removesuffix("; "), **extents)
