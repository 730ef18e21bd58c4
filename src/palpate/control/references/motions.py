"""Motions of a reference: from point to point, through several points, along a line or a circle of the tool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import model_validator

from palpate.checks import Array, finite_array
from palpate.config import Config, Quaternion, Vector3, required, setting
from palpate.control.law import Follows
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.engine.kernels import kernel
from palpate.engine.physics import Physics
from palpate.engine.records import Matrix, Record, sized
from palpate.errors import InvalidInput
from palpate.robot.mechanics.kernels import (
    OK,
    FrameOnBody,
    ModelTerms,
    read_drift,
    read_jacobian,
    read_pose,
    stage_state,
)
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, rotation_error
from palpate.spatial.kernels import quat_from_matrix
from palpate.spatial.rows import product, quats_from_rotation_vectors

# ---------------------------------------- The Cartesian part of a joint motion, and rotations along a path, for many
# instants at once


def check_joint_motion(robot: Robot) -> None:
    """Refuse robots whose coordinates are not one number per joint."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"{robot.name} has a free base or ball joints; a joint motion needs one number per joint",
            hint="use a reference of its tool: hold, line, circle, or waypoints with positions",
        )


class JointPath(Record):
    """The motion of all joints, also of those that follow others, one row per instant, and of the tool with them."""

    q: Matrix = sized("count", "nq")
    v: Matrix = sized("count", "nv")
    a: Matrix = sized("count", "nv")
    position: Matrix = sized("count", 3)
    quat_wxyz: Matrix = sized("count", 4)
    twist: Matrix = sized("count", 6)
    acceleration: Matrix = sized("count", 6)
    here: ModelTerms


def follow_joints(targets: Targets, robot: Robot) -> None:
    """Fill the Cartesian part from q, v, a: pose by forward kinematics, twist J v, acceleration J a + J̇ v."""
    check_joint_motion(robot)
    c, sizes = robot.coordinates, {"nq": robot.model.nq, "nv": robot.model.nv, "count": len(targets.array)}
    q, v, a = c.expand_position(targets.q), c.expand_velocity(targets.v), c.expand_velocity(targets.a)
    path = JointPath(sizes, q=q, v=v, a=a)
    done = _follow(robot._work.physics.address, robot.frame().record.address, path.address)
    if done < len(targets.array):
        raise InvalidInput(f"the reference of {robot.name} is not finite at its sample {done}")
    targets.position[:], targets.quat_wxyz[:] = path.position, path.quat_wxyz
    targets.twist[:], targets.acceleration[:] = path.twist, path.acceleration


@kernel
def _follow(p: Physics, frame: FrameOnBody, path: JointPath) -> int:
    x = path.here
    for k in range(path.q.shape[0]):
        if stage_state(p, path.q[k], path.v[k]) != OK:
            return k
        read_pose(p, frame, path.position[k], x.rotation)
        quat_from_matrix(x.rotation, path.quat_wxyz[k])
        read_jacobian(p, frame.body, path.position[k], x.J)
        read_drift(p, frame.body, path.position[k], path.v[k], x.J_rate, path.acceleration[k])
        for i in range(6):
            for j in range(p.nv):
                path.twist[k, i] += x.J[i, j] * path.v[k, j]
                path.acceleration[k, i] += x.J[i, j] * path.a[k, j]
    return path.q.shape[0]


def rotated_quats(r: Array, quat_wxyz: Array) -> Array:
    """exp(r) ⊗ quat for many rotation vectors (N, 3), world axes, and one quaternion (4,)."""
    return product(quats_from_rotation_vectors(r), quat_wxyz)


# ---------------------------------------- How a path is run through in time: s(t) from 0 to 1 with its rate and
# acceleration


Timing = Literal["minimum-jerk", "quintic", "trapezoidal"]


def quintic(times: Array, start: float, end: float, x0: Array, x1: Array, v0: Array, v1: Array) -> list[Array]:
    """Quintic from (x0, v0) to (x1, v1) with no acceleration at either end: position, velocity, acceleration.

    With τ = (t − start)/T and h = x1 − x0:
    x = x0 + v0 T τ + (10h − 6v0T − 4v1T) τ³ + (−15h + 8v0T + 7v1T) τ⁴ + (6h − 3v0T − 3v1T) τ⁵.
    At rest at both ends it is the motion of least jerk, h (10τ³ − 15τ⁴ + 6τ⁵). Outside it moves on at v0 or v1.

    Args:
        times: s, (N,).
        start, end: s.
        x0, x1, v0, v1: (dimensions,).

    Returns:
        Three arrays (N, dimensions).
    """
    T = end - start
    inside = np.clip(times, start, end)
    tau = ((inside - start) / T)[:, None]
    h, a, b = x1 - x0, v0 * T, v1 * T
    c3, c4, c5 = 10 * h - 6 * a - 4 * b, 8 * a - 15 * h + 7 * b, 6 * h - 3 * a - 3 * b
    x = x0 + tau * (a + tau**2 * (c3 + tau * (c4 + tau * c5)))
    v = (a + tau**2 * (3 * c3 + tau * (4 * c4 + tau * 5 * c5))) / T
    acceleration = tau * (6 * c3 + tau * (12 * c4 + tau * 20 * c5)) / T**2
    return [x + (times - inside)[:, None] * v, v, np.where((times == inside)[:, None], acceleration, 0.0)]


