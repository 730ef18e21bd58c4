"""The sampled loop: its boundary is the simulated one."""

from __future__ import annotations

import numpy as np
import pytest

from counting import calls, dense_sizes
from palpate.control import CartesianImpedance, ComputedTorque, GravityCompensation, JointImpedance, PythonLaw
from palpate.control.design import Timing, Wall, predict_for_arm
from palpate.control.design.arm import arm_contact, period_warnings
from palpate.control.design.linear.closed_loop import ClosedLoop
from palpate.control.design.linear.loop_model import held
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.world.clock import Clock

T = 0.01


def sampled_loop(law, robot, *, period: float, delay: int = 0) -> ClosedLoop:
    """A law and an arm in free motion about home."""
    timing = Timing(period, command_delay=delay)
    return arm_contact(robot, robot.home, law, wall=Wall(0.0), timing=timing).loop


def test_a_held_damper_is_stable_up_to_twice_the_inertia_over_the_period() -> None:
    robot = load_robot("cartesian2", mass=(3.0, 2.0))
    for factor, stable in ((1.99, True), (2.01, False)):
        law = GravityCompensation(damping=(factor * 5.0 / T, 0.0)).bind(robot)
        loop = sampled_loop(law, robot, period=T)
        assert loop.stable == stable
        assert abs(loop.poles[0]) == pytest.approx(max(1.0, factor - 1.0), abs=1e-6)


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
    from palpate.world.config import Driver, World

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
    world = World(driver=Driver(delay=delay, torque_limit=False))
    sizes = []
    for stiffness in (0.9 * low, 1.1 * low):
        clock = Clock(duration=3.0, timestep=period / 20, period=period, integrator="rk4")
        parts = Run(robot, law(stiffness), world, clock=clock, v_start=np.array([1e-3]))
        trace = simulate(parts)
        q = np.abs(trace["q"][:, 0] - robot.home[0])
        sizes.append(q[-len(q) // 5 :].max() / q[: len(q) // 5].max())
    assert sizes[0] < 1 < sizes[1]


@pytest.mark.parametrize("stiffness", [0.0, 1e-6, 1e3, 1e9])
def test_a_held_command_moves_a_mass_on_a_spring_as_the_closed_form_says(stiffness: float) -> None:
    m, t = 2.0, 1e-3
    Phi, Gamma = held(np.array([[0.0, 1.0], [-stiffness / m, 0.0]]), np.array([[0.0], [1.0 / m]]), t)
    w = np.sqrt(stiffness / m)
    s = np.sin(w * t) / w if w else t
    rest = 2 * np.sin(w * t / 2) ** 2 / stiffness if w else t * t / (2 * m)
    assert Phi == pytest.approx(np.array([[np.cos(w * t), s], [-w * w * s, np.cos(w * t)]]), rel=1e-11, abs=1e-14)
    assert Gamma[:, 0] == pytest.approx([rest, s / m], rel=1e-11)


@pytest.mark.parametrize("delay", [3, 15, 40])
def test_long_delays_are_judged_by_structure_as_short_ones_by_their_matrix(delay: int, monkeypatch) -> None:
    from palpate.control.design.linear import closed_loop

    robot = load_robot("panda", joints="ideal")
    law = CartesianImpedance(damping=(80.0, 80.0, 80.0, 2.0, 2.0, 2.0)).bind(robot)
    matrix = sampled_loop(law, robot, period=1e-3, delay=delay).transition
    largest = np.abs(np.linalg.eigvals(matrix)).max()
    for most in (0, 10_000):
        monkeypatch.setattr(closed_loop, "DENSE_MOST", most)
        assert sampled_loop(law, robot, period=1e-3, delay=delay).radius == pytest.approx(largest, abs=1e-9)


def test_a_delay_of_a_thousand_samples_is_judged_without_its_matrix(monkeypatch) -> None:
    robot = load_robot("panda", joints="ideal")
    law = CartesianImpedance().bind(robot)
    sizes, warnings = dense_sizes(monkeypatch), list[str]()
    work = calls(lambda: warnings.extend(period_warnings(law, robot, period=1e-3, q=robot.home, delay=1000)))
    assert max(sizes) < 100  # its matrix has some 7000 rows
    assert work < 1_000_000  # 260 000
    (warning,) = warnings
    assert "1000 ticks" in warning


def test_a_law_says_itself_whether_it_has_a_memory() -> None:
    robot = load_robot("cartesian2")
    assert JointImpedance().bind(robot).memoryless
    assert not PythonLaw(lambda tick, gains, memory: {}).bind(robot).memoryless


@pytest.mark.parametrize("gain", [1e9, 1e100, 1e300])
def test_huge_gains_are_warned_of_and_never_stop_a_run(gain: float) -> None:
    robot = load_robot("planar2")
    (warning,) = period_warnings(JointImpedance(stiffness=gain, damping=1.0).bind(robot), robot, period=T, q=robot.home)
    assert "unstable" in warning


def test_a_singular_mass_matrix_is_told_and_never_stops_a_run() -> None:
    robot = load_robot("planar2")

    class Singular:
        def __getattr__(self, name: str):
            return getattr(robot, name)

        def mass_matrix(self, q):
            return np.ones((2, 2))

    law = JointImpedance().bind(robot)
    (warning,) = period_warnings(law, Singular(), period=T, q=robot.home)  # pyright: ignore[reportArgumentType]
    assert "not known" in warning
    assert "singular" in warning


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
    robot = load_robot(name, joints="ideal")
    assert period_warnings(law.bind(robot), robot, period=1e-3, q=robot.home) == []


def test_a_law_with_a_memory_is_refused() -> None:
    robot = load_robot("planar2")
    bound = PythonLaw(lambda tick, gains, memory: {}).bind(robot)
    with pytest.raises(InvalidInput, match="memory"):
        predict_for_arm(robot, robot.home, bound, wall=Wall(0.0), timing=Timing(T))
    assert period_warnings(bound, robot, period=T, q=robot.home) == []


def test_a_run_warns_of_gains_that_do_not_suit_its_period() -> None:
    from palpate.run.run import Run
    from palpate.run.simulate import simulate

    robot = load_robot("iiwa14")
    trace = simulate(Run(robot, GravityCompensation(damping=5.0), clock=Clock(duration=0.01)))
    assert any("UNSTABLE" in text for text in trace.facts.warnings)


def test_a_run_tells_what_its_law_remarks() -> None:
    from palpate.control import OperationalSpace
    from palpate.run.run import Run
    from palpate.run.simulate import simulate

    robot = load_robot("planar2")
    law = OperationalSpace(directions=("x", "y"))
    trace = simulate(Run(robot, law, clock=Clock(duration=0.01), q_start=np.array([0.5, 0.0])))
    assert any("lost direction" in text for text in trace.facts.remarks)
