"""The observer against closed forms: step, poles, noise, payload, friction; and inside the loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate.control.laws.computed_torque import ComputedTorque
from palpate.control.references.motions import JointMotion
from palpate.errors import InvalidInput
from palpate.run.build import build
from palpate.tools.safety.observer import Observer, residual_noise, second_order_step
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import Threshold
from palpate.world.clock import Clock
from palpate.world.config import Attachment, World
from tools.safety.arms import NEVER, arm, pushed_planar, quietly

QUIET = Reactions(on_contact="nothing")


def test_five_newton_metres_pass_one_after_4463_microseconds() -> None:
    assert Observer(gain=50.0).delay(5.0, 1.0) == pytest.approx(math.log(1.25) / 50.0, rel=1e-14)
    assert round(Observer(gain=50.0).delay(5.0, 1.0) * 1e6) == 4463
    assert Observer().delay(1.0, 2.0) == math.inf


@pytest.mark.parametrize(
    ("observer", "torque", "threshold", "period"),
    [
        (Observer(gain=50), 5.0, 1.0, 1e-3), (Observer(gain=22), -3.7, 2.9, 4e-3), (Observer(gain=75), 2.0, 1.9, 2e-3),
        (Observer(order=2, frequency=60, damping_ratio=0.4), 1.0, 1.2, 1e-3),
        (Observer(order=2, frequency=40, damping_ratio=1.0), -8.0, 5.0, 2e-3),
        (Observer(order=2, frequency=90, damping_ratio=1.8), 3.0, 1.0, 1e-3),
    ],
)  # fmt: skip
def test_a_step_is_felt_so_many_ticks_later(observer: Observer, torque: float, threshold: float, period: float) -> None:
    """Against the differential equation, integrated in small steps and looked at once a period."""
    r = rate = 0.0
    h, n = period / 2000, 0
    w, z = observer.frequency, observer.damping_ratio
    while abs(r) <= threshold:
        n += 1
        for _ in range(2000):
            if observer.order == 1:
                r += h * observer.gain * (torque - r)
            else:
                rate += h * (w * w * (torque - r) - 2 * z * w * rate)
                r += h * rate
    assert observer.ticks(torque, threshold, period) == n
    assert (n - 1) * period <= observer.delay(torque, threshold) <= n * period


def test_an_overshoot_between_ticks_is_not_felt() -> None:
    observer = Observer(order=2, frequency=60, damping_ratio=0.4)
    most = 1.0 + observer.overshoot
    assert observer.delay(1.0, 0.9999 * most) < math.inf
    assert observer.ticks(1.0, 0.9999 * most, 0.04) == math.inf
    assert observer.delay(1.0, 1.0001 * most) == math.inf


def test_a_missing_friction_turns_round_with_its_joint() -> None:
    """F (1 − 2 g): 0 at ln 2 / K, and as the filter of a torque that jumps from F to −F."""
    observer, friction, T = Observer(gain=35.0), 1.3, 1e-3
    assert observer.reversal(friction, math.log(2) / 35.0) == pytest.approx(0.0, abs=1e-15)
    r = friction
    for k in range(1, 80):
        r += -math.expm1(-35.0 * T) * (-friction - r)
        assert observer.reversal(friction, k * T) == pytest.approx(r, abs=1e-12)


@pytest.mark.parametrize(("torque", "threshold"), [(math.nan, 1.0), (1.0, math.nan), (1.0, -1.0)])
def test_a_delay_of_no_number_is_refused(torque: float, threshold: float) -> None:
    with pytest.raises(InvalidInput):
        Observer().delay(torque, threshold)


def test_a_step_is_felt_at_the_first_tick_after_its_delay() -> None:
    trace = quietly(pushed_planar(QUIET, (5.0, 0.0)))
    expected = [0.0 if k <= 20 else 5.0 * Observer().response((k - 20) * 1e-3) for k in range(30)]
    # The arm yields, and the constant force meets another posture.
    assert trace["reaction.residual"][:30, 0] == pytest.approx(expected, abs=5e-4)
    assert np.abs(trace["reaction.residual"][:30, 1]).max() < 5e-4
    assert trace.time[np.argmax(trace["reaction.mode"] > 0)] == pytest.approx(0.025)


@pytest.mark.parametrize("ratio", [0.3, 0.8])
def test_the_second_order_has_its_poles_and_overshoot(ratio: float) -> None:
    observer = Observer(order=2, frequency=80.0, damping_ratio=ratio)
    assert np.poly(observer.poles) == pytest.approx([1.0, 2 * ratio * 80.0, 80.0**2])
    peak = math.pi / (80.0 * math.sqrt(1 - ratio**2))
    assert observer.response(peak) == pytest.approx(1 + math.exp(-math.pi * ratio / math.sqrt(1 - ratio**2)))
    step, gain = second_order_step(80.0, ratio, 1e-3)
    state, poles = np.zeros(2), np.exp(np.array(observer.poles) * 1e-3)
    assert np.poly(step) == pytest.approx(np.poly(poles).real)
    for _ in range(round(peak * 1000)):
        state = step @ state + gain
    assert state[0] == pytest.approx(observer.response(round(peak * 1000) * 1e-3))
    assert observer.delay(5.0, 1.0) > 0
    assert observer.response(observer.delay(5.0, 1.0)) == pytest.approx(0.2)


def test_the_second_order_in_the_loop_is_its_response() -> None:
    observer = Observer(order=2)
    trace = quietly(pushed_planar(Reactions(on_contact="nothing", observer=observer), (5.0, 0.0)))
    expected = [0.0 if k <= 20 else 5.0 * observer.response((k - 20) * 1e-3) for k in range(40)]
    assert trace["reaction.residual"][:40, 0] == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_noise_of_the_residual_is_that_of_samples(order: int) -> None:
    observer, T = Observer(order=order), 1e-3  # pyright: ignore[reportArgumentType]
    M, speed, torque = np.array([[2.0, 0.5], [0.5, 1.0]]), 1e-3, 0.1
    told = residual_noise(observer, M, T, speed, torque)
    rng = np.random.default_rng(3)
    v, tau = speed * rng.normal(size=(200_001, 2)), torque * rng.normal(size=(200_000, 2))
    x = np.diff(v, axis=0) @ M.T / T - tau
    from scipy.signal import lfilter

    from palpate.tools.safety.observer import impulse_response

    r = np.asarray(lfilter(impulse_response(observer, T), [1.0], x, axis=0))[1000:]
    assert r.std(axis=0) == pytest.approx(told.deviation, rel=0.02)
    assert [np.corrcoef(c[1:], c[:-1])[0, 1] for c in r.T] == pytest.approx(told.correlation, abs=0.02)
    if order == 1:
        a = math.exp(-50.0 * T)
        closed = torque**2 * (1 - a) / (1 + a) + (M**2).sum(axis=1) * speed**2 * 2 * (1 - a) ** 2 / (T**2 * (1 + a))
        assert told.deviation**2 == pytest.approx(closed, rel=1e-9)


def test_a_payload_that_the_model_lacks_is_its_weight() -> None:
    robot, q = arm("planar2"), np.array([0.3, 0.8])
    world = World(attachments=(Attachment(name="load", mass=0.4),))
    around = Reactions(on_contact="nothing", threshold=NEVER)
    run = pp.Run(robot, ComputedTorque(), world, clock=Clock(duration=3.0, rate=1000), q_start=q, around=around)
    trace = quietly(run)
    J = np.array(robot.terms(trace["q"][-1], np.zeros(2)).J)
    weight = 0.4 * np.array(robot.model.opt.gravity)
    assert trace["reaction.residual"][-1] == pytest.approx(J[:3].T @ weight, abs=0.02)
    assert np.abs(J[:3].T @ weight).max() > 1.0


def test_friction_at_reversal_stays_inside_the_threshold() -> None:
    robot = arm("ur5e")
    assert robot.model.dof_frictionloss.max() > 1.0
    q = robot.home + np.array([0.2, -0.2, 0.2, 0.1, 0.0, 0.0])
    around = Reactions(on_contact="nothing", threshold=Threshold(level=0.05))
    reference = JointMotion(q=tuple(q.tolist()), duration=0.5)
    run = pp.Run(robot, ComputedTorque(), reference=reference, clock=Clock(duration=0.8, rate=1000), around=around)
    trace = quietly(run)
    slow = np.abs(trace["v"]).max(axis=1) < 1e-3
    assert np.abs(trace["reaction.residual"]).max() > 0.3  # what friction the model misses where joints stick
    assert slow.any()
    assert not slow.all()
    assert trace["reaction.ratio"].max() < 1.0


def test_rotors_leave_the_mass_matrix_on_the_link_side() -> None:
    robot = arm("panda")
    motor, link = (Observer(side=side).settings(robot, 1e-3) for side in ("motor", "link"))  # pyright: ignore[reportArgumentType]
    assert link.rotor == pytest.approx(robot.model.dof_armature)
    assert motor.coulomb == pytest.approx(robot.model.dof_frictionloss)
    assert not motor.rotor.any()
    assert not link.coulomb.any()
    assert not link.viscous.any()


def test_watching_changes_no_bit() -> None:
    run = build(pp.load_scenario("panda-wall").replace(run__duration=1.2, metrics=None))
    from dataclasses import replace

    plain, watched = quietly(run), quietly(replace(run, around=QUIET))
    assert plain["tau"].tobytes() == watched["tau"].tobytes()
    assert watched["reaction.mode"].max() == 1.0  # it felt the wall
    assert not watched["tau.change"].any()
