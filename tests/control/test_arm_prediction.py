"""Predictions for arms: the law models are the laws as coded, one axis is one axis, and known failures are foretold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control import (
    Admittance,
    CartesianImpedance,
    DirectForce,
    HybridForce,
    IntegralForce,
    JointImpedance,
    ParallelForce,
    ShapedImpedance,
)
from palpate.control.design import IMPEDANCE, ContactCase, Timing, Wall, predict_contact, predict_for_arm, predictable
from palpate.control.design.arm import arm_contact, axis_of, predict_arm_contact
from palpate.control.law import Target, sizes_of
from palpate.control.references.reference import Hold, WantedWrench
from palpate.errors import InvalidInput
from palpate.scenario.reference import rig_of

T = 1e-3
TILTED = (math.cos(0.3), 0.0, math.sin(0.3), 0.0)
LAWS = [
    CartesianImpedance(),
    CartesianImpedance(axes="tool", axes_quat_wxyz=TILTED, stiffness=(300.0, 400.0, 500.0, 10.0, 20.0, 30.0)),
    CartesianImpedance(directions=("x", "z", "ry"), form="exact"),
    ShapedImpedance(),
    ShapedImpedance(directions=("x", "y", "z"), axes="tool", mass=(3.0, 4.0, 5.0, 0.1, 0.2, 0.3)),
    IntegralForce(),
    IntegralForce(directions=("z", "ry"), axes="tool"),
    DirectForce(proportional=0.4),
    DirectForce(axes_quat_wxyz=TILTED, force=("z", "rx"), motion=("x", "y")),
    ParallelForce(proportional=0.4),
    HybridForce(proportional=0.4, integral=7.0),
    HybridForce(axes_quat_wxyz=TILTED, force=("z", "x"), motion=("y", "rz"), friction_feedback=0.3),
    Admittance(servo="velocity"),
    Admittance(servo="position"),
]


def answers(
    law: Any, robot: pp.Robot, inputs: list[tuple[np.ndarray, np.ndarray, np.ndarray]], pressing: np.ndarray
) -> np.ndarray:
    """The law's commands, tick after tick, for readings (q, v, wrench) about a rest that presses as wanted."""
    bound, q0 = law.bind(robot), robot.home
    row = Hold(wrench=WantedWrench(value=tuple(pressing))).sample(np.zeros(1), robot, q0)[0]
    target = Target.over(row, sizes_of(robot))
    return np.array([
        bound.tick(robot, q0 + q, v, wrench=pressing + F, target=target, dt=T).command for q, v, F in inputs
    ])  # fmt: skip


