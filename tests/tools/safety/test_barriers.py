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
from palpate.tools.safety.barriers import Barriers, BarrierWall, barrier_memory, barrier_speed, hold_limits
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


def sampled(period: float, begins: float, ease: float, delay: int, wanted: float = 6.0) -> tuple[float, float]:
    """A cart of 1 kg on a rail that a law pushes towards its end at 1 m: how far it goes, and how fast at most."""
    from palpate.tools.safety.barriers import BarrierSettings

    k = BarrierSettings(
        {"nv": 1}, on=True, delay=delay, lower=[-9.0], upper=[1.0], speed=[1.5], acceleration=[8.0], braking=[4.0],
        begins=[begins], ease=ease, torque=[100.0], walls=[],
    )  # fmt: skip
    tick, memory, torque = Tick({"nq": 1, "nv": 1}), barrier_memory(1, delay, 0), np.zeros(1)
    tick.M[0, 0], tick.dt, x, v, most, far, late = 1.0, period, 0.0, 0.0, 0.0, 0.0, [0.0] * delay
    for _ in range(int(3.0 / period)):
        tick.q[0], tick.v[0], torque[0] = x, v, wanted
        hold_limits(tick, k, memory, torque)
        late.append(float(torque[0]))
        a = late.pop(0)
        x, v = x + period * v + 0.5 * period**2 * a, v + period * a
        most, far = max(most, v), max(far, x)
    return far, most


@pytest.mark.parametrize(("period", "delay"), [(1e-3, 0), (5e-3, 0), (5e-3, 4), (0.02, 3)])
def test_a_pushed_cart_stays_on_its_rail(period: float, delay: int) -> None:
    end, fastest = sampled(period, period, max(0.02, period), delay)
    assert 0.99 < end <= 1.0 + 1e-6
    assert fastest <= 1.5 + 1e-9


def test_a_barrier_that_forgets_the_period_passes_the_end() -> None:
    assert sampled(0.05, 1e-6, 0.05, 0)[0] > 1.001
    assert sampled(0.05, 0.05, 0.05, 0)[0] <= 1.0 + 1e-6


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
    bounds = [
        {"type": "ineq", "fun": lambda x: s.upper - s.C @ x},
        {"type": "ineq", "fun": lambda x: s.C @ x - s.lower},
    ]
    best = minimize(
        lambda x: (x - wanted) @ M @ (x - wanted), a * 0.5, jac=lambda x: 2 * M @ (x - wanted),
        constraints=bounds, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert (a - wanted) @ M @ (a - wanted) == pytest.approx(best.fun, rel=1e-6)
    assert a == pytest.approx(best.x, abs=1e-4)
    assert np.all(s.C @ a <= s.upper + 1e-9)
    assert np.all(s.C @ a >= s.lower - 1e-9)


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
