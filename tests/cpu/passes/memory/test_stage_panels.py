"""A part of x that several tiles share, packed on the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from cpu.passes.memory.stage_panels import UNPACKED, stage_panels
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import CASES
from tests.support.loops.packed_weights import pack_loops
from tiling.loops.index import variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Block, Do, Flag, If, Inside, Let, Load, SetFlag, StagedPart, Store, Team
from tiling.loops.meaning.memory import Fault
from tiling.loops.rewrite import places
from tiling.loops.walk import buffers, walk
from tiling.operators import conv2d
from tiling.rewrite.copies.panels import PanelPlan, panel_elements, plan_panels
from tiling.rewrite.pointwise import pointwise2d
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse

FLATTENED = pointwise2d(conv2d(n=2, c=12, h=3, w=3, k=18, r=1, s=1, layout="nchw"))  # two vectors and a pixel
PIXELS = [name for name in CASES if name.startswith("pixels")]
PANELS = [name for name in PIXELS if "S(x)" in CASES[name][1]]
SHARED, EACH_TASK = "pixels, a panel for a core's tasks", "pixels, a panel for each task"


def scheme_of(name: str) -> Scheme:
    return parse(FLATTENED, CASES[name][1].format(v=ISAS["portable"].lanes))


def kernels(scheme: Scheme) -> dict[str, Kernel]:
    return dict(product_forms(facts_of_scheme(scheme, ISAS["portable"], False)))


def computed(kernel: Kernel, x: np.ndarray, w: np.ndarray, packs: Kernel | None = None) -> np.ndarray:
    """y of a kernel, for which `packs` packs the weights if it reads packed ones."""
    given = {"X": x, "W": w, "Y": np.full(FLATTENED.output.shape, np.nan, np.float32)}
    if packs:
        packed = {"W": w, "packed": np.full(next(b for b in kernel.arrays if b.name == "W").shape, np.nan, np.float32)}
        interpret(packs, packed)
        given["W"] = packed["packed"]
    interpret(kernel, given)
    return given["Y"]


def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, w, and y by the definition."""
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, tensor.shape).astype(np.float32) for tensor in FLATTENED.tensors[:2])
    return x, w, np.einsum("ncw,kc->nkw", x, w.reshape(18, 12))


def tiles(kernel: Kernel) -> list[Block]:
    return [statement for statement in walk(kernel.body) if isinstance(statement, Block)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("stage", ["pack weights", "stage panels", "vectorise", "the last"])
@pytest.mark.parametrize("name", PIXELS)
def test_every_form_of_a_kernel_along_pixels_computes_the_same(name, stage):
    x, w, y = numbers()
    found = kernels(scheme_of(name))
    packs = pack_loops(scheme_of(name))
    assert list(found)[:3] == ["lower", "pack weights", "stage panels"]
    kernel = found[list(found)[-1] if stage == "the last" else stage]
    np.testing.assert_array_equal(computed(kernel, x, w, packs), y)


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_has_room_for_what_is_staged_and_no_more(name):
    x, w, y = numbers()
    scheme = scheme_of(name)
    lowered, plan = kernels(scheme)["lower"], plan_panels(scheme)
    assert plan.elements == panel_elements(scheme) > 0
    np.testing.assert_array_equal(computed(stage_panels(lowered, FLATTENED, plan), x, w), y)
    smaller = stage_panels(lowered, FLATTENED, replace(plan, elements=plan.elements - 1))
    with pytest.raises(Fault, match="panel"):
        computed(smaller, x, w)


def test_the_first_rows_pack_and_further_rows_read_the_panel():
    found = kernels(scheme_of("pixels, a panel for all rows"))
    before, after = found["pack weights"], found["stage panels"]
    assert any(isinstance(statement, StagedPart) for statement in walk(before.body))
    assert not any(isinstance(statement, StagedPart) for statement in walk(after.body))
    (choice,) = [s for s in walk(after.body) if isinstance(s, If) and isinstance(s.body[0], Block)]
    assert choice.conditions == (Inside(variable("k"), 0, 1),)
    packs, packed = (choice.body[0], choice.otherwise[0])
    assert [tile.name for tile in tiles(after)] == [packs.name, packed.name] == ["6kx4w_packs", "6kx4w_packed"]
    assert accessed(packs) == {"X": Load, "panel": Store} and accessed(packed) == {"panel": Load}


def accessed(tile: Block) -> dict[str, type]:
    """How a tile accesses x and the panel: X by loads only."""
    return {place.buffer: type(place) for place in places(tile.body) if place.buffer in ("X", "panel")}


def test_branches_of_further_rows_have_no_choice():
    names = [tile.name for tile in tiles(kernels(scheme_of("pixels, a panel of all"))["stage panels"])]
    assert names == ["8kx4wx2c_packs", "5kx4wx2c_packed"]


def test_the_first_task_of_a_core_packs_for_its_others():
    found = kernels(scheme_of(SHARED))["bind cores"]
    (team,) = found.body
    assert isinstance(team, Team) and [b.name for b in buffers(found)] == ["X", "W", "Y", "panel"]
    raised, cleared = (SetFlag(UNPACKED, holds) for holds in (True, False))
    assert team.body.count(raised) == list(walk(team.body)).count(cleared) == 1
    tests = [s.conditions for s in walk(found.body) if isinstance(s, If)]
    assert (Flag("unpacked"), Inside(variable("k") - variable("k_1"), 0, 1)) in tests


def test_tasks_of_other_pixels_pack_by_themselves():
    assert plan_panels(scheme_of(SHARED)).kept and not plan_panels(scheme_of(EACH_TASK)).kept
    found = kernels(scheme_of(EACH_TASK))["bind cores"]
    assert not any(isinstance(statement, SetFlag) for statement in walk(found.body))


def test_a_scheme_without_panels_stays_as_it_is():
    scheme = scheme_of("pixels, composed rows")
    found = kernels(scheme)
    assert plan_panels(scheme) == PanelPlan(0, False)
    assert found["stage panels"] == found["pack weights"]


def test_packed_vectors_are_whole_and_stored_from_their_registers():
    """Lanes beyond the last pixel are zeros in the panel, so only loads of x and stores of y have masks."""
    found = kernels(scheme_of("pixels, a panel for all rows"))["unroll"]
    packs, packed = (next(f for f in found.functions if f.name.endswith(end)) for end in ("packs_tail", "packed_tail"))
    loads = {f.name: {s.name: s.value for s in walk(f.body) if isinstance(s, Let)} for f in (packs, packed)}
    assert loads[packs.name]["x_0"].instruction.name == "load_tail"
    assert loads[packed.name]["panel_0"].instruction.name == "load"
    (stored,) = [s.invoke for s in walk(packs.body) if isinstance(s, Do) and s.invoke.instruction.name == "store"]
    assert dict(stored.operands)["v"].name == "x_0"
