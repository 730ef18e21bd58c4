"""The law of document 001 as printed: its equations, and where it ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate_documents.stop_law import AsPrinted, printed_stop

J_PRINTED = np.array([[-1.0, -1, 0], [0, 1, 1]])
H, V, U = np.array([3.0, -4]) * np.pi**2, np.array([np.pi, np.pi, 0]), np.array([15.0, 10, 10]) * np.pi


def test_the_printed_numbers_follow_from_the_printed_jacobian() -> None:
    one, two, three = (printed_stop(J_PRINTED, H * s**2, V * s, U) for s in (1.0, 1.3, 1.5))
    assert one.rate == pytest.approx(17.094395102393, rel=1e-12)
    assert one.acceleration == pytest.approx([-47.1239, -30.6745, 16.4493], abs=5e-5)
    assert two.acceleration == pytest.approx([-47.1239, -19.3245, 27.7994], abs=5e-5)
    assert three.rates == pytest.approx([13.1416, 17.6622, -math.inf], abs=5e-5)
    assert np.isnan(three.acceleration).all()


def test_lower_bounds_on_the_rate_are_forgotten() -> None:
    stop = printed_stop(np.eye(2), [-3.0, 0.0], [1.0, 1.0], [1.0, 1.0])
    assert stop.rate == pytest.approx(1.0)
    assert stop.acceleration == pytest.approx([2.0, -1.0])
    assert stop.excess == pytest.approx(1.0)


def test_the_compiled_law_commands_what_the_equations_say() -> None:
    robot = pp.load_robot("planar3", length=1.0)
    law, rng, answered = AsPrinted(axes="xy", acceleration=tuple(U)), np.random.default_rng(3), 0
    for _ in range(20):
        q, v = rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 3)
        stop = printed_stop(robot.jacobian(q)[:2], robot.jacobian_drift(q, v)[:2], v, U)
        if math.isfinite(stop.rate):
            np.testing.assert_allclose(law.tick(robot, q, v).command, stop.acceleration, rtol=1e-8, atol=1e-8)
            answered += 1
    assert answered > 10


def test_where_it_has_an_answer_the_tool_decelerates_along_its_direction() -> None:
    robot = pp.load_robot("planar3", length=1.0)
    q, v = np.array([0.0, np.pi / 2, np.pi / 2]), np.array([0.5, 0.5, 0.0])
    bound = AsPrinted(axes="xy", acceleration=tuple(U)).bind(robot)
    u = bound.tick(robot, q, v).command
    p, a = robot.jacobian(q)[:2] @ v, robot.jacobian(q)[:2] @ u + robot.jacobian_drift(q, v)[:2]
    np.testing.assert_allclose(a, -bound.memory.rate * p, rtol=1e-10)


def test_the_law_is_found_by_its_name_through_the_entry_points() -> None:
    limits = "[47.12388980384690, 31.41592653589793, 31.41592653589793]"
    scenario = pp.load_scenario("planar3-stop", [f'control={{law="as-printed", axes="xy", acceleration={limits}}}'])
    assert isinstance(scenario.control, AsPrinted)
    assert scenario.as_data()["control"]["law"] == "as-printed"
