"""Motions of a reference: of the joints from point to point, and of the tool along a line or a circle."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import model_validator

from palpate.checks import Array, finite_array
from palpate.config import Quaternion, Vector3, setting
from palpate.control.references.joint_path import check_joint_motion, follow_joints
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.control.references.timing import Timing, quintic, trapezoidal
from palpate.control.traits import Follows
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, rotation_error
from palpate.spatial.rows import product, quats_from_rotation_vectors


def rotated_quats(r: Array, quat_wxyz: Array) -> Array:
    """exp(r) ⊗ quat for many rotation vectors (N, 3), world axes, and one quaternion (4,)."""
    return product(quats_from_rotation_vectors(r), quat_wxyz)


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
