"""A whole scheme as C: the loops around its register tiles, and the file that holds them.

    emit(scheme, threads) -> Source

The nest is walked once. Loops over tiles become C loops whose variables are positions (`h` runs over 0, 14, 28 …),
core loops become one parallel loop whose worker number is unfolded by the task map, and each register tile becomes
a function, one for each case of padding and masking that occurs (`cpu.site`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jinja2

from cpu.pack import pack_lines, packed_elements
from cpu.site import Case, Site
from cpu.tile import INDENT, TileFunction, Variant, outer_panel_stride, parameters, tile_function
from microkernels.isa import Isa, isa_named, tail_definition
from microkernels.microkernel import Microkernel
from tiling.nest import Loop, Node, Register, Staged, lower, starts
from tiling.problem import Problem
from tiling.scheme import Lambda, Matrix, Rest, Scheme, SchemeError, Stage, Tile
from tiling.show import show
from tiling.taskmap import spatial

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    block_start_string="/*%",
    block_end_string="%*/",
    variable_start_string="{{",
    variable_end_string="}}",
    comment_start_string="/*#",
    comment_end_string="#*/",
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)


@dataclass(frozen=True)
class Source:
    """An emitted kernel: C text that defines two functions.

        void SYMBOL(const float *X, const float *W, float *Y)      W packed, everything contiguous
        void SYMBOL_pack(const float *W, float *packed)            from the problem's own layout, once per weights
    """

    symbol: str
    text: str
    isa: str
    threads: int
    microkernels: tuple[Microkernel, ...]
    packed_floats: int

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        return isa_named(self.isa).compiler_flags

    @property
    def openmp(self) -> bool:
        return self.threads > 1


def emit(scheme: Scheme, isa: Isa, threads: int = 1, stream: bool = False) -> Source:
    """The C source of a scheme on `isa`, for `threads` OpenMP threads.

    stream: write outputs past the caches where y is aligned; for outputs far larger than the last-level cache.
    Raises SchemeError for a valid scheme that this emitter does not handle, naming the specifier.
    """
    _check(scheme, isa)
    problem = scheme.problem
    nest = _Nest(scheme, isa, stream and _streamable(scheme))
    body = nest.body(lower(scheme), (), {dim: "0" for dim in problem.extents})
    text = TEMPLATES.get_template("kernel.c.j2").render(
        symbol=symbol_of(problem),
        version=VERSION,
        problem=str(problem),
        scheme=scheme.text,
        loops=show(scheme).splitlines(),
        microkernels=[describe(kernel, isa) for kernel in microkernels_of(scheme, isa)],
        isa=isa,
        threads=threads,
        operands=_operands(problem),
        strides=_strides(problem),
        panels=sorted({site.vectors for site in nest.sites}),
        tail=tail_definition(isa, problem.extents[problem.vector_dim] % isa.lanes) if nest.masked else "",
        functions=nest.functions,
        body=body,
        pack=pack_lines(scheme),
        stream=nest.stream,
    )
    return Source(
        symbol_of(problem), text, isa.name, threads, microkernels_of(scheme, isa), packed_elements(scheme)
    )


def symbol_of(problem: Problem) -> str:
    """The C name of a problem's kernel, `conv2d_f32_n1k64c64h56w56r3s3_s1p1`: letters, digits and `_` only."""
    extents = "".join(f"{dim}{extent}" for dim, extent in problem.dims)
    windows = [f"s{w.stride}p{w.before}" + (f"d{w.dilation}" if w.dilation > 1 else "") for w in problem.windows]
    return "_".join([problem.op, problem.dtype, extents, *dict.fromkeys(windows)])


def microkernels_of(scheme: Scheme, isa: Isa) -> tuple[Microkernel, ...]:
    """The register tiles a scheme is composed of, as microkernels of `isa`."""
    problem = scheme.problem
    stride = max((window.stride for window in problem.windows), default=1)
    found = []
    for tile in scheme.tiles:
        rows = tuple((d, tile[d]) for d in problem.row_dims if tile[d] > 1)
        unrolled = tuple((d, tile[d]) for d in problem.reductions if tile[d] > 1)
        found.append(Microkernel(problem.op, isa.name, rows, tile[problem.vector_dim], unrolled, stride, problem.dtype))
    return tuple(dict.fromkeys(found))


def describe(kernel: Microkernel, isa: Isa) -> str:
    """One line of what a microkernel does per step of its inner loop."""
    loads = kernel.steps * (kernel.vectors + kernel.row_count)
    return (
        f"{kernel.name}: {kernel.fmas} FMAs, at most {loads} loads and no stores per step, "
        f"{min(kernel.registers, isa.registers)} of {isa.registers} registers ({kernel.accumulators} accumulators)"
    )


