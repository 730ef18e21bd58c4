"""Which directions a robot's tool can be moved along at all, and from which apparent mass on one counts as lost."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from palpate.checks import Array, finite_array
from palpate.errors import BadRotation, InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import matrix_from_quat

LEVER = 0.1  # m: an angular direction counts as the motion of a point this far out
Direction = Literal["x", "y", "z", "rx", "ry", "rz"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
MASS_FACTOR = 20.0  # a direction is lost when it feels this many times the robot's mass,
POSTURE_FACTOR = 8.0  # and this many times what the heaviest direction feels in the best posture looked at
_POSTURES, _SPREAD = 8, 0.8  # looked at beside home, and how far from it, rad or m
_INDEPENDENT = 1e-6  # of the largest row: what a row must add to those before it

POSTURE = (5.0, 2.0)  # N·m/rad and N·m·s/rad of the null space, where the clock allows
CLOCK_SHARE = 0.25  # of 1/T_e, that a damped joint's rate may reach

T = TypeVar("T")
# The axes that directions are along, for a tool's rotation: columns in the world, or 2×3×3 of translation and rotation.
AxesAt = Callable[[Array], Array]


def postures(robot: Robot) -> list[Array]:
    """Home and some postures near it, the same ones every time."""
    rng, limits = np.random.default_rng(0), robot.limits
    near = robot.home + rng.uniform(-_SPREAD, _SPREAD, (_POSTURES, robot.nv))
    return [robot.home, *np.clip(near, limits.lower, limits.upper)]


def world_axes(rotation: Array) -> Array:
    """Directions along the world's axes, however the tool is turned."""
    return np.eye(3)


def directions_of(fields: Sequence[str]) -> tuple[str, ...]:
    """The directions of the tool that some fields of a target give: its position, its orientation, or both."""
    given = {"position": DIRECTIONS[:3], "quat_wxyz": DIRECTIONS[3:]}
    return tuple(d for field, directions in given.items() if field in fields for d in directions)


def reachable(robot: Robot, directions: Sequence[str], axes: AxesAt = world_axes) -> tuple[str, ...]:
    """Of some directions, those that the robot can move along apart from the ones named before them.

    Decided at the posture of most freedom among some near home: a singular home hides nothing.
    """
    if not directions:
        return ()

    def most_free(rows: list[Array]) -> tuple[str, ...]:
        return max((_independent(J, directions) for J in rows), key=len)

    return _from_rows(robot, directions, axes, most_free)


def immovable(robot: Robot, directions: Sequence[str], axes: AxesAt = world_axes) -> tuple[str, ...]:
    """Of some directions, those that the tool never moves along, whatever the joints do."""

    def unmoved(rows: list[Array]) -> tuple[str, ...]:
        sizes = np.max(np.abs(rows), axis=(0, 2))
        return tuple(d for d, size in zip(directions, sizes) if size <= _INDEPENDENT * max(float(sizes.max()), 1e-300))

    return _from_rows(robot, directions, axes, unmoved)


def lost_mass(robot: Robot, directions: Sequence[str] = DIRECTIONS, axes: AxesAt = world_axes) -> float:
    """kg, the apparent mass from which on one of the directions counts as lost.

    20 × the robot's mass; but rotors and long links can make every direction heavy, so at least 8 × the heaviest
    apparent mass that the directions have in the best of some postures near home.
    """

    def heaviest_at_best(rows: list[Array]) -> float:
        mobilities = (J @ np.linalg.solve(robot.mass_matrix(q), J.T) for q, J in zip(postures(robot), rows))
        return min(1.0 / max(float(np.linalg.eigvalsh(mobility)[0]), 1e-300) for mobility in mobilities)

    free = reachable(robot, directions, axes)
    heaviest = _from_rows(robot, free, axes, heaviest_at_best) if free else 0.0
    return max(MASS_FACTOR * robot.mass, POSTURE_FACTOR * heaviest)


def posture_defaults(
    robot: Robot, q: Array, directions: Sequence[str], axes: AxesAt, lag: float
) -> tuple[float | tuple[float, ...], float | tuple[float, ...]]:
    """k and d of a posture held in the null space of some directions, for commands that come `lag` seconds late.

    5 N·m/rad and 2 N·m·s/rad, if the lightest motion of the null space bears it: d times its mobility at most 0.5/lag.
    Else joint by joint, in proportion to the lightest inertia that each one shows.
    """
    J = _rows(robot.jacobian(q), axes(robot.pose(q).rotation), directions)
    M_inverse = np.linalg.pinv(robot.mass_matrix(q))
    N = np.eye(robot.nv) - J.T @ np.linalg.pinv(J @ M_inverse @ J.T, rcond=1e-9, hermitian=True) @ J @ M_inverse
    loosest = float(np.abs(np.linalg.eigvals(M_inverse @ N)).max())
    if POSTURE[1] * loosest * lag <= 2.0 * CLOCK_SHARE:
        return POSTURE
    return joint_posture(1.0 / np.maximum(np.diag(M_inverse), 1e-300), CLOCK_SHARE / lag)


