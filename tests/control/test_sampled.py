"""The sampled loop: its boundary is the simulated one."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import CartesianImpedance, ComputedTorque, GravityCompensation, JointImpedance, PythonLaw
from palpate.control.design.sampled import _exponential, period_warnings, sampled_loop
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.world.clock import Clock

T = 0.01


def test_a_held_damper_is_stable_up_to_twice_the_inertia_over_the_period() -> None:
    robot = load_robot("cartesian2", mass=(3.0, 2.0))
    for factor, stable in ((1.99, True), (2.01, False)):
        law = GravityCompensation(damping=(factor * 5.0 / T, 0.0)).bind(robot)
        loop = sampled_loop(law, robot, period=T)
        assert (loop.radius <= 1 + 1e-9) == stable
        assert loop.radius == pytest.approx(max(1.0, factor - 1.0), abs=1e-6)


def test_poles_are_those_of_the_sampled_mass_spring_damper() -> None:
    robot = load_robot("cartesian2", mass=(3.0, 2.0))
    loop = sampled_loop(ComputedTorque(kp=49.0, kd=14.0).bind(robot), robot, period=T)
    one = np.array([[1, T], [0, 1]]) - np.outer([T * T / 2, T], [49.0, 14.0])
    wanted = np.sort(np.repeat(np.abs(np.linalg.eigvals(one)), 2))
    assert np.sort(np.abs(np.linalg.eigvals(loop.transition))) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_predicted_boundary_is_where_the_simulation_turns(delay: int) -> None:
    from palpate.run.run import Run
    from palpate.run.simulate import simulate
    from palpate.world.config import Actuators, World

    robot, period = load_robot("pendulum"), 0.005
    inertia = robot.mass_matrix(robot.home)[0, 0]

    def law(stiffness: float) -> JointImpedance:
        return JointImpedance(stiffness=stiffness, damping=20.0 * inertia)

    def radius(stiffness: float) -> float:
        return sampled_loop(law(stiffness).bind(robot), robot, period=period, delay=delay).radius

    low, high = 1.0, 1e7
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if radius(middle) < 1 else (low, middle)
    world = World(actuators=Actuators(delay=delay, torque_limit=False))
    sizes = []
    for stiffness in (0.9 * low, 1.1 * low):
        parts = Run(robot, law(stiffness), world, clock=Clock(duration=3.0, timestep=period / 20, period=period, integrator="rk4"), v_start=np.array([1e-3]))  # fmt: skip
        trace = simulate(parts)
        q = np.abs(trace["q"][:, 0] - robot.home[0])
        sizes.append(q[-len(q) // 5 :].max() / q[: len(q) // 5].max())
    assert sizes[0] < 1 < sizes[1]


@pytest.mark.parametrize("size", [1e-9, 0.3, 5.0, 40.0])
def test_the_exponential_is_scipys(size: float) -> None:
    from scipy.linalg import expm

    A = size * np.random.default_rng(1).normal(size=(6, 6)) / 4
    assert _exponential(A) == pytest.approx(expm(A), rel=1e-9, abs=1e-9 * np.abs(expm(A)).max())


def test_warnings_carry_the_numbers() -> None:
    robot = load_robot("iiwa14")
    (warning,) = period_warnings(GravityCompensation(damping=5.0).bind(robot), robot, period=1e-3, q=robot.home)
    assert "1 ms" in warning
    assert "largest pole" in warning
    assert "joint7" in warning
    assert not period_warnings(GravityCompensation().bind(robot), robot, period=1e-3, q=robot.home)


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5e"])
@pytest.mark.parametrize("law", [GravityCompensation(), JointImpedance(), ComputedTorque(), CartesianImpedance()])
def test_default_gains_suit_one_kilohertz_on_every_arm(name: str, law) -> None:
    robot = load_robot(name)
    assert period_warnings(law.bind(robot), robot, period=1e-3, q=robot.home) == []


def test_a_law_with_a_memory_is_refused() -> None:
    robot = load_robot("planar2")
    bound = PythonLaw(lambda *a: None).bind(robot)
    with pytest.raises(InvalidInput, match="memory"):
        sampled_loop(bound, robot, period=T)
    assert period_warnings(bound, robot, period=T, q=robot.home) == []


def test_a_run_warns_of_gains_that_do_not_suit_its_period() -> None:
    from palpate.run.run import Run
    from palpate.run.simulate import simulate

    robot = load_robot("iiwa14")
    trace = simulate(Run(robot, GravityCompensation(damping=5.0), clock=Clock(duration=0.01)))
    assert any("unstable at a control period" in text for text in trace.facts.warnings)


def test_a_run_tells_what_its_law_remarks() -> None:
    from palpate.control import OperationalSpace
    from palpate.run.run import Run
    from palpate.run.simulate import simulate

    robot = load_robot("planar2")
    law = OperationalSpace(directions=("x", "y"))
    trace = simulate(Run(robot, law, clock=Clock(duration=0.01), q_start=np.array([0.5, 0.0])))
    assert any("lost direction" in text for text in trace.facts.remarks)
