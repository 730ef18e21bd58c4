"""One test per formula that a law, guard or solver would not be the same without."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import palpate as pp
from palpate.control import Admittance, CartesianImpedance, FastestStop, HybridForce, PoleBalance, admittance_response
from palpate.control.guards import GUARD_STALE, GuardMemory, Guards, guard_torque, watch_measurement
from palpate.control.law import Seen, Target, Tick, sizes_of
from palpate.control.references.reference import Hold, WantedWrench, joint_target
from palpate.control.solve.hierarchy import solve_hierarchy, solve_stack
from palpate.control.solve.stack import make_stack
from palpate.spatial import Pose, matrix_from_euler


def accelerations(robot: pp.Robot, q: np.ndarray, v: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """M⁻¹ (τ − b)."""
    return np.linalg.solve(robot.mass_matrix(q), torque - robot.bias(q, v))


def tool_acceleration(robot: pp.Robot, q: np.ndarray, v: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """J v̇ + J̇ v under a torque, J̇ v by central differences of J v along the motion."""
    h = 1e-6
    drift = (robot.jacobian(q + h * v) - robot.jacobian(q - h * v)) @ v / (2 * h)
    return robot.jacobian(q) @ accelerations(robot, q, v, torque) + drift


# ------------------------------------------------------------------ laws


@pytest.mark.parametrize("wanted", [10.0, -10.0])
def test_hybrid_force_approaches_with_the_acceleration_of_its_equation(wanted: float) -> None:
    """A_z = d (−V_z − sign(F_d) v_a), exactly, also while the joints move fast."""
    robot, rng = pp.load_robot("panda"), np.random.default_rng(1)
    law = HybridForce(force_damping=20.0, approach_speed=0.04, integral=1.0, posture_stiffness=0.0, posture_damping=0.0)
    q, v = robot.home, rng.normal(size=7)
    row = Hold(wrench=WantedWrench(value=(0.0, 0.0, wanted, 0.0, 0.0, 0.0))).sample(np.zeros(1), robot, q)[0]
    torque = law.tick(robot, q, v, target=Target.over(row, sizes_of(robot))).command
    V = robot.jacobian(q) @ v
    expected = 20.0 * (-V[2] - math.copysign(0.04, wanted))
    assert tool_acceleration(robot, q, v, torque)[2] == pytest.approx(expected, rel=1e-6)


def test_a_fallen_pole_is_braked_for_with_the_largest_share_that_limits_leave_beside_the_bias() -> None:
    """τ = b − s r M v with |τ| ≤ limit and s largest: with s < 1 a joint is at its limit."""
    robot = pp.load_robot("iiwa14").with_payload(1.0, (0, 0, 0))
    q = np.array([0.0, 0.6, 0.0, -1.4, 0.0, 1.1, 0.0])
    law, seen = PoleBalance(), Seen()
    seen.pole.AB[:] = (1.0, 0.0, 0.0)  # lies flat
    for seed in range(20):
        v = 2.0 * np.random.default_rng(seed).normal(size=7)
        bound = law.bind(robot)
        bias, push = robot.bias(q, v), -robot.mass_matrix(q) @ v
        # Limits a little above the bias, on the side that braking pushes to.
        bound.gains.torque_limit[:] = np.abs(bias) + 0.3 * np.abs(push) + 0.1
        decision = bound.tick(robot, q, v, seen=seen)
        torque, limit = decision.terms["balance"], bound.gains.torque_limit
        assert np.abs(decision.terms["limits"]).max() < 1e-12  # nothing is left to cut
        share = np.linalg.lstsq(push[:, None], torque - bias, rcond=None)[0][0]
        assert torque == pytest.approx(bias + share * push, abs=1e-9)
        assert (np.abs(torque) <= limit + 1e-9).all()
        assert (np.abs(np.abs(torque) - limit) < 1e-9).any()


@pytest.mark.parametrize("lag", [0.0, 0.01, 0.04])
def test_a_stop_seen_late_takes_velocity_away_no_faster_than_a_late_loop_bears(lag: float) -> None:
    """λ = 1/(T + e τ) where bounds leave room; v̇ = −λ v(t − τ) then comes to rest without swinging."""
    robot = pp.load_robot("planar3", length=1.0)
    law = FastestStop(axes="xy", acceleration=1e6, respect_torque=False, lag=lag)
    q, v, T = np.array([0.3, 0.8, 0.5]), np.array([0.4, -0.3, 0.6]), 1e-3
    u = law.tick(robot, q, v, dt=T).command
    J, h = robot.jacobian(q)[:2], robot.terms(q, v).drift[:2]
    speed = J @ v
    rate = float(-(J @ u + h) @ speed / (speed @ speed))
    assert rate == pytest.approx(1.0 / (T + math.e * lag), rel=1e-6)
    past = [1.0] * (round(lag / T) + 1)
    for _ in range(2000):
        past.append(past[-1] - T * rate * past[-1 - round(lag / T)])
    assert min(past) > -1e-6
    assert past[-1] < 1e-6


def test_an_admittance_commands_no_posture_beyond_a_joints_range() -> None:
    robot, law = pp.load_robot("ur5e"), Admittance(stiffness=(0.0,) * 6, damping=(20.0,) * 6)
    bound, q = law.bind(robot), robot.home
    bound.gains.upper[:] = q + 0.02
    for _ in range(400):
        command = bound.tick(robot, q, np.zeros(6), wrench=[30.0, 20.0, -20.0, 0, 0, 0]).terms["compliant"]
        assert (command <= q + 0.02).all()
    assert bound.memory.stopped > 0
    assert "ranges limited" in bound.remarks(bound.memory)[0]


# ------------------------------------------------------------------ guards


def guarded(robot: pp.Robot, **settings: Any) -> tuple[Any, Any, Any]:
    """Settings, memory and a tick of a robot."""
    return Guards(**settings).settings(robot), GuardMemory(sizes_of(robot)), Tick(sizes_of(robot))


@pytest.mark.parametrize("ticks", [5, 20])
def test_dead_joints_are_found_when_they_stood_still_for_more_than_their_ticks(ticks: int) -> None:
    robot = pp.load_robot("planar2")
    settings, memory, x = guarded(robot, stale_ticks=ticks, moved=1e-9)
    x.q[:], x.v[:], x.dt = (0.3, 0.4), (0.5, 0.2), 1e-3
    tripped = []
    for count in range(ticks + 5):
        watch_measurement(settings, memory, x, count)
        tripped.append(bool(memory.stopped & GUARD_STALE))
    # The first reading is new; then it must repeat more often than the ticks say.
    assert tripped.index(True) == ticks + 1


@pytest.mark.parametrize("share", [0.55, 0.6, 0.9])
def test_a_joint_beyond_half_its_rated_speed_is_kept_below_it(share: float) -> None:
    """a ≤ (rated − |q̇|) / T from half the rated speed on; below that it is not touched."""
    robot = pp.load_robot("planar2")
    settings, memory, x = guarded(robot, joint_limits=False, joint_speeds=True, speed_time=0.05)
    settings.velocity[:] = 2.0
    q, v = np.array([0.3, 0.4]), np.array([2.0 * share, 0.0])
    terms = robot.terms(q, v)
    x.M[...], x.bias[:], x.J[...], x.q[:], x.v[:] = terms.M, terms.bias, terms.J, q, v
    torque = robot.bias(q, v) + terms.M @ np.array([500.0, 0.0])
    guard_torque(settings, memory, x, torque)
    assert accelerations(robot, q, v, torque)[0] == pytest.approx((2.0 - 2.0 * share) / 0.05, rel=1e-9)


# ------------------------------------------------------------------ steps


def test_a_missed_angular_acceleration_is_told_in_radians() -> None:
    """A planar arm cannot turn about x: what is asked for there is missed whole."""
    robot = pp.load_robot("planar3")
    bound = CartesianImpedance().bind(robot)
    q = np.array([0.3, 0.8, 0.5])
    target = joint_target(robot, q)
    target.acceleration[3] = 0.7
    bound.tick(robot, q, np.zeros(3), target=target)
    assert bound.memory.missed[3] == pytest.approx(0.7, rel=1e-9)
    assert "rx (0.7 rad/s²)" in " ".join(bound.remarks(bound.memory))


@pytest.mark.parametrize("axes", ["target", "tool"])
def test_a_direction_that_does_not_yield_is_held_while_the_axes_turn(axes: Any) -> None:
    law = Admittance(directions=("x",), axes=axes, stiffness=(20.0,) * 6)
    turns = [matrix_from_euler([0.0, 0.0, 0.01 * i], "XYZ") for i in range(150)]
    poses = [Pose(np.zeros(3), R) for R in turns]
    wrench = np.tile([3.0, 2.0, 1.0, 0.0, 0.0, 0.0], (150, 1))
    found = admittance_response(law, wrench, 1e-2, poses)
    for R, displacement in zip(turns, found.displacement[1:]):
        assert np.abs(R[:, 1:].T @ displacement).max() < 1e-12
    assert np.abs(found.displacement).max() > 0.05


# ------------------------------------------------------------------ solvers


def test_limits_that_repeat_each_other_are_held_once_with_multipliers_of_the_right_sign() -> None:
    """Rows doubled and turned round at the optimum: those held are independent, and each pushes inwards."""
    rng, met = np.random.default_rng(7), 0
    for _ in range(200):
        n = 4
        rows = rng.normal(size=(3, n))
        C = np.vstack([rows, 2.0 * rows[0], -rows[1]])
        upper = np.concatenate([np.full(3, 0.5), [1.0], [np.inf]])
        lower = np.concatenate([np.full(3, -np.inf), [-np.inf], [-0.5]])
        A, b = np.eye(n), 3.0 * rng.normal(size=n)
        found = solve_hierarchy(A, b, np.array([0, n]), C, lower, upper, np.ones(5))
        held = np.flatnonzero(found.active)
        assert np.linalg.matrix_rank(C[held]) == len(held)
        assert (C @ found.x <= upper + 1e-9).all()
        assert (C @ found.x >= lower - 1e-9).all()
        if len(held):
            met += 1
            signs = np.asarray(found.active, dtype=float)[held]
            push = np.linalg.lstsq((signs[:, None] * C[held]).T, b - found.x, rcond=None)[0]
            assert b - found.x == pytest.approx((signs[:, None] * C[held]).T @ push, abs=1e-8)
            assert (push > -1e-9).all()
    assert met > 100


def test_a_limit_along_what_a_higher_level_has_used_up_is_let_go() -> None:
    """x₁ = 1 is settled by the first level; of the limits, those that still hold something back are x₂'s alone."""
    C, none = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.full(3, -np.inf)
    found = solve_hierarchy(
        np.eye(2), np.array([5.0, 5.0]), np.arange(3), C, none, np.array([1.0, 1.0, 2.0]), np.ones(3)
    )
    assert found.x == pytest.approx([1.0, 2.0])
    assert found.active.tolist() == [0, 0, 1]


