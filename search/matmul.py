"""The command `python -m search.matmul --shape m=…,n=…,k=…`: finds a fast, checked kernel for a matrix product."""

from __future__ import annotations

from tilewright_entry import run

SHAPE_HELP = (
    "gpt2:QKV (a suite's layer) or m=128,n=3072,k=768: a (m,k) times b (k,n), all row-major; also batch=8, trans_a=1, "
    "trans_b=1 for (k,m), (n,k), order_a=mlk and the like (the order of the axes, l is the batch), dtype=bf16, out=f32 "
    "(the dtype of the product), and at the end epilogue=relu(y + b)"
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code (`search.commands.products.main`)."""
    from search.commands.products import main as search
    from tiling.text.shapes import parse_matmul_shape

    return search("python -m search.matmul", parse_matmul_shape, SHAPE_HELP, arguments)


if __name__ == "__main__":
    run("search.matmul:main")
