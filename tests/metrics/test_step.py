"""Step responses with closed-form answers."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import NotApplicable
from palpate.metrics import METRICS

TIME = np.linspace(0.0, 20.0, 20001)  # 1 ms
STEP = 1e-3
PREFIXES = ("position", "orientation", "force")


def first_order(tau: float) -> np.ndarray:
    return 1.0 - np.exp(-TIME / tau)


def second_order(omega: float, zeta: float) -> np.ndarray:
    damped = omega * np.sqrt(1 - zeta**2)
    ring = np.cos(damped * TIME) + zeta / np.sqrt(1 - zeta**2) * np.sin(damped * TIME)
    return 1.0 - np.exp(-zeta * omega * TIME) * ring


def trace_of(make, prefix: str, y: np.ndarray):
    """The same progress as a motion, as a turn about a skew axis, or as a contact force."""
    direction = np.array([0.3, -0.2, 0.6])
    if prefix == "position":
        return make(TIME, tool_position=np.array([0.1, 0.2, 0.3]) + np.outer(y, direction))
    if prefix == "orientation":
        half, axis = 0.4 * y, direction / np.linalg.norm(direction)
        return make(TIME, tool_quat_wxyz=np.column_stack([np.cos(half), np.outer(np.sin(half), axis)]))
    force = 50.0 * np.outer(y, direction)
    wrench = np.hstack([force, np.zeros_like(force)])
    return make(TIME, contact_wrench=wrench, contact_force=np.linalg.norm(force, axis=1))


def value(trace, name: str) -> float:
    return METRICS[name].compute(trace)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_first_order_lag_rises_in_its_time_constant_times_log_nine(make, prefix: str) -> None:
    tau = 0.7
    trace = trace_of(make, prefix, first_order(tau))
    # Interpolating an exponential between samples of 1 ms is exact to (STEP/tau)² / 8 of a time constant.
    np.testing.assert_allclose(value(trace, f"{prefix}_rise_time"), tau * np.log(9), atol=1e-6)
    np.testing.assert_allclose(value(trace, f"{prefix}_settling_time"), tau * np.log(50), atol=1e-6)
    assert value(trace, f"{prefix}_overshoot") < 1e-9


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("zeta", [0.3, 0.6])
def test_an_oscillator_overshoots_by_the_textbook_share(make, prefix: str, zeta: float) -> None:
    omega = 5.0
    trace = trace_of(make, prefix, second_order(omega, zeta))
    expected = np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2))
    # The peak lies between two samples: it is missed by at most ω² STEP² / 8.
    np.testing.assert_allclose(value(trace, f"{prefix}_overshoot"), expected, atol=1e-5)


def test_an_oscillator_settles_at_its_last_crossing_of_the_band(make) -> None:
    y = second_order(5.0, 0.3)
    settled = value(trace_of(make, "position", y), "position_settling_time")
    late = settled < TIME
    assert np.all(np.abs(y[late] - 1) <= 0.02 + 1e-6)
    assert abs(np.interp(settled, TIME, np.abs(y - 1)) - 0.02) < 1e-6


def test_sideways_motion_delays_settling_but_is_no_overshoot(make) -> None:
    y = first_order(0.1)
    sideways = 0.1 * np.exp(-TIME)
    trace = make(TIME, tool_position=np.column_stack([y, sideways - 0.1, 0 * y]))
    assert value(trace, "position_overshoot") < 1e-9
    step = np.hypot(1.0, 0.1)
    np.testing.assert_allclose(value(trace, "position_settling_time"), np.log(0.1 / (0.02 * step)), atol=1e-4)


def test_the_force_settles_from_first_contact(make) -> None:
    y = np.where(TIME < 5, 0.0, 1.0 - np.exp(-(TIME - 5) / 0.5))
    settled = value(trace_of(make, "force", y), "force_settling_time")
    np.testing.assert_allclose(settled, 0.5 * np.log(50), atol=STEP)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_still_moves_has_not_settled(make, prefix: str) -> None:
    with pytest.raises(NotApplicable, match="not settled"):
        value(trace_of(make, prefix, 0.05 * TIME), f"{prefix}_settling_time")


def test_what_does_not_move_has_no_step(make) -> None:
    trace = make(TIME, tool_position=np.zeros((len(TIME), 3)))
    with pytest.raises(NotApplicable, match="not change"):
        value(trace, "position_rise_time")


def test_a_run_that_diverged_has_no_final_value(make) -> None:
    trace = make(TIME, kind="diverged", tool_position=np.outer(TIME, [1, 0, 0]))
    with pytest.raises(NotApplicable, match="diverged"):
        value(trace, "position_overshoot")


def test_without_contact_there_is_no_force_response(make) -> None:
    with pytest.raises(NotApplicable, match="no contact"):
        value(trace_of(make, "force", 0 * TIME), "force_rise_time")


def test_steady_errors_are_what_remains_at_the_end(make) -> None:
    n, turn = len(TIME), 0.25
    quat = np.tile([np.cos(turn / 2), 0, np.sin(turn / 2), 0], (n, 1))
    force = np.tile([-18.0, 3.0, 0, 0, 0, 0], (n, 1))
    trace = make(
        TIME,
        tool_position=np.outer(first_order(0.1), [0.1, 0, 0]),
        target_position=np.tile([0.1, 0.03, -0.04], (n, 1)),
        tool_quat_wxyz=-quat,  # both signs are one rotation
        target_quat_wxyz=np.tile([1.0, 0, 0, 0], (n, 1)),
        contact_wrench=force,
        target_wrench=np.tile([-20.0, 0, 0, 0, 0, 0], (n, 1)),
        contact_force=np.linalg.norm(force[:, :3], axis=1),
    )
    np.testing.assert_allclose(value(trace, "position_steady_error"), 0.05, rtol=1e-12)
    np.testing.assert_allclose(value(trace, "orientation_steady_error"), turn, rtol=1e-12)
    np.testing.assert_allclose(value(trace, "force_steady_error"), 2.0, rtol=1e-12)


def test_a_moving_target_leaves_no_steady_error(make) -> None:
    moving = np.outer(TIME, [1, 0, 0])
    with pytest.raises(NotApplicable, match="still moves"):
        value(make(TIME, tool_position=moving, target_position=moving), "position_steady_error")


def test_no_wanted_force_leaves_no_force_error(make) -> None:
    zero = np.zeros((len(TIME), 6))
    trace = make(TIME, target_wrench=zero, contact_wrench=zero, contact_force=zero[:, 0])
    with pytest.raises(NotApplicable, match=r"no force.*desired"):
        value(trace, "force_steady_error")


def test_a_response_that_is_out_of_the_band_once_settles_within_its_first_interval(make) -> None:
    """From 0 to 1 in one sample of 1 s: the 2 % band is reached at 0.98 s."""
    time = np.arange(21.0)
    y = np.ones(21)
    y[0] = 0.0
    trace = make(time, tool_position=np.outer(y, [1.0, 0.0, 0.0]))
    assert value(trace, "position_settling_time") == pytest.approx(0.98, rel=1e-12)
