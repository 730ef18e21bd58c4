"""How large and how quick: operation counts of a six-joint arm, the work of deriving small arms in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import palpate as pp
from counting import calls
from palpate.tools.derive import Derivation


# "all" names every mass parameter, zero or not; "symbols" those that are not zero.
@pytest.mark.parametrize("parameters", ["symbols", "all"])
def test_symbolic_inverse_dynamics_of_a_ur5e_is_short_and_quick(parameters: Any) -> None:
    robot = pp.load_robot("ur5e")
    pp.derive(pp.load_robot("planar2"))  # imports
    made: list[Derivation] = []
    assert calls(lambda: made.append(pp.derive(robot, parameters=parameters))) < 80_000  # 43 000; 8 ms
    assert calls(lambda: made[0].program("tau")) < 150_000  # 71 000; 10 ms
    counts = made[0].counts("tau")
    assert counts.multiplications <= 270  # goal 509
    assert counts.additions <= 245  # goal 414
    counts = made[0].counts("M")
    assert counts.multiplications <= 150  # goal 397
    assert counts.additions <= 130  # goal 327


def test_inverse_dynamics_of_a_ur5e_with_numbers_is_shorter() -> None:
    derivation = pp.derive(pp.load_robot("ur5e"))
    for counts in (
        derivation.counts("tau", numbers=True),
        pp.derive(pp.load_robot("ur5e"), parameters="numbers").counts("tau"),
    ):
        assert counts.multiplications <= 190  # goal 425
        assert counts.additions <= 155  # goal 369
        assert counts.once == 0


def test_inverse_dynamics_of_a_ur5e_is_compiled_and_checked() -> None:
    robot = pp.load_robot("ur5e")
    derivation = pp.derive(robot)
    function = derivation.compiled("tau")
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, a = rng.uniform(-3, 3, (3, 6))
        np.testing.assert_allclose(function(q, v, a), robot.inverse_dynamics(q, v, a, losses=False), atol=1e-10)
    assert derivation.check(robot).ok


@pytest.mark.parametrize(("name", "most"), [("planar3", 600_000), ("ur5e-3link", 1_300_000)])  # twice what it takes
def test_small_arms_are_derived_in_closed_form_quickly(name: str, most: int) -> None:
    robot = pp.load_robot(name)

    def work() -> None:
        derivation = pp.derive(robot)
        for quantity in ("position", "rotation", "J", "Ja", "Jdot", "drift", "T", "V", "M", "C", "g", "tau"):
            assert derivation[quantity] is not None

    assert calls(work) < most


def test_a_spatial_arm_of_three_general_links_is_quick_too() -> None:
    robot = pp.load_robot("ur5e-3link")
    assert calls(lambda: pp.derive(robot, parameters="all").text("M", "C", "g")) < 3_600_000  # 1.8 million; 0.3 s