def modelled(law: Any, robot: pp.Robot, inputs: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """The same, as deviations, from the law's matrices."""
    model = law.linear(robot, robot.home, Timing(T)).law()
    xi, out = np.zeros(len(model.update)), []
    for q, v, F in inputs:
        xi = model.update @ xi + model.update_q @ q + model.update_v @ v + model.update_wrench @ F
        out.append(model.state @ xi + model.q @ q + model.v @ v + model.wrench @ F)
    return np.array(out)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("reading", ["q", "v", "wrench"])
def test_a_laws_matrices_are_the_law_as_coded(law: Any, reading: str) -> None:
    """Tick by tick, the answer to a small change of the readings at the second tick and after."""
    robot = pp.load_robot("panda", joints="ideal")
    law = law.suited(robot, rig_of(pp.World(), pp.world.Clock(period=T), robot.home))
    rng, n, zero = np.random.default_rng(5), robot.nv, np.zeros(robot.nv)
    small = {"q": 1e-6, "v": 1e-6, "wrench": 1e-3}[reading]
    change = small * rng.normal(size=6 if reading == "wrench" else n)
    parts = {"q": (change, zero, np.zeros(6)), "v": (zero, change, np.zeros(6)), "wrench": (zero, zero, change)}
    rest = (zero, zero, np.zeros(6))
    inputs = [rest, *[parts[reading]] * 4]
    if law.name == "admittance" and reading == "wrench":
        inputs = [rest, parts[reading], rest, rest, rest]
    # A force that is pressed with turns with the arm, against the wall's own; hybrid control has no contact without it.
    pressing = np.array([-1.5, 0.0, -1.5, 0.0, 0.0, 0.0]) * (law.name == "hybrid-force")
    found = answers(law, robot, inputs, pressing) - answers(law, robot, [rest] * 5, pressing)
    wanted = modelled(law, robot, inputs)
    # Newton steps of the admittance are damped: up to 0.2 % short at the Panda's home.
    tolerance = {"admittance": 5e-3, "hybrid-force": 5e-2 if reading == "q" else 2e-5}.get(law.name, 2e-5)
    assert np.abs(found - wanted).max() <= tolerance * max(np.abs(wanted).max(), 1e-12)


def test_a_cartesian_arm_is_its_one_axis() -> None:
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0))
    law = CartesianImpedance(stiffness=(400, 10, 0, 0, 0, 0), damping=(40, 20, 0, 0, 0, 0), directions=("x", "y"))
    timing = Timing(2e-3, command_delay=1, joint_delay=1)
    found = predict_for_arm(robot, [0.0, 0.0], law, wall=Wall(1e4, 5.0, (-1, 0, 0)), timing=timing)
    one = predict_contact(
        ContactCase(IMPEDANCE, 5.0, timing, stiffness=400.0, damping=40.0, wall_stiffness=1e4,
                    wall_damping=5.0)
    )  # fmt: skip
    assert found.axis.mass == pytest.approx(5.0, rel=1e-9)
    for pole in one.poles:
        assert np.abs(found.poles - pole).min() < 1e-6
    assert found.largest_wall_stiffness == pytest.approx(one.largest_wall_stiffness, rel=1e-3)
    assert found.largest_delay == pytest.approx(one.largest_delay, rel=1e-3)
    assert found.largest_gains["stiffness"] == pytest.approx(one.largest_gains["stiffness"], rel=1e-3)


@pytest.mark.parametrize(("delay", "stable"), [(0, True), (2, False), (5, False)])
def test_a_late_panda_on_a_wall_is_foretold(delay: int, stable: bool) -> None:
    """The gains of `panda-wall`: with delay it is the last joint that rings, in simulation too, on every wall."""
    robot = pp.load_robot("panda", joints="ideal")
    law = CartesianImpedance(stiffness=(400, 400, 400, 20, 20, 20), damping=(80, 80, 80, 5, 5, 5))
    found = predict_for_arm(
        robot, robot.home, law, wall=Wall(1e5, 100.0, (-1, 0, 0)), timing=Timing(T, command_delay=delay)
    )
    assert found.stable == stable
    if not stable:
        assert found.joint == "joint7"
        assert "joint7" in found.warnings[0]
        assert found.largest_wall_stiffness == 0.0


@pytest.mark.parametrize(("stiffness", "delay", "stable"), [(1e5, 0, True), (1e4, 5, True), (1e5, 5, False)])
def test_a_late_admittance_on_a_stiff_wall_is_foretold(stiffness: float, delay: int, stable: bool) -> None:
    """The gains, rotors and servo of `ur5e-admittance`; in simulation the last of the three bounces."""
    robot = pp.load_robot("ur5e", joints="ideal")
    pose = pp.spatial.Pose([0.4, -0.1, 0.2], [[0, -1, 0], [-1, 0, 0], [0, 0, -1]])
    q = robot.inverse_kinematics(pose)
    law = Admittance(mass=(5.0,) * 6, stiffness=(10.0,) * 6)
    found = predict_for_arm(
        robot, q, law, wall=Wall(stiffness, 50.0), rotor_inertia=0.1,
        timing=Timing(T, wrench_delay=delay, servo_bandwidth=120.0),
    )  # fmt: skip
    assert found.stable == stable
    if delay:
        assert 1e4 < found.largest_wall_stiffness < 2e4


