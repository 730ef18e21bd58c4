"""Postures in which an arm can press: away from singular ones and stops, with room and torque for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.catalogue import is_textbook
from palpate.robot.robot import Robot
from palpate.spatial import Pose
from palpate.world.plants.plant import touches_unasked
from palpate.world.surfaces.contact_points import MOST_HULL, hull, link_points, thin_points

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
_SAMPLES, _NEAR = 600, 0.3
_AROUND, _SLIDE = 1.6, 0.3  # rad and m about home in which postures are drawn
_WELL, _GOOD = 0.05, 0.2  # of the largest singular value: directions of less are left out; good enough
_LEVER = 0.25  # of the reach: the length that makes an angle a distance
_STEP = 0.005  # m, of the way that is tried out
_STOP_MARGIN, _CLEAR = 0.05, 0.2  # of a joint's range
_SIDEWAYS = 0.1  # m per m along the axis, in directions that the joints cannot choose
_HOME = 0.3  # what its maker's own posture is worth
_AROUND_TOOL = 0.25  # m: links farther from the tool may be behind an endless wall
AHEAD, _LEVEL = 2e-3, 1e-2  # m that a link may stand out before the tool; and behind the foremost, to touch as well
_RESERVE = 0.5  # share of the torque left beside gravity that pressing may take
_FORCES = (1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)  # N
_USUAL, _OVER_FRICTION, _PER_MASS = 20.0, 6.0, 1.25  # N; times the joints' friction at the tool; N per kg there


@dataclass(frozen=True)
class PressPose:
    """A posture, and how to press from there.

    Attributes:
        q: coordinates.
        directions: the directions among x … rz of the world in which the joints can move the tool independently.
        axis: unit vector to press along, an axis of the world.
        force: N that the joints' torques allow: 20, more where friction or mass need it.
        friction: N that the joints' Coulomb friction puts against the motion.
        mass: kg that the tool weighs along the axis.
        front: m that the links near the tool reach before its origin along the axis.
        foremost: names of those links that reach farthest.
        score: how well it suits, 1 at best.
    """

    q: Array
    directions: tuple[str, ...]
    axis: Array
    force: float
    friction: float
    mass: float
    front: float
    foremost: tuple[str, ...]
    score: float


def pressing_postures(robot: Robot, distance: float) -> Iterator[PressPose]:
    """Postures from which the tool can go `distance` metres straight on and press there, the best first.

    Those come first in which the tool, and no link beside it, would meet a wall.

    Home is among them, the others are drawn between the joints' limits (the same at every call).

    Raises:
        InvalidInput: a free base or a ball joint.
    """
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"{robot.name} has a free base or ball joints: nothing holds it against what it presses on",
            hint="start from a scenario with such a robot: palpate new mine --from floating-stand",
        )
    arm = _Arm(robot)
    presses = [press for q in arm.candidates() for press in arm.presses(q)]
    presses.sort(key=lambda press: (-len(press.directions), press.front > arm.tip + AHEAD, -press.score))
    return (press for press in presses if arm.goes(press, distance))


class _Arm:
    """A robot with the joints that move its tool: those of other limbs stay at home and are not judged."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.home = robot, robot.home
        angle, limits = np.array(robot.dof_units) == "rad", robot.limits
        around = np.where(angle, _AROUND, _SLIDE)
        self.low = np.maximum(limits.lower, self.home - around)
        self.high = np.minimum(limits.upper, self.home + around)
        random, moved = np.random.default_rng(1), np.zeros(robot.nv)
        for _ in range(3):
            moved = np.maximum(moved, np.abs(robot.jacobian(random.uniform(self.low, self.high))).max(axis=0))
        self.moves = moved > 1e-9
        self.lever = _LEVER * _reach(robot)
        # A textbook's links are drawn as rods, thicker than its tip.
        bodies = () if is_textbook(robot.name) else range(1, robot.model.nbody)
        clouds = {b: points for b in bodies if (points := link_points(robot.model, b)) is not None}
        self.corners = {
            robot.model.body(b).name: (b, thin_points(hull(points), MOST_HULL)) for b, points in clouds.items()
        }
        import mujoco  # behind palpate.robot, which looks at the processor first

        self.data = mujoco.MjData(robot.model)
        spheres = [robot.model.geom(g) for g in range(robot.model.ngeom) if touches_unasked(robot.model.geom(g).name)]
        self.tip = max((float(sphere.size[0]) for sphere in spheres), default=0.0)
        self.friction = np.where(self.moves, robot.model.dof_frictionloss[robot.coordinates.kept], 0.0)

    def candidates(self) -> Iterator[Array]:
        """Home, then random ones, every other of them near home: a heavy body may not be held far from there."""
        random = np.random.default_rng(0)
        yield self.home
        for k in range(_SAMPLES):
            q = self.low + random.uniform(0.1, 0.9, self.robot.nv) * (self.high - self.low)
            q = q if k % 2 else self.home + _NEAR * (q - self.home)
            yield np.where(self.moves, np.round(q, 2), self.home)

    def presses(self, q: Array) -> Iterator[PressPose]:
        """Every axis of the world along which the arm can press from a posture."""
        J, clearance = self.robot.jacobian(q), self._stop_clearance(q)
        scaled = J * np.array([1.0] * 3 + [self.lever] * 3)[:, None]
        chosen = _independent(scaled)
        if not chosen or clearance < _STOP_MARGIN:
            return
        values, moves = np.linalg.svd(scaled[chosen], compute_uv=False), np.linalg.pinv(J[chosen])
        quality = min(values[-1] / values[0] / _GOOD, 1.0) * min(clearance / _CLEAR, 1.0) * self._upright(q)
        near = self._near_tool(q)
        for k, row in ((k, row) for k, row in enumerate(chosen) if row < 3):
            sideways = float(np.linalg.norm(J[:3] @ moves[:, k] - np.eye(3)[row]))
            if sideways > _SIDEWAYS:
                continue
            friction = float(self.friction @ np.abs(moves[:, k]))
            mass = 1.0 / float(J[row] @ np.linalg.solve(self.robot.mass_matrix(q), J[row]))
            force = self._force(q, J[row], friction, mass)
            for axis in (np.eye(3)[row], -np.eye(3)[row]) if force else ():
                suits = (0.6 + 0.4 * float(axis @ self._outward(q))) * (0.5 + 0.5 * min(force / _USUAL, 1.0))
                score = quality * suits * (1.0 - sideways) * (1.0 - friction / force) + (
                    _HOME if q is self.home else 0.0
                )
                front, foremost = _front(near, axis)
                names = tuple(DIRECTIONS[k] for k in chosen)
                yield PressPose(q, names, axis, force, friction, mass, front, foremost, score)

    def goes(self, press: PressPose, distance: float) -> bool:
        """Whether the tool can go straight on, turning in none of the chosen directions, within the stops."""
        robot, limits = self.robot, self.robot.limits
        start, x = robot.pose(press.q), press.q.copy()
        chosen = [DIRECTIONS.index(direction) for direction in press.directions]
        for k in range(1, math.ceil(distance / _STEP) + 1):
            target = Pose(start.position + min(k * _STEP, distance) * press.axis, start.rotation)
            J, error = robot.jacobian(x)[chosen], robot.pose(x).error_to(target)[chosen]
            if np.linalg.svd(J, compute_uv=False)[-1] < 1e-3 * self.lever:
                return False
            x = x + np.linalg.pinv(J) @ error
            if np.any(x < limits.lower) or np.any(x > limits.upper):
                return False
        left = start.position + distance * press.axis - robot.pose(x).position
        return bool(np.abs(left[[row for row in chosen if row < 3]]).max(initial=0.0) < 0.1 * _STEP)

    def _near_tool(self, q: Array) -> dict[str, Array]:
        """Corners of the links that are near the tool, from its origin, world axes."""
        self.data.qpos[:] = self.robot.coordinates.expand_position(q)
        from mujoco import mj_kinematics

        mj_kinematics(self.robot.model, self.data)
        tool, near = self.robot.pose(q).position, {}
        for link, (body, corners) in self.corners.items():
            ahead = self.data.xpos[body] + corners @ self.data.xmat[body].reshape(3, 3).T - tool
            ahead = ahead[np.linalg.norm(ahead, axis=1) < _AROUND_TOOL]
            if len(ahead):
                near[link] = ahead
        return near

    def _stop_clearance(self, q: Array) -> float:
        """The smallest distance of a joint from its stops, as a share of its range; 1 without stops."""
        limits = self.robot.limits
        bounded = np.isfinite(limits.lower) & np.isfinite(limits.upper) & self.moves
        low, high, at = limits.lower[bounded], limits.upper[bounded], q[bounded]
        return float(np.min(np.minimum(at - low, high - at) / (high - low), initial=1.0))

    def _outward(self, q: Array) -> Array:
        """Unit vector from the base to the tool, level where gravity acts along z."""
        direction = self.robot.pose(q).position - self.robot.model.body_pos[1]
        if self.robot.model.opt.gravity[2] != 0:
            direction[2] = 0.0
        return direction / max(float(np.linalg.norm(direction)), 1e-9)

    def _upright(self, q: Array) -> float:
        """1 where the tool is not below the base it stands on, less where it is."""
        height = self.robot.pose(q).position[2] - self.robot.model.body_pos[1][2]
        return 1.0 if height > -1e-9 or self.robot.model.opt.gravity[2] >= 0 else 0.5

    def _force(self, q: Array, J_row: Array, friction: float, mass: float) -> float:
        """The usual force, or one that moves friction and mass, as far as torques leave some for motion; 0 if not."""
        wanted = max(_USUAL, _OVER_FRICTION * friction, _PER_MASS * mass)
        most = next((f for f in reversed(_FORCES) if f >= wanted), _FORCES[0])
        spare = np.where(self.moves, _RESERVE * (self.robot.limits.torque - np.abs(self.robot.gravity(q))), np.inf)
        force = next((f for f in _FORCES if f <= most and np.all(f * np.abs(J_row) <= spare)), 0.0)
        return force if force >= 2.0 * friction else 0.0


def _front(near: dict[str, Array], axis: Array) -> tuple[float, tuple[str, ...]]:
    """How far links reach before the tool along an axis, m, and those that reach farthest."""
    reaches = {link: float((corners @ axis).max()) for link, corners in near.items()}
    farthest = max(reaches.values(), default=0.0)
    return farthest, tuple(link for link, reach in reaches.items() if reach > farthest - _LEVEL)


def _reach(robot: Robot) -> float:
    """m: the length of the chain from base to tool."""
    model, body, length = robot.model, robot.frame().body, float(np.linalg.norm(robot.frame().offset))
    while body > 0:
        length += float(np.linalg.norm(model.body_pos[body]))
        body = int(model.body_parentid[body])
    return max(length, 0.05)


def _independent(J: Array) -> list[int]:
    """Rows of J, translations first, that are independent of each other: those in which joints can move the tool."""
    chosen: list[int] = []
    largest = np.linalg.norm(J, 2)
    for row in range(6):
        values = np.linalg.svd(J[[*chosen, row]], compute_uv=False)
        if len(chosen) < J.shape[1] and values[-1] > _WELL * largest:
            chosen.append(row)
    return chosen
