"""Systems given by their energies; constraints and linearisation on them and on robots; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import palpate as pp
from palpate.errors import BadShape, InvalidInput, UnknownName
from palpate.tools.derive import Derivation, derive_from_energy

CART = ("(mc+m)*dx**2/2 + m*l*cos(theta)*dx*dtheta + m*l**2*dtheta**2/2", "m*g*l*cos(theta)")
VALUES = {"mc": 1.0, "m": 0.2, "l": 0.5, "g": 9.81}


@pytest.fixture(scope="module")
def cart() -> Derivation:
    return derive_from_energy(*CART, "x theta", ["u", 0], values=VALUES, name="cart")


def test_a_cart_with_a_pole_is_sympys(cart: Derivation) -> None:
    """The same energies through SymPy's LagrangesMethod."""
    x, theta = dynamicsymbols("x theta")
    dx, dtheta = dynamicsymbols("x theta", 1)
    mc, m, l, g = sp.symbols("mc m l g")
    T = (mc + m) * dx**2 / 2 + m * l * sp.cos(theta) * dx * dtheta + m * l**2 * dtheta**2 / 2
    theirs = LagrangesMethod(T - m * g * l * sp.cos(theta), [x, theta])
    theirs.form_lagranges_equations()
    put = {x: 0.3, theta: 0.7, dx: -0.4, dtheta: 1.1, mc: 1.0, m: 0.2, l: 0.5, g: 9.81}
    M = np.array(theirs.mass_matrix.subs(put), dtype=float)
    bias = -np.array(theirs.forcing.subs(put), dtype=float).ravel()
    np.testing.assert_allclose(cart.function("M")([0.3, 0.7]), M, atol=1e-14)
    np.testing.assert_allclose(cart.function("bias")([0.3, 0.7], [-0.4, 1.1]), bias, atol=1e-14)


def test_functions_of_time_and_assumptions_are_understood(cart: Derivation) -> None:
    t = sp.Symbol("t")
    x, theta = sp.Function("x")(t), sp.Function("theta")(t)
    mc, m, l, g = sp.symbols("mc m l g", positive=True)
    T = (
        (mc + m) * x.diff(t) ** 2 / 2
        + m * l * sp.cos(theta) * x.diff(t) * theta.diff(t)
        + m * l**2 * theta.diff(t) ** 2 / 2
    )
    other = derive_from_energy(T, m * g * l * sp.cos(theta), [x, theta], values=VALUES)
    assert other.M == cart.M
    assert other.C == cart.C


def test_it_obeys_what_every_derivation_must(cart: Derivation) -> None:
    verification = cart.check()
    assert verification.ok, str(verification)
    assert len(verification.findings) == 3


def test_a_root_gets_a_name_and_its_derivative_is_right() -> None:
    """A bead on a parabola-like wire y = √(1 + x²): T and V with the root, against finite differences of L."""
    bead = derive_from_energy(
        "m*dx**2*(1 + x**2/(1 + x**2))/2", "m*g*sqrt(1 + x**2)", "x", values={"m": 2.0, "g": 9.81}
    )
    x, v, a, h = 0.6, 0.9, -0.3, 1e-5

    def L(x: float, v: float) -> float:
        return v**2 * (1 + x**2 / (1 + x**2)) - 2 * 9.81 * np.sqrt(1 + x**2)

    def momentum(x: float, v: float) -> float:
        return (L(x, v + h) - L(x, v - h)) / (2 * h)

    rate = (momentum(x + h * v, v + h * a) - momentum(x - h * v, v - h * a)) / (2 * h)
    expected = rate - (L(x + h, v) - L(x - h, v)) / (2 * h)
    assert bead.function("tau")([x], [v], [a])[0] == pytest.approx(expected, abs=1e-4)  # second differences


def test_a_coordinate_may_stand_in_a_sine_and_outside() -> None:
    spring = derive_from_energy("I*dq**2/2", "k*q**2/2 - m*g*l*cos(q)", "q")
    assert spring.g[0] == sp.sympify("k*q + m*g*l*sin(q)")


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("T", "message"),
    [
        ("m*dx**3", "not quadratic.*rates: ∂²T/∂dx∂dx still holds dx"),
        ("m*dx**2/2 + b*dx", r"not quadratic.*rates.*½ q̇ᵀ M q̇ it holds b\*dx"),
        ("m*dx**2/2 + m*x", r"not quadratic"),
        ("m*dx**2*sqrt(1 + dx**2)", r"not quadratic"),
        ("m*ddx", "T.*not depend.*ddx"),
        ("m*dx**2/2)", r"T cannot be read"),
        ("m*(dx**2", "T cannot be.*character 3"),
    ],
)
def test_a_wrong_kinetic_energy_is_refused(T: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        derive_from_energy(T, "0", "x")


def test_a_potential_that_depends_on_rates_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"V.*not depend.*dx"):
        derive_from_energy("m*dx**2/2", "k*x*dx", "x")


