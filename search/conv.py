"""The command `python -m search.conv --shape SHAPE`: finds a fast, checked, explained kernel for a convolution."""

from __future__ import annotations

from tilewright_entry import run

SHAPE_HELP = (
    "resnet18:R2 (a suite's layer), n=1,c=64,h=56,w=56,k=64,r=3,s=3,stride=1,dilation=1,pad=1,groups=1 (h, w are the "
    "input's; stride_h, pad_w, pad_top and the like are of one axis or side; with d and q, the taps along d, a "
    "convolution of volumes), or a benchdnn descriptor mb1ic64ih56oc64oh56kh3ph1; the first two also take layout=nchw, "
    "dtype=bf16, out=f32 (the dtype of y), c_of=256 and k_of=256 (the channels of a pixel in memory); all take, at the "
    "end, epilogue=relu(y + b)"
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code (`search.commands.products.main`)."""
    from search.commands.products import main as search
    from tiling.text.shapes import parse_shape

    return search("python -m search.conv", parse_shape, SHAPE_HELP, arguments)


if __name__ == "__main__":
    run("search.conv:main")
