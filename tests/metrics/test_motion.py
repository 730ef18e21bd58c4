from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import NotApplicable
from palpate.metrics import METRICS
from palpate.metrics.kernels import largest_of_columns, measure_step

TIME = np.linspace(0.0, 2.0, 2001)
WAVE = np.sin(2 * np.pi * TIME)  # two periods: RMS 1/√2 and largest 1, both met by the samples
ONES = np.ones(len(TIME))
START = np.array([0.1, 0.2, 0.3])


def value(trace, name: str) -> float:
    return METRICS[name].compute(trace)


def test_tracking_errors_of_position(make) -> None:
    error = np.outer(WAVE, [0.03, 0.0, 0.04])
    trace = make(TIME, tool_position=np.tile(START, (len(TIME), 1)), target_position=START + error)
    np.testing.assert_allclose(value(trace, "position_error_rms"), 0.05 / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(value(trace, "position_error_max"), 0.05, rtol=1e-9)


def test_tracking_errors_of_orientation_take_the_shorter_way(make) -> None:
    half = 0.5 * 0.8 * WAVE
    quat = np.column_stack([np.cos(half), np.sin(half), 0 * half, 0 * half])
    sign = np.where(np.arange(len(TIME)) % 2, 1, -1)[:, None]
    trace = make(TIME, tool_quat_wxyz=quat * sign, target_quat_wxyz=np.tile([1.0, 0, 0, 0], (len(TIME), 1)))
    np.testing.assert_allclose(value(trace, "orientation_error_rms"), 0.8 / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(value(trace, "orientation_error_max"), 0.8, rtol=1e-9)


def test_tracking_errors_of_joints_leave_sliders_out(make) -> None:
    q = np.column_stack([0.3 * WAVE, 0.4 * WAVE, 100 * WAVE])
    units = {"q": ("rad", "rad", "m"), "target_q": ("rad", "rad", "m")}
    trace = make(TIME, q=q, target_q=0 * q, units=units)
    np.testing.assert_allclose(value(trace, "joint_error_rms"), 0.5 / np.sqrt(2) / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(value(trace, "joint_error_max"), 0.4, rtol=1e-9)


def test_effort_and_the_share_of_the_limit(make) -> None:
    tau = np.column_stack([3.0 * ONES, -40.0 * WAVE])
    trace = make(TIME, tau=tau, info={"torque_limit": [None, 80.0]})
    np.testing.assert_allclose(value(trace, "effort"), 9.0 * 2.0 + 1600.0, rtol=1e-9)
    np.testing.assert_allclose(value(trace, "peak_torque_ratio"), 0.5, rtol=1e-9)


def test_the_effort_of_a_ramp_is_trapezoidal(make) -> None:
    """τ = 0, 1, 3 N·m at 0, 1, 3 s: ∫τ² ≈ ½(0 + 1)·1 + ½(1 + 9)·2 = 10.5; rectangles would give 2 or 19."""
    trace = make([0.0, 1.0, 3.0], tau=np.array([[0.0], [1.0], [3.0]]))
    assert value(trace, "effort") == pytest.approx(10.5, rel=1e-14)


def test_a_number_that_is_none_is_not_passed_over() -> None:
    tau, largest = np.ones((5, 2)), np.zeros(2)
    tau[2, 0] = np.nan
    largest_of_columns(tau, largest)
    np.testing.assert_array_equal(largest, np.abs(tau).max(axis=0))
    y = np.cumsum(np.ones((20, 3)), axis=0)
    y[5] = np.nan
    _, way, peak, *_ = measure_step(y, np.arange(20.0), 0, 15, 0.02)
    assert np.isnan([way, peak]).all()


@pytest.mark.parametrize("info", [{}, {"torque_limit": [None, None]}])
def test_without_limits_there_is_no_share_of_them(make, info: dict) -> None:
    with pytest.raises(NotApplicable, match="no torque limit"):
        value(make(TIME, tau=np.zeros((len(TIME), 2)), info=info), "peak_torque_ratio")


def test_a_robot_of_sliders_has_no_revolute_effort(make) -> None:
    with pytest.raises(NotApplicable, match="revolute"):
        value(make(TIME, tau=np.zeros((len(TIME), 2)), units={"tau": "N"}), "effort")


def test_saturation_is_the_time_a_guard_works(make) -> None:
    guard = np.where((TIME > 0.4995) & (TIME < 0.7995), 1.0, 0.0) + np.where(
        (TIME > 1.4995) & (TIME < 1.5995), 3.0, 0.0
    )
    np.testing.assert_allclose(value(make(TIME, guard=guard), "saturation_time"), 0.4, rtol=1e-9)


def test_a_swing_that_loses_to_friction_balances(make) -> None:
    """A mass on a spring, driven and damped: every energy in closed form but one gap that is put in."""
    total = 5.0 * np.exp(-0.2 * TIME)
    kinetic, stored = total * np.sin(3 * TIME) ** 2, total * np.cos(3 * TIME) ** 2
    energies = {
        "energy__kinetic": kinetic + 2 * TIME, "energy__potential": -TIME, "energy__stored": stored,
        "energy__injected": 3 * TIME, "energy__pushed": -2 * TIME, "energy__dissipated": 5.0 - total,
    }  # fmt: skip
    assert value(make(TIME, **energies), "energy_residual") < 1e-12
    energies["energy__pushed"] = energies["energy__pushed"] + 0.25 * np.where(TIME > 1, 1, 0)
    np.testing.assert_allclose(value(make(TIME, **energies), "energy_residual"), 0.25, rtol=1e-9)


def test_the_smallest_singular_value_is_what_the_run_noted(make) -> None:
    noted = {"singularity": {"smallest_singular_value": 0.07, "time": 1.0}}
    assert value(make(TIME, guard=ONES, info=noted), "smallest_singular_value") == 0.07
    with pytest.raises(NotApplicable):
        value(make(TIME, guard=ONES, info={"singularity": None}), "smallest_singular_value")
