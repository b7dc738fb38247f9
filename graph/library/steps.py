"""The C lines of a model's steps, as every thread of a call runs them.

    Lines(places, threads).of(model.steps) -> ["/* conv: … */", "conv_run(…, thread, threads);", …]

A step whose kernel several threads share is a call of each; any other step the first thread does alone. Before a step
that meets an earlier one in memory, all threads wait for one another (`graph.passes.waits`).
"""

from __future__ import annotations

from collections.abc import Iterable

from cpu.runtime.numbers import ELEMENTS
from graph.library.places import Places, bytes_of
from graph.model.language import Branch, Copy, Loop, Step
from graph.model.regions import every
from graph.passes.waits import Deed, Touch, Waits
from tiling.problem import Problem

_WAIT = "#pragma omp barrier"
_SHARED_BYTES = 1 << 16  # copying fewer bytes takes one thread no longer than a wait of all threads


class Lines:
    """Writes the lines. laps: the number of kernel calls so far; a timed call records the seconds of each."""

    def __init__(self, places: Places, threads: int):
        self.places, self.threads = places, threads
        self.laps = 0
        self._waits = Waits()
        self._iterations: dict[str, str] = {}  # the C name of each loop's number of the iteration

    def whole(self) -> list[str]:
        """The lines of all steps, and of the outputs that are copied in the end."""
        found = self.of(self.places.model.steps)
        for output, result in self.places.copied:
            size = bytes_of(self.places.model.arrays[output])
            found += self._copy(result, output, size, [Touch(result, 0, size, True)])
        return found

    def of(self, steps: tuple[Step, ...], position: int = 0) -> list[str]:
        """The lines of a block whose first step has this position."""
        found = []
        for step in steps:
            head = f"/* {in_comment(step.node)} */"
            if isinstance(step.work, Branch):
                found += [head, *self._branch(position, step.work)]
            elif isinstance(step.work, Loop):
                found += [head, *self._loop(position, step.work)]
            elif isinstance(step.work, Copy):
                (source,), (target,) = step.inputs, step.outputs
                size, touched = bytes_of(self.places.model.arrays[target]), self.places.touched(target, True)
                found += self._copy(f"(void *)({self._at(target)})", source, size, touched)
            else:
                found += self._call(position, step)
            position += sum(1 for _ in every((step,)))
        return found

    def _at(self, name: str, packed: str = "") -> str:
        return self.places.address(name, self._iterations, packed)

    def _does(
        self, call: list[str], read: Iterable[str], written: Iterable[str], more: Iterable[Touch] = (), *, alone: bool
    ) -> list[str]:
        """The lines of a step, with a wait where one is needed, and with a test where only the first thread runs it."""
        touches = [touch for name in read for touch in self.places.touched(name, False)]
        touches += [touch for name in written for touch in self.places.touched(name, True)]
        wait = self._waits.before(Deed((*touches, *more), alone))
        if self.threads == 1:
            return call
        lines = ["if (thread == 0)", *_indented(call)] if alone else call
        return [*[_WAIT] * wait, *lines]

    def _branch(self, position: int, work: Branch) -> list[str]:
        """The lines of a branch. All threads take the same one."""
        head = self._does([], [work.condition], [], alone=False)
        begun = self._waits.pending
        lines = [*head, f"if (*(const {ELEMENTS['bool'].c} *)({self._at(work.condition)})) {{"]
        lines += _indented(self.of(work.then, position + 1))
        ended, self._waits = self._waits.pending, Waits(begun)
        otherwise = self.of(work.otherwise, position + 1 + sum(1 for _ in every(work.then)))
        self._waits = Waits(tuple(dict.fromkeys((*ended, *self._waits.pending))))
        return [*lines, "} else {", *_indented(otherwise), "}"]

    def _loop(self, position: int, work: Loop) -> list[str]:
        """The lines of a loop. Every thread counts its iterations, and reads the condition that ends it."""
        iteration = self._iterations[work.iteration] = f"iteration_{position}"
        iterations = (
            work.iterations if isinstance(work.iterations, int) else f"*(const int64_t *)({self._at(work.iterations)})"
        )
        bound = f"{iteration} < {iterations}"
        if work.going:
            bound += f" && *(const {ELEMENTS['bool'].c} *)({self._at(work.going)})"
        read = [name for name in (work.iterations, work.going) if name and isinstance(name, str)]
        head = self._does([], read, [], alone=False)
        begun = self._waits.pending
        body = []
        if work.counter:
            count = [f"*(int64_t *)({self._at(work.counter)}) = {iteration};"]
            body += self._does(count, [], [work.counter], alone=True)
        body += self.of(work.body, position + 1)
        # All threads wait here, so that the next iteration, and its test, see the results of this one.
        body += [_WAIT] * (self.threads > 1)
        self._waits = Waits(begun)
        return [*head, f"for (int64_t {iteration} = 0; {bound}; ++{iteration}) {{", *_indented(body), "}"]

    def _copy(self, target: str, source: str, size: int, written: list[Touch]) -> list[str]:
        """The lines that copy an array to a place. A large one is shared."""
        shared = size >= _SHARED_BYTES and self.threads > 1
        given = f"{target}, {self._at(source)}, {size}"
        call = f"copy_share({given}, thread, threads);" if shared else f"memcpy({given});"
        return self._does([call], [source], [], written, alone=not shared)

    def _call(self, number: int, step: Step) -> list[str]:
        """The lines of a kernel."""
        kernel, more = self.places.kernel(step), []
        lines = [f"/* {in_comment(f'{step.node}: {step.text}')} */"]
        read = list(step.inputs)
        if isinstance(step.work, Problem):
            x, w, *rest = step.inputs
            packed = self._at(w, kernel.symbol)
            if self.places.packs(step):
                panel, read = self.places.panel(number, step), [x, *rest]
                w_type, packed_type, *team = kernel.packing
                packs = [f"({w_type})({packed})", f"({packed_type})(arena + {panel.begin})"]
                packs += ["thread", "threads"] * bool(team)
                pack = [f"{kernel.symbol}_pack_run({', '.join(packs)});"]
                lines += self._does(pack, [w], [], [panel], alone=not team)
                packed = f"arena + {panel.begin}"
                more.append(Touch("arena", panel.begin, panel.end, False))
            places = [self._at(x), packed, self._at(step.outputs[0]), *map(self._at, rest)]
        else:
            places = [self._at(name) for name in (*step.inputs, *step.outputs)]
        given = [f"({type_})({place})" for type_, place in zip(kernel.arrays, places, strict=True)]
        if kernel.scratch:
            scratch = self.places.scratch(number, step)
            given.append(f"arena + {scratch.begin}")
            more.append(scratch)
        given += ["thread", "threads"] * (kernel.threads > 1)
        call = f"{'' if kernel.packed else 'outside |= '}{kernel.symbol}_run({', '.join(given)});"
        lines += self._does([call], read, step.outputs, more, alone=kernel.threads == 1)
        self.laps += 1
        return [*lines, f"lap(seconds, {self.laps - 1}, &since{', thread' * (self.threads > 1)});"]


def in_comment(text: str) -> str:
    """A text as one line that is safe in a C comment: it neither ends nor begins one, and has no control characters."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return plain.replace("*/", "* /").replace("/*", "/ *")


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
