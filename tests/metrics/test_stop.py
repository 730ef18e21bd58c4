from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import NotApplicable
from palpate.metrics import METRICS

TIME = 3.0 + np.arange(0, 2001) * 1e-3  # 2 s, not from zero
ALONG, ACROSS = np.array([2.0, -1.0, 2.0]) / 3, np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
NAMES = ("stop_time", "stop_distance", "stop_deviation")


def values(trace) -> list[float]:
    return [METRICS[name].compute(trace) for name in NAMES]


def moved(make, along, speed, across=0.0, sideways=0.0, time=TIME, **kind):
    """A trace of a tool at along · ALONG + across · ACROSS, which also turns."""
    n = len(time)
    place = np.array([0.3, 0.1, 0.7]) + np.outer(along, ALONG) + np.outer(np.full(n, across), ACROSS)
    velocity = np.outer(speed, ALONG) + np.outer(np.full(n, sideways), ACROSS)
    return make(time, tool_position=place, tool_twist=np.hstack([velocity, np.full((n, 3), 9.0)]), **kind)


def braked(make, a: float, **more):
    """From 0.5 m/s at constant deceleration a to rest."""
    t = np.minimum(TIME - TIME[0], 0.5 / a)
    return moved(make, 0.5 * t - a * t**2 / 2, 0.5 - a * t, **more)


def test_a_constant_deceleration_stops_as_in_the_schoolbook(make) -> None:
    # 98 % of 0.5 m/s at 1 m/s² takes 0.49 s, a sample of the trace, and (v₀² − v²) / 2a.
    np.testing.assert_allclose(values(braked(make, 1.0)), [0.49, (0.25 - 1e-4) / 2, 0.0], rtol=1e-9, atol=1e-12)


def test_the_end_between_two_samples_is_interpolated(make) -> None:
    time, distance, _ = values(braked(make, 1.0 / 1.0007))
    np.testing.assert_allclose(time, 0.49 * 1.0007, rtol=1e-9)  # 0.3 of the way between two samples; v is straight
    # p is a parabola: the chord is off by a h² / 8 at most
    np.testing.assert_allclose(distance, (0.25 - 1e-4) / 2 * 1.0007, rtol=0, atol=1.3e-7)


def test_an_exponential_stop_takes_ln_50_time_constants(make) -> None:
    decay = np.exp(-(TIME - TIME[0]) / 0.1)
    # the interpolation of v and p between samples 1 ms apart: (h/T)² / 8 of what is left
    np.testing.assert_allclose(
        values(moved(make, 0.05 * (1 - decay), 0.5 * decay))[:2], [0.1 * np.log(50), 0.049], rtol=1e-5
    )


def test_the_deviation_is_the_largest_on_the_way_and_not_after_it(make) -> None:
    t = TIME - TIME[0]
    sine = np.sin(np.pi * np.minimum(t, 0.49) / 0.49) ** 2  # out and back by the stop, at no first speed
    later = 0.3 * np.clip(t - 0.6, 0, None)  # creeps on afterwards
    trace = braked(make, 1.0, across=-0.004 * sine + later)
    np.testing.assert_allclose(values(trace), [0.49, (0.25 - 1e-4) / 2, 0.004], rtol=1e-9)


def test_a_tool_that_turns_round_has_not_stopped_at_the_turn(make) -> None:
    t = TIME - TIME[0]
    back = np.minimum(t, 1.0)  # v = 0.5 − t to t = 1, then at rest
    trace = moved(make, 0.5 * back - back**2 / 2, np.where(t < 0.9995, 0.5 - t, 0.0))
    time, distance, _ = values(trace)
    np.testing.assert_allclose(time, 0.999 + 1e-3 * 0.489 / 0.499, rtol=1e-9)  # from −0.499 m/s to rest
    assert abs(distance) < 1e-3


def test_moving_sideways_is_moving(make) -> None:
    t = TIME - TIME[0]
    sideways = np.where((t > 0.1) & (t < 0.7995), 0.02, 0.0)
    # 0.02 m/s at 0.799 s, none at 0.800 s: 2 % of 0.5 m/s lies half-way
    np.testing.assert_allclose(values(braked(make, 1.0, sideways=sideways))[0], 0.7995, rtol=1e-9)


@pytest.mark.parametrize("speed", [0.0, 9e-5])
def test_a_tool_that_does_not_move_at_first_has_no_stop(make, speed) -> None:
    trace = moved(make, np.zeros(len(TIME)), np.where(TIME[0] == TIME, speed, 0.0))
    for name in NAMES:
        with pytest.raises(NotApplicable, match=r"not move.*first"):
            METRICS[name].compute(trace)


def test_a_tool_that_still_moves_at_the_end_has_no_stop(make) -> None:
    with pytest.raises(NotApplicable, match=r"not stopped.*end"):
        values(braked(make, 0.25))


def test_a_failed_run_has_no_stop(make) -> None:
    with pytest.raises(NotApplicable, match="diverged"):
        values(braked(make, 1.0, kind="diverged"))
