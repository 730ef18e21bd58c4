"""Gains for direct and parallel force control that suit an arm's inertia and a loop's period."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import PerJoint
from palpate.control.design.damping import damping_by_ratio, number_list
from palpate.control.design.force_loop import ForceGains, ForceTask, force_loop_stable, force_task, joint_damping_of
from palpate.control.steps.reach import DIRECTIONS, LEVER, POSTURE, joint_posture, lost_mass
from palpate.errors import InvalidInput, check_names
from palpate.robot.robot import Robot

STIFFNESS = (400.0, 400.0, 400.0, 20.0, 20.0, 20.0)  # N/m and N·m/rad, where the clock allows
INTEGRAL = 10.0  # 1/s, where walls and clock allow
NEIGHBOURS = 0.3  # rad or m: how far the joints may be from q
WALLS = (0.0, 1e3, 1e4, 1e5)  # N/m, that the gains are tried on, where the clock allows
FASTEST_WALL = 0.7  # ω T_e of an undamped wall that a held command can still damp
MARGIN = 2.0  # every gain, times this, is stable still
_STEP, _NARROW = 1.25, 0.02  # of the search for the largest k_i


@dataclass(frozen=True)
class ForceDefaults:
    """Gains of direct and parallel force control.

    Attributes:
        stiffness: K along x, y, z, rx, ry, rz; 0 along directions that are not chosen.
        damping: D, 6×6 in the law's axes; its diagonal is all of it if asked for so.
        integral, proportional: k_i, 1/s, and k_p.
        posture_stiffness, posture_damping: of the null space, one for all joints or one each.
        stiffest_wall: N/m, that the gains were tried on.
        margin: factor on damping, integral gain or stiffness, each alone, up to which the loop is predicted stable; 0
            if no such gains were found.
        account: the same in words.
    """

    stiffness: tuple[float, ...]
    damping: Array
    integral: float
    proportional: float
    posture_stiffness: PerJoint
    posture_damping: PerJoint
    stiffest_wall: float
    margin: float
    account: str


def force_defaults(
    robot: Robot,
    q: ArrayLike,
    period: float,
    *,
    force: tuple[str, ...] = ("z",),
    motion: tuple[str, ...] = ("x", "y", "rx", "ry", "rz"),
    axes: ArrayLike | None = None,
    delay: int = 1,
    diagonal: bool = False,
) -> ForceDefaults:
    """Gains of direct and parallel force control for an arm and a control period.

    With λ_i the smallest mass (inertia) that direction i feels at q and at postures near it, and T_e = T (½ + delay),
    K_i is the usual one but at most λ_i (0.2/T_e)², along force directions too, where it only shapes D. D gives every
    mode of K and the arm's inertia at q the ratio 1 (double diagonalisation). k_i is a third of what the sampled loop
    of the whole arm bears on undamped walls, at most 10 1/s. K is lowered until that loop is stable with every gain
    doubled, one after the other, free and on those walls, and at the postures near q with the gains as they are. The
    walls go up to the lower of 10⁵ N/m and λ (0.7/T_e)²: what rings faster, a command that late cannot damp at all. A
    diagonal D = 2 √(K_i λ_i) is stable too, but leaves the slow modes of a coupled arm hardly damped.

    Args:
        robot: the arm as the law knows it.
        q: where it will work.
        period: T, s.
        force, motion: directions, as the laws have them.
        axes: rotation of the law's axes, 3×3, columns in the world; the world's if not given.
        delay: samples between measurement and command to be prepared for.
        diagonal: for a law that takes six numbers of damping.
    """
    T = finite_number(period, "period", above=0.0)
    if isinstance(delay, bool) or not isinstance(delay, int) or delay < 0:
        raise InvalidInput(f"delay must be a whole number of samples, at least 0, got {delay!r}")
    check_names("direction", (*force, *motion), DIRECTIONS)
    R, q = np.eye(3) if axes is None else finite_array(axes, "axes", (3, 3)), finite_array(q, "q", (robot.nq,))
    if not force:
        raise InvalidInput(f"force must name at least one of {', '.join(DIRECTIONS)}")
    key = (_fingerprint(robot, q), T, force, motion, R.tobytes(), delay, diagonal)
    if key not in _CACHE:
        while len(_CACHE) >= _MOST_CACHED:
            _CACHE.pop(next(iter(_CACHE)))
        _CACHE[key] = _search_gains(robot, q, R, force, motion, _Clock(T, delay), diagonal)
    return _CACHE[key]


_CACHE: dict[Any, ForceDefaults] = {}  # a scenario is checked and then run, and a sweep runs it again and again
_MOST_CACHED = 64


def _fingerprint(robot: Robot, q: Array) -> bytes:
    """Bytes that tell arms and postures apart: inertia, kinematics, gravity and losses here and at a posture nearby."""
    near = q + NEIGHBOURS * np.linspace(0.5, 1.0, robot.nv)
    terms = [f(x) for x in (q, near) for f in (robot.mass_matrix, robot.jacobian, robot.gravity)]
    return b"".join(term.tobytes() for term in (*terms, joint_damping_of(robot)))


@dataclass(frozen=True)
class _Clock:
    """The control period, s, and the samples between measurement and command."""

    period: float
    delay: int

    @property
    def late(self) -> float:
        """T (½ + delay), s: how late a held command acts."""
        return self.period * (0.5 + self.delay)


def _search_gains(
    robot: Robot, q: Array, R: Array, force: tuple[str, ...], motion: tuple[str, ...], clock: _Clock, diagonal: bool
) -> ForceDefaults:
    rows = [DIRECTIONS.index(d) for d in (*motion, *force)]
    heaviest = lost_mass(robot, (*motion, *force), lambda _: R)
    arms = [force_task(robot, posture, rows, lambda _: R, heaviest) for posture in _neighbours(robot, q)]
    marked = np.array([False] * len(motion) + [True] * len(force))
    share = 1.0
    gains = _gains(arms, marked, clock, share, diagonal)
    while not (has_margin := _stable_with_margin(arms, gains, clock)) and share > 1e-3:
        share *= 0.7
        gains = _gains(arms, marked, clock, share, diagonal)
    return _result(robot, arms[0], gains, clock, MARGIN if has_margin else 0.0)


def _neighbours(robot: Robot, q: Array) -> list[Array]:
    """q, and q with one joint moved either way."""
    steps = NEIGHBOURS * np.eye(robot.nv)
    return [q, *(q + step for step in steps), *(q - step for step in steps)]


def _gains(arms: list[ForceTask], force: Array, clock: _Clock, share: float, diagonal: bool) -> ForceGains:
    """The gains with every rate at most `share` of what the clock would bear."""
    most = np.max([np.diag(arm.task_mobility) for arm in arms], axis=0)
    moves = most > 1e-9 * max(float(most.max()), 1e-300)
    lightest = np.where(moves, 1.0 / np.where(moves, most, 1.0), 0.0)
    K = np.minimum([STIFFNESS[row] for row in arms[0].rows], lightest * (share * 0.2 / clock.late) ** 2)
    scale = np.array([1.0 if row < 3 else LEVER for row in arms[0].rows])
    full = damping_by_ratio(np.diag(K), arms[0].task_mobility, 1.0, scale=scale)
    D = np.diag(2.0 * np.sqrt(K * lightest)) if diagonal else full
    # The largest mobility of the null space, 1/(kg·m²).
    loosest = max(float(np.abs(np.linalg.eigvals(arm.mobility @ arm.null_space)).max()) for arm in arms)
    posture: tuple[PerJoint, PerJoint] = POSTURE
    if POSTURE[1] * loosest > share * 0.25 / clock.late:
        lightest_joints = np.min([1.0 / np.diag(arm.mobility) for arm in arms], axis=0)
        posture = joint_posture(lightest_joints, share * 0.25 / clock.late)
    posture_gains: dict[str, Any] = {"posture_stiffness": np.array(posture[0]), "posture_damping": np.array(posture[1])}
    gains = ForceGains(np.diag(K), D, force, **posture_gains)
    return replace(gains, integral=_integral(arms[0], gains, clock))


def _integral(arm: ForceTask, gains: ForceGains, clock: _Clock) -> float:
    """A third of the largest stable k_i, at most the usual one."""

    def stable(integral: float) -> bool:
        return _stable(arm, replace(gains, integral=integral), clock, WALLS[1:])

    low, high = INTEGRAL, INTEGRAL * _STEP
    if stable(low):
        while stable(high):
            if high >= 3 * INTEGRAL:
                return INTEGRAL
            low, high = high, min(high * _STEP, 3 * INTEGRAL)
    else:
        low, high = INTEGRAL / _STEP, INTEGRAL
        while not stable(low):
            if low < 1e-6 * INTEGRAL:
                return 0.0
            low, high = low / _STEP, low
    while high - low > _NARROW * high:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return min(INTEGRAL, low / 3)


def _stable_with_margin(arms: list[ForceTask], gains: ForceGains, clock: _Clock) -> bool:
    doubled = [
        replace(gains, damping=MARGIN * gains.damping, posture_damping=MARGIN * gains.posture_damping),
        replace(gains, integral=MARGIN * gains.integral),
        replace(gains, stiffness=MARGIN * gains.stiffness, posture_stiffness=MARGIN * gains.posture_stiffness),
    ]
    at_posture = gains.integral > 0 and all(_stable(arms[0], changed, clock, WALLS) for changed in doubled)
    return at_posture and all(_stable(arm, gains, clock, (0.0, 1e4)) for arm in arms[1:])


def _stable(arm: ForceTask, gains: ForceGains, clock: _Clock, walls: tuple[float, ...]) -> bool:
    """Whether both laws are stable on walls along every force direction."""
    return all(
        force_loop_stable(arm, gains, k, min(wall, _stiffest_wall(arm, k, clock)), clock.period, clock.delay)
        for k in map(int, np.flatnonzero(gains.force))
        for wall in walls
    )


def _stiffest_wall(arm: ForceTask, direction: int, clock: _Clock) -> float:
    """The stiffest wall along a direction that the clock lets a force loop meet, N/m or N·m/rad."""
    mass = 1.0 / max(float(arm.task_mobility[direction, direction]), 1e-12)
    most = WALLS[-1] * (1.0 if arm.rows[direction] < 3 else LEVER**2)
    return min(most, mass * (FASTEST_WALL / clock.late) ** 2)


def _result(robot: Robot, arm: ForceTask, gains: ForceGains, clock: _Clock, margin: float) -> ForceDefaults:
    K, D = np.zeros(6), np.zeros((6, 6))
    K[arm.rows] = np.diag(gains.stiffness)
    D[np.ix_(arm.rows, arm.rows)] = gains.damping
    stiffest = min(_stiffest_wall(arm, int(direction), clock) for direction in np.flatnonzero(gains.force))
    text = (
        f"for {robot.name} at a period of {1e3 * clock.period:g} ms and {clock.delay} samples of delay:"
        f" K = {number_list(K)}, D with the diagonal {number_list(np.diag(D))} along x, y, z, rx, ry, rz,"
        f" k_i = {gains.integral:.3g} 1/s. "
    )
    if margin:
        text += (
            f"Predicted stable with each gain times {margin:g}, free and on undamped walls up to {stiffest:.3g} N/m."
        )
    else:
        text += "NOT stable with a margin: no gains were found for this arm, posture and period."
    posture = _plain(gains.posture_stiffness), _plain(gains.posture_damping)
    return ForceDefaults(tuple(K.tolist()), D, gains.integral, 0.0, *posture, stiffest, margin, text)


def _plain(value: ArrayLike) -> PerJoint:
    numbers = np.asarray(value).tolist()
    return tuple(numbers) if isinstance(numbers, list) else numbers
