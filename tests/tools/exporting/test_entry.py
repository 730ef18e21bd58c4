"""The C entry: every bad input has its code and the safe command; gains are checked; memory starts again."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.errors import UnknownName
from palpate.tools.exporting import export
from palpate.tools.exporting.code.records import OUTPUT_HEAD, Code
from palpate.tools.exporting.guarding import GUARDS
from tools.exporting.conftest import NAME, SCENARIO
from tools.exporting.library import Library, code_of


@pytest.fixture
def library(folder: Path) -> Library:
    return Library(folder)


def put(name: str, value: float) -> Callable[[Library, np.ndarray], None]:
    def change(library: Library, row: np.ndarray) -> None:
        row[library.place(name).stop - 1] = value

    return change


def head(word: int) -> Callable[[Library, np.ndarray], None]:
    def change(library: Library, row: np.ndarray) -> None:
        row[:1].view(np.uint32)[word] += 8

    return change


def time(value: float) -> Callable[[Library, np.ndarray], None]:
    def change(library: Library, row: np.ndarray) -> None:
        row[1] = value

    return change


BAD = [
    (put("q", math.nan), Code.NOT_FINITE),
    (put("v", math.inf), Code.NOT_FINITE),
    (put("wrench", -math.inf), Code.NOT_FINITE),
    (time(math.nan), Code.NOT_FINITE),
    (head(0), Code.SIZE),
    (head(1), Code.VERSION),
    (time(0.002), Code.TIME),
    (time(0.0), Code.TIME),
    (time(5.0), Code.LATE),
]


def spoiled(library: Library, change: Any) -> np.ndarray:
    """The answer to a bad tick after three good ones."""
    for row in library.inputs[:3]:
        assert code_of(library.step(row)) is Code.OK
    bad = library.inputs[3].copy()
    change(library, bad)
    return library.step(bad)


@pytest.mark.parametrize(("change", "code"), BAD)
def test_a_bad_tick_has_its_code_and_ends_the_law_in_a_ramp(library: Library, change: Any, code: Code) -> None:
    torque, gravity = library.place("torque", "output"), library.place("gravity", "output")
    answer = spoiled(library, change)
    assert code_of(answer) is code
    last = library.answers[2, torque]
    np.testing.assert_allclose(answer[torque], last, atol=0.05 * np.abs(last).max())
    still = library.inputs[3].copy()
    still[library.place("v")] = 0.0
    for _ in range(400):
        still[1] += 1e-3
        answer = library.step(still)
        assert code_of(answer) is code  # until reset
    np.testing.assert_allclose(answer[torque], answer[gravity], atol=1e-2)
    assert np.abs(answer[gravity]).max() > 10.0
    assert library.call("reset") == Code.OK
    assert library.step(library.inputs[0]).tobytes() == library.answers[0].tobytes()


@pytest.fixture(scope="session")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unguarded") / "arm"
    export(SCENARIO, out, model="given", ticks=50, without=GUARDS)
    return out


@pytest.mark.parametrize(("change", "code"), BAD)
def test_without_the_ramp_a_bad_tick_has_no_torque_and_the_next_is_the_law_s(
    unguarded: Path, change: Any, code: Code
) -> None:
    library = Library(unguarded)
    answer = spoiled(library, change)
    assert code_of(answer) is code
    assert np.all(answer[OUTPUT_HEAD:] == 0.0)
    if code is not Code.LATE:  # nothing is remembered of a bad tick
        assert library.step(library.inputs[3]).tobytes() == library.answers[3].tobytes()


def test_guards_that_are_off_are_named_and_do_nothing(unguarded: Path, folder: Path) -> None:
    library = Library(unguarded)
    assert not any(guard["on"] for guard in library.facts["protection"].values())
    assert all(guard["on"] for guard in Library(folder).facts["protection"].values())
    header = (unguarded / f"{NAME}.h").read_text()
    assert all(f" *   {name}: OFF." in header for name in GUARDS)
    assert "library holds" in header
    library.step(library.inputs[0])
    row = library.inputs[1].copy()
    row[library.place("q")] += 1.0
    assert code_of(library.step(row)) is Code.OK
    with pytest.raises(UnknownName, match="ramps"):
        export(SCENARIO, unguarded.parent / "other", without=["ramps"])


def test_null_pointers_have_a_code(library: Library) -> None:
    answer = np.full(library.answers.shape[1], 7.0)
    row, words = library.inputs[0].copy(), library.session.words.ctypes.data
    step = library.native.function(f"{NAME}_step", ctypes.c_void_p, ctypes.c_void_p)
    assert step(None, row.ctypes.data, answer.ctypes.data) == Code.NULL
    assert np.all(answer[OUTPUT_HEAD:] == 0.0)
    assert step(words, None, answer.ctypes.data) == Code.NULL
    assert step(words, row.ctypes.data, None) == Code.NULL
    assert library.call("get_gains", None, 8, kinds=(ctypes.c_void_p, ctypes.c_size_t)) == Code.NULL
    for name in ("reset", "init", "blend"):
        assert library.native.function(f"{NAME}_{name}")(None) == Code.NULL


def test_a_state_that_was_not_made_is_refused(library: Library) -> None:
    library.session.words[:] = 0
    answer = library.step(library.inputs[0])
    assert code_of(answer) is Code.NOT_READY
    assert np.all(answer[OUTPUT_HEAD:] == 0.0)
    assert library.call("reset") == Code.NOT_READY


@pytest.mark.parametrize(("more", "other", "code"), [(8, 0, Code.SIZE), (0, 1, Code.VERSION)])
def test_init_looks_at_size_and_version(library: Library, more: int, other: int, code: Code) -> None:
    kinds = (ctypes.c_size_t, ctypes.c_uint32)
    size, version = library.facts["state_bytes"], library.facts["version"]
    assert library.call("init", size + more, version + other, kinds=kinds) == code


def test_missed_ticks_are_counted(library: Library) -> None:
    answer = [library.step(row) for row in library.inputs[[0, 1, 4]]][-1]
    assert answer[2:3].view(np.int64)[0] == 2


def test_reset_starts_the_law_again(library: Library) -> None:
    for row in library.inputs[:50]:
        library.step(row)
    assert library.call("reset") == Code.OK
    answers = [library.step(row) for row in library.inputs]
    assert np.array(answers).tobytes() == library.answers.tobytes()


def test_a_late_law_goes_on_after_reset(library: Library) -> None:
    library.step(library.inputs[0])
    assert code_of(library.step(library.inputs[50])) is Code.LATE
    library.call("reset")
    assert code_of(library.step(library.inputs[50])) is Code.OK


def gains_of(library: Library) -> np.ndarray:
    gains = np.zeros(7)
    assert library.call("get_gains", gains.ctypes.data, 56, kinds=(ctypes.c_void_p, ctypes.c_size_t)) == Code.OK
    return gains


def set_gains(library: Library, gains: np.ndarray, size: int = 56) -> int:
    return library.call("set_gains", gains.ctypes.data, size, kinds=(ctypes.c_void_p, ctypes.c_size_t))


def test_a_gain_that_is_a_setting_can_be_changed(library: Library) -> None:
    """gravity-compensation: τ = −D v + ĝ."""
    assert list(library.facts["gains"]) == ["damping"]
    gains = gains_of(library)
    assert set_gains(library, 3.0 * gains) == Code.OK
    row = library.inputs[0].copy()
    row[library.place("v")] = np.linspace(-1.0, 1.0, 7)
    damper = library.step(row)[library.place("term_damper", "output")]
    np.testing.assert_array_equal(damper, -3.0 * gains * row[library.place("v")])
    library.call("reset")
    np.testing.assert_array_equal(gains_of(library), 3.0 * gains)  # reset leaves gains


def test_gains_beyond_their_bounds_are_refused_whole(library: Library) -> None:
    gains = gains_of(library)
    for value in (-1.0, math.nan, math.inf):
        changed = 2.0 * gains
        changed[6] = value
        assert set_gains(library, changed) == Code.BOUND
    np.testing.assert_array_equal(gains_of(library), gains)
    assert set_gains(library, gains, size=48) == Code.SIZE


def test_a_blend_begins_at_the_measured_torques(library: Library) -> None:
    """τ = τ₀ + s (τ − τ₀) with s from 0 to 1 in 10 ms."""
    kinds = (ctypes.c_double,)
    assert library.call("blend", math.nan, kinds=kinds) == Code.NOT_FINITE
    assert library.call("blend", 0.01, kinds=kinds) == Code.OK
    torque, measured = library.place("torque", "output"), library.place("tau")
    rows = library.inputs[:12].copy()
    rows[:, measured] = 5.0
    for k, row in enumerate(rows):
        wanted, share = library.answers[k, torque], min(k / 10.0, 1.0)
        np.testing.assert_allclose(library.step(row)[torque], 5.0 + share * (wanted - 5.0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("gap", "missed"), [(1.4, 0), (1.6, 1), (2.4, 1), (2.6, 2)])
def test_missed_ticks_are_rounded_to_the_nearest(library: Library, gap: float, missed: int) -> None:
    library.step(library.inputs[0])
    row = library.inputs[1].copy()
    row[1] = library.inputs[0][1] + gap * (library.inputs[1][1] - library.inputs[0][1])
    assert library.step(row)[2:3].view(np.int64)[0] == missed
