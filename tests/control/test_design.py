"""Gain design held to closed forms, to the eigenvalues of the loops it promises, and to simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, sqrtm
from scipy.optimize import brentq
from tests.one_axis import largest, one_axis_poles

import palpate as pp
from palpate.control import design
from palpate.control.law import PythonLaw
from palpate.control.laws.joint_impedance import JointImpedance
from palpate.errors import BadShape, InvalidInput, NoSolution, NotFinite
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Driver, Surface, World


def second_order_poles(M, D, K):
    n = len(M)
    inverse = np.linalg.inv(M)
    return np.linalg.eigvals(np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ D]]))


def random_spd(rng, n, spread=1.0):
    A = rng.normal(size=(n, n))
    return A @ A.T + spread * np.eye(n)


# ------------------------------------------------------------------ springs and dampers


def test_the_documents_admittance_gains_follow_from_force_and_displacement():
    found = design.stiffness_from_force(1.0, 0.1, 5.0)
    assert found.stiffness == pytest.approx(10.0, rel=1e-15)
    assert found.damping == pytest.approx(math.sqrt(200), rel=1e-15)  # document 004 prints 14.142


@pytest.mark.parametrize("ratio", [0.3, 0.7, 0.999])
def test_the_chosen_ratio_is_the_ratio_of_the_poles(ratio):
    found = design.stiffness_from_force([20.0, 5.0], [0.02, 0.05], [3.0, 7.0], ratio=ratio)
    for m, b, k in zip([3.0, 7.0], found.damping, found.stiffness):
        poles = np.roots([m, b, k])
        assert -poles.real / np.abs(poles) == pytest.approx(ratio, rel=1e-12)


def test_coincident_poles_of_document_001():
    found = design.coincident_poles([5.0, 2.0], 7.0)
    assert found.damping == pytest.approx([70, 28])
    assert found.stiffness == pytest.approx([245, 98])


def test_coincident_poles_of_a_full_mass_matrix():
    M = random_spd(np.random.default_rng(1), 4)
    found = design.coincident_poles(M, 3.0)
    poly = np.poly(second_order_poles(M, found.damping, found.stiffness))
    assert poly == pytest.approx(np.poly([-3.0] * 8), rel=1e-9)


def test_the_settling_time_in_the_account_of_coincident_poles_is_true():
    time = 5.8339 / 7.0
    assert (1 + 7 * time) * math.exp(-7 * time) == pytest.approx(0.02, rel=1e-4)


def test_force_gain_gives_the_settling_time_of_document_002():
    assert design.force_gain_from_settling(math.log(50) / 10).gain == pytest.approx(10.0, rel=1e-15)
    assert math.exp(-design.force_gain_from_settling(0.7, band=0.05).gain * 0.7) == pytest.approx(0.05)


@pytest.mark.parametrize("bad", [-1.0, 0.0, [1.0, -2.0]])
def test_gains_that_are_not_positive_are_refused(bad):
    with pytest.raises(InvalidInput, match="must be positive"):
        design.stiffness_from_force(bad, 1.0, 1.0)


def test_nan_and_misshapen_design_inputs_are_refused():
    with pytest.raises(NotFinite, match="mass"):
        design.stiffness_from_force(1.0, 1.0, math.nan)
    with pytest.raises(BadShape, match="one entry each"):
        design.stiffness_from_force([1.0, 2.0], [1.0, 2.0, 3.0], 1.0)
    with pytest.raises(InvalidInput, match="symmetric"):
        design.damping_from_inertia([[1.0, 0.5], [0.0, 1.0]], np.eye(2))
    with pytest.raises(InvalidInput, match="least eigenvalue"):
        design.damping_from_inertia(np.diag([1.0, -1.0]), np.eye(2))
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        design.force_gain_from_settling(1.0, band=2.0)


# ------------------------------------------------------------------ damping from the real inertia


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ratio", [0.4, 0.8])
def test_every_mode_gets_the_chosen_damping_ratio(seed, ratio):
    rng = np.random.default_rng(seed)
    K, L = random_spd(rng, 6, 100.0), random_spd(rng, 6)
    found = design.damping_from_inertia(K, L, ratio=ratio)
    poles = second_order_poles(L, found.damping, K)
    assert -poles.real / np.abs(poles) == pytest.approx(ratio, rel=1e-7)
    assert np.sort(np.abs(poles))[::2] == pytest.approx(found.frequencies, rel=1e-9)


def test_double_diagonalisation_is_the_weighted_square_root():
    rng = np.random.default_rng(3)
    K, L = random_spd(rng, 6, 10.0), random_spd(rng, 6)
    root = np.real(sqrtm(L))
    inverse = np.linalg.inv(root)
    expected = 2 * root @ np.real(sqrtm(inverse @ K @ inverse)) @ root
    assert design.damping_from_inertia(K, L).damping == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_two_root_k_is_right_for_unit_inertia_only():
    K = np.diag([400.0, 900.0])
    assert design.damping_from_inertia(K, np.eye(2)).naive_ratios == pytest.approx([1.0, 1.0])
    assert design.damping_from_inertia(K, 4 * np.eye(2)).naive_ratios == pytest.approx([0.5, 0.5])


def test_pandas_real_inertia_makes_two_root_k_visibly_wrong():
    robot = pp.load_robot("panda")
    K = np.diag([400.0, 400.0, 400.0, 20.0, 20.0, 20.0])
    found = design.damping_from_inertia(K, robot.task_inertia(robot.home), ratio=0.7)
    poles = second_order_poles(robot.task_inertia(robot.home), found.damping, K)
    assert -poles.real / np.abs(poles) == pytest.approx(0.7, rel=1e-6)
    assert found.naive_ratios.min() < 0.6
    assert found.naive_ratios.max() > 1.4
    assert "unit inertia" in found.account


def test_one_damping_for_a_workspace_holds_the_ratio_at_its_worst_posture():
    robot = pp.load_robot("panda")
    rng = np.random.default_rng(0)
    postures = [robot.home + 0.3 * rng.uniform(-1, 1, 7) for _ in range(20)]
    K = np.diag([400.0, 400.0, 400.0, 20.0, 20.0, 20.0])
    found = design.damping_over_workspace(robot, K, postures, ratio=0.7)
    ratios = []
    for q in postures:
        L = robot.task_inertia(q)
        poles = second_order_poles(L, found.damping, K)
        assert (poles.real < 0).all()
        V = np.linalg.inv(np.linalg.cholesky(L)).T
        kappa, U = np.linalg.eigh(V.T @ K @ V)
        modes = V @ U
        ratios += list(np.diag(modes.T @ found.damping @ modes) / (2 * np.sqrt(kappa)))
    assert min(ratios) == pytest.approx(0.7, rel=1e-9)
    assert max(ratios) == pytest.approx(found.greatest_ratio, rel=1e-9)
    assert found.greatest_ratio / found.least_ratio < found.naive_greatest_ratio / found.naive_least_ratio
    with pytest.raises(InvalidInput, match="at least one"):
        design.damping_over_workspace(robot, K, [])


def test_directions_that_cannot_move_get_no_damping_and_the_others_their_ratio():
    """A mobility of rank 2 in 3 directions: a mode is a direction of the range, with its own inertia."""
    rng = np.random.default_rng(4)
    half = rng.normal(size=(3, 2))
    stuck = np.cross(half[:, 0], half[:, 1])
    K = random_spd(rng, 3, 20.0)
    D = design.damping_by_ratio(K, half @ half.T, 0.6)
    assert stuck @ D @ stuck == pytest.approx(0.0, abs=1e-12)
    # x = half y moves with kinetic energy ½ |ẏ|², so that y has unit inertia.
    poles = second_order_poles(np.eye(2), half.T @ D @ half, half.T @ K @ half)
    assert -poles.real / np.abs(poles) == pytest.approx(0.6, rel=1e-7)


def test_directions_without_a_spring_get_no_damping():
    D = design.damping_by_ratio(np.diag([100.0, 0.0]), np.diag([0.25, 0.5]), 0.7)
    assert pytest.approx(np.diag([2 * 0.7 * math.sqrt(100.0 * 4.0), 0.0]), abs=1e-9) == D


def test_a_rigid_arm_gets_no_damping_and_a_regular_one_that_of_its_inertia():
    assert design.damping_by_ratio(np.eye(6), np.zeros((6, 6))) == pytest.approx(np.zeros((6, 6)))
    rng = np.random.default_rng(8)
    K, L = random_spd(rng, 6, 50.0), random_spd(rng, 6)
    both = design.damping_from_inertia(K, L, ratio=0.8).damping
    assert design.damping_by_ratio(K, np.linalg.inv(L), 0.8) == pytest.approx(both, rel=1e-9)


# ------------------------------------------------------------------ LQR


def test_lqr_gains_of_the_pole_in_document_000():
    # Per horizontal axis on (v, x, ẋ): v̇ = (f + m_s g x)/m_e …, l = 1, m_s = 0.1, m_e = 1.
    g, ms, me = 9.81, 0.1, 1.0
    A = np.array([[0, -ms * g / me, 0], [0, 0, 1], [0, (1 + ms / me) * g, 0]])
    B = np.array([[1 / me], [0], [-1 / me]])
    found = design.lqr(A, B, np.eye(3), np.eye(1))
    assert found.gain[0] == pytest.approx([-1, -27.693529808075, -8.575424715232], rel=1e-11)
    assert (np.real(found.poles) < 0).all()


def test_sampled_lqr_tends_to_the_continuous_one():
    A, B, Q, R = np.array([[0.0, 1], [2, 0]]), np.array([[0.0], [1]]), np.eye(2), np.eye(1)
    T = 1e-4
    fine = design.lqr(A, B, Q * T, R * T, period=T)
    assert fine.gain == pytest.approx(design.lqr(A, B, Q, R).gain, rel=1e-3)
    assert (np.abs(fine.poles) < 1).all()


def test_lqr_cost_is_the_least_cost():
    A, B = np.array([[0.0, 1], [0, 0]]), np.array([[0.0], [1]])
    found = design.lqr(A, B, np.eye(2), np.eye(1))
    P = found.cost
    assert A.T @ P + P @ A - P @ B @ B.T @ P + np.eye(2) == pytest.approx(np.zeros((2, 2)), abs=1e-12)


def test_lqr_refuses_what_it_cannot_stabilise():
    with pytest.raises(NoSolution, match="stabilis"):
        design.lqr(np.diag([1.0, -1.0]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1))
    with pytest.raises(InvalidInput, match=r"R.*positive definite"):
        design.lqr(np.eye(2), np.eye(2), np.eye(2), np.zeros((2, 2)))


# ------------------------------------------------------------------ contact


def march(m, k, d, kw, bw, T, delay, ticks, parts=20):
    """The same loop advanced by brute force in small exact steps: x at the ticks."""
    h = T / parts
    A = np.array([[0, 1, 0], [-kw / m, -bw / m, 1 / m], [0, 0, 0]])
    E = expm(A * h)
    shift = round(delay / h)
    state, commands, xs = np.array([1e-3, 0.0]), [], []
    for step in range(ticks * parts):
        if step % parts == 0:
            commands.append(-k * state[0] - d * state[1])
            xs.append(state[0])
        late = step - shift
        u = commands[late // parts] if late >= 0 else 0.0
        state = (E @ np.array([*state, u]))[:2]
    return np.array(xs)


@pytest.mark.parametrize("delay", [0, 1, 2])
def test_contact_poles_describe_the_marched_loop(delay):
    """The marched samples satisfy the characteristic polynomial of the closed form that loops are held to."""
    m, k, d, kw, bw, T = 5.0, 400.0, 40.0, 3000.0, 10.0, 2e-3
    poles = one_axis_poles(m, k, d, wall=kw, wall_damping=bw, period=T, delay=delay)
    xs = march(m, k, d, kw, bw, T, delay * T, 60)
    polynomial = np.poly(poles).real
    size = len(polynomial)
    residual = [polynomial @ xs[i : i + size][::-1] for i in range(10, 40)]
    assert np.abs(residual).max() < 1e-12


# ------------------------------------------------------------------ the predicted boundary, simulated

MASS, WALL, PERIOD, DELAY = 5.0, 5e3, 4e-3, 2
TIP, DEPTH = 0.01, 0.004  # radius of the tip, m, and how deep it rests in the wall, so that contact lasts


def growth(law, duration=2.0):
    """How the deflection's swing in the last fifth of a run compares with that of its second fifth."""
    robot = pp.load_robot("cartesian2", mass=(3.0, 2.0), gravity=0.0)
    wall = Surface(normal=(-1.0, 0.0, 0.0), position=(0.0, 0.0, 0.0), stiffness=WALL, damping=0.0)
    world = World(surfaces=(wall,), driver=Driver(delay=DELAY, torque_limit=False))
    start = np.array([0.003 - TIP, 0.0])
    trace = simulate(
        Run(
            robot,
            law,
            world,
            clock=Clock(duration=duration, timestep=2.5e-4, period=PERIOD, integrator="rk4"),
            q_start=start,
        )
    )
    x = trace["q"][:, 0]
    fifth = len(x) // 5
    return np.ptp(x[-fifth:]) / np.ptp(x[fifth : 2 * fifth])


