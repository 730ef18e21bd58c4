"""Boundaries held to circles, and to the exactly sampled loop of an impedance against a wall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.one_axis import largest

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.maps import BoundaryMap, boundary_map
from palpate.tools.study.plans.axis import Span

UNIT = Span(0.0, 2.0)


def test_a_quarter_circle_is_found_to_the_tolerance() -> None:
    found = boundary_map(lambda x, y: x * x + y * y < 1, UNIT, UNIT, cells=64, tolerance=0.002)
    assert len(found.boundary) == 1
    assert np.hypot(*found.boundary[0].T) == pytest.approx(1.0, abs=0.004)  # 0.002 of a side of 2
    ends = found.boundary[0][[0, -1]]
    assert sorted(map(tuple, np.round(ends, 2).tolist())) == [(0.0, 1.0), (1.0, 0.0)]


def test_a_closed_boundary_is_one_closed_line() -> None:
    found = boundary_map(lambda x, y: (x - 1) ** 2 + (y - 1) ** 2 < 0.25, UNIT, UNIT, cells=64, tolerance=0.002)
    assert len(found.boundary) == 1
    assert found.boundary[0][0].tolist() == found.boundary[0][-1].tolist()
    steps = np.linalg.norm(np.diff(found.boundary[0], axis=0), axis=1)
    assert steps.sum() == pytest.approx(np.pi, rel=0.01)


def test_two_regions_have_two_boundaries() -> None:
    found = boundary_map(lambda x, y: abs(x - 1) > 0.4, UNIT, UNIT, cells=32)
    assert len(found.boundary) == 2
    assert {round(float(line[:, 0].mean()), 1) for line in found.boundary} == {0.6, 1.4}


def test_verdicts_are_those_of_the_function_and_counted() -> None:
    seen = []

    def verdict(x: float, y: float) -> bool:
        seen.append((x, y))
        return y > x

    found = boundary_map(verdict, UNIT, Span(0.1, 10.0, log=True), cells=32)
    assert found.runs == len(seen) == len(set(seen)) == len(found.points)
    assert found.verdicts.tolist() == [y > x for x, y in found.points]


def test_one_verdict_everywhere_has_no_boundary_and_costs_the_coarse_grid() -> None:
    found = boundary_map(lambda x, y: True, UNIT, UNIT, coarse=4)
    assert found.boundary == ()
    assert found.runs == 25


def test_senseless_maps_are_refused() -> None:
    senseless: tuple[dict[str, Any], ...] = ({"cells": 2}, {"coarse": 0}, {"tolerance": 0.0})
    for wrong in senseless:
        with pytest.raises(InvalidInput):
            boundary_map(lambda x, y: True, UNIT, UNIT, **wrong)


# ------------------------------------------------------------------ stiffness against wall stiffness

MASS, DAMPING, PERIOD = 5.0, 150.0, 4e-3
STIFFNESS, WALL = Span(4e3, 4e4, log=True), Span(1e4, 2e5, log=True)


def radius(stiffness: float, wall: float) -> float:
    """The largest pole of an impedance with one sample of delay, exactly sampled."""
    return largest(MASS, stiffness, DAMPING, wall=wall, period=PERIOD, delay=1)


def predicted(wall: float) -> float:
    """The stiffness against a wall at which the largest pole reaches the unit circle."""
    found: Any = brentq(lambda k: radius(k, wall) - 1.0, STIFFNESS.low, STIFFNESS.high, xtol=1e-2)
    return float(found)


def far_off(found: BoundaryMap, walls: np.ndarray) -> np.ndarray:
    """How far the found boundary is from the predicted one, relative to it, at the given walls."""
    line = np.concatenate(found.boundary)
    order = np.argsort(line[:, 1])
    at = np.exp(np.interp(np.log(walls), np.log(line[order, 1]), np.log(line[order, 0])))
    return np.abs(at / [predicted(wall) for wall in walls] - 1)


def test_the_map_of_a_sampled_impedance_lies_on_the_predicted_boundary() -> None:
    found = boundary_map(lambda k, w: radius(k, w) < 1.0, STIFFNESS, WALL, cells=64, tolerance=0.003)
    assert len(found.boundary) == 1
    walls = np.geomspace(found.boundary[0][0, 1], found.boundary[0][-1, 1], 15)
    assert sorted(walls[[0, -1]]) == pytest.approx([1e4, 2e5], rel=0.05)  # along its whole length
    assert far_off(found, walls).max() < 0.02
    assert found.share < 0.15
