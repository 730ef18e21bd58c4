"""The pole's equations against the audit's numbers, the Lagrangian, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sy

from palpate.control.design.pole import PoleModel
from palpate.errors import InvalidInput

MODEL = PoleModel(length=1.0, sphere_mass=0.1, end_effector_mass=1.0, gravity=9.81)


def vector_of(xy, rate, length=1.0):
    z = np.sqrt(length**2 - xy @ xy)
    return np.array([*xy, z]), np.array([*rate, -(xy @ rate) / z])


def test_accelerations_and_force_are_the_audits():
    r, r_rate = vector_of(np.array([0.3, -0.4]), np.array([1.5, 2.0]))
    a_A, a_B, f_B = MODEL.accelerations(r, r_rate, [1.0, -2.0, 12.0])
    assert np.allclose(a_A, [0.861482595125, -1.815310126833, 1.790134695040], atol=1e-11)
    assert np.allclose((a_B - a_A)[:2], [0.523691453624, -0.031588604832], atol=1e-11)
    assert np.allclose(f_B, [0.138517404875, -0.184689873167, 0.399865304960], atol=1e-11)


def test_closed_form_and_corrected_matrices_agree_at_random_states():
    rng = np.random.default_rng(3)
    for _ in range(50):
        model = PoleModel(*rng.uniform(0.2, 2.0, 3))
        xy, rate, f = rng.uniform(-0.5, 0.5, 2) * model.length, rng.normal(size=2), rng.normal(size=3) * 10
        M, C = model.mass_and_bias(xy, rate)
        solved = np.linalg.solve(M, np.r_[f, 0, 0] - C)
        a_A, a_B, _ = model.accelerations(*vector_of(xy, rate, model.length), f)
        assert np.allclose(solved, np.r_[a_A, (a_B - a_A)[:2]], rtol=1e-9, atol=1e-9)


def test_corrected_matrices_are_those_of_the_lagrangian():
    m_e, m_s, l, g = 1.3, 0.27, 1.1, 9.81
    t = sy.symbols("t")
    names = [sy.Function(n)(t) for n in ("xA", "yA", "zA", "x", "y")]
    xA, yA, zA, x, y = names
    z = sy.sqrt(l**2 - x**2 - y**2)
    foot: Any = sy.Matrix([xA, yA, zA])  # sympy's own types do not know a vector from a matrix
    ball: Any = sy.Matrix([xA + x, yA + y, zA + z])
    T = m_e * foot.diff(t).dot(foot.diff(t)) / 2 + m_s * ball.diff(t).dot(ball.diff(t)) / 2
    L = T - m_e * g * zA - m_s * g * ball[2]
    rates, second = [q.diff(t) for q in names], [q.diff(t, 2) for q in names]
    state = {"x": -0.48, "y": 0.31, "u": 0.17, "v": 1.74}
    acc = np.array([0.4, -0.9, 2.1, -2.8, 1.4])
    values = [*zip(second, acc), *zip(rates, [0.1, -0.2, 0.3, state["u"], state["v"]])]
    values += list(zip(names, [0, 0, 0, state["x"], state["y"]]))
    forces = [float(sy.diff(L.diff(r), t).subs(values) - L.diff(q).subs(values)) for q, r in zip(names, rates)]
    M, C = PoleModel(l, m_s, m_e, g).mass_and_bias([state["x"], state["y"]], [state["u"], state["v"]])
    assert np.allclose(M @ acc + C, forces, atol=1e-12)


def test_the_pole_pulls_only_along_itself_and_newton_holds():
    rng = np.random.default_rng(5)
    r = rng.normal(size=3)
    r *= MODEL.length / np.linalg.norm(r)
    r[2] = -abs(r[2])  # hanging: no division by z
    r_rate = np.cross(rng.normal(size=3), r)
    f = rng.normal(size=3) * 5
    a_A, a_B, f_B = MODEL.accelerations(r, r_rate, f)
    assert np.allclose(np.cross(f_B, r), 0, atol=1e-14)
    assert np.allclose(MODEL.end_effector_mass * (a_A + np.array([0, 0, 9.81])), f - f_B, atol=1e-13)
    # The length stays: r·r̈ + |ṙ|² = 0.
    assert r @ (a_B - a_A) + r_rate @ r_rate == pytest.approx(0, abs=1e-12)


def test_lqr_gains_of_the_printed_states_are_the_audits():
    assert np.allclose(MODEL.gains(hold_position=False), [-1, -27.693529808075, -8.575424715232], atol=1e-9)
    A, _ = MODEL.linear_axis(hold_position=False)
    assert np.allclose(sorted(np.linalg.eigvals(A).real), [-3.284965753246, 0, 3.284965753246], atol=1e-9)


def test_vertical_gains_are_those_of_a_lifted_mass():
    assert MODEL.vertical_gains(hold_position=False) == pytest.approx([1.0], abs=1e-12)  # the audit's
    # ms² + k₂ s + k₁ with k₁ = √(q₁/ρ), k₂ = √((q₂ + 2 m k₁ ρ)/ρ).
    k1, k2 = MODEL.vertical_gains(True, [20.0, 10.0], 0.01)
    assert k1 == pytest.approx(np.sqrt(20 / 0.01), rel=1e-12)
    assert k2 == pytest.approx(np.sqrt((10 + 2 * 1.1 * k1 * 0.01) / 0.01), rel=1e-12)


def test_weights_of_the_wrong_length_or_sign_are_refused():
    for weights in ([1.0, 2.0], [1.0, 1.0, -1.0, 1.0]):
        with pytest.raises(InvalidInput, match=r"one number.*4"):
            MODEL.gains(True, weights)


def test_printed_states_leave_position_drifting_and_ten_states_hold_it():
    A, B = MODEL.linear_axis(hold_position=True)
    without = np.r_[0.0, MODEL.gains(hold_position=False)]
    assert abs(np.linalg.eigvals(A - B @ without[None])).min() < 1e-9
    held = np.linalg.eigvals(A - B @ MODEL.gains(hold_position=True)[None])
    assert held.real.max() < -0.1


def test_linear_axis_is_the_derivative_of_the_closed_form():
    A, B = MODEL.linear_axis()
    weight = np.array([0, 0, (MODEL.end_effector_mass + MODEL.sphere_mass) * MODEL.gravity])
    h = 1e-6

    def rates(x_AB, f):
        r, r_rate = vector_of(np.array([x_AB, 0.0]), np.zeros(2))
        a_A, a_B, _ = MODEL.accelerations(r, r_rate, weight + np.array([f, 0, 0]))
        return np.array([a_A[0], (a_B - a_A)[0]])

    assert np.allclose((rates(h, 0) - rates(-h, 0)) / (2 * h), A[[1, 3], 2], atol=1e-8)
    assert np.allclose((rates(0, h) - rates(0, -h)) / (2 * h), B[[1, 3], 0], atol=1e-8)


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(InvalidInput, match="length 1 m, got 2 m"):
        MODEL.accelerations([0, 0, 2.0], [0, 0, 0], [0, 0, 0])
    with pytest.raises(InvalidInput, match="point up"):
        MODEL.mass_and_bias([1.0, 0.2], [0, 0])


@pytest.mark.parametrize("length", [0.1, 10.0])
def test_a_vector_may_be_off_by_a_millionth_of_the_poles_length(length: float):
    model = PoleModel(length, sphere_mass=0.1, end_effector_mass=1.0)
    model.accelerations([0, 0, length * (1 + 0.9e-6)], [0, 0, 0], [0, 0, 0])
    with pytest.raises(InvalidInput, match=f"length {length:g} m"):
        model.accelerations([0, 0, length * (1 + 1.1e-6)], [0, 0, 0], [0, 0, 0])