def test_limits_that_were_widened_hold_at_the_point_that_was_found() -> None:
    """Two pairs exclude each other, by 2 and by 0.2: lower levels have room for the point of least violation."""
    stack = make_stack(3, 1, 1, 4)
    search, infinite = stack.search, np.inf
    search.C[...] = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    search.lower[:], search.upper[:] = (-infinite, 1.0, -infinite, 0.1), (-1.0, infinite, -0.1, infinite)
    stack.level.A[...], stack.level.b[:], stack.starts[:], stack.units[:] = [[0, 1, 0]], 5.0, (0, 1), 1.0
    relaxed, failed = solve_stack(stack.address)
    at = search.C @ search.x
    assert (relaxed, failed) == (pytest.approx(1.0), 0)
    assert (search.lower <= at + 1e-12).all()
    assert (search.upper >= at - 1e-12).all()
    assert search.upper[0] == pytest.approx(0.0, abs=1e-9)
    assert search.lower[1] == pytest.approx(0.0, abs=1e-9)


def test_limits_that_exclude_each_other_are_widened_to_the_least_worst_violation_and_no_further() -> None:
    """The least common excess is a linear program's; what lower levels ask for may not add to it."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        n = 4
        C = np.vstack([rng.normal(size=(3, n)), np.zeros((1, n))])
        C[3] = -C[0] - 0.5 * C[1]  # with the bounds below, rows 0, 1 and 3 exclude each other
        lower, upper = np.full(4, -np.inf), np.array([-1.0, -1.0, 0.7, -1.0])
        width = rng.uniform(0.5, 2.0, 4)
        starts = np.array([0, 2, 3])
        A, b = rng.normal(size=(3, n)), 5.0 * rng.normal(size=3)
        found = solve_hierarchy(A, b, starts, C, lower, upper, width)
        least: Any = linprog(
            [*np.zeros(n), 1.0],
            A_ub=np.hstack([C, -width[:, None]]),
            b_ub=upper,
            bounds=[(None, None)] * n + [(0, None)],
        )
        assert found.relaxation == pytest.approx(least.fun, rel=1e-7)
        assert np.max((C @ found.x - upper) / width) == pytest.approx(least.fun, rel=1e-7)
        at, wide = C @ found.x, np.maximum(upper, C @ found.x)
        for first, last in pairwise(starts[:2]):  # the first level is optimal within the limits as widened
            gradient = A[first:last].T @ (A[first:last] @ found.x - b[first:last])
            tops = C[at >= wide - 1e-9]
            free: Any = linprog(gradient, A_ub=tops, b_ub=np.zeros(len(tops)), bounds=[(-1.0, 1.0)] * n)
            assert free.fun > -1e-6 * (1.0 + np.abs(gradient).max())
