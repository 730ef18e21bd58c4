"""The stack of tasks as a law: one tick against the library and closed forms, then the loop within torque limits."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from palpate.control import Priorities
from palpate.control.law import Target, Tick, sizes_of
from palpate.control.laws.priorities import Level
from palpate.control.references.reference import Hold, joint_target
from palpate.control.solve.priorities import inverse_dynamics
from palpate.control.solve.tasks import FrameOrientation, FramePosition, Posture
from palpate.errors import InvalidInput, UnknownName
from palpate.metrics import evaluate
from palpate.robot import Robot, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.spatial import matrix_from_quat, rotation_error
from palpate.trace import Trace
from palpate.world.clock import Clock

POSITION = Level(kind="position", frequency=20.0)
ORIENTATION = Level(kind="orientation", frequency=10.0, damping_ratio=0.7)
POSTURE = Level(kind="posture", frequency=5.0)
STACK = (POSITION, ORIENTATION, POSTURE)


@functools.cache
def panda() -> Robot:
    return load_robot("panda", joints="ideal")


def moment(seed: int, far: float = 0.2) -> tuple[np.ndarray, np.ndarray, Target]:
    """A state near home and a target near that, everything moving."""
    rng = np.random.default_rng(seed)
    q, v = panda().home + rng.normal(scale=0.3, size=7), rng.normal(scale=0.3, size=7)
    sizes = sizes_of(panda())
    target = Target.over(rng.normal(scale=far, size=Target.width(sizes)), sizes)
    target.q[:] += panda().home
    pose = panda().pose(q + rng.normal(scale=far, size=7))
    target.position[:], target.quat_wxyz[:] = pose.position, pose.quat_wxyz
    return q, v, target


def wanted(target: Target, q: np.ndarray, v: np.ndarray, w: float, z: float) -> np.ndarray:
    """A_d + 2 ζ ω (V_d − V) + ω² [p_d − p; log(R_d Rᵀ)], written out."""
    x = panda().terms(q, v)
    turn = rotation_error(matrix_from_quat(target.quat_wxyz), x.rotation)
    error = np.r_[target.position - x.position, turn]
    return target.acceleration + 2 * z * w * (target.twist - x.J @ v) + w * w * error


def acceleration(law: Priorities, q: np.ndarray, v: np.ndarray, target: Target) -> np.ndarray:
    x = panda().terms(q, v)
    return np.linalg.solve(x.M, law.tick(panda(), q, v, target=target).command - x.bias)


# ------------------------------------------------------------------ one tick


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_tick_is_the_librarys_answer(seed: int, share: float) -> None:
    q, v, target = moment(seed)
    twist, a = target.twist, target.acceleration
    levels = [
        FramePosition(target=target.position, kp=400, kd=40, feedforward=twist[:3] + a[:3] / 40),
        FrameOrientation(target=matrix_from_quat(target.quat_wxyz), kp=100, kd=14, feedforward=twist[3:] + a[3:] / 14),
        Posture(target=target.q, kp=25, kd=10, feedforward=target.v + target.a / 10),
    ]
    most = share * panda().limits.torque * (1 - 1e-12)  # the law's own margin against rounding
    expected = inverse_dynamics(panda(), q, v, levels, torque=most).torque
    assert expected is not None
    found = Priorities(levels=STACK, torque_share=share).tick(panda(), q, v, target=target)
    np.testing.assert_allclose(found.command, expected, rtol=1e-12, atol=1e-12)
    assert found.kind == "torque"


@pytest.mark.parametrize("share", [1.0, 0.4, 0.2])
def test_every_share_of_a_stack_with_another_frame_is_the_librarys_answer(share: float) -> None:
    """Terms, counts and worst misses against `inverse_dynamics`; the elbow's goal is that of the wanted posture."""
    elbow = Level(kind="position", frame="link4", directions=("z", "y"), weight=3.0, shared=True)
    stack = (Level(kind="direction", along=(1, 2, 0), frequency=15.0), ORIENTATION, elbow, POSTURE)
    law = Priorities(levels=stack, torque_share=share)
    whole, split = law.bind(panda()), law.model_copy(update={"shares": True}).bind(panda())
    most = share * panda().limits.torque * (1 - 1e-12)
    worst = np.zeros(4)
    for seed in range(40):
        q, v, target = moment(seed, far=0.01 * (1 + seed % 20))
        levels = tasks_of(stack, target)
        found = split.tick(panda(), q, v, target=target)
        so_far = found.terms["bias"].copy()
        answers = [inverse_dynamics(panda(), q, v, levels[: k + 1], torque=most) for k in range(3)]
        for k, answer in enumerate(answers):
            so_far += found.terms[f"level{k + 1}"]
            assert so_far == pytest.approx(answer.torque, rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(whole.tick(panda(), q, v, target=target).command, so_far, rtol=1e-12, atol=1e-12)
        last = answers[-1]
        missed = [np.linalg.norm(last.residuals[name]) * (not last.met[name]) for name in "0123"]
        worst = np.maximum(worst, missed)
    np.testing.assert_allclose(whole.memory.worst, worst, rtol=1e-6, atol=1e-9)
    assert whole.remarks(whole.memory) == split.remarks(split.memory)
    assert share == 1.0 or whole.memory.limited > 5


def tasks_of(stack: tuple[Level, ...], target: Target) -> list[list[Any]]:
    """The levels of `stack` as tasks of the library, named by their place among the entries."""
    direction, orientation, elbow, posture = stack
    at = panda().terms(target.q, target.v, "link4")
    twist, a = at.J @ target.v, at.J @ target.a + at.drift
    along = np.array([[1.0, 2.0, 0.0]]) / np.sqrt(5.0)
    rows = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])

    def gains(level: Level) -> dict[str, Any]:
        w = level.frequency
        return {"kp": w * w, "kd": 2 * level.damping_ratio * w, "weight": level.weight}

    def forward(level: Level, speed: Any, acceleration: Any) -> Any:
        return speed + acceleration / gains(level)["kd"]

    return [
        [FramePosition(
            name="0", target=target.position, directions=along,
            feedforward=forward(direction, along @ target.twist[:3], along @ target.acceleration[:3]),
            **gains(direction),
        )],
        [
            FrameOrientation(
                name="1", target=matrix_from_quat(target.quat_wxyz),
                feedforward=forward(orientation, target.twist[3:], target.acceleration[3:]), **gains(orientation),
            ),
            FramePosition(
                name="2", target=at.position, frame="link4", directions=rows,
                feedforward=forward(elbow, rows @ twist[:3], rows @ a[:3]), **gains(elbow),
            ),
        ],
        [Posture(name="3", target=target.q, feedforward=forward(posture, target.v, target.a), **gains(posture))],
    ]  # fmt: skip


