"""Memory of records is used again, and never while somebody can still see it."""

from __future__ import annotations

import threading

import numpy as np

from palpate.run.assemble.buffers import MOST_KEPT, Buffers
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario


def test_memory_comes_back_when_its_array_is_gone() -> None:
    buffers = Buffers()
    first = buffers.lend(100, 3)
    place = first.ctypes.data
    del first
    again = buffers.lend(80, 3)
    assert again.shape == (80, 3)
    assert again.ctypes.data == place
    assert buffers.lend(80, 3).ctypes.data != place, "it is lent"


def test_memory_that_a_view_still_shows_is_not_lent_again() -> None:
    buffers = Buffers()
    first = buffers.lend(100, 3)
    first[:] = 7.0
    view = first[10:20]
    del first
    buffers.lend(100, 3)[:] = 1.0
    np.testing.assert_array_equal(view, 7.0)


def test_much_smaller_and_larger_memory_is_not_taken_and_only_a_few_are_kept() -> None:
    buffers = Buffers()
    lent = [buffers.lend(1000) for _ in range(3 * MOST_KEPT)]
    places = {array.ctypes.data for array in lent}
    lent.clear()
    del lent
    assert buffers.lend(400).ctypes.data not in places
    held = [buffers.lend(900) for _ in range(3 * MOST_KEPT)]
    assert sum(array.ctypes.data in places for array in held) <= 3 * MOST_KEPT
    assert len(buffers._free) <= MOST_KEPT


def test_no_memory_is_lent_twice_at_a_time() -> None:
    buffers, wrong = Buffers(), []

    def use(mark: float) -> None:
        for _ in range(2000):
            array = buffers.lend(50)
            array[:] = mark
            if not (array == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=use, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_trace_stays_what_it_is_when_the_next_run_uses_the_memory_again() -> None:
    scenario = load_scenario("panda-wall", ["run.duration=0.05"])
    first = simulate(scenario)
    kept = {name: first[name].copy() for name in first}
    simulate(load_scenario("panda-wall", ["run.duration=0.05", "world.surfaces.wall.stiffness=4000"]))
    again = simulate(scenario)
    for name, array in kept.items():
        np.testing.assert_array_equal(first[name], array)
        np.testing.assert_array_equal(again[name], array)
