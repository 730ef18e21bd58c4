"""Impacts: Routh's path, three laws of restitution, energy that never rises, several contacts at once."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import solve_ivp

import palpate as pp
from palpate.errors import EnergyCreated, InvalidInput, UnknownName
from palpate.tools.contact import Plane, Ride

DEGREE = np.pi / 180
EXAMPLES = int(os.environ.get("PALPATE_IMPACTS", "15"))  # `make impacts` tries 500


@pytest.fixture(scope="session")
def panda() -> pp.Robot:
    return pp.load_robot("panda", joints="ideal")


def kane(bodies):
    """Kane's double pendulum: rods at 20° and 30° from the vertical, rates −0.1 and −0.2 rad/s, tip on a floor."""
    robot, q, v = bodies.pendulums(2), np.array([20.0, 10.0]) * DEGREE, np.array([-0.1, -0.1])
    return robot, q, v, pp.contact.Contact(Plane(robot.pose(q).position), name="floor")


def routh_by_hand(robot, q, v, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Kane's impact with the slip's stop and reversal written out: W, u⁻, both slips' directions, impulses.

    The first slip lasts through compression (to impulse `compressed`) and ends during release (at `stop`).
    """
    J, M = robot.jacobian(q)[[2, 0]], robot.mass_matrix(q)
    W, u = J @ np.linalg.solve(M, J.T), J @ v
    first, second = np.array([1.0, -mu * np.sign(u[1])]), np.array([1.0, mu * np.sign(u[1])])
    compressed, stop = -u[0] / (W @ first)[0], -u[1] / (W @ first)[1]
    assert compressed < stop
    assert abs(W[1, 0] / W[1, 1]) > mu  # friction cannot hold the stopped tip, so its slip reverses
    return W, u, first, second, compressed, stop


def test_kanes_double_pendulum_by_poissons_law(bodies) -> None:
    robot, q, v, floor = kane(bodies)
    found = pp.contact.impact(robot, q, v, [floor], 0.5, 0.5, "poisson")
    _, _, first, second, compressed, stop = routh_by_hand(robot, q, v, 0.5)
    assert stop < 1.5 * compressed
    P = stop * first + (1.5 * compressed - stop) * second
    M = robot.mass_matrix(q)
    after = v + np.linalg.solve(M, robot.jacobian(q)[[2, 0]].T @ P)
    assert found.velocity == pytest.approx(after, abs=1e-12)
    assert found.energy_before == pytest.approx(0.0231814108635, abs=1e-12)
    assert found.energy_after == pytest.approx(0.5 * after @ M @ after, abs=1e-14)
    assert found.energy_after == pytest.approx(0.0126356767649, abs=1e-12)
    assert [word for _, word in found.phases] == ["slip +", "slip −"]


def test_kanes_double_pendulum_by_stronges_law(bodies) -> None:
    """The work the normal impulse gives back is e² of what compression took."""
    robot, q, v, floor = kane(bodies)
    found = pp.contact.impact(robot, q, v, [floor], 0.5, 0.5, "stronge")
    assert found.energy_after == pytest.approx(0.0128236779688, abs=1e-12)
    W, u, first, _, compressed, stop = routh_by_hand(robot, q, v, 0.5)
    taken = -0.5 * u[0] * compressed
    u_stop, u_end = (u + stop * W @ first)[0], (robot.jacobian(q)[2] @ found.velocity)
    given_back = 0.5 * u_stop * (stop - compressed) + 0.5 * (u_stop + u_end) * (found.normal_impulses[0] - stop)
    assert given_back == pytest.approx(0.25 * taken, rel=1e-11)


def test_kanes_double_pendulum_shows_that_newtons_law_creates_energy(bodies) -> None:
    robot, q, v, floor = kane(bodies)
    with pytest.raises(EnergyCreated, match="newton") as caught:
        pp.contact.impact(robot, q, v, [floor], 0.5, 0.5, "newton")
    assert caught.value.before == pytest.approx(0.0231814108635, abs=1e-12)
    assert caught.value.after == pytest.approx(0.0368003666, abs=1e-9)
    assert caught.value.after > 1.5 * caught.value.before


@pytest.mark.parametrize("law", ["poisson", "stronge", "newton"])
def test_without_friction_all_laws_agree(bodies, law) -> None:
    robot, q, v, floor = kane(bodies)
    found = pp.contact.impact(robot, q, v, [floor], 0.5, 0.0, law)
    row = robot.jacobian(q)[2]
    inertia = 1 / (row @ np.linalg.solve(robot.mass_matrix(q), row))
    assert row @ found.velocity == pytest.approx(-0.5 * row @ v, rel=1e-12)
    assert found.dissipated == pytest.approx(0.5 * 0.75 * inertia * (row @ v) ** 2, rel=1e-12)


def test_two_ends_at_once_rebound_with_e_each(bodies) -> None:
    """u⁺ = −e u⁻ for all, ΔT = −½ (1 − e²) u_nᵀ Λ u_n, for a rod that falls flat while turning a little."""
    robot, e = bodies.rod(), 0.6
    ends = [pp.contact.Contact(Plane(), frame=name) for name in "ab"]
    found = pp.contact.impact(robot, [0, 0, 0], [0.3, -2.0, 0.5], ends, e, 0.0)
    before, J = np.array([-2.25, -1.75]), np.array([[0, 1, -0.5], [0, 1, 0.5]])
    assert J @ found.velocity == pytest.approx(-e * before, rel=1e-12)
    inertia = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix([0, 0, 0]), J.T))
    assert found.dissipated == pytest.approx(0.5 * (1 - e**2) * before @ inertia @ before, abs=1e-12)


def test_a_block_that_lands_flat_without_rebound_stays_flat_although_it_slides(bodies) -> None:
    robot = bodies.block(1.0, 0.4)
    corners = [pp.contact.Contact(Plane(), frame=name, friction=0.3) for name in ("left", "right")]
    found = pp.contact.impact(robot, [0, 0.2, 0], [3.0, -1.0, 0.0], corners)
    assert found.velocity == pytest.approx([3.0 - 0.3, 0.0, 0.0], abs=1e-12)
    assert found.normal_impulses.sum() == pytest.approx(1.0)
    assert found.normal_impulses[1] > found.normal_impulses[0] > 0


def test_housners_block_turns_on_with_the_known_ratio(bodies) -> None:
    """Conserved angular momentum about the new corner: ω⁺/ω⁻ = 1 − (3/2) sin²α."""
    width, height = 0.2, 0.8
    robot, alpha = bodies.block(width, height), np.arctan(0.2 / 0.8)
    corners = [pp.contact.Contact(Plane(), frame=name, friction=5.0) for name in ("left", "right")]
    w = -1.0
    v = [-w * height / 2, w * width / 2, w]  # turning about the left corner, the right one comes down
    found = pp.contact.impact(robot, [0, height / 2, 0], v, corners)
    assert found.velocity[2] / w == pytest.approx(1 - 1.5 * np.sin(alpha) ** 2, rel=1e-12)
    assert found.normal_impulses[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("mu", "sticks"), [(0.03, False), (0.8, True)])
def test_a_ball_that_strikes_obliquely_slips_or_grips(bodies, mu: float, sticks: bool) -> None:
    """Slip slows by 7/2 μ per normal impulse: it grips if 7/2 μ (1 + e) v_n exceeds it, leaving v − 2/7 u."""
    robot, r, e = bodies.ball(), 0.1, 0.5
    v = np.array([1.0, -0.4, -2.0, 3.0, 5.0, -1.0])
    slip = np.array([v[0] - r * v[4], v[1] + r * v[3]])
    floor = pp.contact.Contact(Plane(), radius=r, friction=mu, restitution=e)
    found = pp.contact.impact(robot, [0, 0, r, 1, 0, 0, 0], v, [floor])
    change = -2 / 7 * slip if sticks else -mu * (1 + e) * 2.0 * slip / np.linalg.norm(slip)
    assert found.velocity[:2] == pytest.approx(v[:2] + change, abs=1e-11)
    assert found.velocity[2] == pytest.approx(1.0, rel=1e-12)
    spin = np.array([-change[1], change[0]]) * -2.5 / r
    assert found.velocity[3:5] == pytest.approx(v[3:5] + spin, abs=1e-9)


def test_a_turning_slip_follows_kellers_equation(panda) -> None:
    """du/dP = W (n − μ u_t/|u_t|) of a Panda's tip, integrated here by other means; less friction than stops it."""
    robot = panda
    q, v, mu, e = robot.home, np.array([-0.3, 0.6, -0.4, -0.9, 0.2, -0.5, -0.1]), 0.1, 0.7
    J = robot.jacobian(q)[:3]
    W, u = J @ np.linalg.solve(robot.mass_matrix(q), J.T), J @ v
    assert u[2] < -0.1

    def keller(_: float, x):
        return W @ np.array([*(-mu * x[:2] / np.linalg.norm(x[:2])), 1.0])

    def closed(_: float, x):
        return x[2]

    closed.terminal, closed.direction = True, 1.0  # type: ignore[attr-defined]
    down = solve_ivp(keller, (0, 10), u, method="DOP853", rtol=1e-12, atol=1e-13, events=closed)
    Pc = down.t[-1]
    up = solve_ivp(keller, (0, e * Pc), down.y[:, -1], method="DOP853", rtol=1e-12, atol=1e-13)
    found = pp.contact.impact(robot, q, v, [pp.contact.Contact(Plane(robot.pose(q).position))], e, mu)
    assert np.linalg.norm(up.y[:2, -1]) > 0.01  # it never stopped slipping
    assert J @ found.velocity == pytest.approx(up.y[:, -1], abs=1e-8)
    assert found.normal_impulses[0] == pytest.approx((1 + e) * Pc, rel=1e-8)
    turned = np.cross([*u[:2], 0], [*up.y[:2, -1], 0])[2]
    assert abs(turned) > 1e-3  # the direction did change


@given(
    st.integers(0, 10**6),
    st.floats(0, 2),
    st.floats(0, 1),
    st.sampled_from(["poisson", "stronge"]),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_kinetic_energy_never_rises_and_coulombs_cone_holds(panda, seed: int, mu: float, e: float, law) -> None:
    robot, random = panda, np.random.default_rng(seed)
    q = robot.home + 0.5 * random.uniform(-1, 1, 7)
    v, n = random.normal(size=7), random.normal(size=3)
    n /= np.linalg.norm(n) * (1 if n @ robot.jacobian(q)[:3] @ v < 0 else -1)
    found = pp.contact.impact(robot, q, v, [pp.contact.Contact(Plane(robot.pose(q).position, n))], e, mu, law)
    assert found.energy_after <= found.energy_before * (1 + 1e-12)
    assert found.energy_before - found.energy_after == pytest.approx(found.dissipated, abs=1e-10)
    assert n @ robot.jacobian(q)[:3] @ found.velocity >= -1e-9
    normal = float(n @ found.impulses[0])
    assert np.linalg.norm(found.impulses[0] - normal * n) <= mu * normal * (1 + 1e-9) + 1e-12


def test_a_wall_that_comes_along_gives_energy_without_creating_any(bodies) -> None:
    robot, V, e = bodies.point("x"), 2.0, 0.5
    wall = pp.contact.Contact(Plane(normal=(1, 0, 0)), restitution=e, ride=Ride(velocity=(V, 0, 0)))
    found = pp.contact.impact(robot, [0.0], [-1.0], [wall])
    assert found.velocity == pytest.approx([V - e * (-1.0 - V)])
    assert found.energy_after > found.energy_before
    assert found.dissipated == pytest.approx(0.5 * (1 - e**2) * 9.0)


def test_contacts_at_rest_answer_without_rebound(bodies) -> None:
    """Newton's cradle has no place here: a struck rod's other end, pinned, stays where it is."""
    robot = bodies.rod()
    ends = [pp.contact.Contact(Plane(), frame="b", restitution=0.5), pp.contact.Pin(frame="a")]
    found = pp.contact.impact(robot, [0, 0, 0], [0, -0.5, -1.0], ends)
    assert found.velocity == pytest.approx([0, 0.25, 0.5], abs=1e-12)


def test_a_joint_stop_is_struck_like_a_wall(bodies) -> None:
    robot = bodies.pendulums(2)
    stop = pp.contact.JointStop("j2", 0.4, "upper", restitution=0.5)
    q, v = [0.1, 0.4], np.array([0.2, 1.0])
    found = pp.contact.impact(robot, q, v, [stop])
    assert found.velocity[1] == pytest.approx(-0.5)
    M = robot.mass_matrix(q)
    momentum = M @ (found.velocity - v)
    assert momentum[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((1.2, 0.0), InvalidInput, "restitution.*0 and 1, got 1.2"),
        ((-0.1, 0.0), InvalidInput, "restitution.*least 0"),
        ((0.5, -0.3), InvalidInput, "friction.*least 0"),
        ((float("nan"), 0.0), InvalidInput, "restitution.*finite"),
        ((0.5, 0.5, "hertz"), UnknownName, "unknown impact law 'hertz'"),
    ],
)
def test_bad_laws_are_refused(bodies, arguments, error, words: str) -> None:
    robot, q, v, floor = kane(bodies)
    with pytest.raises(error, match=words):
        pp.contact.impact(robot, q, v, [floor], *arguments)


def test_stronges_law_gives_back_e_squared_of_the_work_where_the_slip_turns(bodies) -> None:
    """Routh's du/dP = G (n − μ u_t/|u_t|), dW/dP = u_n of an eccentric blow by SciPy: W ends at (1 − e²) W_c."""
    mass, inertia, friction, e = 1.0, 0.004, 0.2, 0.6
    r, v, w = np.array([0.04, 0.03, -0.08]), np.array([1.0, 0.4, -1.5]), np.array([2.0, -1.0, 3.0])
    G = np.eye(3) / mass + (r @ r * np.eye(3) - np.outer(r, r)) / inertia

    def growth(_: float, y: np.ndarray) -> np.ndarray:
        slip = y[:2] / np.linalg.norm(y[:2])
        return np.append(G @ np.array([*(-friction * slip), 1.0]), y[2])

    def phase(start: np.ndarray, end) -> np.ndarray:
        end.terminal = True
        return solve_ivp(growth, (0, 10), start, events=end, rtol=1e-12, atol=1e-14).y_events[0][0]

    before = v + np.cross(w, r)
    pressed = phase(np.append(before, 0.0), lambda _, y: y[2])
    after = phase(pressed, lambda _, y: y[3] - (1 - e**2) * pressed[3])[:3]
    touch = pp.contact.Contact(Plane(), offset=r, friction=friction, restitution=e, law="stronge")
    hit = pp.contact.impact(bodies.ball(mass), [0, 0, 0.08, 1, 0, 0, 0], [*v, *w], [touch])
    assert hit.velocity[:3] + np.cross(hit.velocity[3:], r) == pytest.approx(after, abs=1e-9)
    turned = before[0] * after[1] - before[1] * after[0]
    assert abs(turned) > 0.01 * np.linalg.norm(before[:2]) * np.linalg.norm(after[:2])
