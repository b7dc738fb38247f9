"""Prints the loops around the register tiles of a scheme as C.

Loops over tiles become C loops whose variables are positions (`h` runs over 0, 14, 28 …). Core loops become one
parallel loop; the task map unfolds its worker number. Each register tile becomes a function for each case of padding
and masking (`cpu.codegen.site`), picked by position.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cpu.codegen.dispatch import bounds, dispatch, label
from cpu.codegen.expression import indented
from cpu.codegen.site import Site
from cpu.codegen.tile import (
    TileFunction,
    Variant,
    emitter_of,
    outer_panel_stride,
    panel_width,
    parameters,
    tile_function,
)
from microkernels.tile.isa import Isa
from tiling.expression import added, times
from tiling.loops.nest import Loop, Node, Staged, around, starts
from tiling.loops.prefetch import PREFETCH_DISTANCE
from tiling.scheme import Scheme
from tiling.taskmap import spatial


@dataclass
class Nest:
    """Prints the outer loops in one walk, and collects the tile functions on the way."""

    scheme: Scheme
    isa: Isa
    threads: int
    stream: bool
    functions: list[TileFunction] = field(default_factory=list)
    shapes: dict[tuple[tuple[int, int], ...], str] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    masked: bool = False

    @property
    def has_prefetches(self) -> bool:
        """Whether a tile prefetches operands of later tiles."""
        return any(site.prefetches for site in self.sites)

    @property
    def prefetch_distance(self) -> int:
        """How many steps ahead weights or x are prefetched into L1. 0 if no tile does that."""
        return PREFETCH_DISTANCE if any(site.streams_past_l1 or site.apart for site in self.sites) else 0

    def whole(self, nodes: tuple[Node, ...]) -> list[str]:
        """The lines of the whole nest. Streamed outputs are in memory at their end."""
        lines = self.body(nodes, (), {dim: "0" for dim in self.scheme.problem.extents})
        cores = isinstance(nodes[0], Loop) and nodes[0].worker == "core"
        return lines if cores else self._of_worker(lines)

    def _of_worker(self, lines: list[str]) -> list[str]:
        """The lines of one worker, with its first and last statements.

        Each worker has its own: a fence orders the stores of its thread only, and tile registers belong to a thread.
        """
        lines = [*lines, f"{self.isa.stream_fence};"] if self.stream else lines
        if self.has_prefetches:
            lines = ["struct coming all = {0, 0, 0, 0}, *const coming = &all;", *lines]
        if not self.scheme.problem.by_matrix:
            return lines
        return ["const struct shapes *shape = 0;", *lines, f"{self.isa.matrix.release};"]

    def body(self, nodes: tuple[Node, ...], path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        """The lines of `nodes`. at: the current position along each dim, as C text."""
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
        begin = added(base, loop.start)
        name = begin if loop.trips == 1 else self._variable(loop)
        first = len(self.sites)
        inside = self.body(loop.body, (*path, loop), {**at, loop.dim: name})
        prefetches = self._prefetches(loop, self.sites[first:], {**at, loop.dim: name})
        inside = indented([*prefetches, *inside]) if prefetches or loop.trips > 1 else inside
        if loop.trips == 1:
            return ["{", *inside, "}"] if prefetches else inside
        advance = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        head = f"for (long {name} = {begin}; {name} < {added(base, loop.start + loop.points)}; {advance}) {{"
        return [head, *inside, "}"]

    def _prefetches(self, loop: Loop, sites: list[Site], at: dict[str, str]) -> list[str]:
        """The lines that set what the tiles of `sites` prefetch in an iteration of `loop`: pieces of the next one."""
        lines = []
        for name, array in (("x", "X"), ("w", "W")):
            found = ((site, piece) for site in sites for piece in site.prefetches)
            site, piece = next(((s, p) for s, p in found if p.array == name and p.loop is loop), (None, None))
            if piece:
                first, size = f"next_{name}", f"sizeof *{array}, {array}_BYTES"
                lines += [
                    f"const long {first} = {self._weights(site, at, loop) if name == 'w' else self._rows(at, loop)};",
                    f"coming->{name} = place({array}, {first} * {size});",
                    f"coming->{name}_end = place({array}, ({first} + {piece.elements}) * {size});",
                ]
        return lines

    def _rows(self, at: dict[str, str], loop: Loop) -> str:
        """The offset from X of the rows that the next iteration of `loop` is the first to read, as C text. They are the
        last rows that its windows reach.
        """
        problem, x = self.scheme.problem, self.scheme.problem.broadcast
        then = {**at, loop.dim: added(at[loop.dim], loop.step)}
        terms = [times(then[d], f"X_{d}") for d in problem.row_dims if d in x.dims]
        less = " - X_PAD" if any(index.offset for index in x.indices) else ""
        for window in problem.windows:
            if window.dim == loop.dim and problem.extents[window.tap] > 1:
                terms.append(f"{problem.extents[window.tap] - 1} * X_{window.tap}")
            if window.dim == loop.dim and window.stride > 1:
                less += f" - {(window.stride - 1) * x.stride(window.tap) // window.dilation}"
        return added(*terms) + less

    def _weights(self, site: Site, at: dict[str, str], next_of: Loop | None = None) -> str:
        """The offset from W of the packed weights that are read at position `at`, as C text.

        next_of: the innermost loop in `at`. With it, the offset of the weights that its next iteration reads.
        """
        problem, dim = self.scheme.problem, self.scheme.problem.panel_dim
        panel = added(at[dim], next_of.step) if next_of and next_of.dim == dim else at[dim]
        terms = [times(at[d], f"W_{d}") for d in problem.looped_dims if d in problem.packed.dims]
        terms.append(times(panel, "W_PANEL"))
        for level, loop in enumerate(site.outer):
            if loop.dim in problem.reductions and loop.trips > 1:
                base, step = self._outer_base(site, level), f" + {loop.step}" if loop is next_of else ""
                here = f"{self._variable(loop)}{step}" + (f" - {base}" if base else "")
                terms.append(times(here, f"{outer_panel_stride(site, level)} * {panel_width(site)}"))
            if loop is next_of:
                break
        return added(*terms)

    def _cores(self, loop: Loop, path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        """All core loops together: one parallel loop over workers. Each worker has its own tile of every dim."""
        bound = [loop]
        while isinstance(bound[-1].body[0], Loop) and bound[-1].body[0].worker == "core":
            bound.append(bound[-1].body[0])
        tasks = spatial(*(b.trips for b in bound))
        lines, here = [], dict(at)
        for axis, b in enumerate(bound):
            name = self._variable(b)
            place = times(tasks.index(axis, "worker"), b.step)
            lines.append(f"const long {name} = {added(here[b.dim], place)};")
            here[b.dim] = name
        inside = bound[-1].body
        lines += self._of_worker(self.body(inside, (*path, *bound), here))
        loop = f"for (long worker = 0; worker < {tasks.workers}; ++worker) {{"
        pragma = ["#pragma omp parallel for num_threads(THREADS) schedule(static)"] if self.threads > 1 else []
        return [*pragma, loop, *indented(lines), "}"]

    def _variable(self, loop: Loop) -> str:
        """`h` for the innermost loop over h, `h_1`, `h_2`, … outwards."""
        depth = _depth(loop.body, loop.dim)
        return f"{loop.dim}_{depth}" if depth else loop.dim

    def _site(self, staged: Staged, path: tuple[Loop, ...], at: dict[str, str]) -> list[str]:
        site = Site(self.scheme.problem, around(staged, path))
        number = len(self.sites)
        self.sites.append(site)
        lines = [line for window in site.bounded for line in bounds(window, at, self.scheme.problem)]
        calls = self._shaped(site) + self._calls(site, number, at)
        # An iteration may hold several branches side by side, and each declares its own bounds.
        return ["{", *indented([*lines, *calls]), "}"] if lines else calls

    def _calls(self, site: Site, number: int, at: dict[str, str]) -> list[str]:
        """Adds the functions of a site. Returns the lines that call one at `at`."""
        call = self._arguments(site, at)
        last_vector, masks = self._masks(site)
        choices = [((), "")]
        for clipping in site.clipped:
            choices = [
                ((*clips, clip), text + label(clipping, clip)) for clips, text in choices for clip in clipping.clips
            ]
        names = {}
        for clips, text in choices:
            for tail in masks:
                name = f"tile{number}_{self._tile_name(site)}{text}{'_tail' if tail else ''}"
                variant = Variant(clips, tail)
                comment = self._comment(site, variant)
                self.functions.append(tile_function(site, self.isa, name, variant, comment, self.stream))
                names[clips, tail] = name
        return dispatch(site, at, names, masks, last_vector, call)

    def _shaped(self, site: Site) -> list[str]:
        """The statement that sets the shapes of tile registers. Empty if the site has no tile registers."""
        if not site.problem.by_matrix:
            return []
        name = self.shapes.setdefault(emitter_of(site, self.isa).shapes(), f"SHAPES_{len(self.shapes)}")
        return [f"{self.isa.matrix.shaped.format(p=name)};"]

    def _masks(self, site: Site) -> tuple[int, tuple[bool, ...]]:
        """Where the last panel starts, and whether whole (False) and masked (True) tiles occur at this site."""
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
            return added(base, *(times(at[d], f"{prefix}_{d}") for d in dims))

        given = problem.tensors[0]
        x = address("X", "X", [d for d in problem.extents if d in given.dims])
        x = x + " - X_PAD" if any(index.offset for index in given.indices) else x
        values = {}
        w = added("W", self._weights(site, at))
        y = address("Y", "Y", [d for d in problem.extents if d in problem.output.dims])
        passed = [x, w, y]
        for array in problem.epilogue_arrays:
            dims = [d for d in problem.extents if d in array.dims]
            values[f"e_{array.name}"] = address(f"E_{array.name}", f"STEP_{array.name}", dims)
        if not site.single_pass:
            values |= {"first": self._pass(site, at, 0), "last": self._pass(site, at, -1)}
        for parameter in parameters(site, self.stream):
            name = parameter.split()[-1].lstrip("*")
            passed.append(values.get(name, name))
        return ", ".join(passed)

    def _outer_base(self, site: Site, level: int) -> str:
        """The variable of the loop over the same dim around this one: its position is counted already."""
        for loop in reversed(site.outer[:level]):
            if loop.dim == site.outer[level].dim and loop.trips > 1:
                return self._variable(loop)
        return ""

    def _pass(self, site: Site, at: dict[str, str], which: int) -> str:
        """The test that this pass over a tile is the first (which = 0) or the last (-1)."""
        dims = {loop.dim for loop in site.outer if loop.dim in self.scheme.problem.reductions and loop.trips > 1}
        return " && ".join(f"{at[dim]} == {starts(site.outer, dim)[which]}" for dim in sorted(dims))

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


def _depth(nodes: tuple[Node, ...], dim: str) -> int:
    """How many loops over `dim` stand inside each other in `nodes`. For a λ: in its deepest branch."""
    depths = [0]
    for node in nodes:
        if isinstance(node, Staged):
            depths.append(_depth(node.body, dim))
        elif isinstance(node, Loop):
            written = node.dim == dim and (node.trips > 1 or node.worker is not None)
            depths.append(written + _depth(node.body, dim))
    return max(depths)
