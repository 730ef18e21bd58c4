"""Parallel force/position control: force in contact, a bounded reach without it."""

import numpy as np
import pytest
from scipy.signal import lti, step

from palpate.control.laws.parallel_force import ParallelForce
from palpate.control.references.reference import Hold, WantedWrench
from palpate.control.steps.force_loop import force_loop_poles
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Surface, World

K, D = 300.0, 40.0


def law(**more):
    return ParallelForce(
        **{"force": ("x",), "motion": ("y",), "integral": 8.0, "stiffness": (K,) * 6, "damping": (D,) * 6, **more}
    )


def run(law, wall, reference, duration=2.0):
    world = World(surfaces=(wall,) if wall else ())
    return simulate(Run(load_robot("cartesian2"), law, world, reference, clock=Clock(duration=duration, timestep=1e-4)))


def test_the_force_step_has_the_poles_of_the_closed_form():
    wall = Surface(position=(0.01, 0, 0), normal=(-1, 0, 0), stiffness=2e3, damping=5.0)
    trace = run(law(), wall, Hold(wrench=WantedWrench(value=(-10, 0, 0, 0, 0, 0))))
    poles = force_loop_poles(2.0, D, 8.0, 2e3, wall_damping=5.0, stiffness=K)
    system = lti(np.polymul([5.0, 2e3], [1.0, 8.0]), 2.0 * np.poly(poles).real)
    np.testing.assert_allclose(-trace["contact_wrench"][:, 0], 10 * step(system, T=trace.time)[1], atol=0.02)


def test_the_integral_outweighs_a_wrong_position():
    """The target lies 2 cm inside the wall: the spring alone would press with K k_w / (K + k_w) · 2 cm = 5.2 N."""
    wall = Surface(position=(0.01, 0, 0), normal=(-1, 0, 0), stiffness=2e3, damping=5.0)
    trace = run(law(), wall, Hold(offset=(0.02, 0, 0), wrench=WantedWrench(value=(-10, 0, 0, 0, 0, 0))), duration=4.0)
    assert trace["contact_wrench"][-1, 0] == pytest.approx(-10, abs=1e-3)


def test_without_a_wall_it_reaches_no_further_than_its_bound():
    trace = run(law(most_force=20.0), None, Hold(wrench=WantedWrench(value=(-10, 0, 0, 0, 0, 0))), duration=4.0)
    assert trace["tool_position"][-1, 0] == pytest.approx((10 + 20) / K, abs=1e-4)


def test_motion_along_the_wall_is_that_of_the_spring():
    wall = Surface(position=(0.01, 0, 0), normal=(-1, 0, 0), stiffness=2e3, damping=5.0)
    trace = run(law(), wall, Hold(offset=(0, 0.05, 0), wrench=WantedWrench(value=(-10, 0, 0, 0, 0, 0))))
    _, exact = step(lti([K], [1.0, D, K]), T=trace.time)
    np.testing.assert_allclose(trace["tool_position"][:, 1], 0.05 * exact, atol=1e-4)
