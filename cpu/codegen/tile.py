"""Prints a register tile of a site as a C function: accumulators, the reduction loops inside S(y), the stores."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from cpu.codegen.epilogue import call, compares_with_zero, operand, pointers
from cpu.codegen.expression import indented, terms
from cpu.codegen.flat_pixels import ROW, each_pixel, passes_gaps, pixel_of
from cpu.codegen.site import Clip, Site
from cpu.codegen.transposed_store import TransposedStore
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.emit import Row, unchanged
from microkernels.tile.isa import Isa
from microkernels.tile.matrix import MatrixEmitter, runs_of
from tiling.bias import stored, stored_arrays
from tiling.expression import added, times
from tiling.loops.nest import Loop
from tiling.loops.prefetch import LINE, NextOutputs
from tiling.scheme import LANE_BYTES
from tiling.tensor import Tensor


@dataclass(frozen=True)
class Variant:
    """What tells the functions of a site apart.

    clips: the clip of each clipped window, in order. tail: the last vector is masked.
    """

    clips: tuple[Clip, ...] = ()
    tail: bool = False


@dataclass(frozen=True)
class TileFunction:
    """The C text of a variant, and its comment."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[str, ...]
    comment: str


def tile_function(site: Site, isa: Isa, name: str, variant: Variant, comment: str, stream: bool) -> TileFunction:
    """Prints the function of `variant`. In it, x, w and y point at the tile's first row, panel and output."""
    emitter = emitter_of(site, isa)
    writer = _Writer(site, emitter, variant, stream)
    body = [
        f"const char *{p.array}_next = coming->{p.array}, *{p.array}_end = coming->{p.array}_end;"
        for p in site.prefetches
    ]
    body += writer.prefetch_outputs() + writer.next_outputs_from()
    body += writer.begun()
    body += writer.loops(0, "x", "w", {}) + emitter.put_down()
    finished = stored(site.problem) is not None or not site.problem.keeps_sums
    if stream:
        body += ["if (stream) {", *indented(writer.store(finished, True)), "} else {"]
        body += [*indented(writer.store(finished)), "}"]
    elif finished and not site.single_pass:
        body += ["if (last) {", *indented(writer.store(True)), "} else {", *indented(writer.store(False)), "}"]
    else:
        body += writer.store(finished)
    body += [f"coming->{p.array} = {p.array}_next;" for p in site.prefetches]
    output = ELEMENTS[site.problem.output_dtype].c
    arrays = (f"const {isa.x_type(site.problem)} *x", f"const {isa.word} *w", f"{output} *y")
    return TileFunction(name, arrays + parameters(site, stream), tuple(body), comment)


def emitter_of(site: Site, isa: Isa) -> MatrixEmitter:
    """The emitter that prints the statements of a site's register tile."""
    problem = site.problem
    runs = runs_of(problem, site.extents, isa.matrix.rows)
    return MatrixEmitter(
        isa,
        len(site.rows),
        site.vectors,
        output=problem.output_dtype,
        runs=runs,
        block=problem.bytes_per_element,
    )


def parameters(site: Site, stream: bool) -> tuple[str, ...]:
    """The parameters of a tile function after x, w and y."""
    bounds = tuple(f"long {w.tap}_{end}" for w in site.bounded for end in ("begin", "end"))
    bounds += ("long point",) if passes_gaps(site.problem) else ()
    passes = () if site.single_pass else ("int first", "int last") if stored(site.problem) else ("int first",)
    prefetches = ("struct coming *coming",) if site.prefetches else ()
    return pointers(site.problem, "e") + bounds + passes + (("int stream",) if stream else ()) + prefetches