def test_a_robot_with_coupled_joints_is_driven_by_its_tool_and_refuses_other_frames(tmp_path) -> None:
    """Two sliders of which one follows the other: the leader's own task is met exactly."""
    text = """<mujoco><worldbody><body name="a"><joint name="lead" type="slide" axis="1 0 0"/>
    <geom name="ga" size="0.1" mass="2"/><body name="b"><joint name="follow" type="slide" axis="0 1 0"/>
    <geom name="gb" size="0.1" mass="1"/><site name="tip" pos="0.1 0 0"/></body></body></worldbody>
    <equality><joint joint1="follow" joint2="lead" polycoef="0 0.5 0 0 0"/></equality></mujoco>"""
    (tmp_path / "coupled.xml").write_text(text)
    robot = load_robot(tmp_path / "coupled.xml", tool_frame="tip")
    assert robot.coordinates.coupled
    q, v = np.array([0.2]), np.array([0.3])
    x, target = robot.terms(q, v), joint_target(robot, q)
    target.position[0] += 0.1
    level = Level(kind="position", directions=("x",), frequency=20.0)
    command = Priorities(levels=(level,), torque_limits=False).tick(robot, q, v, target=target).command
    a = np.linalg.solve(x.M, command - x.bias)
    assert (x.J @ a + x.drift)[0] == pytest.approx(400.0 * 0.1 - 40.0 * (x.J @ v)[0], rel=1e-9)
    other = next(name for name in robot.frame_names if name != robot.tool_frame)
    with pytest.raises(InvalidInput, match="coupled joints"):
        Priorities(levels=(Level(kind="position", frame=other, directions=("x",)),)).bind(robot)


