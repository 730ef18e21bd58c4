"""A loop that is stable without friction swings for ever with it, where it is active at the joint's own port.

Dry friction is a relay of the velocity, f = −F sgn(v), and answers a sine of amplitude A like a damper of 4F/(πA). With
v = G(jω) f of the closed linear loop a swing lasts where 1 + 4F/(πA) G(jω) = 0: at the frequency at which G is real and
negative, whatever F is, and with A = (4F/π) |G|, in proportion to F.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import palpate as pp

MASS, WALL, BANDWIDTH, DELAY = 5.0, 1e4, 60.0, 4
APPARENT = {"mass": 5.0, "damping": 50.0, "stiffness": 10.0}  # of the admittance


def swing(friction: float) -> tuple[float, float, float]:
    """Frequency, Hz, amplitudes of speed, m/s, and of the contact force, N, in the last third of a press by an axis."""
    data = {
        "name": "axis",
        "robot": {"model": "cartesian2", "parameters": {"mass": [3.0, 2.0], "gravity": 0.0}},
        "control": {"law": "admittance", "directions": ["x"], "trim": 0.0} | {k: [x] * 6 for k, x in APPARENT.items()},
        "reference": {"kind": "hold", "wrench": [-20, 0, 0, 0, 0, 0]},
        "world": {
            "surfaces": [{"position": [0.008, 0, 0], "normal": [-1, 0, 0], "stiffness": WALL, "damping": 10.0}],
            "driver": {"delay": DELAY, "torque_limit": False, "torque_rate_limit": False, "servo_bandwidth": BANDWIDTH},
            "plant": {"joint_friction": friction, "rotor_inertia": 0.0},
        },
        "run": {"rate": 1000.0, "timestep": 2e-4, "duration": 6.0},
    }
    trace = pp.simulate(pp.Scenario.model_validate(data))
    last = trace.time > 4.0
    v, f, t = trace["v"][last, 0], trace["contact_force"][last].ravel(), trace.time[last]
    rising = t[1:][(v[1:] > 0) & (v[:-1] <= 0)]
    frequency = 1.0 / np.diff(rising).mean() if len(rising) > 2 else 0.0
    return float(frequency), float(np.sqrt(2) * v.std()), float(np.sqrt(2) * f.std())


def port(angular: float) -> complex:
    """G(jω) of the axis under its servo, admittance and wall, from a force on the joint to its speed, (m/s)/N."""
    s = 1j * angular
    servo, wall = MASS * (BANDWIDTH**2 + 2 * BANDWIDTH * s), WALL + 10.0 * s
    yielding = 1.0 / (APPARENT["mass"] * s * s + APPARENT["damping"] * s + APPARENT["stiffness"])
    late = np.exp(-s * 1e-3 * (DELAY + 0.5))  # the delay, and half a period of the hold
    return s / (MASS * s * s + servo + wall + servo * late * wall * yielding)


def test_a_stable_admittance_is_quiet_without_friction() -> None:
    _, speed, force = swing(0.0)
    assert speed < 1e-5
    assert force < 1e-3


def test_friction_keeps_it_swinging_where_its_port_is_active_in_proportion_to_the_friction() -> None:
    active: Any = brentq(lambda w: port(w).imag, 2 * np.pi * 4.0, 2 * np.pi * 8.0)
    assert port(active).real < 0
    (half, slow, weak), (whole, fast, strong) = swing(0.5), swing(1.0)
    assert half == pytest.approx(whole, rel=0.01)
    assert whole == pytest.approx(active / (2 * np.pi), rel=0.07)  # a sine and a relay that never sticks
    assert fast == pytest.approx(4 / np.pi * abs(port(active)), rel=0.35)
    assert fast == pytest.approx(2 * slow, rel=0.02)
    assert strong == pytest.approx(2 * weak, rel=0.02)