@dataclass(frozen=True)
class _Writer:
    """Prints the reduction loops of a site for one variant, by recursion, and the lines before and after them."""

    site: Site
    emitter: MatrixEmitter
    variant: Variant
    stream: bool

    def loops(self, level: int, x: str, w: str, taps: dict[str, int]) -> list[str]:
        """The lines of the loops from `level` inwards. taps: the static tap offset of each clipped window."""
        while level < len(self.site.inner) and self.site.inner[level].trips == 1:
            level += 1
        if level == len(self.site.inner):
            return self._prefetch(x, w) + self._step(x, w, taps)
        loop = self.site.inner[level]
        name = self._variable(level)
        if any(window.tap == loop.dim for window in self.site.bounded):
            head = f"for (long {name} = {loop.dim}_begin; {name} < {loop.dim}_end; ++{name}) {{"
            return [head, *self._body(level, name, name, x, w, taps), "}"]
        for clipping, clip in zip(self.site.clipped, self.variant.clips):
            if clipping.window.tap == loop.dim and clip != clipping.whole:
                return self._peeled(level, clip, x, w, taps)
        head = f"for (long {name} = 0; {name} < {loop.points}; {_advance(name, loop.step)}) {{"
        return [head, *self._body(level, name, name, x, w, taps), "}"]

    def _peeled(self, level: int, clip: Clip, x: str, w: str, taps: dict[str, int]) -> list[str]:
        """A loop over taps that apply to different rows. It is split into runs of taps with equal rows."""
        loop, name = self.site.inner[level], self._variable(level)
        base = taps.get(loop.dim, 0)
        slices = [clip[base + i * loop.step : base + (i + 1) * loop.step] for i in range(loop.trips)]
        lines, i = [], 0
        while i < loop.trips:
            run = 1
            while i + run < loop.trips and slices[i + run] == slices[i]:
                run += 1
            here = {**taps, loop.dim: base + i * loop.step}
            first, last = i * loop.step, (i + run) * loop.step
            if any(low < high for low, high in slices[i]):
                head = (
                    f"for (long {name} = {first}; {name} < {last}; {_advance(name, loop.step)}) {{"
                    if run > 1
                    else f"{{ /* {loop.dim} = {first} */"
                )
                lines += [head, *self._body(level, name, name if run > 1 else str(first), x, w, here), "}"]
            i += run
        return lines

    def prefetch_outputs(self) -> list[str]:
        """The lines that prefetch y before the first pass sums, so that it is near when the sums are stored."""
        if self.stream or not self.site.prefetched_outputs:
            return []
        problem, dim = self.site.problem, self.site.problem.vector_dim
        unused = -problem.extents[dim] % self.site.register.lanes if self.variant.tail else 0
        head = f"for (long {dim} = 0; {dim} < {self.site.extents[dim] - unused}; ++{dim}) {{"
        lines = [
            f"__builtin_prefetch({added('y', f'{dim} * Y_{dim}', *terms('Y', dict(start), problem.output), at)}, 1, 2);"
            for start, at in self.site.prefetched_outputs
        ]
        return [head if self.site.single_pass else f"if (first) {head}", *indented(lines), "}"]

    @property
    def next_outputs(self) -> NextOutputs | None:
        """The next tile's outputs to prefetch. None if stores stream past the caches."""
        return None if self.stream else self.site.next_outputs

    def next_outputs_from(self) -> list[str]:
        """The line that declares where the next tile's outputs begin."""
        if not self.next_outputs:
            return []
        loop, problem = self.next_outputs.loop, self.site.problem
        there = added("y", *terms("Y", {loop.dim: loop.step}, problem.output))
        return [f"const {ELEMENTS[problem.output_dtype].c} *y_next = {there};"]

    def begun(self) -> list[str]:
        """The sums, which begin with zero, or with what an earlier pass stored."""
        later = [] if self.site.single_pass else indented(self.resume() + self.emitter.taken_up())
        return self.emitter.declare() + (["if (!first) {", *later, "}"] if later else [])

    def resume(self) -> list[str]:
        """The lines that load what an earlier pass stored into the accumulators."""
        if self.site.problem.transposed_output:
            return TransposedStore(self.site, self.emitter, self.variant.tail).resume()
        return self._of_pixels(self.emitter.resume(self._outputs(), self.variant.tail))

    def store(self, finished: bool, stream: bool = False) -> list[str]:
        """The lines that store the accumulators. finished: `finish` is applied to them."""
        left = stored(self.site.problem) if finished else None
        zero = [f"const {self.emitter.isa.vector_type} zero = zeros;"] if left and compares_with_zero(left) else []
        if self.site.problem.transposed_output:
            return zero + TransposedStore(self.site, self.emitter, self.variant.tail).store(finished, stream)
        finish = self.finish if finished else unchanged
        return zero + self._of_pixels(self.emitter.store(self._outputs(), self.variant.tail, stream, finish))

    def _outputs(self) -> dict[Row, str]:
        rows = [ROW] if passes_gaps(self.site.problem) else range(len(self.site.rows))
        return {row: added("y", *terms("Y", self._row(row), self.site.problem.output)) for row in rows}

    def _row(self, row: Row) -> dict[str, int | str]:
        """The offset of a row from the row that the pointers point at."""
        return pixel_of(self.site.extents) if row == ROW else self.site.rows[row]

    def _of_pixels(self, lines: list[str]) -> list[str]:
        """Repeats the lines of a row for all rows that are pixels of y, if some are not."""
        return each_pixel(self.site.extents, lines) if passes_gaps(self.site.problem) else lines

    def finish(self, acc: str, row: Row, v: int) -> str:
        """The vector to store for an accumulator, as C text. An array of the epilogue is read where it is used."""
        problem = self.site.problem
        arrays = [self._operand(array, row, v) for array in stored_arrays(problem)]
        return call(stored(problem), self.emitter.isa.floats.format(v=acc), arrays)

    def _operand(self, array: Tensor, row: Row, v: int) -> str:
        """Vector `v` of an array of the epilogue at a row of the tile."""
        address = added(f"e_{array.name}", *terms(f"STEP_{array.name}", self._row(row), array))
        tail = self.variant.tail and v == self.site.vectors - 1
        return operand(self.emitter.isa, self.site.problem, array, address, v, tail)

    def _body(self, level: int, name: str, at: str, x: str, w: str, taps: dict[str, int]) -> list[str]:
        loop = self.site.inner[level]
        x_here, w_here = f"x_{name}", f"w_{name}"
        lines = [
            f"const {self.emitter.isa.x_type(self.site.problem)} *{x_here} = {added(x, times(at, f'X_{loop.dim}'))};",
            f"const {self.emitter.isa.word} *{w_here} = {added(w, times(at, panel_stride(self.site, level)))};",
        ]
        return indented(lines + self.loops(level + 1, x_here, w_here, taps))

    def _prefetch(self, x: str, w: str) -> list[str]:
        """The lines that prefetch, in each step, what is multiplied next."""
        lines, vectors = [], self.site.vectors
        if self.site.streams_past_l1:
            steps = f"{w} + STEPS_AHEAD * PANEL_{vectors}"
            words = range(0, vectors * self.emitter.isa.lanes, LINE // LANE_BYTES)
            lines += [f"__builtin_prefetch({added(steps, at)}, 0, 3);" for at in words]
        if self.site.apart:
            steps, given = f"{x} + STEPS_AHEAD * X_{self.site.apart.dim}", self.site.problem.tensors[0]
            places = (added(steps, *terms("X", dict(start), given), at) for start, at in self.site.apart.lines)
            lines += [f"__builtin_prefetch({place}, 0, 3);" for place in places]
        if following := self.next_outputs:
            output = self.site.problem.output
            places = [added("y_next", *terms("Y", dict(start), output), at) for start, at in following.places]
            lines.append(f"for (long line = 0; line < {following.lines}; ++line, y_next += {following.in_line}) {{")
            lines += [*indented([f"__builtin_prefetch({place}, 1, 3);" for place in places]), "}"]
        for piece in self.site.prefetches:
            often = f"if ({piece.dim} % {piece.every} == 0) " if piece.dim else ""
            lines += [f"{often}{piece.array}_next = to_l2({piece.array}_next, {piece.array}_end);"] * piece.lines
        return lines

    def _step(self, x: str, w: str, taps: dict[str, int]) -> list[str]:
        """Each unrolled reduction point. Taps reach a run of rows as a whole or not at all."""
        lines, broadcast = [], self.site.problem.broadcast
        for number, point in enumerate(self.site.points):
            reached = {}
            for place, run in enumerate(self.emitter.runs):
                at = self.site.rows[run.first]
                if self._reached(at, point, taps):
                    reached[place] = added(x, *terms("X", {**at, **point}, broadcast))
            panel = w if number == 0 else f"{w} + {number} * PANEL_{self.site.vectors}"
            lines += self.emitter.multiply(panel, reached)
        return lines

    def _reached(self, row: dict[str, int], point: dict[str, int], taps: dict[str, int]) -> bool:
        for clipping, clip in zip(self.site.clipped, self.variant.clips):
            if clip == clipping.whole:
                continue
            low, high = clip[taps.get(clipping.window.tap, 0) + point[clipping.window.tap]]
            if not low <= row[clipping.window.dim] < high:
                return False
        return True

    def _variable(self, level: int) -> str:
        """`c` for the innermost loop over c, `c_1`, `c_2`, … outwards."""
        dim = self.site.inner[level].dim
        deeper = sum(loop.dim == dim and loop.trips > 1 for loop in self.site.inner[level + 1 :])
        return f"{dim}_{deeper}" if deeper else dim


def panel_stride(site: Site, level: int) -> str:
    """Floats of the packed panel between neighbouring points along an inner loop's dim, as C text.

    The panel holds the reduction points in the order of the loops. So the next point along a dim comes after all points
    of other dims that the loops inside visit.
    """
    loop, inside = site.inner[level], site.inner[level + 1 :]
    walked = _walked(site, loop.dim, inside)
    return panel_width(site) if walked == 1 else f"{walked} * {panel_width(site)}"


def panel_width(site: Site) -> str:
    """Floats of one reduction point in a packed panel, as C text."""
    return f"PANEL_{site.vectors}"


def _walked(site: Site, dim: str, inside: tuple[Loop, ...]) -> int:
    others = [d for d in site.problem.reductions if d != dim]
    return prod(site.extents[d] for d in others) * prod(loop.trips for loop in inside if loop.dim in others)


def outer_panel_stride(site: Site, level: int) -> int:
    """As `panel_stride`, in points, for reduction loop number `level` outside the site."""
    loop = site.outer[level]
    return _walked(site, loop.dim, (*site.outer[level + 1 :], *site.inner))


def _advance(name: str, step: int) -> str:
    return f"++{name}" if step == 1 else f"{name} += {step}"