def test_a_symbol_without_value_is_unknown_where_values_are_given() -> None:
    with pytest.raises(UnknownName, match="unknown symbol 'mm'") as caught:
        derive_from_energy("m*dx**2/2", "mm*g*x", "x", values={"m": 1, "g": 9.81})
    assert "mean 'm'" in str(caught.value)


@pytest.mark.parametrize("coordinates", ["", "x x", ["1x"], [3]])
def test_bad_coordinates_are_refused(coordinates: Any) -> None:
    with pytest.raises(InvalidInput, match="coordinates"):
        derive_from_energy("dx**2/2", "0", coordinates)


def test_forces_must_match_the_coordinates() -> None:
    with pytest.raises(InvalidInput, match="coordinate, 1, got 2"):
        derive_from_energy("dx**2/2", "0", "x", ["u", "w"])


def test_a_system_of_energies_has_no_jacobian(cart: Derivation) -> None:
    with pytest.raises(UnknownName, match="quantity"):
        _ = cart["J"]
    with pytest.raises(InvalidInput, match="Lagrange's method only"):
        cart.compare()


# ---------------------------------------------------------------------- constraints


def test_a_constraint_that_is_linear_solves_itself() -> None:
    """A cart tied to the pole's angle as by a wheel without slip: x = l θ, solved for the last coordinate."""
    cart = derive_from_energy(*CART, "x theta")
    tied = cart.constrain("x - l*theta")
    assert tied.independent == (sp.Symbol("x"),)
    again = cart.constrain("x - l*theta", solve={"x": "l*theta"})
    assert again.independent == (sp.Symbol("theta"),)
    expected = sp.sympify("(mc+m)*l**2 + 2*m*l**2*cos(theta) + m*l**2")
    assert sp.expand(again.M[0] - expected) == 0


def test_reduced_equations_are_those_of_the_reduced_energies() -> None:
    """Put the constraint into T and V first, derive then: the same equation."""
    equal = pp.derive(pp.load_robot("planar2"), names={"l1": "l", "l2": "l"})
    wall = equal.constrain("sin(q1) + sin(q1 + q2)", solve={"q2": "-2*q1"})
    put = {sp.Symbol("q2"): sp.sympify("-2*q1"), sp.Symbol("dq2"): sp.sympify("-2*dq1")}
    reduced = derive_from_energy(equal.T.subs(put), equal.V.subs(put), "q1")
    assert sp.simplify(reduced.M[0] - wall.M[0]) == 0
    difference = reduced["bias"][0] - wall.coriolis[0] - wall.g[0]
    assert sp.simplify(sp.expand_trig(difference)) == 0


def test_a_curved_constraint_keeps_the_term_of_its_curvature() -> None:
    """A point mass on the circle x² + y² = l²: m l²/(l² − x²) ẍ + m l² x ẋ²/(l² − x²)² + m g x/√(l² − x²) = 0."""
    point = derive_from_energy("m*(dx**2 + dy**2)/2", "m*g*(y + l)", "x y", forces=[0, 0])
    circle = point.constrain("x**2 + y**2 - l**2", solve={"y": "-sqrt(l**2 - x**2)"})
    x, dx, ddx, m, g, length = sp.symbols("x dx ddx m g l")
    inside = length**2 - x**2
    wanted = m * (length**2 / inside * ddx + length**2 * x * dx**2 / inside**2 + g * x / sp.sqrt(inside))
    values = {x: 0.3, dx: 0.7, ddx: -1.1, m: 1.4, g: 9.81, length: 0.8}
    assert float(circle.reduced[0].subs(values)) == pytest.approx(float(wanted.subs(values)), rel=1e-12)