@pytest.mark.parametrize("seed", range(5))
def test_a_level_that_can_be_met_has_its_second_order_error(seed: int) -> None:
    q, v, target = moment(seed)
    x = panda().terms(q, v)
    a = acceleration(Priorities(levels=STACK, torque_limits=False), q, v, target)
    found = x.J @ a + x.drift
    np.testing.assert_allclose(found[:3], wanted(target, q, v, 20.0, 1.0)[:3], atol=1e-9)
    np.testing.assert_allclose(found[3:], wanted(target, q, v, 10.0, 0.7)[3:], atol=1e-9)


def test_lower_levels_never_disturb_higher_ones_even_at_torque_limits() -> None:
    met_limits = moved = 0
    for seed in range(40):
        q, v, target = moment(seed, far=0.06)
        x = panda().terms(q, v)
        alone, two, all_three = (
            acceleration(Priorities(levels=STACK[:k], torque_share=0.4), q, v, target) for k in (1, 2, 3)
        )
        scale = 1 + np.abs(x.J @ alone).max()
        np.testing.assert_allclose(x.J[:3] @ two, x.J[:3] @ alone, atol=1e-9 * scale)
        np.testing.assert_allclose(x.J @ all_three, x.J @ two, atol=1e-9 * (1 + np.abs(x.J @ two).max()))
        moved += bool(np.abs(all_three - two).max() > 1e-3)
        torque = Priorities(levels=STACK, torque_share=0.4).tick(panda(), q, v, target=target).command
        assert (np.abs(torque) <= 0.4 * panda().limits.torque).all()
        met_limits += bool((np.abs(torque) > 0.4 * panda().limits.torque * (1 - 1e-9)).any())
    assert met_limits > 10
    assert moved > 10, "the posture must want something else"


def test_entries_that_share_a_level_are_weighed_against_each_other() -> None:
    q, v, target = moment(7)
    x = panda().terms(q, v)
    stack = (POSITION, Level(kind="posture", frequency=5.0, weight=4.0, shared=True))
    found = acceleration(Priorities(levels=stack, torque_limits=False), q, v, target)
    posture = target.a + 10 * (target.v - v) + 25 * (target.q - q)
    A = np.vstack([x.J[:3], 2 * np.eye(7)])
    b = np.r_[wanted(target, q, v, 20.0, 1.0)[:3] - x.drift[:3], 2 * posture]
    np.testing.assert_allclose(found, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-9)


def test_a_direction_counts_along_its_line_alone() -> None:
    q, v, target = moment(3)
    x = panda().terms(q, v)
    line = np.array([1.0, 2.0, -2.0]) / 3
    law = Priorities(levels=(Level(kind="direction", along=(2, 4, -4), frequency=20.0),), torque_limits=False)
    found = acceleration(law, q, v, target)
    row = line @ x.J[:3]
    least = row * (line @ (wanted(target, q, v, 20.0, 1.0)[:3] - x.drift[:3])) / (row @ row)
    np.testing.assert_allclose(found, least, atol=1e-9)


def test_chosen_directions_and_joints_leave_the_others_alone() -> None:
    q, v, target = moment(4)
    x = panda().terms(q, v)
    stack = (
        Level(kind="pose", directions=("z", "rx"), frequency=20.0),
        Level(kind="posture", joints=("joint2", "joint1"), frequency=5.0),
    )
    a = acceleration(Priorities(levels=stack, torque_limits=False), q, v, target)
    np.testing.assert_allclose((x.J @ a + x.drift)[[2, 3]], wanted(target, q, v, 20.0, 1.0)[[2, 3]], atol=1e-9)
    posture = target.a + 10 * (target.v - v) + 25 * (target.q - q)
    np.testing.assert_allclose(a[:2], posture[:2], atol=1e-9)


