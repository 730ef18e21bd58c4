"""Null spaces keep clear of joint stops and rated speeds, and no task feels it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control import CartesianImpedance, OperationalSpace, PoleBalance
from palpate.control.law import Rig, Seen
from palpate.control.references.reference import Hold, Targets, joint_target
from palpate.metrics import evaluate
from palpate.robot import Robot, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.model import law_class
from palpate.world.clock import Clock

# The tool as a whole is the task; (settings, rows of J that it is).
TASKS: dict[str, tuple[dict[str, Any], slice]] = {
    "cartesian-impedance": ({}, slice(0, 6)),
    "shaped-impedance": ({}, slice(0, 6)),
    "operational-space": ({}, slice(0, 6)),
    "direct-force": ({}, slice(0, 6)),
    "parallel-force": ({}, slice(0, 6)),
    "hybrid-force": ({}, slice(0, 6)),
    "integral-force": ({}, slice(0, 3)),
    "pole-balance": ({"fall_angle": None, "fall_speed": None}, slice(0, 6)),
}
STILL: dict[str, Any] = {"posture_stiffness": 0.0, "posture_damping": 0.0}
BENT = {
    "panda": (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    "iiwa14": (0.0, 0.8, 0.0, -1.6, 0.0, 0.9, 0.0),
}


def law_of(name: str, **settings: Any) -> Any:
    return law_class(name)(**{**TASKS[name][0], **settings})


def self_motion(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The joint velocity, of length 1, that leaves the tool alone."""
    return np.linalg.svd(robot.jacobian(q))[2][-1]


def near_a_stop(robot: Robot, q: np.ndarray, joint: int, room: float) -> np.ndarray:
    return np.where(np.arange(robot.nv) == joint, robot.limits.upper - room, q)


def upright() -> Seen:
    seen = Seen()
    seen.pole.AB[:] = 0.0, 0.0, 1.0
    return seen


def added(law: Any, robot: Robot, q: np.ndarray, v: np.ndarray, **inputs: Any) -> np.ndarray:
    """What keeping clear adds to a law's command."""
    with_it, without = (
        law.model_copy(update={"avoid_stops": on}).tick(robot, q, v, seen=upright(), **inputs).command
        for on in (True, False)
    )
    return with_it - without


@pytest.mark.parametrize("projector", ["dynamic", "kinematic"])
@pytest.mark.parametrize("name", TASKS)
def test_no_chosen_direction_is_accelerated_by_it(name: str, projector: str) -> None:
    if projector == "kinematic" and name != "operational-space":
        pytest.skip("has no projector to choose")
    settings = {"projector": projector} if name == "operational-space" else {}
    robot, law, rng, worked = load_robot("iiwa14"), law_of(name, **settings), np.random.default_rng(4), 0
    for _ in range(20):
        joint, v = int(rng.integers(7)), rng.normal(0.0, 0.5, 7)
        q = near_a_stop(robot, np.array(BENT["iiwa14"]) + rng.uniform(-0.6, 0.6, 7), joint, 0.05)
        v[joint] = 1.0
        extra = added(law, robot, q, v)
        x = robot.terms(q, v)
        felt = x.J[TASKS[name][1]] @ np.linalg.solve(x.M, extra)
        assert felt == pytest.approx(np.zeros_like(felt), abs=1e-9 * max(1.0, np.abs(extra).max()))
        worked += np.abs(extra).max() > 1e-3
    assert worked >= 5  # it is not the zero that passes


@pytest.mark.parametrize("name", TASKS)
def test_far_from_stops_and_ratings_a_command_is_to_the_last_bit_what_it_was(name: str) -> None:
    robot, rng = load_robot("iiwa14"), np.random.default_rng(5)
    for _ in range(10):
        q = np.array(BENT["iiwa14"]) + rng.uniform(-0.3, 0.3, 7)
        assert not np.any(added(law_of(name), robot, q, rng.uniform(-0.4, 0.4, 7)))


@pytest.mark.parametrize("name", ["cartesian-impedance", "pole-balance"])
@pytest.mark.parametrize("joint", [0, 2, 4])
def test_a_self_motion_towards_a_stop_loses_energy_and_the_joint_is_pushed_away(name: str, joint: int) -> None:
    robot = load_robot("iiwa14")
    q = near_a_stop(robot, np.array(BENT["iiwa14"]), joint, 0.06)
    v = self_motion(robot, q)
    v *= 0.9 / v[joint]  # towards it
    settings = {"self_motion": "free"} if name == "pole-balance" else STILL
    extra = added(law_of(name, **settings), robot, q, v)
    assert extra @ v < -1e-3  # W: taken out of the motion
    assert np.linalg.solve(robot.mass_matrix(q), extra)[joint] < -1e-2


def test_the_bound_is_what_the_page_says_where_one_joint_meets_it() -> None:
    # Halfway into the zone the share is 1: with a softness s the joint keeps the part c/(c + s m) of what is asked.
    robot, joint = load_robot("iiwa14"), 0
    q = near_a_stop(robot, np.array(BENT["iiwa14"]), joint, 0.08)
    v = self_motion(robot, q)
    v *= 0.9 / v[joint]
    extra = added(CartesianImpedance(**STILL, avoid_rate=20.0), robot, q, v)
    M, J = robot.mass_matrix(q), robot.jacobian(q)
    back = np.linalg.inv(M)
    P = back - back @ J.T @ np.linalg.inv(J @ back @ J.T) @ J @ back
    held = 400.0 * (0.08 - 0.02) - 2 * 20.0 * v[joint]  # ω² (room − margin) − 2 ω q̇
    push = min(held, 0.0) / (P[joint, joint] + 0.05 * back[joint, joint])
    assert extra == pytest.approx(M @ P[:, joint] * push, rel=1e-6, abs=1e-9)
    assert held < 0