def boundary(law_of, guess):
    """Bisect for the value whose swing neither grows nor shrinks."""
    low, high = 0.5 * guess, 1.6 * guess
    assert growth(law_of(low)) < 1 < growth(law_of(high))
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if growth(law_of(middle)) < 1 else (low, middle)
    return (low + high) / 2


def test_the_predicted_largest_stiffness_is_where_the_simulation_starts_to_ring():
    damping = 150.0

    loop = {"wall": WALL, "period": PERIOD, "delay": DELAY}
    predicted: Any = brentq(lambda k: largest(MASS, k, damping, **loop) - 1.0, 10.0, 1e5)

    def law(k):
        def function(x, gains, memory):
            along = -k * (x.q[0] - (DEPTH - TIP)) - damping * x.v[0] + WALL * DEPTH
            return {"torque": np.array([along, -100.0 * x.q[1] - 20.0 * x.v[1]])}

        return PythonLaw(function)

    assert boundary(law, predicted) == pytest.approx(predicted, rel=0.1)


def test_joint_impedance_below_the_predicted_limit_settles_in_simulation():
    assert growth(JointImpedance(stiffness=(500.0, 100.0), damping=(150.0, 20.0)), 1.0) < 0.5


def test_the_predicted_largest_force_gain_is_where_the_simulation_starts_to_ring():
    damping, push = 150.0, WALL * DEPTH

    loop = {"wall": WALL, "period": PERIOD, "delay": DELAY}
    predicted: Any = brentq(lambda k: largest(MASS, 0.0, damping, integral=k, **loop) - 1.0, 0.1, 100.0)

    def law(k):
        def function(x, gains, memory):
            memory[0] += k * x.dt * (push + x.wrench[0])  # the wall pushes back along −x
            return {"torque": np.array([push + memory[0] - damping * x.v[0], -100.0 * x.q[1] - 20.0 * x.v[1]])}

        return PythonLaw(function, memory=np.zeros(1))

    assert boundary(law, predicted) == pytest.approx(predicted, rel=0.1)
