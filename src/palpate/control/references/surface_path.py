"""A path on a surface at constant speed, the tool turning with the surface and pressed against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import model_validator

from palpate.checks import Array
from palpate.config import Quaternion, Vector3, setting
from palpate.control.references.motions import rotated_quats
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.control.references.timing import trapezoidal
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat

CURVED = ("cylinder", "sphere")


class SurfacePath(ReferenceSettings):
    """The tool along the straightest line of a surface, from where it starts, at constant speed.

    On a plane a line, on a cylinder a helix, on a sphere a great circle: each turns about a fixed axis c by ρ radians
    per metre (0, t·(a × n)/R and 1/R with the tangent t and the outward normal n at the start, a the cylinder's axis),
        p(s) = o + exp(ρ s c) (p₀ − o) + s (t − ρ c × r),   n(s) = exp(ρ s c) n,   R(s) = exp(ρ s c) R₀,
    with o on the axis and r the foot of p₀ seen from there. The tool keeps its distance from the surface; s is counted
    on the surface itself. The wanted wrench is `press` along n(s), beside `wrench`.
    """

    kind: Literal["surface-path"] = setting("surface-path", "1", "along a surface")  # pyright: ignore[reportIncompatibleVariableOverride]
    surface: str | None = setting(None, "1", "name of a surface of the world; or give its shape and pose here")
    shape: Literal["plane", "cylinder", "sphere"] = setting("plane", "1", "shape, if no surface is named")
    position: Vector3 = setting((0.0, 0.0, 0.0), "m", "its centre (a point of the plane), world axes")
    quat_wxyz: Quaternion = setting((1.0, 0.0, 0.0, 0.0), "1", "its axes: z is a plane's normal, a cylinder's axis")
    radius: float = setting(0.0, "m", "of a cylinder or sphere", ge=0)
    direction: Vector3 = setting((1.0, 0.0, 0.0), "1", "direction, world axes; its part along the surface counts")
    speed: float = setting(0.05, "m/s", "along the surface", gt=0)
    length: float = setting(0.1, "m", "length of the path along the surface", gt=0)
    start: float = setting(0.0, "s", "when the motion begins", ge=0)
    ease: float = setting(0.2, "s", "time of acceleration, and of braking", gt=0)
    follow: bool = setting(True, "1", "whether the tool's orientation rotates with the surface")
    press: float = setting(0.0, "N", "desired force of the surface on the tool, along its outward normal")
    press_ramp: float = setting(0.0, "s", "rise time of that force from 0", ge=0)

    @model_validator(mode="after")
    def _has_a_shape(self) -> SurfacePath:
        if self.surface is None and self.shape in CURVED and self.radius == 0:
            raise InvalidInput(f"a path on a {self.shape} needs its radius, or the name of a surface")
        if self.ease > self.length / self.speed:
            raise InvalidInput(
                f"speeding up for {self.ease:g} s is longer than the {self.length / self.speed:g} s of the way",
                hint="shorten ease, or lengthen the path",
            )
        if not self.ease > 1e-12 * self.end:
            raise InvalidInput(
                f"speeding up for {self.ease:g} s is nothing on a clock that ends at {self.end:g} s",
                hint="an earlier start, a shorter or faster path, a longer ease",
            )
        return self

    @property
    def end(self) -> float:
        """When the motion has ended, s."""
        return self.start + self.length / self.speed + self.ease

    def progress(self, times: Array) -> tuple[Array, Array, Array]:
        """Way along the surface, m, its rate and its acceleration, a row each for every time."""
        share = self.ease / (self.end - self.start)
        s, rate, acceleration = trapezoidal(times, self.start, self.end, share)
        return self.length * s, self.length * rate, self.length * acceleration

    def pressure(self, times: Array) -> Array:
        """Wanted force along the outward normal, N, a row for every time."""
        risen = np.clip(times / self.press_ramp, 0.0, 1.0) if self.press_ramp > 0 else np.ones(len(times))
        return self.press * risen[:, None]

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """Pose, twist and acceleration along the surface; the joint part stays."""
        pose = robot.pose(q_start)
        foot = self.foot(pose.position)
        s, rate, acceleration = self.progress(times)
        angle, shift = foot.curvature * s, foot.slide * s
        out = rotated_vectors(angle * foot.axis, pose.position - foot.centre)
        across = np.cross(foot.curvature * foot.axis, out)  # dp/ds of the turning part
        targets.position[:] = foot.centre + out + shift
        targets.twist[:, :3] = rate * (across + foot.slide)
        inward = np.cross(foot.curvature * foot.axis, across)
        targets.wrench[:, :3] = self.pressure(times) * rotated_vectors(angle * foot.axis, foot.normal)
        targets.acceleration[:, :3] = acceleration * (across + foot.slide) + rate**2 * inward
        if self.follow:
            targets.quat_wxyz[:] = rotated_quats(angle * foot.axis, pose.quat_wxyz)
            targets.twist[:, 3:] = rate * foot.curvature * foot.axis
            targets.acceleration[:, 3:] = acceleration * foot.curvature * foot.axis

    def foot(self, tool: Array) -> PathStart:
        """The start of the path on its surface, below the tool's start, and the axis that it turns about."""
        if self.surface is not None:
            raise InvalidInput(
                f"the surface {self.surface!r} of a path is known to a scenario's world only",
                hint="give shape, position, quat_wxyz and radius instead",
            )
        along, centre = matrix_from_quat(self.quat_wxyz)[:, 2], np.array(self.position)
        if self.shape == "plane":
            return PathStart(centre, along, np.array([0.0, 0.0, 1.0]), 0.0, self._tangent(along))
        from_centre = tool - centre
        radial = from_centre if self.shape == "sphere" else from_centre - (from_centre @ along) * along
        distance = float(np.linalg.norm(radial))
        if distance < 1e-9:
            raise InvalidInput(f"the tool starts in the middle of the {self.shape}, where no direction is outward")
        normal, curvature = radial / distance, 1.0 / self.radius
        tangent = self._tangent(normal)
        if self.shape == "sphere":
            return PathStart(centre, normal, np.cross(normal, tangent), curvature, np.zeros(3))
        path_curvature = float(tangent @ np.cross(along, normal)) * curvature
        return PathStart(centre, normal, along, path_curvature, float(tangent @ along) * along)

    def _tangent(self, normal: Array) -> Array:
        """The direction along the surface where its outward normal is this one, of length 1."""
        direction = np.array(self.direction)
        tangent = direction - (direction @ normal) * normal
        size = np.linalg.norm(tangent)
        if size < 1e-6 * max(float(np.linalg.norm(direction)), 1e-300):
            raise InvalidInput(f"the direction {self.direction} of a path does not lead along the surface")
        return tangent / size


@dataclass(frozen=True)
class PathStart:
    """Where a path begins on its surface: outward normal there, the axis it turns about by rad/m, and its slide."""

    centre: Array
    normal: Array
    axis: Array
    curvature: float
    slide: Array


def rotated_vectors(rotation_vectors: Array, vector: Array) -> Array:
    """exp(r) v, one row per rotation vector."""
    angle = np.linalg.norm(rotation_vectors, axis=1, keepdims=True)
    axis = rotation_vectors / np.where(angle > 0, angle, 1.0)
    along = (axis @ vector)[:, None] * axis
    return np.cos(angle) * (vector - along) + np.sin(angle) * np.cross(axis, vector) + along
