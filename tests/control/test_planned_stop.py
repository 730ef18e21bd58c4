"""Stops planned over their whole way, held to closed forms, to a hand-made arm and to a general optimiser."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate.control import fastest_stop
from palpate.control.solve.planned import planned_stop
from palpate.errors import BadShape, InvalidInput, NotFinite

PI, DT = math.pi, 1e-3
U = np.array([15.0, 10, 10]) * PI
PLANAR, Q0 = pp.load_robot("planar3", length=1.0), np.array([0, PI / 2, PI / 2])


def planar(q, v):
    """Position, Jacobian and drift of the planar arm, by hand."""
    angle, turn = np.cumsum(q), np.cumsum(v)
    s, c = np.sin(angle), np.cos(angle)
    J = np.array([[-s[i:].sum() for i in range(3)], [c[i:].sum() for i in range(3)]])
    return np.array([c.sum(), s.sum()]), J, -np.array([(c * turn**2).sum(), (s * turn**2).sum()])


def followed(plan, q, v):
    """The planned accelerations held period by period on the hand-made arm: places, tool velocities, joint speeds."""
    places, speeds, joints = [planar(q, v)[0]], [planar(q, v)[1] @ v], [v]
    for h, u in zip(np.diff(plan.t), plan.a):
        q, v = q + h * v + h * h / 2 * u, v + h * u
        place, J, _ = planar(q, v)
        places.append(place)
        speeds.append(J @ v)
        joints.append(v)
    return np.array(places), np.array(speeds), np.array(joints)


def check_straight(plan, q, v):
    """A plan followed on the hand-made arm ends at rest, on the line, within bounds, and never speeds up."""
    places, speeds, joints = followed(plan, q, v)
    direction = speeds[0] / np.linalg.norm(speeds[0])
    across = np.array([-direction[1], direction[0]])
    assert np.abs((places - places[0]) @ across).max() < 2e-6
    assert np.linalg.norm(speeds[-1]) < 1e-4 * np.linalg.norm(speeds[0])
    assert np.diff(speeds @ direction).max() < 1e-9
    assert (np.abs(plan.a) <= U * (1 + 1e-9)).all()
    assert joints == pytest.approx(plan.v, abs=1e-9)
    assert plan.distance == pytest.approx((places[-1] - places[0]) @ direction, abs=1e-9)
    assert plan.deviation == pytest.approx(np.abs((places - places[0]) @ across).max(), abs=1e-9)
    rates = [
        -(J @ u + h) @ direction / (J @ w @ direction)
        for (_, J, h), u, w in zip(map(planar, plan.q, plan.v), plan.a[:-1], plan.v)
    ]
    assert plan.rates == pytest.approx(rates, rel=1e-6)
    assert (plan.active[:-1] == np.sign(plan.a[:-1]) * (np.abs(plan.a[:-1]) > U * (1 - 1e-9))).all()


def greedy_time(v, straighten=200.0, start=Q0):
    """How long `fastest_stop` takes from a posture at every tick, on the hand-made arm; None if it loses the line."""
    q, v = start.copy(), np.array(v, float)
    _, J, _ = planar(q, v)
    first = float(np.linalg.norm(J @ v))
    direction = J @ v / first
    for k in range(400):
        _, J, drift = planar(q, v)
        speed = direction @ J @ v
        stop = fastest_stop(J, drift + straighten * (J @ v - direction * speed), direction * speed, U)
        if not stop.feasible:
            return None
        if stop.rate * DT >= 1:
            return (k + 1 / (stop.rate * DT)) * DT
        q, v = q + DT * v + DT**2 / 2 * stop.acceleration, v + DT * stop.acceleration
    return None


def test_a_gantry_stops_as_its_slowest_axis_allows():
    # Constant Jacobian: T = max |v_i| / U_i over axes, in closed form, at any split into periods.
    robot = pp.load_robot("cartesian2")
    for v, bound in (([0.8, 0.3], [4.0, 5.0]), ([0.2, -0.5], [4.0, 5.0])):
        plan = planned_stop(robot, robot.home, v, bound)
        assert plan.feasible
        assert plan.time == pytest.approx(max(abs(v[0]) / bound[0], abs(v[1]) / bound[1]), rel=1e-6)
        assert plan.distance == pytest.approx(np.linalg.norm(v) * plan.time / 2, rel=1e-6)
        assert np.diff(plan.t)[:-1] == pytest.approx(DT, rel=1e-9)


@pytest.mark.parametrize("speed", [0.5, 1.0, 1.1])
def test_the_planar_arm_is_stopped_on_its_line_no_later_than_greedily(speed):
    v = speed * np.array([PI, PI, 0])
    plan = planned_stop(PLANAR, Q0, v, U, axes="xy")
    assert plan.feasible
    check_straight(plan, Q0, v)
    assert plan.greedy_time is not None
    assert plan.time <= plan.greedy_time
    # The tick-by-tick law drifts off its line by hundredths of a metre per second, which moves its time a little.
    greedy = greedy_time(v)
    assert greedy is not None
    assert plan.time <= greedy + 1e-4


def test_a_line_that_greedy_braking_loses_is_kept_by_the_plan():
    q, v = np.array([1.0072, -2.1029, -2.1437]), 0.97 * np.array([2.5516, 2.6846, 1.3841])
    plan = planned_stop(PLANAR, q, v, U, axes="xy")
    assert plan.feasible
    assert plan.greedy_time is None
    assert plan.time == pytest.approx(0.0908, abs=5e-4)
    check_straight(plan, q, v)


def states():
    """Seeded random states of the document's arm: sixteen anywhere, eight about one whose line greedy braking loses."""
    rng = np.random.default_rng(7)
    anywhere = [(rng.uniform(-PI, PI, 3), rng.uniform(-3.5, 3.5, 3)) for _ in range(16)]
    q, v = np.array([1.0072, -2.1029, -2.1437]), 0.97 * np.array([2.5516, 2.6846, 1.3841])
    about = [(q + rng.normal(0.0, 0.01, 3), v * rng.uniform(0.98, 1.02)) for _ in range(8)]
    return anywhere + about