def _check(scheme: Scheme, isa: Isa) -> None:
    problem = scheme.problem
    output = problem.output.name
    if scheme.lanes != isa.lanes:
        raise SchemeError(
            f"V({problem.vector_dim},{scheme.lanes}): {isa.name} has vectors of {isa.lanes} lanes; "
            f"end the scheme with V({problem.vector_dim},{isa.lanes})"
        )
    if not any(isinstance(s, Stage) and s.tensor == output for s in scheme.specifiers):
        raise SchemeError(f"S({output}) is missing: it marks where the register tile of {output} is held")
    inside = False
    for s in scheme.specifiers:
        inside = inside or (isinstance(s, Stage) and s.tensor == output)
        if isinstance(s, Matrix):
            raise SchemeError(f"{s}: matrix instructions belong to a GPU")
        if isinstance(s, Stage) and (s.tensor != output or s.depth != 1):
            raise SchemeError(f"{s}: on a CPU only the output is staged, in registers; weights are packed ahead")
        if isinstance(s, Tile) and s.worker not in (None, "core"):
            raise SchemeError(f"{s}: a CPU has cores, not {s.worker}s")
        if isinstance(s, Lambda) and s.dim in problem.reductions:
            raise SchemeError(f"{s}: {s.dim} is summed over; compose output dims instead")
    for tile in scheme.tiles:
        vectors = tile[problem.vector_dim]
        rows = 1
        for dim in problem.row_dims:
            rows *= tile[dim]
        if rows * vectors > isa.registers:
            raise SchemeError(
                f"the register tile of {rows} rows × {vectors} vectors needs {rows * vectors} accumulators, "
                f"{isa.name} has {isa.registers} registers"
            )


def _streamable(scheme: Scheme) -> bool:
    """Streaming stores need whole, aligned vectors and a tile that is written exactly once."""
    problem = scheme.problem
    whole = problem.extents[problem.vector_dim] % scheme.lanes == 0
    outside = scheme.specifiers[: next(i for i, s in enumerate(scheme.specifiers) if isinstance(s, Stage))]
    return whole and not any(isinstance(s, (Rest, Tile)) and s.dim in problem.reductions for s in outside)


def _operands(problem: Problem) -> list[str]:
    names = zip("XWY", (problem.broadcast, problem.vector, problem.output))
    return [
        f"{c_name}: {tensor.name}[{', '.join(map(str, tensor.indices))}] of {' x '.join(map(str, tensor.shape))}"
        for c_name, tensor in names
    ]


def _strides(problem: Problem) -> list[tuple[str, int]]:
    """(name, elements) of every named stride, X_PAD being how far the first tap stands before x."""
    found = []
    for prefix, tensor in (("X", problem.broadcast), ("Y", problem.output)):
        found += [(f"{prefix}_{dim}", tensor.stride(dim)) for dim in problem.extents if dim in tensor.dims]
    before = sum(-index.offset * s for index, s in zip(problem.broadcast.indices, problem.broadcast.strides))
    return [*found, ("X_PAD", before), ("W_PANEL", problem.reduction_length)]