@pytest.mark.parametrize(
    ("constraint", "kind", "message"),
    [
        ("dq1*cos(q1) + dq2", InvalidInput, "depends on dq1, dq2.*not holonomic"),
        ("dq1*q2 - dq2", InvalidInput, "cannot be integrated"),
        ("sin(q9)", UnknownName, "unknown symbol in constraint 1 'q9'"),
        ("l1 - 1", InvalidInput, "holds no coordinate"),
        ("sin(q1", InvalidInput, "constraint 1 cannot be.*character 4"),
    ],
)
def test_a_bad_constraint_is_refused(constraint: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        pp.derive(pp.load_robot("planar2")).constrain(constraint)


def test_the_rate_of_a_constraint_is_recognised() -> None:
    with pytest.raises(InvalidInput, match=r"constraint.*coordinates"):
        pp.derive(pp.load_robot("planar2")).constrain("dq1*cos(q1) + dq2")


def test_a_wrong_solution_is_refused() -> None:
    arm = pp.derive(pp.load_robot("planar2"), names={"l1": "l", "l2": "l"})
    with pytest.raises(InvalidInput, match="not zero"):
        arm.constrain("sin(q1) + sin(q1+q2)", solve={"q2": "-q1"})
    with pytest.raises(UnknownName, match=r"coordinate.*solve"):
        arm.constrain("sin(q1) + sin(q1+q2)", solve={"q3": "-q1"})
    with pytest.raises(InvalidInput, match=r"no closed.*dependent"):
        _ = arm.constrain("sin(q1) + sin(q1+q2)").reduced


def test_constraints_that_depend_on_each_other_are_refused() -> None:
    arm = pp.derive(pp.load_robot("planar3"))
    with pytest.raises(InvalidInput, match=r"depend.*other"):
        arm.constrain(["q1 + q2", "2*q1 + 2*q2"])
    with pytest.raises(InvalidInput, match="between 1 and 2"):
        arm.constrain(["q1", "q2", "q3"])


# ---------------------------------------------------------------------- linearisation


def finite_state_matrix(robot: pp.Robot, q: np.ndarray, h: float = 1e-6) -> np.ndarray:
    n, tau = robot.nv, robot.gravity(q)

    def rate(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], robot.forward_dynamics(x[:n], x[n:], tau, losses=False)])

    x0 = np.concatenate([q, np.zeros(n)])
    return np.column_stack([(rate(x0 + h * e) - rate(x0 - h * e)) / (2 * h) for e in np.eye(2 * n)])


@pytest.mark.parametrize("name", ["planar2", "ur5e-3link", "ur5e"])
def test_the_linearisation_is_the_numeric_one(name: str) -> None:
    robot = pp.load_robot(name)
    q = np.linspace(0.2, 0.9, robot.nv)
    found = pp.derive(robot).linearise(q)
    A, B = found.numeric()
    np.testing.assert_allclose(A, finite_state_matrix(robot, q), atol=2e-5)  # differences of the engine's
    np.testing.assert_allclose(B[robot.nv :], np.linalg.inv(robot.mass_matrix(q)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.array(found.u, dtype=float).ravel() if name == "ur5e" else _numeric(found), robot.gravity(q), atol=1e-9
    )


def _numeric(found: Any) -> np.ndarray:
    values = {sp.Symbol(k): v for k, v in found.derivation.values.items()}
    return np.array(found.u.subs(values), dtype=float).ravel()


def test_a_linearisation_keeps_symbols() -> None:
    pendulum = pp.derive(pp.load_robot("pendulum"), names={"l1": "l", "m1": "m"})
    up = pendulum.linearise([sp.pi])
    assert up.state_matrix == sp.Matrix([[0, 1], [sp.sympify("g/l"), 0]])
    assert "Linearised about q1 = π" in str(up)


def test_a_point_that_nothing_holds_is_refused(cart: Derivation) -> None:
    with pytest.raises(InvalidInput, match=r"not an.*theta"):
        cart.linearise([0, 0.3])
    assert cart.linearise([0, 0]).eigenvalues()[0] == pytest.approx(np.sqrt(9.81 / 0.5 * 1.2), abs=1e-9)


def test_a_point_of_the_wrong_size_is_refused(cart: Derivation) -> None:
    with pytest.raises(BadShape, match="q must have 2 entries, got 1"):
        cart.linearise([0])


def test_a_free_base_is_not_linearised() -> None:
    with pytest.raises(InvalidInput, match="free base"):
        pp.derive(pp.load_robot("quadruped")).linearise([0] * 19)
