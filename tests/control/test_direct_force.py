"""Direct force control: the closed loop of a PI force axis against a wall."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import lti, step

from palpate.control.laws.direct_force import DirectForce
from palpate.control.references.reference import Hold, WantedWrench
from palpate.control.steps.force_loop import force_loop_poles
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Surface, World

TIP = 0.01  # m, radius of the catalogue arms' tip
SLIDE: dict[str, Any] = {"force": ("x",), "motion": ("y",), "integral": 8.0, "proportional": 0.5}
D = 40.0
SIX: Any = (D,) * 6


def pressed(law, stiffness=2e3, wall_damping=5.0, duration=1.5, force=-10.0):
    """cartesian2 resting against a wall at x = 0 (tip just touching), pressing from t = 0."""
    robot = load_robot("cartesian2")
    wall = Surface(position=(TIP, 0, 0), normal=(-1, 0, 0), stiffness=stiffness, damping=wall_damping)
    reference = Hold(wrench=WantedWrench(value=(force, 0, 0, 0, 0, 0)))
    return simulate(Run(robot, law, World(surfaces=(wall,)), reference, clock=Clock(duration=duration, timestep=1e-4)))


def test_the_force_step_has_the_poles_of_the_closed_form():
    """Transfer from F_d to F: k_w-branch (d_w s + k_w)((1 + k_p) s + k_i) over the docstring's polynomial."""
    law = DirectForce(**SLIDE, damping=SIX)
    trace = pressed(law)
    m, k_w, d_w, k_p, k_i = 2.0, 2e3, 5.0, 0.5, 8.0
    poles = force_loop_poles(m, D, k_i, k_w, proportional=k_p, wall_damping=d_w)
    system = lti(np.polymul([d_w, k_w], [1 + k_p, k_i]), m * np.poly(poles).real)
    _, exact = step(system, T=trace.time)
    np.testing.assert_allclose(
        -trace["contact_wrench"][:, 0], 10 * exact, atol=0.03
    )  # the physics step is of first order
    assert load_robot("cartesian2").mass_matrix([0, 0])[0, 0] == m


def test_a_loop_beyond_its_routh_bound_grows():
    """Without wall damping the bound is k_i < (1 + k_p) D / m."""
    bound = (1 + 0.5) * D / 2.0
    for factor, stable in ((0.9, True), (1.1, False)):
        poles = force_loop_poles(2.0, D, factor * bound, 2e3, proportional=0.5)
        assert bool(poles.real.max() < 0) is stable
        law = DirectForce(**{**SLIDE, "integral": factor * bound, "most_force": 1e5}, damping=SIX)
        swing = -pressed(law, wall_damping=0.0, duration=6.0)["contact_wrench"][:, 0] - 10
        early, late = abs(swing[5000:15000]).max(), abs(swing[-10000:]).max()
        assert bool(late < early) is stable


@pytest.mark.parametrize("stiffness", [5e2, 5e3, 5e4])
def test_steady_force_is_the_wanted_one_whatever_the_wall(stiffness):
    trace = pressed(DirectForce(**SLIDE, damping=SIX), stiffness, duration=4.0)
    assert trace["contact_wrench"][-1, 0] == pytest.approx(-10, abs=1e-3)


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ({"force": ("x",), "motion": ("x",)}, "x cannot be"),
        ({"force": ()}, "least.*direction"),
        ({"damping": (1, 1, -1, 1, 1, 1)}, "damping along z.*least 0, got -1"),
        ({"stiffness": (-4, 1, 1, 1, 1, 1)}, "stiffness along x.*least 0, got -4"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, words):
    with pytest.raises(InvalidInput, match=words):
        DirectForce(**gains).bind(load_robot("panda"))


def test_a_wall_without_stiffness_has_no_force_loop():
    with pytest.raises(InvalidInput, match=r"wall_stiffness.*greater.*0"):
        force_loop_poles(1.0, 1.0, 1.0, 0.0)