def test_another_frame_follows_the_wanted_posture() -> None:
    q, v, target = moment(5)
    target.q[:], target.v[:] = q, v  # on its way exactly: the elbow's wish and the posture's are one
    stack = (Level(kind="position", frame="link4"), POSTURE)
    a = acceleration(Priorities(levels=stack, torque_limits=False), q, v, target)
    np.testing.assert_allclose(a, target.a, atol=1e-9)


def test_shares_of_the_levels_add_up_to_the_command() -> None:
    q, v, target = moment(6)
    whole = Priorities(levels=STACK).tick(panda(), q, v, target=target)
    split = Priorities(levels=STACK, shares=True).tick(panda(), q, v, target=target)
    first = Priorities(levels=STACK[:1]).tick(panda(), q, v, target=target)
    assert list(split.terms) == ["bias", "level1", "level2", "level3"]
    np.testing.assert_allclose(split.command, whole.command, atol=1e-11)
    np.testing.assert_allclose(split.terms["bias"] + split.terms["level1"], first.command, atol=1e-11)


def test_without_levels_the_pose_stands_above_the_posture() -> None:
    q, v, target = moment(8)
    explicit = Priorities(levels=(Level(kind="pose"), Level(kind="posture")))
    np.testing.assert_array_equal(
        Priorities().tick(panda(), q, v, target=target).command,
        explicit.tick(panda(), q, v, target=target).command,
    )


# ------------------------------------------------------------------ no answer


@pytest.mark.parametrize("shares", [False, True])
def test_without_an_answer_the_arm_is_held_within_its_limits_and_that_is_said(shares: bool) -> None:
    q, v, target = moment(1)
    v[6], target.position[0] = 100.0, np.nan
    x = panda().terms(q, v)
    bound = Priorities(levels=STACK, fallback_damping=3.0, shares=shares).bind(panda())
    known = {name: getattr(x, name) for name in ("M", "bias", "gravity", "position", "rotation", "J", "drift")}
    bound.decide(Tick(sizes_of(panda()), **known, q=q, v=v, target=target))
    command = bound.rows.sum(axis=0)
    np.testing.assert_allclose(command[:6], (x.gravity - 3.0 * v)[:6], atol=1e-12)
    assert command[6] == pytest.approx(-12.0, rel=1e-9)  # its limit
    assert bound.memory.fallback == 1
    assert bound.alarms(bound.memory) == ["priorities: no solution at 1 of 1 ticks: gravity and damping were used"]


@pytest.mark.parametrize("field", ["q", "position", "quat_wxyz", "twist"])
def test_a_target_that_is_no_number_leads_to_the_fallback(field: str) -> None:
    q, v, target = moment(2)
    getattr(target, field)[0] = np.nan
    bound, x = Priorities(levels=STACK).bind(panda()), panda().terms(q, v)
    known = {name: getattr(x, name) for name in ("M", "bias", "gravity", "position", "rotation", "J", "drift")}
    bound.decide(Tick(sizes_of(panda()), **known, q=q, v=v, target=target))
    rows = bound.rows
    np.testing.assert_allclose(rows[0], x.gravity - 2.0 * v, atol=1e-12)
    assert bound.memory.fallback == 1


# ------------------------------------------------------------------ in the loop


def test_the_tool_comes_as_the_law_says_while_lower_levels_pull_elsewhere() -> None:
    stack = (Level(kind="position", frequency=10.0), Level(kind="posture", frequency=20.0))
    step = np.array([0.03, -0.02, 0.02])
    parts = Run(
        panda(),
        Priorities(levels=stack),
        clock=Clock(duration=0.6, timestep=5e-4),
        reference=Hold(offset=(0.03, -0.02, 0.02)),
    )
    trace = simulate(parts)
    error = trace["target_position"] - trace["tool_position"]
    share = (1 + 10 * trace.time) * np.exp(-10 * trace.time)  # of ë + 2 ω ė + ω² e = 0 from rest
    # Torques are held for half a millisecond of a motion with ω = 10/s, and the rate limit rounds the first step.
    assert np.abs(error - share[:, None] * step).max() < 3e-4
    assert np.abs(trace["q"][-1] - panda().home).max() > 0.01, "the posture cannot be met"
    relaxed, limited = trace.facts.remarks
    assert relaxed.startswith("priorities: entry 2, posture: relaxed at ")
    assert limited.startswith("the torque-rate limit changed the command for 0.004 s")


