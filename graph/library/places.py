"""Where each array of a model lies: in a caller's array, in the file of weights, or in the arena.

Places(model, kernels) -> address("y") == "arena + 4096"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from cpu.runtime.numbers import ELEMENTS
from graph.library.kernels import KernelFile
from graph.model.language import Branch, Loop, Model, ModelError, Step
from graph.model.regions import every, spans
from graph.passes.memory import ArenaPlan, Life, aligned, plan
from graph.passes.waits import Touch
from tiling.problem import Problem
from tiling.program.infer import Array, Sized


@dataclass(frozen=True)
class Weight:
    """Numbers in the file of weights. packed: which kernel packs them; "" for an array as it is."""

    array: str
    packed: str
    offset: int
    bytes: int


def bytes_of(array: Array) -> int:
    """Bytes of an array. Raises ModelError for a dtype that no kernel has."""
    if array.dtype not in ELEMENTS:
        raise ModelError(f"{array.name} is made of {array.dtype}, which is not supported")
    return prod(array.shape) * ELEMENTS[array.dtype].numpy.itemsize


@dataclass(frozen=True, eq=False)
class Places:
    """The place of every array, and of the memory that kernels need during their calls."""

    model: Model
    kernels: Mapping[Problem | Sized, KernelFile]

    def kernel(self, step: Step) -> KernelFile:
        assert isinstance(step.work, (Problem, Sized))
        return self.kernels[step.work]

    @cached_property
    def given(self) -> dict[str, str]:
        """The C names of the inputs that a caller hands over, by array. A model's own names may not be C names."""
        return {input_: f"input_{place}" for place, input_ in enumerate(self.model.inputs)}

    @cached_property
    def _written(self) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
        results: dict[str, str] = {}
        copied = []
        for place, output in enumerate(self.model.outputs):
            root = self.model.root(output)
            written = any(root in map(self.model.root, step.outputs) for step in self.model.steps)
            if written and root not in results:
                results[root] = f"output_{place}"
            else:
                copied.append((output, f"output_{place}"))
        return results, tuple(copied)

    @property
    def results(self) -> dict[str, str]:
        """The C names of the outputs for which a caller hands over memory, by array."""
        return self._written[0]

    @property
    def copied(self) -> tuple[tuple[str, str], ...]:
        """(array, output) of each output that is copied in the end."""
        return self._written[1]

    # ---- weights

    @cached_property
    def weights(self) -> dict[tuple[str, str], Weight]:
        """A place in the file of weights for each constant that a step reads; packed where a product reads it."""
        wanted: dict[tuple[str, str], int] = {}
        for step in every(self.model.steps):
            for place, name in enumerate(step.inputs):
                root = self.model.root(name)
                if root not in self.model.constants or isinstance(step.work, (Branch, Loop)):
                    continue
                if isinstance(step.work, Problem) and place == 1 and not self.packs(step):
                    kernel = self.kernel(step)
                    wanted[root, kernel.symbol] = kernel.packed
                else:
                    wanted[root, ""] = bytes_of(self.model.arrays[root])
        for output, _ in self.copied:
            root = self.model.root(output)
            if root in self.model.constants:
                wanted[root, ""] = bytes_of(self.model.arrays[root])
        found, at = {}, 0
        for (array, packed), size in wanted.items():
            found[array, packed] = Weight(array, packed, at, size)
            at += aligned(size)
        return found

    @property
    def weight_bytes(self) -> int:
        """Bytes of the file of weights."""
        return sum(aligned(weight.bytes) for weight in self.weights.values())

    def packs(self, step: Step) -> bool:
        """Whether a product's second factor is computed, so that it is packed during the call."""
        return isinstance(step.work, Problem) and self.model.known(step.inputs[1]) is None

    # ---- the arena

    @cached_property
    def arena(self) -> ArenaPlan:
        """The plan of the arena: intermediate arrays, weights that a call packs, and the scratch memory of kernels."""
        model = self.model
        found = {root: span for root, span in spans(model).items() if root not in self.results}
        positions = tuple(every(model.steps))
        for output, _ in self.copied:
            root = model.root(output)
            if root in found:
                found[root] = found[root][0], len(positions)
        owners: dict[str, str] = {}  # of the memory that an array takes over
        for old, new in self._taken_over(found):
            owners[new] = owner = owners.get(old, old)
            found[owner] = found[owner][0], found.pop(new)[1]
        lives = [Life(name, bytes_of(model.arrays[name]), *span) for name, span in found.items()]
        for number, step in enumerate(positions):
            if self.packs(step):
                lives.append(Life(_panel(number), self.kernel(step).packed, number, number))
            if isinstance(step.work, (Problem, Sized)) and self.kernel(step).scratch:
                lives.append(Life(_scratch(number), self.kernel(step).scratch, number, number))
        made = plan(lives)
        return replace(made, offsets={**made.offsets, **{new: made.offsets[owner] for new, owner in owners.items()}})

    def _taken_over(self, found: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, str]]:
        """Pairs of arrays: the second is written over the first, by the last step that reads the first.

        The second is the first one's sum with a product. Only steps outside of branches and loops do so: a loop may
        read again what its last step reads. found: the first and the last step of each array of the arena.
        """
        ends = dict(found)
        at = 0
        for step in self.model.steps:
            if isinstance(step.work, Problem):
                (new,) = map(self.model.root, step.outputs)
                roots = [*map(self.model.root, step.inputs)]
                for place in self.kernel(step).residuals:
                    old = roots[place]
                    fits = ends.get(old, ())[1:] == (at,) == ends.get(new, ())[:1] and roots.count(old) == 1
                    if fits and old != new and self._are_whole(step.inputs[place], step.outputs[0]):
                        yield old, new
                        break
            at += sum(1 for _ in every((step,)))

    def _are_whole(self, *names: str) -> bool:
        """Whether the arrays are all of the memory that they lie in."""
        chains = map(self.model.chain, names)
        return all(
            self.model.memory(name) == self.model.arrays[name].shape
            and bytes_of(self.model.arrays[name]) == bytes_of(self.model.arrays[root])
            and not any(each in self.model.begins or each in self.model.slices for each in chain)
            for name, chain in zip(names, chains)
            for root in chain[-1:]
        )

    def panel(self, number: int, step: Step) -> Touch:
        """The memory for weights that the step at this position packs."""
        return self._in_arena(_panel(number), self.kernel(step).packed)

    def scratch(self, number: int, step: Step) -> Touch:
        """The scratch memory of the kernel of the step at this position."""
        return self._in_arena(_scratch(number), self.kernel(step).scratch)

    def _in_arena(self, name: str, size: int) -> Touch:
        at = self.arena.offsets[name]
        return Touch("arena", at, at + size, True)

    def touched(self, name: str, writes: bool) -> list[Touch]:
        """The memory of an array; none for one that is never written."""
        *_, root = chain = self.model.chain(name)
        if root in self.model.constants:
            return []
        begin = self.arena.offsets.get(root, 0) + self.begin(chain)
        memory = self.results.get(root) or self.given.get(root, "arena")
        # The part of a slice depends on the iteration of its loop.
        array = self.model.arrays[root if any(each in self.model.slices for each in chain) else name]
        size, (*rows, columns) = bytes_of(array), array.shape or (1,)
        around = self.model.memory(name)
        if around == self.model.arrays[name].shape:
            return [Touch(memory, begin, begin + size, writes)]
        width, pitch = (ELEMENTS[array.dtype].numpy.itemsize * each for each in (columns, around[-1]))
        return [Touch(memory, begin, begin + (prod(rows) - 1) * pitch + width, writes, pitch, width)]

    def begin(self, chain: tuple[str, ...]) -> int:
        """The byte of the last array of a chain at which its first array begins. Slices count as beginning at 0."""
        arrays, begins = self.model.arrays, self.model.begins
        return sum(begins.get(each, 0) * ELEMENTS[arrays[each].dtype].numpy.itemsize for each in chain)

    def address(self, name: str, iterations: Mapping[str, str], packed: str = "") -> str:
        """Where an array lies, as C text without a type. iterations: the C names of the loops' counters."""
        *_, root = chain = self.model.chain(name)
        begin = self.begin(chain)
        if root in self.model.constants:
            whole = f"weights + {self.weights[root, packed].offset}"
        elif root in self.results or root in self.given:
            whole = self.results.get(root) or self.given[root]
            whole = f"(char *){whole} + {begin}" if begin else whole
        else:
            whole = f"arena + {self.arena.offsets[root] + begin}"
        slices = [(each, self.model.slices[each]) for each in chain if each in self.model.slices]
        if not slices:
            return whole
        text = f"(const char *)({whole})"
        for part, slice_ in slices:
            iteration = iterations[slice_.iteration]
            text += f" + {f'({slice_.count - 1} - {iteration})' if slice_.backward else iteration} * "
            text += f"{bytes_of(self.model.arrays[part])}"
        return text


def _panel(number: int) -> str:
    """The name of the memory for weights that step `number` packs: no array of a model has it."""
    return f"\0{number}"


def _scratch(number: int) -> str:
    """The name of the scratch memory of the kernel of step `number`."""
    return f"\1{number}"