@pytest.mark.parametrize("law", [DirectForce(), ParallelForce()], ids=lambda law: law.name)
@pytest.mark.parametrize(("name", "joint"), [("iiwa14", "joint7"), ("ur5e", "joint6")])
def test_gains_too_high_for_the_last_joint_are_foretold(law: Any, name: str, joint: str) -> None:
    robot = pp.load_robot(name, joints="ideal")
    heavy = law.model_copy(update={"damping": (80.0, 80.0, 80.0, 4.0, 4.0, 4.0)})
    found = predict_for_arm(robot, robot.home, heavy, wall=Wall(0.0), timing=Timing(T), limits=False)
    assert not found.stable
    assert found.joint == joint


def test_the_poles_of_an_arm_are_those_of_its_equations_of_motion() -> None:
    """A fast clock: the poles of M q̈ + (Jᵀ D J + d N) q̇ + (Jᵀ (K + K_w nnᵀ) J + k N) q = 0."""
    robot = pp.load_robot("iiwa14")
    law = CartesianImpedance()
    wall = Wall(2e4, 30.0, (0, 0, 1))
    contact = arm_contact(robot, robot.home, law, wall=wall, timing=Timing(1e-6))
    M, J = robot.mass_matrix(robot.home), robot.jacobian(robot.home)
    D = contact.model.gains.damping + 30.0 * np.outer(np.eye(6)[2], np.eye(6)[2])
    K = contact.model.gains.stiffness + 2e4 * np.outer(np.eye(6)[2], np.eye(6)[2])
    N = np.eye(7) - J.T @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ np.linalg.inv(M))
    stiffness, damping = J.T @ K @ J + 5.0 * N, J.T @ D @ J + 2.0 * N
    back = np.linalg.inv(M)
    poles = np.linalg.eigvals(np.block([[np.zeros((7, 7)), np.eye(7)], [-back @ stiffness, -back @ damping]]))
    assert contact.loop.growth == pytest.approx(poles.real.max(), rel=1e-3)


def test_rotors_and_joint_damping_count() -> None:
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0))
    law = CartesianImpedance(stiffness=(400, 300, 0, 0, 0, 0), damping=(40, 20, 0, 0, 0, 0), directions=("x", "y"))
    wall = Wall(1e4, 5.0, (1, 0, 0))
    arm = arm_contact(robot, [0, 0], law, wall=wall, timing=Timing(T), rotor_inertia=[4.0, 0.0], joint_damping=3.0)
    axis = axis_of(arm)
    assert axis.mass == pytest.approx(9.0)
    assert axis.model_mass == pytest.approx(5.0)
    assert axis.own_damping == pytest.approx(3.0)
    same = ContactCase(IMPEDANCE, 9.0, Timing(T), stiffness=400.0, damping=40.0, own_damping=3.0,
                       wall_stiffness=1e4, wall_damping=5.0)  # fmt: skip
    assert np.abs(arm.loop.poles - same.loop.poles[0]).min() < 1e-9


def test_a_contact_beside_the_tools_origin_turns_the_tool() -> None:
    robot = pp.load_robot("panda", joints="ideal")
    here = robot.pose(robot.home).position
    beside = Wall(1e4, 0.0, (0, 0, 1), point=here + np.array([0.1, 0.0, 0.0]))
    arm = arm_contact(robot, robot.home, CartesianImpedance(), wall=beside, timing=Timing(T))
    J = robot.jacobian(robot.home)
    assert arm.J_contact[2] == pytest.approx(J[2] - 0.1 * J[4], abs=1e-12)  # v_z + (ω × r)_z = v_z − ω_y r_x
    assert arm.plant().felt_q[4] == pytest.approx(-0.1 * arm.plant().felt_q[2], abs=1e-9)  # (r × f)_y = −r_x f_z


def test_a_sticking_wall_holds_across_its_normal_too() -> None:
    K, B = Wall(100.0, 2.0, (0, 0, 2.0), tangential_stiffness=30.0, tangential_damping=1.0).matrices()
    assert np.diag(K) == pytest.approx([30.0, 30.0, 100.0])
    assert np.diag(B) == pytest.approx([1.0, 1.0, 2.0])