def test_a_self_motion_near_its_rating_is_damped() -> None:
    robot, q = load_robot("panda", joints="ideal"), np.array(BENT["panda"])
    n = self_motion(robot, q)
    fastest = int(np.argmax(np.abs(n) / robot.limits.velocity))
    along = n * np.sign(n[fastest]) * robot.limits.velocity[fastest] / abs(n[fastest])
    law = CartesianImpedance(**STILL)
    assert not np.any(added(law, robot, q, 0.65 * along))
    assert added(law, robot, q, 1.2 * along) @ along < -1.0


class Elsewhere(Hold):
    """The tool stays; the posture is wanted elsewhere."""

    posture: tuple[float, ...] = ()

    def fill(self, targets: Targets, times: Any, robot: Robot, q_start: Any) -> None:
        super().fill(targets, times, robot, q_start)
        targets.q[:] = self.posture


def least_room(robot: Robot, trace: pp.Trace) -> float:
    return float(np.minimum(trace["q"] - robot.limits.lower, robot.limits.upper - trace["q"]).min())


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
@pytest.mark.parametrize("law", ["cartesian-impedance", "operational-space", "hybrid-force"])
def test_a_drift_into_a_stop_ends_clear_of_it_and_touches_it_without(name: str, law: str) -> None:
    robot, q = load_robot(name, joints="ideal"), np.array(BENT[name])
    found = {}
    for on in (True, False):
        run = Run(
            robot, law_of(law, **STILL, avoid_stops=on), clock=Clock(duration=6.0), q_start=q,
            v_start=0.9 * self_motion(robot, q),
        )  # fmt: skip
        found[on] = simulate(run)
    assert least_room(robot, found[True]) > 0.005
    assert not any(re.search(r"reached.*stop", text) for text in found[True].warnings)
    assert any("steered clear" in text for text in found[True].facts.remarks)
    assert any(re.search(r"reached.*stop", text) for text in found[False].warnings)
    if law == "operational-space":  # the tool is held exactly, and stays so
        assert np.abs(found[True]["tool_position"] - found[True]["tool_position"][0]).max() < 1e-3


def test_a_posture_wanted_beyond_a_stop_is_approached_and_no_more() -> None:
    robot, q = load_robot("panda", joints="ideal"), np.array(BENT["panda"])
    wanted = q + 30.0 * self_motion(robot, q)
    found = {}
    for on in (True, False):
        law = OperationalSpace(avoid_stops=on, posture_stiffness=0.5, posture_damping=3.0)
        reference = Elsewhere(posture=tuple(wanted))
        found[on] = simulate(Run(robot, law, reference=reference, clock=Clock(duration=6.0), q_start=q))
    assert 0.0 < least_room(robot, found[True]) < 0.2
    assert any(re.search(r"reached.*stop", text) for text in found[False].warnings)
    assert not any(re.search(r"reached.*stop", text) for text in found[True].warnings)


def test_least_torque_as_the_document_prints_it_keeps_clear_and_keeps_every_bound() -> None:
    # iiwa14-pole --set control.self_motion=free --set control.nearest=torque: joint 1 ran 0.1 rad past its stop at
    # 6.35 times its rated speed
    changes = ["control.self_motion=free", "control.nearest=torque"]
    scenario = pp.load_scenario("iiwa14-pole", changes)
    trace = pp.simulate(scenario)
    assert trace.outcome.kind == "completed"
    assert not trace.warnings
    assert all(result.passed is not False for result in evaluate(trace, scenario.metrics))
    assert least_room(load_robot("iiwa14"), trace) > 0.01
    assert any("steered clear" in text for text in trace.facts.remarks)


def test_the_pole_is_accelerated_the_same_although_its_arm_is_steered() -> None:
    robot = load_robot("iiwa14").with_payload(1.0, (0, 0, 0))
    q = near_a_stop(robot, np.array(BENT["iiwa14"]), 0, 0.03)
    v = 0.5 * self_motion(robot, q)
    for nearest in ("acceleration", "torque"):
        law = PoleBalance(self_motion="free", nearest=nearest, respect_limits=False)
        extra = added(law, robot, q, v * np.sign(v[0]), target=joint_target(robot, q))
        assert np.abs(extra).max() > 0.1
        assert robot.jacobian(q) @ np.linalg.solve(robot.mass_matrix(q), extra) == pytest.approx(np.zeros(6), abs=1e-9)


def test_the_rate_suits_the_loop() -> None:
    robot = load_robot("panda", joints="ideal")
    assert CartesianImpedance().suited(robot, Rig(period=1e-3)).avoid_rate == 20.0
    assert CartesianImpedance().suited(robot, Rig(period=1e-2, delay=2)).avoid_rate == pytest.approx(0.2 / 0.025)
    assert CartesianImpedance(avoid_rate=5.0).suited(robot, Rig()).avoid_rate == 5.0


def test_an_arm_without_a_null_space_is_left_alone() -> None:
    robot = load_robot("ur5e", joints="ideal")
    q = near_a_stop(robot, robot.home, 1, 0.01)
    assert not np.any(added(OperationalSpace(), robot, q, np.full(6, 0.5)))
