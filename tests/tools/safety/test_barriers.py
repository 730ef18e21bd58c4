"""Barriers: the sampled barrier speed, the least change, limits that hold in late loops, conflicts by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import palpate as pp
from palpate.control.law import Tick
from palpate.control.laws.joint_impedance import JointImpedance
from palpate.control.references.motions import JointMotion
from palpate.tools.safety.barriers import (
    Barriers,
    BarrierSettings,
    BarrierWall,
    barrier_memory,
    barrier_speed,
    fastest_without_overshoot,
    hold_limits,
)
from palpate.tools.safety.reactions import Reactions
from palpate.world.clock import Clock
from palpate.world.config import World
from palpate.world.driver import Driver
from tools.safety.arms import NEVER, arm, quietly


def test_the_barrier_speed_stops_within_its_distance() -> None:
    """T_b v + v²/(2 A) = h; braking at once or in continuous time would allow √(2 A h)."""
    h, A, T = 0.02, 4.0, 0.01
    v = barrier_speed(h, A, T)
    assert T * v + v * v / (2 * A) == pytest.approx(h)
    assert v < math.sqrt(2 * A * h)


def sampled(
    period: float, begins: float, ease: float, delay: int, wanted: float = 6.0, *,
    braking: float = 4.0, jerk: float = math.inf, eases: float = 0.0, seed: int | None = None,
) -> tuple[float, float, float]:  # fmt: skip
    """A cart of 1 kg on a rail that a law pushes towards its end at 1 m, or at random with a seed.

    How far it goes, how fast at most, and what the barrier says it was passed by.
    """
    k = BarrierSettings(
        {"nv": 1}, on=True, delay=delay, lower=[-9.0], upper=[1.0], speed=[1.5], acceleration=[2.0 * braking],
        braking=[braking], begins=[begins], ease=ease, eases=[eases], rate=[jerk], torque=[100.0], walls=[],
    )  # fmt: skip
    tick, memory, torque = Tick({"nq": 1, "nv": 1}), barrier_memory(1, delay, 0), np.zeros(1)
    tick.M[0, 0], tick.dt, x, v, most, far, late = 1.0, period, 0.0, 0.0, 0.0, 0.0, [0.0] * delay
    rng, sent = np.random.default_rng(seed), math.nan
    for _ in range(int(3.0 / period)):
        tick.q[0], tick.v[0], torque[0] = x, v, wanted if seed is None else rng.uniform(-wanted, 2 * wanted)
        hold_limits(tick, k, memory, torque)
        change = jerk * period
        sent = torque[0] if math.isnan(sent) else min(max(torque[0], sent - change), sent + change)
        late.append(float(sent))
        a = late.pop(0)
        x, v = x + period * v + 0.5 * period**2 * a, v + period * a
        most, far = max(most, v), max(far, x)
    return far, most, float(memory.passed[0])


@pytest.mark.parametrize(("period", "delay"), [(1e-3, 0), (5e-3, 0), (5e-3, 4), (0.02, 3), (0.05, 2)])
def test_a_pushed_cart_stays_on_its_rail(period: float, delay: int) -> None:
    end, fastest, passed = sampled(period, period, max(0.02, period), delay)
    assert 0.99 < end <= 1.0 + 1e-12
    assert fastest <= 1.5 + 1e-9
    assert passed <= 1e-12


def test_the_held_period_is_in_the_barrier_and_not_in_a_margin() -> None:
    """Without T_b the speed is nearly √(2 A h), and the cart still stops at the end: h⁺ holds the whole period."""
    end, _, _ = sampled(0.05, 1e-6, 0.05, 0)
    assert end == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(("period", "delay", "braking", "jerk"), [(1e-3, 0, 15.0, 60.0), (4e-3, 3, 2.0, 25.0)])
def test_a_limited_jerk_is_left_room_for(
    period: float, delay: int, braking: float, jerk: float, seed: int | None
) -> None:
    """T_b = T + 4 A/27 j and ease = 3 A/j: the torque rate never cuts what the barrier needs. Without them it does."""
    begins, eases = period + 4 / 27 * braking / jerk, 3.0 * braking / jerk
    end, _, passed = sampled(
        period, begins, 0.02, delay, braking, braking=braking, jerk=jerk, eases=eases, seed=seed
    )  # fmt: skip
    assert end <= 1.0 + 1e-9
    assert passed <= 1e-9
    end, _, passed = sampled(period, period, 0.02, delay, braking, braking=braking, jerk=jerk, seed=seed)
    assert end > 1.001
    assert passed == pytest.approx(end - 1.0, abs=0.05)  # it looks once a tick, and `delay` ticks before the end


def first_order(rate: float, period: float, delay: int) -> float:
    """The farthest that v = rate · h goes beyond h = 0 in a sampled, late loop."""
    h = [1.0] * (delay + 1)
    for _ in range(2000):
        h.append(h[-1] - rate * period * h[-1 - delay])
    return -min(h)


@pytest.mark.parametrize("delay", [0, 1, 2, 5])
def test_a_barrier_of_first_order_overshoots_beyond_its_rate(delay: int) -> None:
    rate = fastest_without_overshoot(2e-3, delay)
    assert rate * 2e-3 == pytest.approx({0: 1.0, 1: 0.25, 2: 4 / 27, 5: 3125 / 46656}[delay])
    assert first_order(0.999 * rate, 2e-3, delay) <= 0.0
    assert first_order(1.2 * rate, 2e-3, delay) > 0.0
    if delay == 0:
        assert first_order(1.1 * rate, 2e-3, 0) == pytest.approx(0.1)


def at_limits(walls: tuple[BarrierWall, ...] = (), **settings: object) -> tuple[Tick, object, object, np.ndarray]:
    robot = arm("panda")
    rng = np.random.default_rng(2)
    tick = Tick({"nq": 7, "nv": 7})
    q, v = robot.home + rng.normal(size=7) * 0.1, rng.normal(size=7)
    terms = robot.terms(q, v)
    for name in ("M", "bias", "gravity", "J", "position", "drift"):
        getattr(tick, name)[...] = np.array(getattr(terms, name))
    tick.q[:], tick.v[:], tick.dt = q, v, 1e-3
    k = Barriers(walls=walls, **settings).settings(robot, 0, 1e-3)  # pyright: ignore[reportArgumentType]
    torque = np.array(terms.bias) + np.array(terms.M) @ (rng.normal(size=7) * 30.0)
    return tick, k, barrier_memory(7, 0, len(walls)), torque


def test_the_change_is_the_least_in_the_metric_of_the_masses() -> None:
    tick, k, m, torque = at_limits(acceleration=8.0)
    M, wanted = tick.M.copy(), np.linalg.solve(tick.M, torque - tick.bias)
    assert hold_limits(tick, k, m, torque)  # pyright: ignore[reportArgumentType]
    a = np.linalg.solve(M, torque - tick.bias)
    s = m.stack.search  # pyright: ignore[reportAttributeAccessIssue]
    C = np.vstack([np.eye(7), M])
    bounds = [
        {"type": "ineq", "fun": lambda x: s.upper - C @ x},
        {"type": "ineq", "fun": lambda x: C @ x - s.lower},
    ]
    best = minimize(
        lambda x: (x - wanted) @ M @ (x - wanted), a * 0.5, jac=lambda x: 2 * M @ (x - wanted),
        constraints=bounds, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert (a - wanted) @ M @ (a - wanted) == pytest.approx(best.fun, rel=1e-6)
    assert a == pytest.approx(best.x, abs=1e-4)
    assert np.all(C @ a <= s.upper + 1e-7)
    assert np.all(C @ a >= s.lower - 1e-7)


def test_a_barrier_that_begins_with_the_last_ticks_limits_finds_the_same() -> None:
    """Twenty drawn torques in a row, and each of them alone."""
    rng = np.random.default_rng(8)
    tick, k, carried, _ = at_limits(acceleration=5.0)
    met = set()
    for _ in range(20):
        torque = tick.bias + tick.M @ (rng.normal(size=7) * 9.0)
        _, _, fresh, _ = at_limits(acceleration=5.0)
        warm, cold = torque.copy(), torque.copy()
        assert hold_limits(tick, k, carried, warm)  # pyright: ignore[reportArgumentType]
        assert hold_limits(tick, k, fresh, cold)  # pyright: ignore[reportArgumentType]
        assert warm == pytest.approx(cold, abs=1e-9)
        met.add(int(fresh.held))  # pyright: ignore[reportAttributeAccessIssue]
        assert carried.failed == 0  # pyright: ignore[reportAttributeAccessIssue]
    assert len(met) > 2


def test_a_law_inside_all_limits_is_left_as_it_is() -> None:
    tick, k, m, _ = at_limits()
    tick.v[:] = 0.0
    torque = tick.bias.copy()
    before = torque.tobytes()
    assert not hold_limits(tick, k, m, torque)  # pyright: ignore[reportArgumentType]
    assert torque.tobytes() == before


def test_limits_that_exclude_each_other_are_named() -> None:
    walls = (
        BarrierWall(name="front", position=(0.0, 0, 0), normal=(1, 0, 0)),
        BarrierWall(name="back", position=(-0.5, 0, 0), normal=(-1, 0, 0)),
    )
    tick, k, m, torque = at_limits(walls)
    hold_limits(tick, k, m, torque)  # pyright: ignore[reportArgumentType]
    names = Barriers(walls=walls).names(arm("panda"))
    at_fault = [name for name, count in zip(names, m.conflicts) if count]  # pyright: ignore[reportAttributeAccessIssue]
    assert "wall front" in at_fault or "wall back" in at_fault
    assert m.widened > 0  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("delay", [0, 3])
def test_a_panda_is_kept_from_ranges_speeds_and_walls(delay: int) -> None:
    robot = arm("panda")
    goal = robot.home.copy()
    goal[0], goal[3] = 3.3, -0.02  # both beyond their ranges
    walls = (BarrierWall(name="side", position=(0, 0.15, 0), normal=(0, -1, 0)),)
    run = pp.Run(
        robot,
        JointImpedance(),
        World(driver=Driver(delay=delay)),
        reference=JointMotion(q=tuple(goal.tolist()), duration=1.0),
        clock=Clock(duration=1.6, rate=1000),
    )
    limits = robot.limits
    from dataclasses import replace

    for barriers, inside in ((Barriers(), np.inf), (Barriers(walls=walls), 0.151)):
        trace = quietly(replace(run, around=Reactions(on_contact="nothing", threshold=NEVER, barriers=barriers)))
        assert np.all(trace["q"] < limits.upper)
        assert np.all(trace["q"] > limits.lower)
        assert np.all(np.abs(trace["v"]) <= 1.001 * limits.velocity)
        assert trace["tool_position"][:, 1].max() < inside
        assert trace["reaction.barriers"].max() >= 1
    free = quietly(run)
    assert np.any(free["q"] > limits.upper)
    assert free["tool_position"][:, 1].max() > 0.2
