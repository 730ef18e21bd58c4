from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import NotApplicable
from palpate.metrics import METRICS

TIME = np.arange(0, 1001) * 1e-2  # 10 s


def value(trace, name: str) -> float:
    return METRICS[name].compute(trace)


def touch(make, *intervals: tuple[float, float]):
    on = np.zeros(len(TIME))
    for start, stop in intervals:
        on[(start - 1e-9 <= TIME) & (stop - 1e-9 > TIME)] = 7.0
    return make(TIME, contact_force=on, penetration=on * 1e-4)


def test_contact_is_counted_and_timed(make) -> None:
    trace = touch(make, (2.0, 3.0), (4.0, 4.5), (6.0, 11.0))
    np.testing.assert_allclose(value(trace, "contact_time"), 1.0 + 0.5 + 4.0, rtol=1e-9)
    np.testing.assert_allclose(value(trace, "first_contact"), 2.0)
    assert value(trace, "bounces") == 2
    np.testing.assert_allclose(value(trace, "chatter"), 4 / 8)  # off, on, off, on in the 8 s after first contact
    assert value(trace, "force_peak") == 7.0
    np.testing.assert_allclose(value(trace, "penetration_max"), 7e-4)


def test_contact_from_the_start_is_contact(make) -> None:
    trace = touch(make, (0.0, 11.0))
    np.testing.assert_allclose([value(trace, "first_contact"), value(trace, "contact_time")], [0.0, 10.0])
    assert value(trace, "bounces") == value(trace, "chatter") == 0


def test_contact_at_the_last_sample_alone_chatters_not(make) -> None:
    assert value(touch(make, (10.0, 11.0)), "chatter") == 0


def test_without_contact_nothing_bounces(make) -> None:
    trace = touch(make)
    assert value(trace, "bounces") == value(trace, "contact_time") == value(trace, "force_peak") == 0
    for name in ("chatter", "first_contact"):
        with pytest.raises(NotApplicable, match="no contact"):
            value(trace, name)


def test_the_rms_force_error_counts_from_first_contact_along_the_wanted_force(make) -> None:
    n = len(TIME)
    wanted, found = np.zeros((n, 6)), np.zeros((n, 6))
    wanted[:, 0] = -10.0
    on = TIME >= 5.0
    found[on, 0] = -10.0 + 3.0 * np.sin(2 * np.pi * TIME[on])
    found[on, 1] = 100.0  # friction across the wanted force
    trace = make(TIME, target_wrench=wanted, contact_wrench=found, contact_force=np.linalg.norm(found, axis=1))
    # Five whole periods of a sine: the trapezoidal rule is exact on them.
    np.testing.assert_allclose(value(trace, "force_error_rms"), 3 / np.sqrt(2), rtol=1e-9)


def test_a_force_that_is_wanted_and_never_met_is_all_error(make) -> None:
    wanted = np.tile([0, 0, 12.0, 0, 0, 0], (len(TIME), 1))
    trace = make(TIME, target_wrench=wanted, contact_wrench=0 * wanted, contact_force=0 * TIME)
    np.testing.assert_allclose(value(trace, "force_error_rms"), 12.0)


def pressed(make, force: np.ndarray, speed: np.ndarray):
    wrench, twist = np.zeros((len(TIME), 6)), np.zeros((len(TIME), 6))
    wrench[:, 2], twist[:, 2] = force, speed
    return make(TIME, contact_wrench=wrench, tool_twist=twist)


def test_pressing_a_spring_gives_out_its_energy_and_letting_go_takes_it_back(make) -> None:
    k, w = 800.0, 2 * np.pi / 10
    depth = 0.01 * (1 - np.cos(w * TIME)) / 2
    speed = 0.01 * w * np.sin(w * TIME) / 2
    # The tool moves along z into the spring; the spring pushes it back, along −z.
    trace = pressed(make, -k * depth, speed)
    np.testing.assert_allclose(value(trace, "contact_energy_out_peak"), 0.5 * k * 0.01**2, rtol=1e-4)  # trapezoids
    np.testing.assert_allclose(value(trace, "contact_energy_out"), 0.0, atol=1e-12)


def test_a_damper_takes_what_the_robot_gives(make) -> None:
    trace = pressed(make, np.full(len(TIME), -6.0), np.full(len(TIME), 0.5))
    np.testing.assert_allclose(value(trace, "contact_energy_out"), 6.0 * 0.5 * 10.0, rtol=1e-12)


def test_a_robot_that_is_pushed_gives_nothing_out(make) -> None:
    trace = pressed(make, np.full(len(TIME), 6.0), np.full(len(TIME), 0.5))
    np.testing.assert_allclose(value(trace, "contact_energy_out"), -30.0, rtol=1e-12)
    assert value(trace, "contact_energy_out_peak") == 0.0


def test_a_turn_against_a_torque_counts_too(make) -> None:
    wrench, twist = np.zeros((len(TIME), 6)), np.zeros((len(TIME), 6))
    wrench[:, 4], twist[:, 4] = -2.0, 0.3
    trace = make(TIME, contact_wrench=wrench, tool_twist=twist)
    np.testing.assert_allclose(value(trace, "contact_energy_out"), 2.0 * 0.3 * 10.0, rtol=1e-12)
