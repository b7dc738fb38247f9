"""The C file of a program around an anchor: one function, which calls the kernels of its parts.

    y = relu(exp(a) · b)       SYMBOL_before_run       e = exp(a)
                               SYMBOL_product_pack_run b, as the product reads it
                               SYMBOL_product_run      y = relu(e · b)

Each part is a file of its own. Their intermediate arrays and their scratch lie in the memory of the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from cpu.codegen.arrays import types_of
from cpu.codegen.emit import Source
from cpu.codegen.frame.call import OR_OUTSIDE, CallSignature, Gives, call_text
from cpu.codegen.frame.frames import TEMPLATES
from cpu.codegen.frame.remarks import about_team
from cpu.codegen.print import Printer
from cpu.codegen.program.emit import ProgramSource
from cpu.codegen.program.names import with_c_names
from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.version import VERSION
from microkernels.tile.isa import isa_named
from tiling.loops.index import constant
from tiling.loops.language import LINE
from tiling.program.anchors.anchor import Operand
from tiling.program.anchors.lay_out import in_order, lay_out
from tiling.program.infer import Array, Sized
from tiling.program.rewrite.anchored import Anchored

_WAIT = "#pragma omp barrier"


@dataclass(frozen=True)
class Parts:
    """The sources of a program's kernels, each with a symbol of its own. epilogue: the arrays that the product reads
    beside its operands, in order. dtypes: what its operands and its output have.
    """

    found: Anchored
    product: Source
    before: ProgramSource | None
    after: ProgramSource | None
    epilogue: tuple[str, ...]
    dtypes: tuple[str, str, str]

    @property
    def sources(self) -> tuple[Source | ProgramSource, ...]:
        """In the order in which they run."""
        return tuple(source for source in (self.before, self.product, self.after) if source)

    @property
    def threads(self) -> int:
        """The most threads that share a part."""
        return max(source.threads for source in self.sources)


def emit_anchored(program: Sized, parts: Parts, symbol: str) -> ProgramSource:
    """The C source of the function, to which the parts are to be linked. program: as its caller sees it."""
    return _Whole(program, parts, symbol).source()


class _Whole:
    """Writes the function. bytes: the bytes of the call's memory that are in use so far."""

    def __init__(self, program: Sized, parts: Parts, symbol: str):
        self.program, self.parts, self.symbol = program, parts, symbol
        inner = parts.found.program
        named = with_c_names(inner)
        old, new = ((*each.inputs, *each.assigned) for each in (inner, named))
        self.names = {one.name: other.name for one, other in zip(old, new, strict=True)}
        self.outputs = tuple(array for array in program.assigned if array.name in program.outputs)
        self.bytes = 0

    def source(self) -> ProgramSource:
        parts, given = self.parts, (*self.program.inputs, *self.outputs)
        parameters = [f"const {_type(array)} *restrict {self.names[array.name]}" for array in self.program.inputs]
        parameters += [f"{_type(array)} *restrict {self.names[array.name]}" for array in self.outputs]
        steps = [line for line in self.steps() if line]
        scratch = self.bytes + max(_scratch(source, parts.threads) for source in parts.sources)
        isa = isa_named(parts.product.isa)
        reports = any(part.reports for part in (parts.before, parts.after) if part)
        call = CallSignature(self.symbol, parameters, constant(scratch), parts.threads)
        facts = {
            "program": str(self.program.program).split("; "),
            "version": VERSION,
            "product": str(parts.found.stores.problem),
            "arrays": [f"{self.names[a.name]}: {a.dtype}[{', '.join(map(str, a.shape))}]" for a in given],
            "symbol": self.symbol,
            "declarations": list(self.declarations()),
            "supported": [source.symbol for source in parts.sources],
            "run_parameters": call.run_parameters,
            "scratch": scratch,
            "meanwhile": self.bytes,
            "steps": steps,
            "about_team": about_team(parts.threads),
            "returns": f"Returns 0{OR_OUTSIDE * reports}",
        }
        text = TEMPLATES.get_template("anchored.c.j2").render(**facts)
        places = [f"arrays[{at}]" for at in range(len(parameters))]
        plain = call_text(call, isa, Gives(reports, (), places))
        given_by = self.symbol, text, plain, isa.name, parts.threads, tuple(parameters), scratch
        return ProgramSource(*given_by, reports=reports)

    def declarations(self) -> Iterator[str]:
        """The declarations of the functions of all parts."""
        parts = self.parts
        x, w, y = (ELEMENTS[dtype].c for dtype in parts.dtypes)
        for source in parts.sources:
            gives, types = (
                "int",
                [parameter.rpartition("*")[0] + "*" for parameter in getattr(source, "parameters", ())],
            )
            if isinstance(source, Source):
                gives = "void"
                types = [f"const {x} *", f"const {w} *", f"{y} *", *["const float *"] * len(parts.epilogue)]
            types += ["char *"] * bool(source.scratch) + ["long", "long"] * (source.threads > 1)
            yield f"int {source.symbol}_supported(void);"
            yield f"{gives} {source.symbol}_run({', '.join(types)});"
        team = ["long", "long"] * (parts.product.pack_threads > 1)
        yield f"void {parts.product.symbol}_pack_run({', '.join([f'const {w} *', f'{w} *', *team])});"

    def steps(self) -> Iterator[str]:
        """The lines of the function."""
        parts, found = self.parts, self.parts.found
        between = dict.fromkeys(array.name for part in (found.before, found.after) if part for array in part.inputs)
        between |= dict.fromkeys((found.anchor.x.array, found.anchor.w.array, found.stores.output))
        between |= dict.fromkeys(array for _, array in found.stores.arrays)
        given = {array.name for array in (*self.program.inputs, *self.outputs)}
        for name in between:
            if name not in given:
                array = found.program.array(name)
                size = prod(array.shape) * ELEMENTS[array.dtype].numpy.itemsize
                yield f"{_type(array)} *const {self.names[name]} = ({_type(array)} *){self.place(size)};"
        if found.before and parts.before:
            yield from self.program_part(found.before, parts.before)
        yield from self.weights(found.anchor.w)
        y = self.names[found.stores.output]
        arrays = [self.names[found.anchor.x.array], "packed", y, *(self.names[name] for name in parts.epilogue)]
        yield from self.called(parts.product, arrays)
        if found.after and parts.after:
            yield _WAIT if parts.threads > 1 else ""
            yield from self.program_part(found.after, parts.after)

    def weights(self, w: Operand) -> Iterator[str]:
        """The lines for the weights: the first thread puts their axes in the product's order, and those that share the
        packing pack them.
        """
        parts, source = self.parts, self.names[w.array]
        element = ELEMENTS[parts.dtypes[1]]
        number = element.c
        packed = self.place(parts.product.packed * element.numpy.itemsize)
        yield f"{number} *const packed = ({number} *){packed};"
        team, shares = parts.threads > 1, parts.product.pack_threads > 1
        first = "if (thread == 0) {" if team else "{"
        laying: list[str] = []
        if not in_order(w):
            yield f"{number} *const laid = ({number} *){self.place(prod(w.split) * element.numpy.itemsize)};"
            loops = lay_out(w, source, "laid", parts.dtypes[1])
            laying = [first, *(f"    {line}" for line in Printer(loops, types_of(loops)).body()), "}"]
            laying += [_WAIT] * shares
            source = "laid"
        yield "/* The weights, as the product reads them. */"
        yield _WAIT if team and parts.before else ""
        yield from laying
        given = ", ".join([source, "packed", *["thread", "threads"] * shares])
        yield from ["if (thread == 0)"] * (team and not shares)
        yield f"{'    ' * (team and not shares)}{parts.product.symbol}_pack_run({given});"
        yield _WAIT if team else ""

    def program_part(self, part: Sized, source: ProgramSource) -> Iterator[str]:
        outputs = tuple(array for array in part.assigned if array.name in part.outputs)
        yield from self.called(source, [self.names[array.name] for array in (*part.inputs, *outputs)])

    def called(self, source: Source | ProgramSource, arrays: list[str]) -> Iterator[str]:
        """The call of a part. Where no threads share it, the first one does it."""
        given = [*arrays, *["scratch + MEANWHILE"] * bool(source.scratch)]
        given += ["thread", "threads"] * (source.threads > 1)
        call = f"{'' if isinstance(source, Source) else 'outside |= '}{source.symbol}_run({', '.join(given)});"
        if self.parts.threads > 1 and source.threads == 1:
            yield "if (thread == 0)"
            call = f"    {call}"
        yield call

    def place(self, size: int) -> str:
        """Memory of a call for so many bytes, from a cache line on."""
        at, self.bytes = self.bytes, self.bytes + -(-size // LINE) * LINE
        return f"(scratch + {at})"


def _type(array: Array) -> str:
    return ELEMENTS[array.dtype].c


def _scratch(source: Source | ProgramSource, threads: int) -> int:
    """Bytes that a part needs of a team of so many threads, which may be more than it has work for."""
    return (source.scratch or 0) + source.own * (threads - source.threads)