@dataclass
class _Nest:
    """Collects the tile functions while the outer loops are written."""

    scheme: Scheme
    isa: Isa
    stream: bool
    functions: list[TileFunction] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    masked: bool = False

    def body(self, nodes: tuple[Node, ...], path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        """Lines of `nodes`; `at` has the C expression of the current position along each dim."""
        lines = []
        for node in nodes:
            if isinstance(node, Staged):
                lines += self._site(node, path, at)
            elif node.worker == "core":
                lines += self._cores(node, path, at)
            else:
                lines += self._loop(node, path, at)
        return lines

    def _loop(self, loop: Loop, path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        base = at[loop.dim]
        begin = _plus(base, loop.start)
        if loop.trips == 1:
            return self.body(loop.body, (*path, loop), {**at, loop.dim: begin})
        name = self._variable(loop)
        advance = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        head = f"for (long {name} = {begin}; {name} < {_plus(base, loop.start + loop.points)}; {advance}) {{"
        inside = self.body(loop.body, (*path, loop), {**at, loop.dim: name})
        return [head, *(INDENT + line for line in inside), "}"]

    def _cores(self, loop: Loop, path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        """All core loops together: one parallel loop over workers, each with its own tile of every dim."""
        bound = [loop]
        while isinstance(bound[-1].body[0], Loop) and bound[-1].body[0].worker == "core":
            bound.append(bound[-1].body[0])
        tasks = spatial(*(b.trips for b in bound))
        lines, here = [], dict(at)
        for axis, b in enumerate(bound):
            name = self._variable(b)
            lines.append(f"const long {name} = {_plus(here[b.dim])}({tasks.index(axis, 'worker')}) * {b.step};")
            here[b.dim] = name
        lines += self.body(bound[-1].body, (*path, *bound), here)
        return [
            "#pragma omp parallel for num_threads(THREADS) schedule(static)",
            f"for (long worker = 0; worker < {tasks.workers}; ++worker) {{",
            *(INDENT + line for line in lines),
            "}",
        ]

    def _variable(self, loop: Loop) -> str:
        """`h` for the innermost loop over h, `h_1`, `h_2`, … outwards."""
        depth, node = 0, loop.body
        while node and isinstance(node[0], (Loop, Staged)):
            inner = node[0]
            depth += isinstance(inner, Loop) and inner.dim == loop.dim and (inner.trips > 1 or inner.worker is not None)
            node = inner.body
        return f"{loop.dim}_{depth}" if depth else loop.dim

    def _site(self, staged: Staged, path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        inner, nodes = [], staged.body
        while isinstance(nodes[0], Loop):
            inner.append(nodes[0])
            nodes = nodes[0].body
        register = nodes[0]
        assert isinstance(register, Register)
        site = Site(self.scheme.problem, path, tuple(inner), register)
        number = len(self.sites)
        self.sites.append(site)
        lines = [line for window in site.bounded for line in _bounds(window, at, self.scheme.problem)]
        call = self._arguments(site, at)
        last_vector, masks = self._masks(site)
        choices = [((), "")]
        for index, clipping in enumerate(site.clipped):
            choices = [((*clips, clip), label + _label(clipping, clip)) for clips, label in choices for clip in clipping.clips]
        names = {}
        for clips, label in choices:
            for tail in masks:
                name = f"tile{number}_{self._tile_name(site)}{label}{'_tail' if tail else ''}"
                variant = Variant(clips, tail)
                comment = self._comment(site, variant)
                self.functions.append(tile_function(site, self.isa, name, variant, comment, self.stream))
                names[variant] = name
        calls = self._dispatch(site, at, names, masks, last_vector, call)
        # Branches of one iteration stand side by side and each declares its own bounds.
        return ["{", *(INDENT + line for line in (*lines, *calls)), "}"] if lines else calls

    def _masks(self, site: Site) -> tuple[int, tuple[bool, ...]]:
        """Where the last panel starts, and which of (whole, masked) tiles occur at this site."""
        problem = self.scheme.problem
        extent = problem.extents[problem.vector_dim]
        places = starts(site.outer, problem.vector_dim)
        width = site.extents[problem.vector_dim]
        reaches_end = places[-1] + width > extent
        self.masked = self.masked or reaches_end
        masks = ((False,) if len(places) > 1 or not reaches_end else ()) + ((True,) if reaches_end else ())
        return places[-1], masks

    def _arguments(self, site: Site, at: dict[str, str]) -> str:
        problem = self.scheme.problem

        def address(base: str, prefix: str, dims) -> str:
            return _sum(base, [f"{_paren(at[d])} * {prefix}_{d}" for d in dims if at[d] != "0"])

        x = address("X", "X", [d for d in problem.extents if d in problem.broadcast.dims])
        x = x + " - X_PAD" if any(index.offset for index in problem.broadcast.indices) else x
        vector_dim = problem.vector_dim
        w = _sum("W", [f"{_paren(at[vector_dim])} * W_PANEL"] if at[vector_dim] != "0" else [])
        for level, loop in enumerate(site.outer):
            if loop.dim in problem.reductions and loop.trips > 1:
                skip = outer_panel_stride(site, level)
                base = self._outer_base(site, level)
                here = f"({self._variable(loop)} - {base})" if base else self._variable(loop)
                w += f" + {here} * {skip} * PANEL_{site.vectors}"
        y = address("Y", "Y", [d for d in problem.extents if d in problem.output.dims])
        passed = [x, w, y]
        for parameter in parameters(site, self.stream):
            name = parameter.split()[-1]
            passed.append(self._first(site, at) if name == "first" else name)
        return ", ".join(passed)

    def _outer_base(self, site: Site, level: int) -> str:
        """The variable of the loop over the same dim around this one, whose position is counted already."""
        for loop in reversed(site.outer[:level]):
            if loop.dim == site.outer[level].dim and loop.trips > 1:
                return self._variable(loop)
        return ""

    def _first(self, site: Site, at: dict[str, str]) -> str:
        dims = {loop.dim for loop in site.outer if loop.dim in self.scheme.problem.reductions and loop.trips > 1}
        return " && ".join(f"{at[dim]} == 0" for dim in sorted(dims))

    def _dispatch(self, site, at, names, masks, last_vector, call) -> list[str]:
        """Picks the function by position: first the masked last panel, then each clipped window."""
        vector_dim = self.scheme.problem.vector_dim

        def windows(index: int, clips: tuple, tail: bool) -> list[str]:
            if index == len(site.clipped):
                return [f"{names[Variant(clips, tail)]}({call});"]
            clipping = site.clipped[index]
            by_tap = []
            for tap in clipping.taps:
                cases = [case for case in clipping.cases if case.tap == tap]
                # The tiles that touch no padding are the most, so their test comes first.
                cases.sort(key=lambda case: case.clip != clipping.whole)
                arms = [
                    (_within(at[clipping.window.dim], case, cases), windows(index + 1, (*clips, case.clip), tail))
                    for case in cases
                ]
                by_tap.append((f"{at[clipping.window.tap]} == {tap}", _branch(arms)))
            return _branch(by_tap)

        arms = [(f"{at[vector_dim]} {'==' if tail else '<'} {last_vector}", windows(0, (), tail)) for tail in masks]
        return _branch(arms)

    def _tile_name(self, site: Site) -> str:
        problem = self.scheme.problem
        order = (*problem.row_dims, problem.vector_dim, *problem.reductions)
        return "x".join(f"{site.extents[d]}{d}" for d in order if site.extents[d] > 1) or "1"

    def _comment(self, site: Site, variant: Variant) -> str:
        loops = ", ".join(f"{loop.dim} by {loop.step} to {loop.points}" for loop in site.inner if loop.trips > 1)
        parts = [f"{len(site.rows)} rows x {site.vectors} vectors, summed over {loops or 'one step'}"]
        for clipping, clip in zip(site.clipped, variant.clips):
            if clip == clipping.whole:
                continue
            rows = " ".join(
                f"{tap}:{low}-{high - 1}" if high > low else f"{tap}:none" for tap, (low, high) in enumerate(clip)
            )
            window = clipping.window
            parts.append(f"padding along {window.dim}: rows on the image for each tap of {window.tap} are {rows}")
        if variant.tail:
            parts.append("the last vector is masked")
        return "; ".join(parts)


def _label(clipping, clip) -> str:
    """`_wleft`-like suffix of a function's name, empty for tiles off the padding."""
    if clip == clipping.whole:
        return ""
    return f"_{clipping.window.dim}pad{clipping.clips.index(clip)}"


def _bounds(window, at: dict[str, str], problem: Problem) -> list[str]:
    """Declares the range of taps on the image for the row at `at`."""
    taps = problem.extents[window.tap]
    start, tap = f"{window.dim}_in", window.tap
    step = window.dilation
    first = f"-{start}" if step == 1 else f"({step - 1} - {start}) / {step}"
    left = f"{window.extent} - {start}"
    end = left if step == 1 else f"({left} + {step - 1}) / {step}"
    return [
        f"const long {start} = {_times(window.stride, at[window.dim])} - {window.before};",
        f"const long {tap}_begin = {start} < 0 ? {first} : 0;",
        f"const long {tap}_end = {end} < {taps} ? {end} : {taps};",
    ]


def _within(position: str, case: Case, cases: list[Case]) -> str:
    """The test that `position` belongs to `case` rather than to another of `cases`, which tile the dim in order."""
    tests = []
    if any(other.last < case.first for other in cases):
        tests.append(f"{position} >= {case.first}")
    if any(other.first > case.last for other in cases):
        tests.append(f"{position} <= {case.last}")
    return " && ".join(tests)


def _branch(arms: list[tuple[str, list[str]]]) -> list[str]:
    """An if/else chain whose last arm needs no test; a single arm needs no branch at all."""
    if len(arms) == 1:
        return arms[0][1]
    lines = []
    for number, (test, inside) in enumerate(arms):
        head = f"if ({test}) {{" if number == 0 else f"}} else if ({test}) {{"
        lines += ["} else {" if number == len(arms) - 1 else head, *(INDENT + line for line in inside)]
    return [*lines, "}"]


def _plus(base: str, offset: int | None = None) -> str:
    if offset is None:
        return "" if base == "0" else f"{base} + "
    if base == "0":
        return str(offset)
    return f"{base} + {offset}" if offset else base


def _times(factor: int, text: str) -> str:
    return text if factor == 1 else f"{factor} * {_paren(text)}"


def _paren(text: str) -> str:
    return text if text.replace("_", "").isalnum() else f"({text})"


def _sum(base: str, terms: list[str]) -> str:
    return " + ".join([base, *terms])
