"""Poles of loops with delays, by structure and by matrix, against closed forms and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from palpate.control.design.linear import closed_loop
from palpate.control.design.linear.closed_loop import ClosedLoop
from palpate.control.design.linear.loop_model import held, substepped
from palpate.errors import NotApplicable


def random_loop(seed: int, longest: int = 18) -> ClosedLoop:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    terms: dict[float, np.ndarray] = {0: rng.normal(size=(n, n)) * 0.4}
    for size in (0.3, 0.2):
        delay = int(rng.integers(1, longest))
        late = size * np.outer(rng.normal(size=n), rng.normal(size=n))
        terms[delay] = terms.get(delay, 0) + late
    return ClosedLoop(terms, 1e-3)


def marched(loop: ClosedLoop, ticks: int) -> np.ndarray:
    """|x| over time from the definition alone: x_{k+1} = Σ A_d x_{k−d}."""
    rng = np.random.default_rng(1)
    past = {k: rng.normal(size=loop.size) for k in range(-int(max(loop.terms)), 1)}
    for k in range(ticks):
        past[k + 1] = np.sum([A @ past[k - int(d)] for d, A in loop.terms.items()], axis=0)
    return np.array([np.linalg.norm(past[k]) for k in range(ticks + 1)])


@pytest.mark.parametrize("seed", range(20))
def test_the_counted_poles_are_those_of_the_matrix(seed: int) -> None:
    loop = random_loop(seed)
    growths = np.log(np.abs(np.linalg.eigvals(loop.transition))) / loop.period
    for growth in (-50.0, 0.5, 30.0, 100.0):
        assert loop.count_beyond(growth) == (growths > growth).sum()


@pytest.mark.parametrize("seed", range(20))
def test_the_leading_pole_by_structure_is_that_of_the_matrix(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = random_loop(seed)
    radius, stable = dense.radius, dense.stable
    monkeypatch.setattr(closed_loop, "DENSE_MOST", 0)
    assert random_loop(seed).radius == pytest.approx(radius, abs=1e-12)
    assert random_loop(seed).stable == stable


@pytest.mark.parametrize(("size", "delay"), [(60, 3), (60, 8), (14, 40)])
def test_a_large_loop_has_the_leading_pole_that_it_grows_with(size: int, delay: int) -> None:
    rng = np.random.default_rng(size + delay)
    A = rng.normal(size=(size, size)) / math.sqrt(size)
    late = 0.5 * rng.normal(size=(size, size // 2)) @ rng.normal(size=(size // 2, size)) / size
    loop = ClosedLoop({0: 0.9 * A, delay: late}, 1e-3)
    assert loop.states > closed_loop.DENSE_MOST
    assert loop.count_beyond(loop.growth + 1.0) == 0 < loop.count_beyond(loop.growth - 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_radius_is_how_fast_the_marched_loop_grows(seed: int) -> None:
    loop = random_loop(seed)
    # Scaled by the radius, what is left neither grows nor shrinks.
    level = ClosedLoop({d: A / loop.radius ** (d + 1) for d, A in loop.terms.items()}, loop.period)
    sizes = marched(level, 4000)
    assert (sizes[-1000:].max() / sizes[-2000:-1000].max()) ** (1 / 1000) == pytest.approx(1.0, abs=1e-5)


def test_two_equal_axes_are_counted_twice() -> None:
    """Twice the same zero turns the argument by whole turns, which places far apart cannot see."""
    Phi, Gamma = held(np.array([[0.0, 1.0], [-1e4, -0.02]]), np.array([[0.0], [1.0]]), 1e-3)
    late = -Gamma @ np.array([[0.0, 0.5]])
    terms = {0.0: np.kron(np.eye(2), Phi), 345.0: np.kron(np.eye(2), late)}
    one = ClosedLoop({0: Phi, 345: late}, 1e-3)
    assert one.count_beyond(1e-6) > 0
    assert ClosedLoop(terms, 1e-3).count_beyond(1e-6) == 2 * one.count_beyond(1e-6)


@pytest.mark.parametrize(("delay", "stable"), [(1.55, True), (1.59, False)])
def test_a_continuous_delay_is_stable_up_to_a_quarter_turn(delay: float, stable: bool) -> None:
    loop = ClosedLoop({0: np.zeros((1, 1)), delay: -np.ones((1, 1))}, 0.0)
    assert loop.stable == stable
    s = loop.leading
    assert abs(s + np.exp(-s * delay)) < 1e-12
    with pytest.raises(NotApplicable):
        _ = loop.transition


def test_the_critical_delay_of_an_integrator_is_a_quarter_turn() -> None:
    rate = 3.0
    cut, loop = ClosedLoop({0: np.zeros((1, 1))}, 0.0), ClosedLoop({0: -rate * np.eye(1)}, 0.0)
    lags = loop.critical_lags(cut, 5.0)
    assert lags[0] == pytest.approx(math.pi / 2 / rate, rel=1e-7)
    assert lags[1] - lags[0] == pytest.approx(2 * math.pi / rate, rel=1e-7)


def test_poles_that_stand_are_not_counted() -> None:
    A = np.diag([1.0, 0.9])
    assert not ClosedLoop({0: A}, 1e-3).stable
    standing = ClosedLoop({0: A}, 1e-3, standing=1e-6)
    assert standing.stable
    assert standing.radius == pytest.approx(0.9)


@pytest.mark.parametrize("size", [1e160, np.inf, np.nan])
def test_a_loop_beyond_all_numbers_is_unstable_and_raises_nothing(size: float) -> None:
    loop = ClosedLoop({0: np.eye(2), 3: size * np.ones((2, 2))}, 1e-3)
    assert not loop.stable
    assert loop.radius == np.inf
    assert loop.frequency == 0.0


def test_the_mode_is_the_null_vector_of_the_characteristic_matrix() -> None:
    loop = random_loop(3)
    z = loop.leading
    Delta = z * np.eye(loop.size) - sum(A * z ** -int(d) for d, A in loop.terms.items())
    assert np.linalg.norm(Delta @ loop.mode) < 1e-9


@pytest.mark.parametrize("integrator", ["euler", "implicit", "rk4"])
def test_ever_finer_physics_steps_tend_to_the_exact_ones(integrator) -> None:
    A, B = np.array([[0.0, 1.0], [-400.0, -3.0]]), np.array([[0.0], [0.5]])
    Phi, Gamma = held(A, B, 0.01)
    damper = np.array([[1.0]])
    errors = []
    for count in (10, 20):
        P, G = substepped(A, B, count, 0.01 / count, integrator=integrator, damper=damper)
        errors.append(np.abs(np.hstack([P - Phi, G - Gamma])).max())
    assert errors[0] / errors[1] == pytest.approx(16.0 if integrator == "rk4" else 2.0, rel=0.1)


def test_a_semi_implicit_step_is_the_engines() -> None:
    """v⁺ = v + h (m + h b)⁻¹ (u − b v − k x), x⁺ = x + h v⁺, written out."""
    m, b, k, h = 2.0, 3.0, 50.0, 1e-2
    Phi, Gamma = substepped(
        np.array([[0, 1], [-k / m, -b / m]]), np.array([[0], [1 / m]]), 1, h, damper=np.array([[b / m]])
    )
    x, v, u = 0.3, -0.7, 1.1
    new = v + h / (m + h * b) * (u - b * v - k * x)
    assert Phi @ [x, v] + Gamma[:, 0] * u == pytest.approx([x + h * new, new], rel=1e-14)
