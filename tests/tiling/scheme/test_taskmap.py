"""Task maps: who does what, and its index as C text."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiling.scheme.taskmap import TaskMap, looped, repeat, spatial


@st.composite
def task_maps(draw, kinds=("repeat", "spatial")):
    axes = draw(st.integers(1, 3))
    shapes = st.tuples(*[st.integers(1, 3)] * axes)
    return axes, draw(st.lists(st.tuples(st.sampled_from(kinds), shapes), min_size=1, max_size=3))


@given(task_maps())
def test_workers_multiply_and_every_task_is_done_once(drawn):
    _, atoms = drawn
    whole = TaskMap(tuple(atoms))
    assert whole.workers == prod(prod(shape) for kind, shape in atoms if kind == "spatial")
    done = [task for worker in range(whole.workers) for task in whole.tasks(worker)]
    assert sorted(done) == sorted(product(*map(range, whole.shape)))


@pytest.mark.slow
@given(st.data())
def test_composition_nests_the_inner_map_in_the_outer(data):
    axes, outer = data.draw(task_maps())
    shapes = st.tuples(*[st.integers(1, 3)] * axes)
    inner = data.draw(st.lists(st.tuples(st.sampled_from(("repeat", "spatial")), shapes), min_size=1, max_size=2))
    f, g = TaskMap(tuple(outer)), TaskMap(tuple(inner))
    assert (f @ g).workers == f.workers * g.workers
    for worker in range((f @ g).workers):
        assert (f @ g).tasks(worker) == tuple(
            tuple(t * e + i for t, e, i in zip(task, g.shape, step))
            for task in f.tasks(worker // g.workers)
            for step in g.tasks(worker % g.workers)
        )


@pytest.mark.slow
@given(task_maps(kinds=("spatial",)))
def test_the_c_text_of_an_index_is_the_index(drawn):
    axes, atoms = drawn
    whole = TaskMap(tuple(atoms))
    for worker in range(whole.workers):
        text = [whole.index(axis, "worker").replace("/", "//") for axis in range(axes)]
        assert (tuple(eval(t, {"worker": worker}) for t in text),) == whole.tasks(worker)


@pytest.mark.slow
@given(task_maps())
def test_the_c_text_of_a_loop_is_its_tasks(drawn):
    axes, atoms = drawn
    whole = TaskMap(tuple(atoms))
    names = tuple("ijklmnopq"[: len(whole.loops)])
    for worker in range(whole.workers):
        found = []
        for steps in product(*map(range, whole.loops)):
            values = dict(zip(names, steps)) | {"worker": worker}
            shown = {name: name if value else "0" for name, value in values.items()}
            text = [whole.index(axis, shown["worker"], tuple(shown[n] for n in names)) for axis in range(axes)]
            found.append(tuple(eval(t.replace("/", "//"), values) for t in text))
        assert tuple(found) == whole.tasks(worker)


def test_counters_of_loops_of_one_are_left_out():
    whole = repeat(1, 4) @ spatial(8, 1) @ repeat(1, 2)
    assert looped(("i", 1), ("j", 4), ("0", 2)) == ("j", "0")
    assert whole.index(1, "lane", ("j", "0")) == "j * 2" and whole.index(0, "lane", ("j", "0")) == "lane"


def test_task_maps_refuse_what_they_cannot_do():
    assert (repeat(2, 2) @ spatial(1, 2)).tasks(1) == ((0, 1), (0, 3), (1, 1), (1, 3))
    for bad in (lambda: TaskMap(()), lambda: TaskMap((("grid", (1,)),)), lambda: spatial(2) @ spatial(2, 2)):
        with pytest.raises(ValueError):
            bad()
    for bad in (lambda: spatial(0), lambda: spatial(2).tasks(2), lambda: repeat(2).index(0, "w")):
        with pytest.raises(ValueError):
            bad()
