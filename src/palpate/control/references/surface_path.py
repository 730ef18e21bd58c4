"""A path on a surface at constant speed, the tool turning with the surface and pressed against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import model_validator

from palpate.checks import Array
from palpate.config import Quaternion, Vector3, setting
from palpate.control.references.motions import rotated_quats, trapezoidal
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Vector
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat
from palpate.spatial.height_field import HALF_X, HALF_Y, STEP_X, STEP_Y, foot_of, height_at
from palpate.spatial.rows import product

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
        """What the path turns about, from the tool's start."""
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


# ---------------------------------------- A path on a height field: a geodesic at constant speed, the tool turning
# with the surface


_PER_CELL = 16  # steps of the integration in a cell of the grid
_MOST_STEPS = 100_000


class FieldPath(SurfacePath):
    """A `SurfacePath` whose named surface was found to be a height field.

    The straightest line of a graph z = h(u, v), counted in its own length s, follows
        (u, v)″ = −∇h (h_uu u′² + 2 h_uv u′v′ + h_vv v′²)/(1 + |∇h|²).
    Along it the frame (t, n × t, n) turns by ω = n × n′ per metre, and the tool with it; n′ is the surface's curvature.
    """

    form: tuple[float, ...] = setting((), "m", "the height field's numbers")

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """Pose, twist and acceleration along the surface; the joint part stays."""
        from scipy.spatial.transform import Rotation

        pose = robot.pose(q_start)
        line = self.line(pose.position)
        s, rate, acceleration = self.progress(times)
        s, square = np.clip(s[:, 0], 0.0, self.length), rate**2
        targets.position[:] = line.position(s)
        targets.twist[:, :3] = rate * line.position(s, 1)
        targets.acceleration[:, :3] = acceleration * line.position(s, 1) + square * line.position(s, 2)
        n, bend, change = line.normal(s), line.normal(s, 1), line.normal(s, 2)
        targets.wrench[:, :3] = self.pressure(times) * n
        if self.follow:
            rotation_wxyz = Rotation.from_matrix(line.rotation(s)).as_quat(scalar_first=True)
            targets.quat_wxyz[:] = product(rotation_wxyz, pose.quat_wxyz)
            targets.twist[:, 3:] = rate * np.cross(n, bend)
            targets.acceleration[:, 3:] = acceleration * np.cross(n, bend) + square * np.cross(n, change)

    def line(self, tool: Array) -> FieldLine:
        """The geodesic below the tool's start, in world axes.

        Raises:
            InvalidInput: the direction leads off the surface, or the path over its edge.
        """
        form, axes, origin = np.array(self.form), matrix_from_quat(self.quat_wxyz), np.array(self.position)
        local = axes.T @ (tool - origin)
        half = form[[HALF_X, HALF_Y]]
        if (np.abs(local[:2]) > half).any():
            raise InvalidInput("the tool does not start above the height field of its path")
        u, v = foot_of(form, local, *local[:2].tolist())
        h, hx, hy, _, _, _ = height_at(form, u, v)
        n = np.array([-hx, -hy, 1.0]) / math.sqrt(1.0 + hx * hx + hy * hy)
        tangent = axes.T @ self._tangent(axes @ n)
        fine = min(form[STEP_X], form[STEP_Y]) / _PER_CELL
        count = min(max(32, math.ceil(self.length / fine)), _MOST_STEPS)
        rows = np.zeros((count + 1, 9))
        reached = follow_geodesic(form, np.array([u, v, tangent[0], tangent[1]]), self.length / count, rows)
        if reached < count:
            raise InvalidInput(
                f"the path leaves the height field after {reached * self.length / count:.3g} m of {self.length:g} m",
                hint="shorten it, turn its direction, or start elsewhere",
            )
        away = float(n @ (local - [u, v, h]))
        return FieldLine(np.linspace(0.0, self.length, count + 1), rows, away, axes, origin)


@dataclass
class FieldLine:
    """A line on a surface by its length s: foot, tangent and normal at samples, joined by splines, world axes."""

    s: Array
    rows: Array  # foot, tangent, normal
    away: float
    axes: Array
    origin: Array

    def __post_init__(self) -> None:
        from scipy.interpolate import CubicHermiteSpline, CubicSpline

        foot, tangent, normal = (self.rows[:, 3 * k : 3 * k + 3] @ self.axes.T for k in range(3))
        self._foot = CubicHermiteSpline(self.s, foot + self.origin, tangent)
        self._tangent, self._normal = CubicSpline(self.s, tangent), CubicSpline(self.s, normal)
        self._start = np.column_stack([tangent[0], np.cross(normal[0], tangent[0]), normal[0]])

    def position(self, s: Array, order: int = 0) -> Array:
        """Where the tool is, its derivative by s, or the second."""
        foot = self._foot(s) if order == 0 else self._tangent(s, order - 1)
        return foot + self.away * self._normal(s, order)

    def normal(self, s: Array, order: int = 0) -> Array:
        """The outward normal, or its derivatives by s."""
        return self._normal(s, order)

    def rotation(self, s: Array) -> Array:
        """How the frame of tangent and normal has turned since s = 0, (n, 3, 3)."""
        n = self._normal(s)
        n = n / np.linalg.norm(n, axis=1, keepdims=True)
        t = self._tangent(s)
        t = t - np.einsum("ij,ij->i", t, n)[:, None] * n
        t = t / np.linalg.norm(t, axis=1, keepdims=True)
        return np.stack([t, np.cross(n, t), n], axis=2) @ self._start.T


@kernel
def _bending(field: Vector, u: float, v: float, a: float, b: float) -> tuple[float, float]:
    """(u, v)″ of a geodesic that runs through (u, v) along (a, b)."""
    _, hx, hy, hxx, hxy, hyy = height_at(field, u, v)
    k = -(hxx * a * a + 2.0 * hxy * a * b + hyy * b * b) / (1.0 + hx * hx + hy * hy)
    return k * hx, k * hy


@kernel
def follow_geodesic(field: Vector, start: Vector, step: float, rows: Matrix) -> int:
    """Foot, tangent and normal after every step of Runge and Kutta's fourth order; how many steps stay on the field."""
    u, v, a, b = start[0], start[1], start[2], start[3]
    for k in range(rows.shape[0]):
        if abs(u) > field[HALF_X] or abs(v) > field[HALF_Y]:
            return k - 1
        h, hx, hy, _, _, _ = height_at(field, u, v)
        steep = math.sqrt(1.0 + hx * hx + hy * hy)
        rows[k, 0], rows[k, 1], rows[k, 2] = u, v, h
        rows[k, 3], rows[k, 4], rows[k, 5] = a, b, hx * a + hy * b
        rows[k, 6], rows[k, 7], rows[k, 8] = -hx / steep, -hy / steep, 1.0 / steep
        half = 0.5 * step
        a1, b1 = _bending(field, u, v, a, b)
        a2, b2 = _bending(field, u + half * a, v + half * b, a + half * a1, b + half * b1)
        u3, v3, s3, r3 = u + half * (a + half * a1), v + half * (b + half * b1), a + half * a2, b + half * b2
        a3, b3 = _bending(field, u3, v3, s3, r3)
        a4, b4 = _bending(field, u + step * s3, v + step * r3, a + step * a3, b + step * b3)
        u += step * (a + step * (a1 + a2 + a3) / 6.0)
        v += step * (b + step * (b1 + b2 + b3) / 6.0)
        a += step * (a1 + 2.0 * a2 + 2.0 * a3 + a4) / 6.0
        b += step * (b1 + 2.0 * b2 + 2.0 * b3 + b4) / 6.0
    return rows.shape[0] - 1
