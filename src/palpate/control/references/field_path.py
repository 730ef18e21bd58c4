"""A path on a height field: a geodesic at constant speed, the tool turning with the surface."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.config import setting
from palpate.control.references.reference import Targets
from palpate.control.references.surface_path import SurfacePath
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Vector
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat
from palpate.spatial.height_field import HALF_X, HALF_Y, STEP_X, STEP_Y, foot_of, height_at
from palpate.spatial.rows import product

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