@pytest.mark.slow
def test_over_random_states_the_plan_is_never_slower_and_keeps_lines_that_greedy_braking_loses():
    kept, rescued, sooner = 0, 0, 0.0
    for q, v in states():
        plan = planned_stop(PLANAR, q, v, U, axes="xy")
        if not plan.feasible:
            assert plan.greedy_time is None  # nothing that greedy braking keeps is given up
            continue
        kept += 1
        check_straight(plan, q, v)
        if plan.greedy_time is None:
            rescued += 1
            continue
        assert plan.time <= plan.greedy_time
        by_hand = greedy_time(v, start=q)
        assert by_hand is None or plan.time <= by_hand + 2e-4
        sooner = max(sooner, 1.0 - plan.time / plan.greedy_time)
    print(f"{kept} of 24 kept, {rescued} of them only by the plan, up to {100 * sooner:.2g} % sooner")
    assert kept >= 16
    assert rescued >= 2
    assert sooner > 0.01


def test_a_line_that_no_command_keeps_is_told_and_proven():
    plan = planned_stop(PLANAR, Q0, np.array([4.0841, 4.0841, 0]), U, axes="xy")
    assert not plan.feasible
    assert plan.proven
    assert plan.time == math.inf
    assert plan.relaxation == pytest.approx(0.2978, abs=1e-4)
    assert "no straight stop exists" in plan.verdict
    assert "29.8% wider" in plan.verdict


def test_bad_input_is_named():
    v = np.array([PI, PI, 0])
    with pytest.raises(InvalidInput, match="does not move"):
        planned_stop(PLANAR, Q0, [1.0, -1.0, 1.0], U, axes="xy")
    with pytest.raises(InvalidInput, match="axes"):
        planned_stop(PLANAR, Q0, v, U, axes="xx")
    with pytest.raises(InvalidInput, match="finite acceleration bound"):
        planned_stop(PLANAR, Q0, v, axes="xy")
    with pytest.raises(BadShape, match="limits"):
        planned_stop(PLANAR, Q0, v, [1.0], axes="xy")
    with pytest.raises(NotFinite, match="q must be finite"):
        planned_stop(PLANAR, [math.nan, 0, 0], v, U, axes="xy")
    with pytest.raises(InvalidInput, match="segments"):
        planned_stop(PLANAR, Q0, v, U, axes="xy", segments=1)