def joint_posture(inertia: Array, rate: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """k and d joint by joint: d/inertia at most `rate`, 1/s, and k in the usual proportion to d."""
    d = np.minimum(POSTURE[1], rate * inertia)
    return tuple((POSTURE[0] / POSTURE[1] * d).tolist()), tuple(d.tolist())


# Jacobians and rotations of a robot's tool at some postures near home, and what was found from them.
_KNOWN: weakref.WeakKeyDictionary[Robot, tuple[list[tuple[Array, Array]], dict[Any, Any]]] = weakref.WeakKeyDictionary()
_MOST_KNOWN = 256


def _from_rows(robot: Robot, directions: Sequence[str], axes: AxesAt, find: Callable[[list[Array]], T]) -> T:
    """Result of `find` for the directions' rows near home; kept, as a sweep binds the same law thousands of times."""
    if robot not in _KNOWN:
        _KNOWN[robot] = [(robot.jacobian(q), robot.pose(q).rotation) for q in postures(robot)], {}
    tools, known = _KNOWN[robot]
    rotations = [axes(rotation) for _, rotation in tools]
    key = (find.__name__, *directions, *(rotation.tobytes() for rotation in rotations))
    if key not in known:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[key] = find([_rows(J, rotation, directions) for (J, _), rotation in zip(tools, rotations)])
    return known[key]


def _rows(J: Array, R: Array, directions: Sequence[str]) -> Array:
    """S J: some directions along axes R, or two sets of them, of translation and rotation; angular rows × the lever."""
    linear, angular = (R, R) if R.ndim == 2 else R
    rows = np.vstack([linear.T @ J[:3], LEVER * angular.T @ J[3:]])
    return rows[[DIRECTIONS.index(d) for d in directions]]


def _independent(J: Array, directions: Sequence[str]) -> tuple[str, ...]:
    """The directions whose rows add to the span of those before them (Gram–Schmidt in the order given)."""
    least, basis, independent = _INDEPENDENT * max(float(np.abs(J).max()), 1e-300), np.zeros((0, J.shape[1])), []
    for direction, row in zip(directions, J):
        residual = row - basis.T @ (basis @ row)
        size = float(np.linalg.norm(residual))
        if size > least:
            basis, independent = np.vstack([basis, residual / size]), [*independent, direction]
    return tuple(independent)


def checked_directions(
    robot: Robot, directions: tuple[Direction, ...], law: str, axes: AxesAt = world_axes, *, more: bool = False
) -> None:
    """Refuse directions named twice, none, or ones that the robot cannot follow apart from those before them.

    With `more` these may be among them, but not alone.
    """
    if not directions or len(set(directions)) != len(directions):
        raise InvalidInput(f"{law}: directions must be different ones of {', '.join(DIRECTIONS)}, got {directions}")
    can = reachable(robot, directions, axes)
    if len(can) == len(directions) or (more and can):
        return
    some = list(can or reachable(robot, DIRECTIONS, axes))
    raise InvalidInput(
        f"{law}: {robot.name} has {robot.nv} degrees of freedom and cannot follow {len(directions)} directions:"
        f" {_why_not(robot, directions, can, axes)}",
        hint=f"it can follow {', '.join(some)}",
    )


def _why_not(robot: Robot, directions: tuple[Direction, ...], can: tuple[str, ...], axes: AxesAt) -> str:
    """Of the directions that cannot be followed, which are never moved along, and which only with the others."""
    unmoved = immovable(robot, directions, axes)
    bound = [d for d in directions if d not in can and d not in unmoved]
    reasons = [f"it never moves along {', '.join(unmoved)}"] if unmoved else []
    reasons += [f"{', '.join(bound)} only together with {', '.join(can)}"] if bound else []
    return "; ".join(reasons)


@lru_cache(maxsize=64)
def rotation_of(quat_wxyz: tuple[float, ...]) -> Array:
    """The rotation that a setting `axes_quat_wxyz` means, read-only; refused unless of length 1.

    Kept, for a forecast asks for the axes of one law hundreds of times.
    """
    quat, rotation = finite_array(quat_wxyz, "axes_quat_wxyz", (4,)), np.empty((3, 3))
    if abs(float(np.linalg.norm(quat)) - 1.0) > 1e-6:
        raise BadRotation(f"axes_quat_wxyz must have norm 1, got {np.linalg.norm(quat):g}")
    matrix_from_quat(quat, rotation)
    rotation.flags.writeable = False
    return rotation