def test_shares_of_the_levels_are_recorded_in_a_run() -> None:
    law = Priorities(shares=True)
    trace = simulate(Run(panda(), law, clock=Clock(duration=0.02), reference=Hold(offset=(0.01, 0.0, 0.0))))
    total = trace["tau.bias"] + trace["tau.level1"] + trace["tau.level2"]
    np.testing.assert_allclose(total, trace["command"], atol=1e-11)


@functools.cache
def shipped_run(share: float) -> Trace:
    changes = [f"control.torque_share={share}", "control.friction_compensation=0", "robot.joints=ideal"]
    return simulate(load_scenario("panda-priorities", changes))


def worst(trace: Trace, name: str) -> float:
    value = {result.name: result.value for result in evaluate(trace, {})}[name]
    assert value is not None
    return value


def test_scarce_torque_is_paid_for_by_the_lowest_level() -> None:
    scarce, plenty = shipped_run(0.322), shipped_run(1.0)
    assert worst(scarce, "joint_error_max") > 1.2 * worst(plenty, "joint_error_max")
    for name in ("position_error_max", "orientation_error_max"):
        assert worst(scarce, name) < 1.5 * worst(plenty, name) < 5e-4


def test_torque_limits_are_met_and_never_exceeded_in_the_loop() -> None:
    trace = shipped_run(0.322)
    ratio = np.abs(trace["command"]) / (0.322 * panda().limits.torque)
    assert 1 - 1e-9 < ratio.max() <= 1.0
    assert trace.facts.guard_ticks["torque limit"] == 0


def test_the_remarks_name_what_was_relaxed_and_nothing_else() -> None:
    posture, limits = shipped_run(0.322).facts.remarks
    assert posture.startswith("priorities: entry 3, posture: relaxed at ")
    assert posture.endswith(" rad/s²")
    assert limits.startswith("priorities: torque limits were active at ")


# ------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"kind": "pose", "along": (1, 0, 0)}, "along"),
        ({"kind": "direction"}, "along"),
        ({"kind": "direction", "along": (0, 0, 0)}, "somewhere"),
        ({"kind": "direction", "along": (1, 0, 0), "directions": ("x",)}, "are none"),
        ({"kind": "position", "joints": ("joint1",)}, "joints"),
        ({"kind": "position", "directions": ("rx",)}, "x.*z"),
        ({"kind": "orientation", "directions": ("rx", "rx")}, "each once"),
        ({"kind": "posture", "frame": "link4"}, "frame"),
        ({"kind": "posture", "frequency": 0}, "greater than 0"),
        ({"kind": "posture", "damping_ratio": 0}, "greater than 0"),
        ({"kind": "posture", "weight": float("nan")}, "finite"),
        ({"kind": "postur"}, "posture"),
        ({"kind": "posture", "frequncy": 3}, "frequency"),
    ],
)
def test_a_level_that_makes_no_sense_is_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        Level(**settings)


def test_a_law_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInput, match="none before"):
        Priorities(levels=(Level(kind="pose", shared=True),))
    with pytest.raises(InvalidInput, match="torque_share"):
        Priorities(torque_share=1.5)
    with pytest.raises(InvalidInput, match="at least 0"):
        Priorities(fallback_damping=-1.0).bind(panda())
    with pytest.raises(UnknownName, match="link44"):
        Priorities(levels=(Level(kind="position", frame="link44"),)).bind(panda())
    with pytest.raises(UnknownName, match="joint9"):
        Priorities(levels=(Level(kind="posture", joints=("joint9",)),)).bind(panda())
    with pytest.raises(InvalidInput, match="quadruped"):
        Priorities().bind(load_robot("quadruped"))
