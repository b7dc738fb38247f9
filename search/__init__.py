"""Which scheme: an analytic model of data movement proposes, measurement decides.

Read in this order, the model first:

    permutations  the loop orders worth trying at each level: MOpt's classes, as data
    occupancy     how hard a tile presses on the sets of a cache
    volume        bytes that a scheme moves into each cache
    predict       the time of a scheme, with its parts
    registers     register tiles that cover a problem exactly, best first
    sizes         tile sizes for each cache: scipy first, then the integers beside its answer
    space         candidates for a problem, ranked by predicted time
    winograd      those of Winograd's algorithm: blocks, the schemes of its products, their time
    sample        random valid schemes over the same grammar
    explain       why an order won, as a table and a sentence

then what stands at the edge:

    tune          measure the best candidates within a time budget
    store         remember what was chosen
    workshop      this machine: its facts, catalogue, workers and store, wired to the model and the tuner
    generate      `generate_conv`, `generate_matmul`: a problem in, a kernel out; `load_kernel`: one that was saved
    options       what the command lines have in common
    command       the command line that `python -m search.conv` and `python -m search.matmul` are

and, for a GPU (`gpu/` has the space and the model), loaded only when asked for:

    gpu_target    the problem in a GPU's dtype, the device, the choice, the callable
    gpu_check     a kernel's outputs compared with the reference
    gpu_explain   the predicted time of every pipe, as a table and a sentence
    gpu_report    what the command line prints
    gpu_command   the command line with `--target cuda` and `--target cuda-twin`
"""

__all__ = ["fold_batch_norm", "generate_conv", "generate_matmul", "load_kernel"]


def __getattr__(name: str):
    """`from search import generate_conv`, loaded when asked for: the model's modules know nothing of compilers."""
    if name in __all__:
        import search.generate

        return getattr(search.generate, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
