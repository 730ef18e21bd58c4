"""References: derivatives by finite differences, ends, continuity, kinematics, files, refusals."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.checks import Array
from palpate.control.references import REFERENCES, Circle, JointMotion, Line, Recorded, Waypoint, Waypoints
from palpate.control.references.motions import TimedPath
from palpate.control.references.reference import Hold, Targets, WantedWrench, joint_target
from palpate.control.references.timing import quintic, trapezoidal
from palpate.errors import FileError, InvalidInput, MissingExtra, PalpateError, UnknownName
from palpate.robot import load_robot
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, matrix_from_rotation_vector, rotation_error

GOAL = (0.3, -0.4, 0.2, -1.5, 0.1, 1.2, 0.5)


@pytest.fixture(scope="module")
def panda() -> Robot:
    return load_robot("panda")


def views(array: Array, robot: Robot) -> Targets:
    """The named parts of sampled targets."""
    targets = Targets(len(array), robot)
    targets.array[:] = array
    return targets


MOTIONS = {
    "joint": JointMotion(q=GOAL, start=0.2, duration=1.5),
    "joint quintic": JointMotion(q=GOAL, duration=1.5, timing="quintic", start_rate=0.5, end_rate=-0.3),
    "line": Line(offset=(0.1, -0.05, 0.2), turn=(0.5, 1.0, -2.0), start=0.1, duration=1.2),
    "circle": Circle(centre=(0.0, 0.1, 0.0), normal=(1.0, 0.0, 2.0), turns=1.5, duration=1.7, follow=True),
    "stops": Waypoints(points=(Waypoint(time=0.7, q=GOAL), Waypoint(time=1.6, q=(0.0,) * 7))),
    "smooth": Waypoints(
        points=(
            Waypoint(time=0.6, position=(0.5, 0.1, 0.4)),
            Waypoint(time=1.1, position=(0.4, 0.2, 0.5), quat_wxyz=(0.0, 1.0, 0.0, 0.0)),
            Waypoint(time=1.8, position=(0.5, 0.0, 0.5), velocity=(0.1, 0.0, 0.2), quat_wxyz=(0.5, 0.5, 0.5, 0.5)),
        ),
        smooth=True,
    ),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_velocity_and_acceleration_are_the_derivatives(name: str, panda: Robot) -> None:
    reference, h = MOTIONS[name], 1e-5
    times = np.linspace(0.011, 1.9, 97)
    now, before, after = (
        views(reference.sample(times + dt, panda, panda.home), panda) for dt in (0.0, -h, h)
    )  # fmt: skip
    # Central differences of smooth functions: error about h² |x'''| / 6 plus rounding / h.
    np.testing.assert_allclose((after.q - before.q) / (2 * h), now.v, atol=2e-8)
    np.testing.assert_allclose((after.v - before.v) / (2 * h), now.a, atol=2e-7)
    np.testing.assert_allclose((after.position - before.position) / (2 * h), now.twist[:, :3], atol=2e-8)
    np.testing.assert_allclose((after.twist - before.twist) / (2 * h), now.acceleration, atol=2e-6)
    turns = [
        rotation_error(matrix_from_quat(b), matrix_from_quat(a)) / (2 * h)
        for a, b in zip(before.quat_wxyz, after.quat_wxyz)
    ]
    np.testing.assert_allclose(turns, now.twist[:, 3:], atol=2e-8)


@pytest.mark.parametrize("name", MOTIONS)
def test_a_motion_begins_at_the_start_and_is_continuous_up_to_acceleration(name: str, panda: Robot) -> None:
    reference = MOTIONS[name]
    first = views(reference.sample(np.zeros(1), panda, panda.home), panda)
    pose = panda.pose(panda.home)
    np.testing.assert_allclose(first.q[0], panda.home, atol=1e-15)
    np.testing.assert_allclose(first.position[0], pose.position, atol=1e-15)
    np.testing.assert_allclose(abs(first.quat_wxyz[0] @ pose.quat_wxyz), 1.0, atol=1e-14)
    for knot in (0.1, 0.2, 0.6, 0.7, 1.1, 1.3, 1.5, 1.6, 1.7, 1.8):
        left, right = reference.sample(np.array([knot - 1e-9, knot + 1e-9]), panda, panda.home)
        quat = slice(3 * 7 + 3, 3 * 7 + 7)
        right[quat] *= np.sign(left[quat] @ right[quat])
        np.testing.assert_allclose(left, right, atol=3e-6)  # 2e-9 s of jerk


def test_a_joint_motion_ends_at_its_goal_and_rests_there(panda: Robot) -> None:
    end = views(JointMotion(q=GOAL, duration=1.5).sample(np.array([1.5, 4.0]), panda, panda.home), panda)
    np.testing.assert_allclose(end.q, [GOAL, GOAL], atol=1e-15)
    assert not end.v.any()
    assert not end.a.any()
    np.testing.assert_allclose(end.position[0], panda.pose(GOAL).position, atol=1e-15)


def test_an_offset_is_relative_to_the_start(panda: Robot) -> None:
    offset = tuple(0.1 * k for k in range(7))
    end = views(JointMotion(offset=offset, duration=1.0).sample(np.array([1.0]), panda, panda.home), panda)
    np.testing.assert_allclose(end.q[0], panda.home + offset, atol=1e-15)


def test_the_cartesian_part_of_a_joint_motion_is_the_robots_own(panda: Robot) -> None:
    now = views(JointMotion(q=GOAL, duration=1.5).sample(np.array([0.6]), panda, panda.home), panda)
    terms = panda.terms(now.q[0], now.v[0])
    np.testing.assert_allclose(now.position[0], terms.position, atol=1e-15)
    np.testing.assert_allclose(now.twist[0], terms.J @ now.v[0], atol=1e-14)
    np.testing.assert_allclose(now.acceleration[0], terms.J @ now.a[0] + terms.drift, atol=1e-13)


def test_a_line_ends_at_the_asked_pose_by_the_shorter_way(panda: Robot) -> None:
    quat = (0.1, 0.7, -0.7, 0.1)
    norm = float(np.linalg.norm(quat))
    quat = (quat[0] / norm, quat[1] / norm, quat[2] / norm, quat[3] / norm)
    line = Line(position=(0.4, 0.1, 0.3), quat_wxyz=quat, duration=2.0)
    end = views(line.sample(np.array([2.0]), panda, panda.home), panda)
    np.testing.assert_allclose(end.position[0], (0.4, 0.1, 0.3), atol=1e-15)
    np.testing.assert_allclose(abs(end.quat_wxyz[0] @ np.array(quat)), 1.0, atol=1e-13)
    np.testing.assert_allclose(end.q[0], panda.home)


def test_a_turn_longer_than_half_a_turn_goes_the_long_way(panda: Robot) -> None:
    middle = views(Line(turn=(0.0, 0.0, 4.0), duration=2.0).sample(np.array([1.0]), panda, panda.home), panda)
    wanted = matrix_from_rotation_vector([0.0, 0.0, 2.0]) @ panda.pose(panda.home).rotation
    np.testing.assert_allclose(matrix_from_quat(middle.quat_wxyz[0]), wanted, atol=1e-13)


def test_a_circle_keeps_its_radius_and_closes(panda: Robot) -> None:
    circle = Circle(centre=(0.0, 0.06, 0.08), normal=(1.0, 0.0, 0.0), turns=2.0, duration=3.0)
    points = views(circle.sample(np.linspace(0, 3, 50), panda, panda.home), panda).position
    centre = panda.pose(panda.home).position + np.array([0.0, 0.06, 0.08])
    np.testing.assert_allclose(np.linalg.norm(points - centre, axis=1), 0.1, atol=1e-15)
    np.testing.assert_allclose(points[-1], points[0], atol=1e-15)
    np.testing.assert_allclose(points[:, 0], centre[0], atol=1e-15)


def test_waypoints_are_passed_at_their_times_with_their_velocities(panda: Robot) -> None:
    reference = MOTIONS["smooth"]
    assert isinstance(reference, Waypoints)
    now = views(reference.sample(np.array([p.time for p in reference.points]), panda, panda.home), panda)
    np.testing.assert_allclose(now.position, [p.position or () for p in reference.points], atol=1e-15)
    np.testing.assert_allclose(now.twist[2, :3], (0.1, 0.0, 0.2), atol=1e-14)
    # without a velocity of its own an inner point is passed at the mean speed between its neighbours
    np.testing.assert_allclose(now.twist[1, :3], (np.array((0.5, 0.0, 0.5)) - (0.5, 0.1, 0.4)) / 1.2, atol=1e-14)
    stops = views(MOTIONS["stops"].sample(np.array([0.7, 1.6]), panda, panda.home), panda)
    np.testing.assert_allclose(stops.q, [GOAL, (0.0,) * 7], atol=1e-15)
    assert np.abs(stops.v).max() < 1e-14


def test_minimum_jerk_is_the_quintic_at_rest() -> None:
    tau = np.linspace(0, 1, 21)
    zero = np.zeros(1)
    s, rate, acceleration = quintic(2 + 3 * tau, 2.0, 5.0, zero, zero + 1, zero, zero)
    np.testing.assert_allclose(s[:, 0], 10 * tau**3 - 15 * tau**4 + 6 * tau**5, atol=1e-15)
    np.testing.assert_allclose(rate[10, 0], 1.875 / 3, atol=1e-15)
    np.testing.assert_allclose(acceleration[[0, 10, 20], 0], 0.0, atol=1e-14)


def test_a_quintic_meets_velocities_at_both_ends_and_keeps_them_outside() -> None:
    x0, x1, v0, v1 = (np.array(x) for x in ([1.0, 2.0], [3.0, -1.0], [0.5, -0.2], [-1.0, 0.7]))
    x, v, a = quintic(np.array([0.0, 1.0, 3.0, 4.5]), 1.0, 3.0, x0, x1, v0, v1)
    np.testing.assert_allclose(x, [x0 - v0, x0, x1, x1 + 1.5 * v1], atol=1e-14)
    np.testing.assert_allclose(v, [v0, v0, v1, v1], atol=1e-14)
    np.testing.assert_allclose(a, 0.0, atol=1e-13)


@pytest.mark.parametrize("blend", [0.1, 0.25, 0.5])
def test_a_trapezoidal_timing_has_even_acceleration_and_speed(blend: float) -> None:
    times = np.linspace(0.0, 4.0, 4001)
    s, rate, acceleration = (part[:, 0] for part in trapezoidal(times, 1.0, 3.0, blend))
    np.testing.assert_allclose(s[[0, 1000, 2000, 3000, 4000]], [0, 0, 0.5, 1, 1], atol=1e-15)
    assert rate.max() == pytest.approx(1 / (2 * (1 - blend)), rel=1e-12)
    inside = (times > 1) & (times < 3)
    speeding = np.unique(np.round(acceleration[inside], 9))
    assert set(speeding) <= {0.0, round(1 / (4 * blend * (1 - blend)), 9), round(-1 / (4 * blend * (1 - blend)), 9)}
    np.testing.assert_allclose(np.cumsum(rate)[-1] * 1e-3, 1.0, atol=1e-6)
    np.testing.assert_allclose(np.gradient(s, times)[1:-1], rate[1:-1], atol=1e-3 / blend)


def test_document_002s_step_of_force_can_be_said(panda: Robot) -> None:
    hold = Hold(wrench=WantedWrench(value=(1, 2, 0, 0, 0, 0), then=(1, 3, 0, 0, 0, 0), at=1.0))
    times = np.arange(1001) * 1e-3
    wrench = views(hold.sample(times, panda, panda.home), panda).wrench
    assert wrench[999].tolist() == [1, 2, 0, 0, 0, 0]
    assert wrench[1000].tolist() == [1, 3, 0, 0, 0, 0]


def test_a_ramp_of_force_rises_evenly_and_a_list_is_a_constant_wrench() -> None:
    ramp = WantedWrench(then=(0, 0, -10, 0, 0, 1), at=1.0, ramp=2.0)
    np.testing.assert_allclose(ramp.sample(np.array([0.5, 1.0, 2.0, 3.0, 9.0]))[:, 2], [0, 0, -5, -10, -10])
    constant: Any = Hold.model_validate({"wrench": [0, 0, -20, 0, 0, 0]}).wrench
    assert constant.sample(np.zeros(2)).tolist() == [[0, 0, -20, 0, 0, 0]] * 2


def test_holding_a_place_moves_only_the_cartesian_part(panda: Robot) -> None:
    hold = Hold(position=(0.5, 0.0, 0.4), quat_wxyz=(0.0, 1.0, 0.0, 0.0), offset=(0.0, 0.0, 0.1))
    now = views(hold.sample(np.zeros(1), panda, panda.home), panda)
    np.testing.assert_allclose(now.position[0], (0.5, 0.0, 0.5))
    np.testing.assert_allclose(np.abs(now.quat_wxyz[0]), (0, 1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(now.q[0], panda.home)


def test_a_joint_target_stands_still_at_its_posture(panda: Robot) -> None:
    target = joint_target(panda, np.array(GOAL))
    np.testing.assert_allclose(target.q, GOAL)
    np.testing.assert_allclose(target.position, panda.pose(GOAL).position)
    for still in (target.v, target.a, target.twist, target.acceleration, target.wrench):
        assert not still.any()


def recording(folder: Path, name: str, robot: Robot) -> tuple[Path, JointMotion]:
    """A joint motion as a table, sampled every 10 ms."""
    motion = JointMotion(q=GOAL, duration=2.0)
    times = np.arange(201) * 0.01
    rows = views(motion.sample(times, robot, robot.home), robot)
    path = folder / name
    names = [f"q[{j}]" for j in robot.joint_names]
    tool = [f"tool_position[{a}]" for a in "xyz"] + [f"tool_quat_wxyz[{a}]" for a in "wxyz"]
    table = np.column_stack([times + 5.0, rows.q, rows.position, rows.quat_wxyz])
    if path.suffix == ".csv":
        header = ",".join(["time (s)", *names, *tool])
        np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")
    elif path.suffix == ".npz":
        np.savez(path, time=times, q=rows.q, tool_position=rows.position, tool_quat_wxyz=rows.quat_wxyz)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(dict(zip(["time", *names, *tool], table.T))), path)
    return path, motion


@pytest.mark.parametrize("name", ["r.csv", "r.npz", "r.parquet"])
@pytest.mark.parametrize("follow", ["joints", "tool"])
def test_a_recorded_motion_is_followed(name: str, follow: str, panda: Robot, tmp_path: Path) -> None:
    path, motion = recording(tmp_path, name, panda)
    recorded = Recorded.model_validate({"file": str(path), "follow": follow, "start": 0.5})
    times = np.linspace(0.6, 2.4, 37)
    found = views(recorded.sample(times, panda, panda.home), panda)
    wanted = views(motion.sample(times - 0.5, panda, panda.home), panda)
    # a cubic spline over steps of 0.01 s: errors about 0.01⁴, 0.01³ and 0.01² of the next derivatives
    np.testing.assert_allclose(found.position, wanted.position, atol=1e-7)
    np.testing.assert_allclose(found.twist, wanted.twist, atol=2e-5)
    np.testing.assert_allclose(found.acceleration, wanted.acceleration, atol=1e-2)
    np.testing.assert_allclose(np.abs((found.quat_wxyz * wanted.quat_wxyz).sum(axis=1)), 1.0, atol=1e-12)
    if follow == "joints":
        np.testing.assert_allclose(found.q, wanted.q, atol=1e-7)
    assert recorded.end == pytest.approx(2.5)
    still = views(recorded.sample(np.array([0.0, 9.0]), panda, panda.home), panda)
    assert not still.twist.any()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("time,q[panda_joint1]\n0,1\n1,2\n2,3\n", "unknown column"),
        ("time (ms),q\n0,1\n1,2\n2,3\n", "is in 'ms'"),
        ("t,q\n0,1\n1,2\n2,3\n", "'time'"),
        ("time,q\n0,1\n1,2\n1,3\n", "whose.*rises"),
        ("time,q\n0,1\n1,nan\n2,3\n", "must be finite"),
        ("time,q\n0,hello\n1,2\n2,3\n", "cannot read"),
    ],
)
def test_a_bad_table_is_refused_by_name(text: str, complaint: str, panda: Robot, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(PalpateError, match=complaint):
        Recorded(file=str(path)).sample(np.zeros(1), panda, panda.home)


def test_missing_and_foreign_files_are_refused(panda: Robot, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        Recorded(file=str(tmp_path / "none.csv")).sample(np.zeros(1), panda, panda.home)
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(FileError, match="suffix"):
        Recorded(file=str(tmp_path / "x.txt")).sample(np.zeros(1), panda, panda.home)


def test_a_recording_of_another_program_asks_for_pyarrow_by_its_extra(
    panda: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = recording(tmp_path, "foreign.parquet", panda)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"foreign\.parquet.*\n  hint: pip install .palpate\[parquet\]"):
        Recorded(file=str(path)).sample(np.zeros(1), panda, panda.home)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_recording_that_is_a_fifo_is_refused(panda: Robot, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match="no regular file"):
        Recorded(file=str(tmp_path / "pipe.csv")).sample(np.zeros(1), panda, panda.home)


@pytest.mark.parametrize(
    ("kind", "data", "complaint"),
    [
        ("joint", {}, "exactly.*offset"),
        ("joint", {"q": [0.0], "offset": [0.0]}, "exactly one"),
        ("joint", {"q": [0.0], "start_rate": 1.0}, "belong.*'quintic'"),
        ("line", {}, "needs.*goal"),
        ("line", {"position": [0, 0, 0], "offset": [0, 0, 0]}, "not both"),
        ("line", {"quat_wxyz": [1, 0, 0, 0], "turn": [0, 0, 0]}, "not both"),
        ("circle", {"centre": [0, 0, 0.1]}, "square.*normal"),
        ("circle", {"normal": [0, 0, 0]}, "direction"),
        ("waypoints", {"points": [{"time": 1, "q": [0]}, {"time": 1, "q": [0]}]}, "order.*time"),
        ("waypoints", {"points": [{"time": 1, "q": [0]}, {"time": 2, "position": [0, 0, 0]}]}, "all postures"),
        ("waypoints", {"points": []}, "at least 1"),
    ],
)
def test_a_contradictory_reference_is_refused(kind: str, data: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        REFERENCES[kind].model_validate(data)


def test_wrong_lengths_are_refused_with_the_robots_name(panda: Robot) -> None:
    short = Waypoints(points=(Waypoint(time=1, q=(0.0,)),))
    for reference in (JointMotion(q=(0.0,)), JointMotion(offset=(0.0,) * 8), short):
        with pytest.raises(InvalidInput, match=r"panda.*shape \(7,\)"):
            reference.sample(np.zeros(1), panda, panda.home)


def test_a_joint_motion_of_a_free_base_is_refused() -> None:
    robot = load_robot("quadruped")
    with pytest.raises(InvalidInput, match="number per"):
        JointMotion(q=(0.0,) * robot.nq).sample(np.zeros(1), robot, robot.home)
    held = views(Hold().sample(np.zeros(2), robot, robot.home), robot)
    np.testing.assert_allclose(held.q, [robot.home] * 2)


def test_every_kind_says_its_name_and_its_end() -> None:
    for kind, cls in REFERENCES.items():
        assert cls.model_fields["kind"].default == kind
    assert JointMotion(q=(0.0,), start=0.5, duration=2.0).end == 2.5
    assert isinstance(MOTIONS["stops"], Waypoints)
    assert MOTIONS["stops"].end == 1.6
    assert issubclass(Circle, TimedPath)


def test_an_unknown_column_lists_those_that_exist(panda: Robot, tmp_path: Path) -> None:
    path = tmp_path / "six.csv"
    header = "time," + ",".join(f"q[joint{k}]" for k in range(1, 7))
    path.write_text("\n".join([header, *(f"{k},0,0,0,0,0,0" for k in range(4))]))
    with pytest.raises(UnknownName, match=r"'q\[joint7\]'; known: q\[joint1\], "):
        Recorded(file=str(path)).sample(np.zeros(1), panda, panda.home)


def test_positions_alone_are_followed_with_the_orientation_of_the_start(panda: Robot, tmp_path: Path) -> None:
    """p(t) = p₀ + (0.1 t³, 0, 0): a cubic spline through five of its points is the cubic itself."""
    times, pose = np.linspace(0, 1, 5), panda.pose(panda.home)
    rows = np.column_stack([times, pose.position + np.outer(0.1 * times**3, [1, 0, 0])])
    path = tmp_path / "line.csv"
    np.savetxt(path, rows, delimiter=",", header="time,tool_position[x],tool_position[y],tool_position[z]", comments="")
    found = views(Recorded(file=str(path), follow="tool").sample(np.array([0.3, 0.6]), panda, panda.home), panda)
    np.testing.assert_allclose(found.position[:, 0] - pose.position[0], 0.1 * np.array([0.3, 0.6]) ** 3, atol=1e-12)
    np.testing.assert_allclose(found.twist[:, 0], 0.3 * np.array([0.3, 0.6]) ** 2, atol=1e-12)
    np.testing.assert_array_equal(found.quat_wxyz, np.tile(pose.quat_wxyz, (2, 1)))
    assert not found.twist[:, 3:].any()
    with pytest.raises(UnknownName, match="unknown column") as refused:
        Recorded(file=str(path)).sample(np.zeros(1), panda, panda.home)
    assert 'follow = "tool"' in (refused.value.hint or "")
