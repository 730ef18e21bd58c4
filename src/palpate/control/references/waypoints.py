"""Motions through several points, of the joints or of the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import model_validator

from palpate.checks import Array, finite_array
from palpate.config import Config, Quaternion, Vector3, required, setting
from palpate.control.references.joint_path import check_joint_motion, follow_joints
from palpate.control.references.motions import rotated_quats
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.control.references.timing import quintic
from palpate.control.traits import Follows
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, rotation_error


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