def trapezoidal(times: Array, start: float, end: float, blend: float) -> list[Array]:
    """s from 0 to 1: even acceleration for `blend` of the time, even speed 1/((1 − blend) T), even braking."""
    T = end - start
    tau = np.clip((times - start) / T, 0.0, 1.0)
    peak = 1.0 / (1.0 - blend)  # of ds/dτ
    ramp = peak / blend
    left = np.minimum(tau, 1.0 - tau)  # the second half mirrors the first
    rising = left < blend
    half = np.where(rising, 0.5 * ramp * left**2, peak * (left - 0.5 * blend))
    s = np.where(tau <= 0.5, half, 1.0 - half)
    rate = np.where(rising, ramp * left, peak) / T
    moving = rising & (times > start) & (times < end)
    acceleration = np.where(moving, np.where(tau <= 0.5, ramp, -ramp), 0.0) / T**2
    return [s[:, None], rate[:, None], acceleration[:, None]]


class TimedPath(ReferenceSettings):
    """A path with a timing; a subclass says what the path is."""

    start: float = setting(0.0, "s", "when the motion begins", ge=0)
    duration: float = setting(1.0, "s", "how long it takes", gt=0)
    timing: Timing = setting(
        "minimum-jerk", "1", "minimum-jerk (rest to rest), quintic (with rates at the ends), or trapezoidal speed"
    )
    start_rate: float = setting(0.0, "1/s", "quintic: share of the path per second at the start")
    end_rate: float = setting(0.0, "1/s", "quintic: share of the path per second at the end, kept afterwards")
    blend: float = setting(0.25, "1", "trapezoidal: share of the time spent speeding up, and braking", gt=0, le=0.5)

    @model_validator(mode="after")
    def _rates_need_quintic(self) -> TimedPath:
        if self.timing != "quintic" and (self.start_rate or self.end_rate):
            raise InvalidInput(
                f"start_rate and end_rate belong to timing 'quintic', not {self.timing!r}",
                hint='write timing = "quintic"',
            )
        return self

    @property
    def end(self) -> float:
        """When the motion has ended, s."""
        return self.start + self.duration

    def progress(self, times: Array) -> list[Array]:
        """s, ds/dt and d²s/dt², each (N, 1)."""
        if self.timing == "trapezoidal":
            return trapezoidal(times, self.start, self.end, self.blend)
        one = np.ones(1)
        return quintic(times, self.start, self.end, 0 * one, one, self.start_rate * one, self.end_rate * one)


class JointMotion(TimedPath):
    """All joints from the start posture to another, along a straight line in joint space."""

    kind: Literal["joint"] = setting("joint", "1", "point to point")  # pyright: ignore[reportIncompatibleVariableOverride]
    q: tuple[float, ...] | None = setting(None, "rad or m", "posture to reach, one number per joint")
    offset: tuple[float, ...] | None = setting(None, "rad or m", "or its difference from the start posture")

    @model_validator(mode="after")
    def _one_goal(self) -> JointMotion:
        if (self.q is None) == (self.offset is None):
            raise InvalidInput("a joint motion needs exactly one of q and offset")
        return self

    @property
    def moves(self) -> Follows:
        """The joints'."""
        return "joints"

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """q = q₀ + s Δ; the Cartesian part follows by forward kinematics."""
        check_joint_motion(robot)
        if self.q is not None:
            change = finite_array(self.q, f"reference.q of {robot.name}", (robot.nq,)) - q_start
        else:
            change = finite_array(self.offset or (), f"reference.offset of {robot.name}", (robot.nq,))
        s, rate, acceleration = self.progress(times)
        targets.q[:], targets.v[:], targets.a[:] = (
            q_start + s * change,
            rate * change,
            acceleration * change,
        )
        follow_joints(targets, robot)


