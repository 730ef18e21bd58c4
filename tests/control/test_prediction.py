"""Predicted contacts: closed forms to 1e-6, an independent simulation within 2 %, and the laws as they are coded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

from counting import calls, dense_sizes
from palpate.control.design import (
    ADMITTANCE,
    DIRECT_FORCE,
    HYBRID_FORCE,
    IMPEDANCE,
    INTEGRAL_FORCE,
    PARALLEL_FORCE,
    SERVO_FORCE,
    SHAPED_IMPEDANCE,
    ContactCase,
    Timing,
    hold_error,
    predict_contact,
    stability_map,
)
from palpate.control.design.case import port_admittance
from palpate.errors import InvalidInput, NotFinite, UnknownName

EXACT = 1e-6


# ------------------------------------------------------------------ closed forms


def root(of: Callable[[float], float], low: float, high: float, xtol: float = 2e-12) -> float:
    """Where a function changes its sign."""
    found = brentq(of, low, high, xtol=xtol)
    assert isinstance(found, float)
    return found


def mass_pulse(z: complex, m: float, b: float, T: float) -> complex:
    """x/u of a mass with damping b under a held force: partial fractions of 1/(s (m s + b)) by hand."""
    p = math.exp(-b * T / m)
    rest, speed = T / b - m / b**2 * (1 - p), (1 - p) / b
    return (rest * (z - p) + m / b * (1 - p) * speed) / ((z - 1) * (z - p))


def critical_stiffness(m: float, b: float, D: float, T: float, d: int) -> float:
    """The least K > 0 with a root of 1 + G (K + D (1 − z⁻¹)/T) z⁻ᵈ on the unit circle, by walking along it."""

    def needed(angle: float) -> complex:
        z = np.exp(1j * angle)
        return -(z**d) / mass_pulse(z, m, b, T) - D * (1 - 1 / z) / T

    angles = np.linspace(1e-4, np.pi, 40001)
    off = np.array([needed(a).imag for a in angles])
    crossings: list[float] = [root(lambda a: needed(a).imag, angles[i], angles[i + 1], xtol=1e-15) for i in
                 np.flatnonzero(off[:-1] * off[1:] < 0)]  # fmt: skip
    return min(k for k in [*(needed(a).real for a in crossings), needed(np.pi).real] if k > 0)


@pytest.mark.parametrize("d", [0, 1, 2, 5, 20])
@pytest.mark.parametrize(("m", "b", "D"), [(2.0, 0.5, 20.0), (5.0, 8.0, 5.0), (0.5, 1.0, 0.0)])
def test_a_mass_under_a_late_pd_of_differences(m: float, b: float, D: float, d: int) -> None:
    T = 2e-3
    timing = Timing(T, joint_delay=d, velocity="differentiated")
    case = ContactCase(IMPEDANCE, m, timing, stiffness=1.0, damping=D, own_damping=b)
    found = predict_contact(case)
    assert found.stable
    assert found.largest_gain == pytest.approx(critical_stiffness(m, b, D, T, d), rel=EXACT)


@pytest.mark.parametrize(("M", "D", "w"), [(5.0, 40.0, 60.0), (1.0, 100.0, 20.0), (10.0, 5.0, 300.0)])
def test_admittance_over_a_velocity_loop(M: float, D: float, w: float) -> None:
    case = ContactCase(
        ADMITTANCE, math.inf, Timing(0.0, servo_bandwidth=w), shaped_mass=M, damping=D, servo="velocity-loop",
        wall_stiffness=1.0,
    )  # fmt: skip
    assert predict_contact(case).largest_wall_stiffness == pytest.approx(D * w + D * D / M, rel=EXACT)


@pytest.mark.parametrize(("M", "D", "tau"), [(5.0, 40.0, 5e-3), (1.0, 100.0, 2e-2), (10.0, 5.0, 1e-3)])
def test_admittance_with_a_pure_delay(M: float, D: float, tau: float) -> None:
    w = root(lambda w: math.tan(w * tau) - D / (M * w), 1e-9, (math.pi / 2 - 1e-12) / tau)
    stiffness = w * math.sqrt(M**2 * w**2 + D**2)
    case = ContactCase(
        ADMITTANCE, math.inf, Timing(0.0, servo_bandwidth=math.inf, lag=tau), shaped_mass=M, damping=D,
        servo="velocity", wall_stiffness=0.1 * stiffness,
    )  # fmt: skip
    assert predict_contact(case).largest_wall_stiffness == pytest.approx(stiffness, rel=EXACT)
    at_once = replace(case, timing=replace(case.timing, lag=0.0), wall_stiffness=stiffness)
    assert predict_contact(at_once).largest_delay == pytest.approx(tau, rel=EXACT)


@pytest.mark.parametrize("d", [0, 1, 2, 5, 30, 1000])
@pytest.mark.parametrize("servo", ["position", "velocity"])
def test_integral_force_control_on_a_stiff_servo(d: int, servo) -> None:
    T, k = 1e-3, 2e-4
    most = 2 * math.sin(math.pi / (2 * (2 * d + 1)))
    case = ContactCase(
        SERVO_FORCE, math.inf, Timing(T, wrench_delay=d, servo_bandwidth=math.inf), integral=k, servo=servo,
        wall_stiffness=0.3 * most / (k * T),
    )  # fmt: skip
    found = predict_contact(case)
    assert k * found.largest_wall_stiffness * T == pytest.approx(most, rel=EXACT)
    assert k * found.largest_gain * case.wall_stiffness * T == pytest.approx(most, rel=EXACT)


@pytest.mark.parametrize("d", [1, 4])
def test_a_stiff_servo_bears_the_delay_at_which_its_gain_is_the_critical_one(d: int) -> None:
    """With k K T between the limits for d and d + 1 samples, d samples are borne and d + 1 are not."""
    T, k = 1e-3, 2e-4
    limit = [2 * math.sin(math.pi / (2 * (2 * n + 1))) for n in (d, d + 1)]
    case = ContactCase(
        SERVO_FORCE, math.inf, Timing(T, servo_bandwidth=math.inf), integral=k, servo="velocity",
        wall_stiffness=sum(limit) / 2 / (k * T),
    )  # fmt: skip
    assert d * T < predict_contact(case).largest_delay < (d + 1) * T


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("servo", ["position", "velocity"])
def test_a_stiff_servo_that_is_late_by_a_part_of_a_period(share: float, servo) -> None:
    """z² + (g (1 − φ) − 1) z + g φ: inside the circle for g φ < 1 and g (1 − 2φ) < 2, g = k K T."""
    T, k = 1e-3, 2e-4
    case = ContactCase(
        SERVO_FORCE, math.inf, Timing(T, lag=share * T, servo_bandwidth=math.inf), integral=k, servo=servo,
        wall_stiffness=0.1 / (k * T),
    )  # fmt: skip
    most = min(1 / share, 2 / (1 - 2 * share) if share < 0.5 else math.inf)
    assert k * predict_contact(case).largest_wall_stiffness * T == pytest.approx(most, rel=EXACT)


@pytest.mark.parametrize(("kp", "K"), [(0.0, 0.0), (0.5, 0.0), (0.5, 300.0)])
def test_a_continuous_force_loop_has_the_limit_of_routh(kp: float, K: float) -> None:
    m, D, kw = 3.0, 60.0, 2e3
    kind = PARALLEL_FORCE if K else DIRECT_FORCE
    case = ContactCase(
        kind, m, Timing(0.0), stiffness=K, damping=D, integral=1.0, proportional=kp, wall_stiffness=kw
    )  # fmt: skip
    limit = D * (K + (1 + kp) * kw) / (m * kw)
    assert predict_contact(case).largest_gain == pytest.approx(limit, rel=EXACT)
    hybrid = replace(case, kind=HYBRID_FORCE)
    if not K:
        assert predict_contact(hybrid).largest_gain == pytest.approx(limit, rel=EXACT)


def test_continuous_impedances_have_the_poles_of_their_equations() -> None:
    m, K, D, b, kw, bw, shaped = 3.0, 400.0, 30.0, 2.0, 5e3, 20.0, 1.5
    wall: dict[str, Any] = {"wall_stiffness": kw, "wall_damping": bw, "stiffness": K, "damping": D}
    one = ContactCase(IMPEDANCE, m, Timing(0.0), own_damping=b, **wall).loop.poles
    assert np.poly(one) == pytest.approx(np.poly(np.roots([m, D + b + bw, K + kw])), rel=1e-12)
    two = ContactCase(SHAPED_IMPEDANCE, m, Timing(0.0), shaped_mass=shaped, **wall).loop.poles
    assert np.poly(two) == pytest.approx(np.poly(np.roots([shaped, D + bw, K + kw])), rel=1e-12)


def test_a_fast_clock_gives_the_poles_of_no_clock() -> None:
    laws: list[tuple[Any, dict[str, Any]]] = [
        (ADMITTANCE, {"shaped_mass": 2.0, "trim": 5.0}),
        (PARALLEL_FORCE, {"integral": 5.0, "proportional": 0.3}),
        (INTEGRAL_FORCE, {"integral": 5.0}),
    ]
    for kind, more in laws:
        case = ContactCase(
            kind, 3.0, Timing(0.0), stiffness=100.0, damping=40.0, wall_stiffness=500.0, wall_damping=30.0, **more
        )
        slow = case.loop.growth
        assert replace(case, timing=Timing(1e-6)).loop.growth == pytest.approx(slow, rel=1e-3)


# ------------------------------------------------------------------ an independent simulation


def simulated(case: ContactCase, seconds: float) -> np.ndarray:
    """The loop advanced tick by tick as its words say, the plant by the exact exponential: x at the ticks.

    Nothing is shared with the code under test: each law is written out, readings wait in lists.
    """
    t, T, m = case.timing, case.timing.period, case.mass
    w, servo = t.servo_bandwidth, case.kind in (ADMITTANCE, SERVO_FORCE)
    kw, bw, b = case.wall_stiffness, case.wall_damping, case.own_damping
    A = np.zeros((5, 5))  # x, v, servo's place, command, command's rate
    A[0, 1] = 1.0
    A[1, :2] = -kw / m, -(bw + b) / m
    if not servo:
        A[1, 3] = 1 / m
    elif case.servo == "velocity-loop":
        A[1, 1] -= w
        A[1, 3] = w
    else:
        A[1, :2] -= w * w, 2 * w
        A[1, 2], A[2, 3], A[1, 3] = w * w, 1.0, 2 * w
        if case.servo == "position":
            A[1, 2], A[2, 3], A[1, 3], A[1, 4] = 0.0, 0.0, w * w, 2 * w
    late = t.lag % T
    steps = [expm(A * part) for part in (late, T - late)]
    x, v, place = 1e-3, 0.0, 0.0
    xs, vs, Fs, commands, found = [], [], [], [], []
    low_v = low_F = integral = dx = dv = trim = u = 0.0
    model = case.model_mass or m
    for k in range(int(seconds / T)):
        found.append(x)
        speed = v if t.velocity == "measured" else ((x - xs[-1]) / T if xs else 0.0)
        low_v = (
            speed
            if t.velocity_cutoff is None
            else low_v + (1 - math.exp(-2 * math.pi * t.velocity_cutoff * T)) * (speed - low_v)
        )
        F = -kw * x - bw * v
        low_F = (
            F if t.wrench_cutoff is None else low_F + (1 - math.exp(-2 * math.pi * t.wrench_cutoff * T)) * (F - low_F)
        )
        xs.append(x)
        vs.append(low_v)
        Fs.append(low_F)
        q, qd = xs[max(k - t.joint_delay, 0)], vs[max(k - t.joint_delay, 0)]
        f = Fs[max(k - t.wrench_delay, 0)]
        spring = -case.stiffness * q - case.damping * qd
        if case.kind is IMPEDANCE:
            u = spring
        elif case.kind is SHAPED_IMPEDANCE:
            u = model / case.shaped_mass * (spring + f) - f
        elif case.kind is ADMITTANCE:
            before = dx
            trim += T * case.trim * (before - q)
            dv += T * (f - case.damping * dv - case.stiffness * dx) / case.shaped_mass
            dx += T * dv
            u = dx + trim if case.servo == "position" else dv + case.trim * (before - q)
        elif case.kind is SERVO_FORCE:
            integral += T * case.integral * f
            u = integral if case.servo == "position" else case.integral * f
        else:
            integral += T * case.integral * f
            u = integral - case.damping * qd
            if case.kind is not INTEGRAL_FORCE:
                u += case.proportional * f
            if case.kind is PARALLEL_FORCE:
                u -= case.stiffness * q
        commands.append(u)
        whole = round((t.lag - late) / T)
        for part, back in ((steps[0], whole + 1), (steps[1], whole)):
            at = k - t.command_delay - back
            now = commands[at] if at >= 0 else 0.0
            rate = (now - commands[at - 1]) / T if at >= 1 else 0.0
            x, v, place = (part @ [x, v, place, now, rate])[:3]
        if abs(x) > 1e6:
            break
    return np.array(found)


def envelope_growth(case: ContactCase, seconds: float = 3.0) -> float:
    """How fast the swing about rest grows, 1/s, from two late parts of a simulation of some thirty swings or more.

    The expected growth is taken out before the parts are compared and added again, so that a part's largest swing is
    not simply its last.
    """
    loop = case.loop
    x = simulated(case, max(seconds, 30.0 / max(loop.frequency, 1.0)))
    level = x * np.exp(-loop.growth * case.timing.period * np.arange(len(x)))
    part = len(x) // 3
    change = math.log(np.ptp(level[2 * part :]) / np.ptp(level[part : 2 * part]))
    return loop.growth + change / (part * case.timing.period)


SIMULATED = [
    ContactCase(IMPEDANCE, 5.0, Timing(4e-3, command_delay=2), stiffness=300.0, damping=150.0,
                wall_stiffness=5e3),
    ContactCase(IMPEDANCE, 2.0,
                Timing(2e-3, joint_delay=3, velocity="differentiated", velocity_cutoff=40.0), stiffness=300.0,
                damping=30.0, own_damping=3.0, wall_stiffness=2e3, wall_damping=5.0),
    ContactCase(SHAPED_IMPEDANCE, 6.0, Timing(2e-3, wrench_delay=2, wrench_cutoff=60.0), stiffness=300.0,
                damping=60.0, shaped_mass=2.0, wall_stiffness=3e3, wall_damping=5.0, model_mass=5.0),
    ContactCase(ADMITTANCE, 8.0, Timing(2e-3, wrench_delay=3), stiffness=10.0, damping=100.0, shaped_mass=5.0,
                wall_stiffness=2e3, trim=5.0),
    ContactCase(ADMITTANCE, 8.0, Timing(2e-3, wrench_delay=1, command_delay=2), stiffness=10.0, damping=100.0,
                shaped_mass=5.0, wall_stiffness=2e3, trim=5.0, servo="velocity"),
    ContactCase(ADMITTANCE, 8.0, Timing(2e-3, wrench_cutoff=30.0), damping=100.0, shaped_mass=5.0,
                wall_stiffness=1e3, servo="velocity-loop"),
    ContactCase(SERVO_FORCE, 8.0, Timing(2e-3, wrench_delay=3), integral=2e-3, wall_stiffness=2e3),
    ContactCase(SERVO_FORCE, 8.0, Timing(2e-3, lag=3.3e-3), integral=2e-3, wall_stiffness=2e3, servo="velocity"),
    ContactCase(INTEGRAL_FORCE, 5.0, Timing(4e-3, command_delay=1, joint_delay=1), integral=2.0, damping=100.0,
                wall_stiffness=5e3),
    ContactCase(DIRECT_FORCE, 5.0, Timing(4e-3, command_delay=1, lag=1.5e-3), integral=2.0, proportional=0.3,
                damping=150.0, wall_stiffness=5e3, wall_damping=5.0),
    ContactCase(PARALLEL_FORCE, 5.0, Timing(4e-3, wrench_delay=2), integral=2.0, stiffness=300.0, damping=150.0,
                wall_stiffness=5e3),
    ContactCase(HYBRID_FORCE, 5.0, Timing(4e-3, joint_delay=2), integral=2.0, damping=150.0, wall_stiffness=5e3),
]  # fmt: skip


@pytest.mark.parametrize("case", SIMULATED, ids=lambda case: f"{case.label}-{case.servo}")
def test_predicted_limits_are_where_a_simulation_turns_within_two_percent(case: ContactCase) -> None:
    found = predict_contact(case)
    assert found.stable
    checked = 0
    for name, factor in found.largest_gains.items():
        if math.isfinite(factor):
            below, above = case.with_gain(name, 0.98 * factor), case.with_gain(name, 1.02 * factor)
            assert envelope_growth(below) < 0 < envelope_growth(above)
            checked += 1
    if math.isfinite(found.largest_wall_stiffness):
        below, above = (replace(case, wall_stiffness=s * found.largest_wall_stiffness) for s in (0.98, 1.02))
        assert envelope_growth(below) < 0 < envelope_growth(above)
        checked += 1
    if math.isfinite(found.largest_delay) and found.largest_delay > 0.05 * case.timing.period:
        below, above = (replace(case, timing=case.timing.later(s * found.largest_delay)) for s in (0.98, 1.02))
        assert envelope_growth(below) < 0 < envelope_growth(above)
        checked += 1
    assert checked >= 2


@pytest.mark.parametrize("case", SIMULATED, ids=lambda case: f"{case.label}-{case.servo}")
def test_the_predicted_rate_is_that_of_the_simulation(case: ContactCase) -> None:
    faster = case.with_gain(case.gains[0], 1.3 * predict_contact(case).largest_gain)
    loop = faster.loop
    assert loop.growth > 0
    assert envelope_growth(faster, 12.0 / loop.growth) == pytest.approx(loop.growth, rel=0.02)


# ------------------------------------------------------------------ long delays, huge gains, no wall


def test_long_delays_of_every_path_are_predicted_without_their_matrix(monkeypatch) -> None:
    timing = Timing(1e-3, joint_delay=1000, wrench_delay=700, command_delay=1000)
    case = ContactCase(PARALLEL_FORCE, 3.0, timing, stiffness=400.0, damping=40.0, integral=5.0, wall_stiffness=1e4)
    sizes, predictions = dense_sizes(monkeypatch), []
    assert calls(lambda: predictions.append(predict_contact(case, limits=False))) < 800_000  # 180 000
    assert max(sizes) < 50
    (found,) = predictions
    assert not found.stable
    assert "UNSTABLE" in found.sentences[0]


@pytest.mark.parametrize("kind", [IMPEDANCE, SHAPED_IMPEDANCE, ADMITTANCE, PARALLEL_FORCE])
@pytest.mark.parametrize("huge", [1e20, 1e150, 1e300])
def test_huge_gains_are_unstable_and_raise_nothing(kind, huge: float) -> None:
    gains: dict[str, Any] = {"stiffness": huge, "damping": huge, "integral": huge, "wall_stiffness": 1e4}
    assert predict_contact(ContactCase(kind, 3.0, **gains), limits=False).stable is False


def test_a_delay_beyond_all_sense_is_told_not_looked_at() -> None:
    found = predict_contact(ContactCase(IMPEDANCE, 3.0, Timing(1e-3, command_delay=10**6), stiffness=1.0))
    assert found.stable is None
    assert found.warnings == found.sentences
    assert "not predicted" in found.sentences[0]


def test_warnings_are_for_contacts_that_are_unstable_or_nearly_so() -> None:
    case = ContactCase(DIRECT_FORCE, 3.0, damping=60.0, integral=1.0, wall_stiffness=1e4)
    found = predict_contact(case)
    assert found.warnings == ()
    (near,) = predict_contact(case.with_gain("integral", found.largest_gain / 1.1)).warnings
    assert near.startswith("close to unstable")
    (over,) = predict_contact(case.with_gain("integral", 1.1 * found.largest_gain)).warnings
    assert "UNSTABLE" in over
    assert "largest stable integral: 0.909 × the current one" in over


def test_the_sentences_carry_the_numbers() -> None:
    case = ContactCase(ADMITTANCE, 8.0, Timing(1e-3, wrench_delay=5), damping=100.0, shaped_mass=5.0,
                       wall_stiffness=1e4, wall_damping=30.0)  # fmt: skip
    found = predict_contact(case)
    text = " ".join(found.sentences)
    assert f"{found.largest_wall_stiffness:.4g} N/m" in text
    assert f"{found.radius:.6g}" in text
    assert "wrench 5 samples late" in text
    assert f"{found.passive_below:.3g} Hz" in text
    assert found.margin == pytest.approx(1 - found.radius)


# ------------------------------------------------------------------ passivity


def test_the_port_of_a_continuous_impedance_is_its_admittance() -> None:
    m, K, D, b = 3.0, 400.0, 30.0, 2.0
    w = np.array([0.1, 5.0, 300.0])
    found = port_admittance(ContactCase(IMPEDANCE, m, Timing(0.0), stiffness=K, damping=D, own_damping=b), w)
    s = 1j * w
    assert found == pytest.approx(1 / (m * s + D + b + K / s), rel=1e-12)


def test_the_port_of_a_continuous_admittance_with_an_ideal_servo_is_that_of_its_equation() -> None:
    M, D, K, w = 5.0, 40.0, 10.0, np.array([0.5, 5.0, 50.0])
    case = ContactCase(ADMITTANCE, math.inf, Timing(0.0, servo_bandwidth=1e5), shaped_mass=M, damping=D, stiffness=K)
    s = 1j * w
    assert port_admittance(case, w) == pytest.approx(1 / (M * s + D + K / s), rel=2e-3)


def test_the_port_feels_filters_and_delays() -> None:
    """Shaped impedance: (m s² + (m/M_d) (D s V + K)) x = (1 + (m/M_d − 1) H) F with low-passes V and H."""
    m, shaped, K, D, cut_v, cut_F = 6.0, 2.0, 300.0, 60.0, 20.0, 5.0
    w = np.array([1.0, 20.0, 100.0])
    s = 1j * w

    def wanted(late: np.ndarray, late_F: np.ndarray) -> np.ndarray:
        V, H = (1 / (1 + s / (2 * np.pi * cut)) for cut in (cut_v, cut_F))
        push = 1 + (m / shaped - 1) * H * late_F
        return s * push / (m * s * s + m / shaped * (D * s * V + K) * late)

    timing = Timing(0.0, velocity_cutoff=cut_v, wrench_cutoff=cut_F)
    case = ContactCase(SHAPED_IMPEDANCE, m, timing, stiffness=K, damping=D, shaped_mass=shaped)
    assert port_admittance(case, w) == pytest.approx(wanted(np.ones(3), np.ones(3)), rel=1e-12)
    T = 1e-5  # fine enough for the low-passes to be the continuous ones; the delays are long
    sampled = replace(timing, period=T, joint_delay=300, wrench_delay=500, command_delay=100, velocity="differentiated")
    late = wanted(np.exp(-s * 400.5 * T), np.exp(-s * 600.5 * T))
    assert port_admittance(replace(case, timing=sampled), w) == pytest.approx(late, rel=2e-3)


@pytest.mark.parametrize(("D", "passive"), [(0.9, False), (1.1, True)])
def test_a_held_spring_gives_energy_unless_its_damper_makes_up_for_the_hold(D: float, passive: bool) -> None:
    """At low frequency the hold and delay turn the spring by ω (T/2 + τ): passive where D > K (T/2 + τ)."""
    K, T, d = 1000.0, 1e-3, 2
    case = ContactCase(IMPEDANCE, 3.0, Timing(T, command_delay=d), stiffness=K, damping=D * K * (T / 2 + d * T))
    found = predict_contact(case, limits=False)
    assert (found.passive_below > 0) == passive
    assert found.passivity_margin == pytest.approx(-(1 + D) * K * (T / 2 + d * T))


def test_enough_damping_of_its_own_makes_an_impedance_passive() -> None:
    case = ContactCase(IMPEDANCE, 3.0, stiffness=1000.0, damping=5.0, own_damping=6.0)
    found = predict_contact(case, limits=False)
    assert found.passivity_margin == pytest.approx(0.5)
    assert math.isinf(found.passive_below)
    assert found.sentences[-1].startswith("Passive: no passive environment")


# ------------------------------------------------------------------ what a physics step hides

HELD = ContactCase(IMPEDANCE, 2.0, Timing(1e-3), stiffness=2e4, damping=2.0)


def stepped_growth(case: ContactCase, ratio: int) -> float:
    """Growth of a simulation with semi-implicit Euler steps, written out."""
    T, h = case.timing.period, case.timing.period / ratio
    x, v, sizes = 1e-3, 0.0, []
    w = math.sqrt(case.stiffness / case.mass)
    for _ in range(4000):
        u = -case.stiffness * x - case.damping * v
        sizes.append(math.hypot(x, v / w))
        for _ in range(ratio):
            v += h * u / case.mass
            x += h * v
    sizes = np.array(sizes)
    return math.log(sizes[-1000:].max() / sizes[1000:2000].max()) / (2000 * T)


def test_one_physics_step_per_period_hides_the_hold() -> None:
    found = hold_error(HELD)
    assert found.exact == pytest.approx(2.0, abs=0.01)
    assert found.simulated == pytest.approx(-0.5, abs=0.01)
    assert found.hides
    assert found.error == pytest.approx(-2.5, abs=0.01)
    assert "decays at 0.5 1/s where the sampled loop grows at 2 1/s" in found.sentence


@pytest.mark.parametrize("ratio", [1, 2, 5, 10])
def test_what_a_simulation_will_show_is_what_one_shows(ratio: int) -> None:
    found = hold_error(HELD, HELD.timing.period / ratio)
    assert found.simulated == pytest.approx(stepped_growth(HELD, ratio), abs=0.02)
    assert found.error == pytest.approx(-2.5 / ratio, rel=0.02)


def test_a_runge_kutta_step_hides_nothing() -> None:
    found = hold_error(replace(HELD, timing=Timing(1e-3, integrator="rk4")))
    assert found.error == pytest.approx(0.0, abs=1e-4)
    assert found.sentence == ""


def test_a_loop_without_a_period_has_no_hold() -> None:
    with pytest.raises(InvalidInput, match="no hold"):
        hold_error(replace(HELD, timing=Timing(0.0)))


# ------------------------------------------------------------------ maps and bad input


def test_a_map_holds_the_limit_of_each_value() -> None:
    case = ContactCase(ADMITTANCE, math.inf, Timing(0.0, servo_bandwidth=60.0), shaped_mass=5.0, damping=1.0,
                       servo="velocity-loop", wall_stiffness=10.0)  # fmt: skip
    D = np.array([5.0, 20.0, 80.0])
    found = stability_map(case, "damping", D)
    assert found.largest_wall_stiffness == pytest.approx(D * 60.0 + D**2 / 5.0, rel=EXACT)
    late = stability_map(replace(case, timing=Timing(1e-3, servo_bandwidth=60.0)), "wrench_delay", [0, 5, 20])
    assert (np.diff(late.largest_wall_stiffness) < 0).all()
    with pytest.raises(UnknownName, match="setting"):
        stability_map(case, "colour", [1.0])


def test_bad_cases_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="law's class or an equation"):
        ContactCase("impedence", 1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFinite, match="stiffness"):
        ContactCase(IMPEDANCE, 1.0, stiffness=math.nan)
    with pytest.raises(NotFinite, match="mass"):
        ContactCase(IMPEDANCE, math.inf)
    with pytest.raises(InvalidInput, match="damping must be at least 0"):
        ContactCase(IMPEDANCE, 1.0, damping=-1.0)
    with pytest.raises(UnknownName, match="servo"):
        ContactCase(ADMITTANCE, 1.0, servo="torque")
    with pytest.raises(InvalidInput, match="no trim"):
        ContactCase(ADMITTANCE, 1.0, servo="velocity-loop", trim=1.0)
    with pytest.raises(UnknownName, match=r"unknown gain of .* 'stiffness'"):
        ContactCase(ADMITTANCE, 1.0).with_gain("stiffness", 2.0)


def test_bad_timings_are_refused_by_name() -> None:
    for name, value in (("joint_delay", -1), ("wrench_delay", 1.5), ("command_delay", True)):
        wrong: dict[str, Any] = {name: value}
        with pytest.raises(InvalidInput, match=name):
            Timing(1e-3, **wrong)
    with pytest.raises(InvalidInput, match="needs a period"):
        Timing(0.0, command_delay=1)
    with pytest.raises(InvalidInput, match="whole multiple"):
        Timing(1e-3, physics_step=3e-4)
    with pytest.raises(InvalidInput, match="servo_bandwidth"):
        Timing(1e-3, servo_bandwidth=math.nan)
    with pytest.raises(InvalidInput, match="velocity must be"):
        Timing(1e-3, velocity="guessed")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="wall damping"):
        _ = ContactCase(SERVO_FORCE, math.inf, Timing(0.0, servo_bandwidth=math.inf), integral=1.0, servo="velocity",
                        wall_stiffness=1.0, wall_damping=1.0).loop  # fmt: skip