def test_laws_without_memory_are_predicted_from_their_slopes() -> None:
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0))
    wall, timing = Wall(1e4, 5.0, (1, 0, 0)), Timing(2e-3, command_delay=1)
    law = JointImpedance(stiffness=(400.0, 10.0), damping=(40.0, 20.0))
    found = predict_for_arm(robot, [0.0, 0.0], law, wall=wall, timing=timing)
    one = predict_contact(
        ContactCase(IMPEDANCE, 5.0, timing, stiffness=400.0, damping=40.0, wall_stiffness=1e4,
                    wall_damping=5.0)
    )  # fmt: skip
    assert found.axis.stiffness == pytest.approx(400.0, rel=1e-6)
    assert np.abs(found.poles - one.poles[0]).min() < 1e-6
    assert found.largest_gain == pytest.approx(one.largest_gain, rel=1e-3)
    assert found.sentences[0].startswith("joint-impedance on a wall")
    assert predictable(law)


def test_laws_that_nobody_predicts_are_refused_by_name() -> None:
    from palpate.control import PoleBalance

    robot = pp.load_robot("iiwa14")
    assert not predictable(PoleBalance())
    with pytest.raises(InvalidInput, match="keeps a memory between ticks and gives no linear model"):
        predict_for_arm(robot, robot.home, PoleBalance(), wall=Wall(1.0), timing=Timing(T))
    with pytest.raises(InvalidInput, match="direction"):
        predict_for_arm(robot, robot.home, CartesianImpedance(), wall=Wall(1.0, 0.0, (0, 0, 0)), timing=Timing(T))


def test_huge_gains_and_singular_masses_never_raise() -> None:
    robot = pp.load_robot("panda", joints="ideal")
    heavy = CartesianImpedance(stiffness=(1e300,) * 6, damping=(1e300,) * 6)
    assert predict_for_arm(robot, robot.home, heavy, wall=Wall(1e4), timing=Timing(T), limits=False).stable is False

    class Singular:
        def __getattr__(self, name: str):
            return getattr(robot, name)

        def mass_matrix(self, q):
            return np.ones((7, 7))

    broken: Any = Singular()
    found = predict_for_arm(robot, robot.home, CartesianImpedance(), wall=Wall(1e4), timing=Timing(T), plant=broken)
    assert found.stable is None
    assert "singular" in found.sentences[0]


def test_long_delays_of_an_arm_are_told_without_limits() -> None:
    """A limit of one axis says nothing of the arm's other directions."""
    robot = pp.load_robot("panda", joints="ideal")
    found = predict_for_arm(
        robot, robot.home, CartesianImpedance(), wall=Wall(1e4, 50.0), timing=Timing(T, joint_delay=200)
    )
    assert not found.stable
    assert "not searched" in found.sentences[1]
    assert math.isnan(found.largest_delay)
    assert math.isnan(found.largest_wall_stiffness)
    assert not found.largest_gains


@pytest.mark.parametrize("delay", [0, 4, 12])
def test_the_largest_delay_of_an_arm_lies_between_a_stable_and_an_unstable_one(delay: int) -> None:
    """The stiffness of `panda-wall`; up to 300 states are searched, 20 ms here are 154."""
    robot, wall = pp.load_robot("panda"), Wall(1e4, 50.0, (-1, 0, 0))
    law = CartesianImpedance(stiffness=(400, 400, 400, 20, 20, 20))
    contact = arm_contact(robot, robot.home, law, wall=wall, timing=Timing(T, command_delay=delay))
    found = predict_arm_contact(contact)
    assert 0.0 < found.largest_delay < math.inf
    assert contact.loop_at(lag=0.99 * found.largest_delay).stable
    assert not contact.loop_at(lag=1.01 * found.largest_delay).stable


def test_an_arm_that_bears_every_delay_that_was_tried_says_how_much_that_was() -> None:
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0))
    law = CartesianImpedance(stiffness=(1, 1, 0, 0, 0, 0), damping=(20, 20, 0, 0, 0, 0), directions=("x", "y"))
    found = predict_for_arm(robot, [0.0, 0.0], law, wall=Wall(0.0, 0.0, (-1, 0, 0)), timing=Timing(T))
    assert math.isinf(found.largest_delay)
    assert found.delay_tried == pytest.approx(148 * T)
    assert "at least 148 ms" in found.sentences[1]