class Line(TimedPath):
    """The tool along a straight line, turning evenly about one axis: p = p₀ + s Δ, R = exp(s r) R₀.

    ω = ṡ r and ω̇ = s̈ r exactly, because the axis r stands still. The joint part stays at the start posture.
    """

    kind: Literal["line"] = setting("line", "1", "a straight line of the tool")  # pyright: ignore[reportIncompatibleVariableOverride]
    position: Vector3 | None = setting(None, "m", "final position of the tool, world axes")
    offset: Vector3 | None = setting(None, "m", "or its displacement from the start, world axes")
    quat_wxyz: Quaternion | None = setting(None, "1", "final orientation, by the smaller rotation")
    turn: Vector3 | None = setting(None, "rad", "or the rotation vector from the start, world axes")

    @model_validator(mode="after")
    def _one_goal(self) -> Line:
        if self.position is not None and self.offset is not None:
            raise InvalidInput("a line ends at a position or after an offset, not both")
        if self.quat_wxyz is not None and self.turn is not None:
            raise InvalidInput("a line ends with quat_wxyz or after a turn, not both")
        if all(goal is None for goal in (self.position, self.offset, self.quat_wxyz, self.turn)):
            raise InvalidInput("a line needs a goal: position, offset, quat_wxyz or turn")
        return self

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """The Cartesian part; the joint part stays."""
        pose = robot.pose(q_start)
        displacement = np.zeros(3) if self.offset is None else np.array(self.offset)
        if self.position is not None:
            displacement = np.array(self.position) - pose.position
        rotation_vector = np.zeros(3) if self.turn is None else np.array(self.turn)
        if self.quat_wxyz is not None:
            rotation_vector = rotation_error(matrix_from_quat(self.quat_wxyz), pose.rotation)
        s, rate, acceleration = self.progress(times)
        both = np.concatenate([displacement, rotation_vector])
        targets.position[:] = pose.position + s * displacement
        targets.quat_wxyz[:] = rotated_quats(s * rotation_vector, pose.quat_wxyz)
        targets.twist[:], targets.acceleration[:] = rate * both, acceleration * both


class Circle(TimedPath):
    """The tool on a circle through its start: p = c + cos φ d + sin φ n × d, φ = 2π · turns · s.

    The joint part stays at the start posture, and so does the orientation unless `follow` turns it with the circle.
    """

    kind: Literal["circle"] = setting("circle", "1", "a circle of the tool")  # pyright: ignore[reportIncompatibleVariableOverride]
    centre: Vector3 = setting((0.0, 0.1, 0.0), "m", "from the tool's start to the centre, world axes")
    normal: Vector3 = setting((0.0, 0.0, 1.0), "1", "axis of the circle, world axes; right-handed turns")
    turns: float = setting(1.0, "1", "number of turns")
    follow: bool = setting(False, "1", "whether the tool's orientation rotates with the circle")

    @model_validator(mode="after")
    def _centre_in_plane(self) -> Circle:
        length, radius = math.hypot(*self.normal), math.hypot(*self.centre)
        if length == 0 or radius == 0:
            raise InvalidInput("a circle needs a normal with a direction and a centre away from the tool's start")
        out = abs(sum(n * c for n, c in zip(self.normal, self.centre))) / (length * radius)
        if out > 1e-6:
            angle = math.degrees(math.asin(min(out, 1.0)))
            raise InvalidInput(f"the centre must lie square to the normal; it is {angle:.3g}° out of the plane")
        return self

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """Velocity φ̇ n × ρ, acceleration φ̈ n × ρ − φ̇² ρ, with ρ = p − c."""
        pose = robot.pose(q_start)
        n = np.array(self.normal) / np.linalg.norm(self.normal)
        arm, whole = -np.array(self.centre), 2 * math.pi * self.turns
        phi, rate, acceleration = (whole * part for part in self.progress(times))
        out = np.cos(phi) * arm + np.sin(phi) * np.cross(n, arm)
        along = np.cross(n, out)
        targets.position[:] = pose.position - arm + out
        targets.twist[:, :3] = rate * along
        targets.acceleration[:, :3] = acceleration * along - rate**2 * out
        if self.follow:
            targets.quat_wxyz[:] = rotated_quats(phi * n, pose.quat_wxyz)
            targets.twist[:, 3:], targets.acceleration[:, 3:] = rate * n, acceleration * n


# ---------------------------------------- Motions through several points, of the joints or of the tool


class Waypoint(Config):
    """A point to be at, at a time: a posture, or a pose of the tool."""

    time: float = required("s", "when to be there", gt=0)
    q: tuple[float, ...] | None = setting(None, "rad or m", "posture, one number per joint")
    v: tuple[float, ...] | None = setting(None, "rad/s or m/s", "joint velocities there")
    position: Vector3 | None = setting(None, "m", "or the tool's position, world axes")
    velocity: Vector3 | None = setting(None, "m/s", "the tool's velocity there, world axes")
    quat_wxyz: Quaternion | None = setting(None, "1", "the tool's orientation; as before if not given")


