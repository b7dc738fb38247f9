"""The loops around the register tiles of a scheme, as lines of C.

The nest is walked once. Loops over tiles become C loops whose variables are positions (`h` runs over 0, 14, 28 …),
core loops become one parallel loop whose worker number is unfolded by the task map, and each register tile becomes
a function, one for each case of padding and masking that occurs (`cpu.site`), picked by position.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from cpu.dispatch import bounds, dispatch, label
from cpu.expression import chosen, indented
from cpu.panel import Panel, Pixels
from cpu.planes import Strip, next_strip, passes_gaps
from cpu.site import Site
from cpu.tile import (
    TileFunction,
    Variant,
    emitter_of,
    outer_panel_stride,
    panel_width,
    parameters,
    tile_function,
)
from microkernels.isa import Isa
from tiling.ahead import LINE, STEPS_AHEAD
from tiling.expression import added, times
from tiling.nest import Loop, Node, Staged, around, starts
from tiling.pointwise import panel_elements
from tiling.scheme import WORD_BYTES, Scheme
from tiling.taskmap import spatial


@dataclass
class Nest:
    """Collects the tile functions while the outer loops are written."""

    scheme: Scheme
    isa: Isa
    threads: int
    stream: bool
    functions: list[TileFunction] = field(default_factory=list)
    shapes: dict[tuple[tuple[int, int], ...], str] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    masked: bool = False

    @property
    def looks_ahead(self) -> bool:
        """Whether some tile brings what is multiplied next nearer."""
        return any(site.ahead for site in self.sites)

    @cached_property
    def panel(self) -> int:
        """Bytes of the panel of x that every thread has; 0 where the scheme stages none."""
        x = self.scheme.problem.broadcast if self._strips else self.scheme.problem.vector
        elements = x.elements if self._strips else panel_elements(self.scheme)
        return elements * self.scheme.problem.bytes_of(x)

    @property
    def _strips(self) -> bool:
        """Whether x is copied strip by strip."""
        return self.scheme.problem.plane is not None and self.scheme.problem.plane.strip > 0

    @property
    def steps_ahead(self) -> int:
        """How many steps before their turn weights or x come to L1; 0 where no tile asks for them."""
        return STEPS_AHEAD if any(site.streams_past_l1 or site.apart for site in self.sites) else 0

    def _shared(self, loops: tuple[Loop, ...], at: dict[str, str]) -> Panel | Strip:
        """What S(x) inside `loops` stages."""
        problem = self.scheme.problem
        return Strip(problem, loops, at) if self._strips else Panel(problem, self.isa.lanes, loops, at)

    def whole(self, nodes: tuple[Node, ...]) -> list[str]:
        """Lines of the whole nest; streamed outputs are in memory when it returns."""
        lines = self.body(nodes, (), {dim: "0" for dim in self.scheme.problem.extents})
        cores = isinstance(nodes[0], Loop) and nodes[0].worker == "core"
        return lines if cores else self._with_panel(self._of_worker(lines))

    def _with_panel(self, lines: list[str]) -> list[str]:
        """The lines of one thread, with its panel of x where the scheme stages that."""
        kind = self.isa.x_type(self.scheme.problem)
        return [f"{kind} *const panel = own_panel();", *lines, "free(panel);"] if self.panel else lines

    def _of_worker(self, lines: list[str]) -> list[str]:
        """All that one worker does, with what it does first and last. A fence orders the stores of its own thread only,
        and tile registers are a thread's own.
        """
        lines = [*lines, f"{self.isa.stream_fence};"] if self.stream else lines
        if self.looks_ahead:
            lines = ["struct coming all = {0, 0, 0, 0}, *const coming = &all;", *lines]
        if not self.scheme.problem.blocked:
            return lines
        return ["const struct shapes *shape = 0;", *lines, f"{self.isa.matrix.release};"]

    def body(
        self, nodes: tuple[Node, ...], path: tuple[Loop, ...], at: dict[str, str], panel: Panel | Strip | None = None
    ) -> list[str]:
        """Lines of `nodes`; `at` has the C expression of the current position along each dim; panel: that of x, inside
        S(x).
        """
        lines = []
        for node in nodes:
            if isinstance(node, Staged) and node.sums:
                lines += self._site(node, path, at, panel)
            elif isinstance(node, Staged):
                shared = self._shared(path, at)
                lines += shared.begin() + self.body(node.body, path, at, shared)
            elif node.worker == "core":
                lines += self._cores(node, path, at)
            else:
                lines += self._loop(node, path, at, panel)
        return lines

    def _loop(self, loop: Loop, path: tuple[Loop, ...], at: dict[str, str], panel: Panel | Strip | None) -> list[str]:
        base = at[loop.dim]
        begin = added(base, loop.start)
        name = begin if loop.trips == 1 else self._variable(loop)
        first = len(self.sites)
        inside = self.body(loop.body, (*path, loop), {**at, loop.dim: name}, panel)
        ahead = self._ahead(loop, self.sites[first:], {**at, loop.dim: name})
        inside = indented([*ahead, *inside]) if ahead or loop.trips > 1 else inside
        if loop.trips == 1:
            return ["{", *inside, "}"] if ahead else inside
        advance = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"
        head = f"for (long {name} = {begin}; {name} < {added(base, loop.start + loop.points)}; {advance}) {{"
        return [head, *inside, "}"]

    def _ahead(self, loop: Loop, sites: list[Site], at: dict[str, str]) -> list[str]:
        """Lines that say which pieces come after those that an iteration of `loop` reads in the tiles of `sites`."""
        lines = []
        for name, array in (("x", "X"), ("w", "W")):
            found = ((site, piece) for site in sites for piece in site.ahead)
            site, piece = next(((s, p) for s, p in found if p.array == name and p.loop is loop), (None, None))
            if piece and name == "x" and self._strips:
                lines += next_strip(self.scheme.problem, at)
            elif piece:
                first, size = f"next_{name}", f"sizeof *{array}, {array}_BYTES"
                lines += [
                    f"const long {first} = {self._weights(site, at, loop) if name == 'w' else self._rows(at, loop)};",
                    f"coming->{name} = place({array}, {first} * {size});",
                    f"coming->{name}_end = place({array}, ({first} + {piece.elements}) * {size});",
                ]
        return lines

    def _rows(self, at: dict[str, str], loop: Loop) -> str:
        """Where, from X, the rows begin that the next iteration of `loop` is the first to read: the last ones that its
        windows reach.
        """
        problem, x = self.scheme.problem, self.scheme.problem.broadcast
        then = {**at, loop.dim: added(at[loop.dim], loop.step)}
        terms = [times(then[d], f"X_{d}") for d in problem.row_dims if d in x.dims]
        less = " - X_PAD" if any(index.offset for index in x.indices) else ""
        if problem.plane and problem.plane.reach and loop.dim == "w":
            terms.append(f"{problem.plane.reach} * X_w")
        for window in problem.windows:
            if window.dim == loop.dim and problem.extents[window.tap] > 1:
                terms.append(f"{problem.extents[window.tap] - 1} * X_{window.tap}")
            if window.dim == loop.dim and window.stride > 1:
                less += f" - {(window.stride - 1) * x.stride(window.tap) // window.dilation}"
        return added(*terms) + less

    def _weights(self, site: Site, at: dict[str, str], next_of: Loop | None = None) -> str:
        """Where, from W, the packed weights begin that are read at position `at`; or, with the innermost loop that `at`
        knows of as `next_of`, those that its next iteration reads.
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
        """All core loops together: one parallel loop over workers, each with its own tile of every dim."""
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
        if not self.panel:
            pragma = ["#pragma omp parallel for num_threads(THREADS) schedule(static)"] if self.threads > 1 else []
            return [*pragma, loop, *indented(lines), "}"]
        head = []
        if isinstance(inside[0], Staged) and self._shared(tuple(bound), here).kept:
            head = ["int packed = 0; /* the panel: by the first task, for all that this thread runs */"]
            lines.append("packed = 1;")
        pragmas = ["#pragma omp parallel num_threads(THREADS)", "#pragma omp for schedule(static) nowait"]
        team, share = ([pragma] if self.threads > 1 else [] for pragma in pragmas)
        return [*team, "{", *indented(self._with_panel([*head, *share, loop, *indented(lines), "}"])), "}"]

    def _variable(self, loop: Loop) -> str:
        """`h` for the innermost loop over h, `h_1`, `h_2`, … outwards."""
        depth = _depth(loop.body, loop.dim)
        return f"{loop.dim}_{depth}" if depth else loop.dim

    def _site(
        self, staged: Staged, path: tuple[Loop, ...], at: dict[str, str], panel: Panel | Strip | None
    ) -> list[str]:
        site = Site(self.scheme.problem, around(staged, path, len(panel.loops) if panel else None))
        number = len(self.sites)
        self.sites.append(site)
        lines = [line for window in site.bounded for line in bounds(window, at, self.scheme.problem)]
        readers = panel.readers(site.around, at) if panel else (("", Pixels.IN_PLACE),)
        calls = chosen([(test, self._calls(site, number, at, panel, pixels)) for test, pixels in readers])
        calls = self._shaped(site) + calls
        # Branches of one iteration stand side by side and each declares its own bounds.
        return ["{", *indented([*lines, *calls]), "}"] if lines else calls

    def _calls(
        self, site: Site, number: int, at: dict[str, str], panel: Panel | Strip | None, pixels: Pixels
    ) -> list[str]:
        """Adds the functions of a site that read x from where `pixels` says; the call of the one for position `at`."""
        call = self._arguments(site, at, panel, pixels)
        last_vector, masks = self._masks(site)
        choices = [((), "")]
        for index, clipping in enumerate(site.clipped):
            choices = [
                ((*clips, clip), text + label(clipping, clip)) for clips, text in choices for clip in clipping.clips
            ]
        names = {}
        for clips, text in choices:
            for tail in masks:
                name = f"tile{number}_{self._tile_name(site)}{text}{pixels.value}{'_tail' if tail else ''}"
                variant = Variant(clips, tail, pixels)
                comment = self._comment(site, variant)
                self.functions.append(tile_function(site, self.isa, name, variant, comment, self.stream))
                names[clips, tail] = name
        return dispatch(site, at, names, masks, last_vector, call)

    def _shaped(self, site: Site) -> list[str]:
        """The statement that gives tile registers the shapes of a site's; none where it has no such registers."""
        if not site.problem.blocked:
            return []
        name = self.shapes.setdefault(emitter_of(site, self.isa).shapes(), f"SHAPES_{len(self.shapes)}")
        return [f"{self.isa.matrix.shaped.format(p=name)};"]

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

    def _arguments(self, site: Site, at: dict[str, str], panel: Panel | Strip | None, pixels: Pixels) -> str:
        problem = self.scheme.problem

        def address(base: str, prefix: str, dims) -> str:
            return added(base, *(times(at[d], f"{prefix}_{d}") for d in dims))

        given = problem.tensors[0]
        x = address("X", "X", [d for d in problem.extents if d in given.dims])
        x = x + " - X_PAD" if any(index.offset for index in given.indices) else x
        values = {"panel": added("panel", panel.place(site.around, at))} if panel else {}
        values |= {"point": at["w"]} if problem.plane else {}
        if site.next_panel:
            loop, turns, tiles = site.next_panel.loop, site.next_panel.turns, site.next_panel.tiles
            number = f"{self._variable(turns)} / {turns.step} % {tiles}" if tiles > 1 else "0"
            values["next"] = added(x, loop.step, times(number, LINE // WORD_BYTES))
        x = values["panel"] if pixels is Pixels.PACKED or self._strips else x
        w = added("W", self._weights(site, at))
        # Where tiles pass points that are no pixels of y, they find theirs by the point they begin with.
        own = [d for d in problem.extents if not (d == "w" and passes_gaps(problem))]
        y = address("Y", "Y", [d for d in own if d in problem.output.dims])
        passed = [x, w, y]
        for array in problem.epilogue_arrays:
            dims = [d for d in own if d in array.dims]
            values[f"e_{array.name}"] = address(f"E_{array.name}", f"STEP_{array.name}", dims)
        if not site.single_pass:
            values |= {"first": self._pass(site, at, 0), "last": self._pass(site, at, -1)}
        for parameter in parameters(site, self.stream, pixels):
            name = parameter.split()[-1].lstrip("*")
            passed.append(values.get(name, name))
        return ", ".join(passed)

    def _outer_base(self, site: Site, level: int) -> str:
        """The variable of the loop over the same dim around this one, whose position is counted already."""
        for loop in reversed(site.outer[:level]):
            if loop.dim == site.outer[level].dim and loop.trips > 1:
                return self._variable(loop)
        return ""

    def _pass(self, site: Site, at: dict[str, str], which: int) -> str:
        """The test that this is the first (which = 0) or the last (-1) of the passes that add up a tile."""
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
        if variant.pixels is not Pixels.IN_PLACE:
            parts.append("x is packed on the way" if variant.pixels is Pixels.PACKS else "x comes from the panel")
        return "; ".join(parts)


def _depth(nodes: tuple[Node, ...], dim: str) -> int:
    """How many loops over `dim` are written inside each other in `nodes`; of λ's branches the deepest counts."""
    depths = [0]
    for node in nodes:
        if isinstance(node, Staged):
            depths.append(_depth(node.body, dim))
        elif isinstance(node, Loop):
            written = node.dim == dim and (node.trips > 1 or node.worker is not None)
            depths.append(written + _depth(node.body, dim))
    return max(depths)