class Waypoints(ReferenceSettings):
    """From the start through points in turn, by quintics without acceleration at the points.

    Where a point gives no velocity, the motion stops there (`smooth` false), or passes at the mean speed between
    its neighbours (`smooth` true). Orientations turn from rest to rest between two points.
    """

    kind: Literal["waypoints"] = setting("waypoints", "1", "through several points")  # pyright: ignore[reportIncompatibleVariableOverride]
    points: tuple[Waypoint, ...] = required("1", "the points, in order of time; the start is the first", min_length=1)
    smooth: bool = setting(False, "1", "pass through the inner points without stopping")

    @model_validator(mode="after")
    def _one_kind_in_order(self) -> Waypoints:
        for before, after in zip(self.points, self.points[1:]):
            if after.time <= before.time:
                raise InvalidInput(f"waypoints must be in order of time, got {before.time:g} s then {after.time:g} s")
        joints = [point.q is not None for point in self.points]
        tools = [point.position is not None or point.quat_wxyz is not None for point in self.points]
        if not (all(joints) and not any(tools)) and not (all(tools) and not any(joints)):
            raise InvalidInput("waypoints are all postures (q) or all of the tool (position, quat_wxyz)")
        return self

    @property
    def moves(self) -> Follows:
        """The joints' where the points are postures, else the tool's."""
        return "tool" if self.points[0].q is None else "joints"

    @property
    def end(self) -> float:
        """When the last point is reached, s."""
        return self.points[-1].time

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """Joint points fill everything; points of the tool leave the joint part at the start posture."""
        if self.points[0].q is not None:
            self._fill_joints(targets, times, robot, q_start)
        else:
            self._fill_tool(targets, times, robot, q_start)

    def _fill_joints(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        check_joint_motion(robot)
        rows = [q_start] + [
            finite_array(p.q or (), f"reference.points.{k}.q of {robot.name}", (robot.nq,))
            for k, p in enumerate(self.points)
        ]
        velocities = [None] + [
            None if p.v is None else finite_array(p.v, f"reference.points.{k}.v of {robot.name}", (robot.nv,))
            for k, p in enumerate(self.points)
        ]
        targets.q[:], targets.v[:], targets.a[:] = self._through(times, rows, velocities)
        follow_joints(targets, robot)

    def _fill_tool(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        pose = robot.pose(q_start)
        rows, quats = [np.array(pose.position)], [pose.quat_wxyz]
        velocities: list[Array | None] = [None]
        for point in self.points:
            rows.append(rows[-1] if point.position is None else np.array(point.position))
            velocities.append(None if point.velocity is None else np.array(point.velocity))
            quats.append(quats[-1] if point.quat_wxyz is None else np.array(point.quat_wxyz))
        moved = self._through(times, rows, velocities)
        targets.position[:], targets.twist[:, :3], targets.acceleration[:, :3] = moved
        self._fill_orientation(targets, times, quats)

    def _knots(self) -> Array:
        return np.array([0.0, *(point.time for point in self.points)])

    def _through(self, times: Array, rows: Sequence[Array], velocities: Sequence[Array | None]) -> list[Array]:
        """Position, velocity and acceleration of the quintics through `rows`."""
        knots, points = self._knots(), np.array(rows)
        speeds = np.zeros_like(points)
        if self.smooth and len(knots) > 2:
            speeds[1:-1] = (points[2:] - points[:-2]) / (knots[2:] - knots[:-2])[:, None]
        for k, speed in enumerate(velocities):
            speeds[k] = speeds[k] if speed is None else speed
        out = [np.empty((len(times), points.shape[1])) for _ in range(3)]
        for k, inside in self._segments(times, knots):
            part = quintic(times[inside], knots[k], knots[k + 1], points[k], points[k + 1], speeds[k], speeds[k + 1])
            for whole, piece in zip(out, part):
                whole[inside] = piece
        return out

    def _fill_orientation(self, targets: Targets, times: Array, quats: Sequence[Array]) -> None:
        knots, still = self._knots(), np.zeros(1)
        for k, inside in self._segments(times, knots):
            rotation_vector = rotation_error(matrix_from_quat(quats[k + 1]), matrix_from_quat(quats[k]))
            s, rate, acceleration = quintic(times[inside], knots[k], knots[k + 1], still, still + 1, still, still)
            targets.quat_wxyz[inside] = rotated_quats(s * rotation_vector, np.array(quats[k]))
            targets.twist[inside, 3:] = rate * rotation_vector
            targets.acceleration[inside, 3:] = acceleration * rotation_vector

    @staticmethod
    def _segments(times: Array, knots: Array) -> list[tuple[int, Array]]:
        segments = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
        return [(k, segments == k) for k in np.unique(segments)]
