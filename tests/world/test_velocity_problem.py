"""Contacts, stops and joint friction in one velocity problem: conditions, witnesses, uniqueness, the engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
import pytest

import palpate as pp
from palpate.checks import Array
from palpate.world.rigid.problem import YIELD, VelocityProblem, loosen, prepare
from palpate.world.rigid.relaxed import relax
from palpate.world.rigid.solve import _from_shifted, solve_velocities

N, H = 7, 1e-3
FRICTION = np.array([1.137, 1.137, 1.137, 1.137, 0.763, 0.44, 0.248])  # N·m, of a FR3
KINDS = {"one contact": 1, "two contacts": 2, "all stuck": 1, "two contacts, all stuck": 2}


@dataclass
class Problem:
    """A problem as matrices: M v = b + Jᵀ p, contacts first, then joint friction."""

    M: Array
    b: Array
    J: Array
    aim: Array
    mu: Array
    rubs: Array  # joints
    bound: Array

    def record(self) -> VelocityProblem:
        contacts, m = len(self.mu), len(self.J)
        w = VelocityProblem({"N": N, "contacts": contacts, "rows": m})
        w.M[:], w.momentum[:], w.J[: 3 * contacts] = self.M, self.b, self.J[: 3 * contacts]
        w.aim[:], w.mu[:], w.bound[3 * contacts :] = self.aim, self.mu, self.bound
        w.dof[3 * contacts :], w.sign[3 * contacts :] = self.rubs, 1.0
        w.contacts, w.rubs, w.rows = contacts, len(self.rubs), m
        return w

    def error(self, p: Array, v: Array) -> float:
        """How far impulses and velocities are from every condition, m/s and rad/s."""
        u, A = self.J @ v - self.aim, self.J @ np.linalg.solve(self.M, self.J.T)
        off = [np.abs(np.linalg.solve(self.M, self.b + self.J.T @ p) - v).max()]
        for c, mu in enumerate(self.mu):
            n, t = 3 * c, slice(3 * c + 1, 3 * c + 3)
            off += [max(-u[n], 0.0), max(-p[n], 0.0) * A[n, n], min(abs(u[n]), abs(p[n]) * A[n, n])]
            inside, speed = mu * p[n] - np.linalg.norm(p[t]), np.linalg.norm(u[t])
            off += [max(-inside, 0.0) * A[n, n], min(max(inside, 0.0) * A[n, n], speed)]
            off += [np.linalg.norm(p[t] * speed + mu * p[n] * u[t]) * A[n, n]]  # against the slip
        for k, bound in enumerate(self.bound, start=3 * len(self.mu)):
            inside = bound - abs(p[k])
            off += [max(-inside, 0.0) * A[k, k], min(max(inside, 0.0) * A[k, k], abs(u[k])), max(p[k] * u[k], 0.0)]
        return max(off)


@cache
def postures() -> list[tuple[Array, Array]]:
    """Mass matrices and Jacobians of a Panda."""
    robot, rng = pp.load_robot("panda"), np.random.default_rng(1)
    lower, upper = robot.model.jnt_range.T
    return [(robot.mass_matrix(q), robot.jacobian(q)) for q in rng.uniform(lower, upper, size=(60, N))]


def drawn(kind: str, rng: np.random.Generator) -> Problem:
    """A random step: from rest within friction where everything is to stick, else from any motion under any load."""
    stuck, (M, J6) = "stuck" in kind, postures()[rng.integers(60)]
    F = FRICTION * rng.uniform(0.2, 2.0)
    load = rng.uniform(-0.9, 0.9, N) * F if stuck else rng.normal(size=N) * rng.choice([0.2, 2.0, 20.0])
    rubs = np.flatnonzero(rng.random(N) < (1.0 if stuck else rng.choice([0.0, 0.5, 1.0])))
    rows, aim, mu = [], [], []
    for c in range(KINDS[kind]):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        x, y, z = rng.normal(size=3) * (0.05 if c else 0.0)
        J = J6[:3] + np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]]) @ J6[3:]
        rows.append(axes @ J)
        mu.append(0.5 if stuck else rng.choice([0.0, 0.1, 0.3, 0.5]))
        gap = 0.0 if stuck else rng.choice([0.0, 0.0, 1e-4])
        aim += [-gap / H, 0.0, 0.0]
        force = np.array([1.0, *(rng.uniform(-0.3, 0.3, 2) if stuck else (0.0, 0.0))]) * rng.uniform(0.0, 30.0)
        load = load - rows[-1].T @ force
    v = np.zeros(N) if stuck else rng.normal(size=N) * rng.choice([0.0, 0.01, 0.3])
    J = np.vstack([*rows, np.eye(N)[rubs]])
    return Problem(M, M @ v + H * load, J, np.array([*aim, *np.zeros(len(rubs))]), np.array(mu), rubs, H * F[rubs])


@pytest.mark.parametrize("kind", KINDS)
def test_five_hundred_random_states_are_solved_from_nothing(kind: str) -> None:
    """2 000 in all, every condition to 1e-9, none left to the relaxed answer."""
    rng, worst = np.random.default_rng(7), 0.0
    for _ in range(500):
        problem = drawn(kind, rng)
        w = problem.record()
        assert solve_velocities(w)
        assert w.unsettled == 0
        worst = max(worst, problem.error(w.impulse, w.v))
        if "stuck" in kind:
            assert not w.v.any()  # to the last bit
    assert worst < 1e-9


def test_contacts_that_can_jam_are_solved_from_nothing() -> None:
    """Two contacts with friction of up to 1; three of these states had no answer without the shifted problems."""
    rng, worst = np.random.default_rng(7), 0.0
    for _ in range(2300):
        problem = drawn("two contacts", rng)
        problem.mu = rng.choice([0.0, 0.3, 0.6, 1.0], 2)
        w = problem.record()
        assert solve_velocities(w)
        assert w.unsettled == 0
        worst = max(worst, problem.error(w.impulse, w.v))
    assert worst < 1e-9


def test_rows_with_a_compliance_of_their_own_keep_it_where_aims_are_moved() -> None:
    """u_n + R p_n = 0 where a contact with R presses, as a stop does."""
    rng, pressed = np.random.default_rng(2), 0
    for _ in range(40):
        problem = drawn("two contacts", rng)
        w = problem.record()
        assert prepare(w)
        w.R[:6:3] = 0.05 * w.own[:6:3]
        loosen(w, YIELD)
        assert _from_shifted(w)
        A = problem.J @ np.linalg.solve(problem.M, problem.J.T)
        u = problem.J @ np.linalg.solve(problem.M, problem.b) - problem.aim + A @ w.impulse
        presses = w.impulse[:6:3] > 0.0
        assert np.abs((u + w.R * w.impulse)[:6:3][presses]).max(initial=0.0) < 1e-8
        pressed += presses.sum()
    assert pressed > 30


def projected_gradient(problem: Problem, turns: int = 60_000) -> Array:
    """Velocities by a slow method of its own: accelerated projected gradients on the impulses of the convex problem,
    whose normal velocities are shifted by μ |u_t| until Coulomb's law holds (de Saxcé)."""
    A, m = problem.J @ np.linalg.solve(problem.M, problem.J.T), len(problem.J)
    free = problem.J @ np.linalg.solve(problem.M, problem.b) - problem.aim
    step, shift, p = 1.0 / np.linalg.eigvalsh(A)[-1], np.zeros(m), np.zeros(m)
    contacts = len(problem.mu)
    for _ in range(200):
        z, t = p.copy(), 1.0
        for _ in range(turns):
            new = projected(z - step * (A @ z + free + shift), problem)
            restart = (z - new) @ (new - p) > 0.0
            t_new = 1.0 if restart else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            z = new if restart else new + (t - 1.0) / t_new * (new - p)
            done, p, t = np.abs(new - p).max() < 1e-17, new, t_new
            if done:
                break
        u, last = A @ p + free, shift.copy()
        for c in range(contacts):
            shift[3 * c] = problem.mu[c] * np.hypot(*u[3 * c + 1 : 3 * c + 3])
        if np.abs(shift - last).max() < 1e-13:
            break
    return np.linalg.solve(problem.M, problem.b + problem.J.T @ p)


def projected(p: Array, problem: Problem) -> Array:
    """The nearest impulses within the cones and the bounds of friction."""
    p = p.copy()
    for c, mu in enumerate(problem.mu):
        n, t = 3 * c, slice(3 * c + 1, 3 * c + 3)
        size = np.linalg.norm(p[t])
        if size <= mu * p[n]:
            continue
        if mu * size <= -p[n]:
            p[n : n + 3] = 0.0
            continue
        along = (p[n] + mu * size) / (1.0 + mu * mu)
        p[t] *= mu * along / size
        p[n] = along
    first = 3 * len(problem.mu)
    p[first:] = np.clip(p[first:], -problem.bound, problem.bound)
    return p


def test_velocities_are_those_of_another_method() -> None:
    rng, compared = np.random.default_rng(11), 0
    for _ in range(16):
        problem = drawn("one contact", rng)
        w = problem.record()
        solve_velocities(w)
        v = projected_gradient(problem)
        assert np.abs(w.v - v).max() < 1e-9 * (1.0 + np.abs(v).max())
        compared += w.impulse[0] > 0.0
    assert compared >= 6


def test_velocities_do_not_depend_on_the_impulses_before() -> None:
    """Impulses may: of all that hold, those nearest to the ones before, each weighed by its row's mobility."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        problem = drawn("all stuck", rng)
        cold, warm = problem.record(), problem.record()
        solve_velocities(cold)
        anchor = cold.impulse * (1.0 + 0.05 * rng.normal(size=cold.rows))
        warm.anchor[:] = anchor
        solve_velocities(warm)
        np.testing.assert_allclose(warm.v, cold.v, rtol=0.0, atol=1e-12)
        inside = np.abs(warm.impulse[3:]).max(initial=0.0) < problem.bound.min() and warm.mode[0] == 1
        if inside:
            A = problem.J @ np.linalg.solve(problem.M, problem.J.T)
            null = np.linalg.svd(problem.J.T)[2][N:]  # impulses that do nothing together
            assert np.abs(null @ (np.diag(A) * (warm.impulse - anchor))).max() < 1e-4 * np.abs(warm.impulse).max()


def test_a_problem_of_its_own_answer_is_answered_at_once() -> None:
    rng = np.random.default_rng(5)
    for kind in KINDS:
        problem = drawn(kind, rng)
        w = problem.record()
        solve_velocities(w)
        v, w.anchor[:], w.M[:], w.turns = w.v.copy(), w.impulse, problem.M, 0
        solve_velocities(w)
        assert w.turns <= 1
        np.testing.assert_allclose(w.v, v, rtol=0.0, atol=1e-12)


def test_what_contradicts_coulombs_law_gets_the_relaxed_answer() -> None:
    """A mass matrix that is none of a body is refused; any other problem has an answer."""
    problem = drawn("one contact", np.random.default_rng(0))
    w = problem.record()
    w.M[:] = -np.eye(N)
    assert not solve_velocities(w)


def scene(rng: np.random.Generator) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A Panda with dry friction, at stops, one or two spheres in a floor, under the engine's exact solver."""
    spec = pp.load_robot("panda").spec()
    option = spec.option
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, float(rng.choice([1, 10, 3000]))
    option.tolerance, option.iterations, option.ls_tolerance, option.ls_iterations = 0.0, 1000, 1e-12, 500
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for joint in spec.joints:
        joint.frictionloss, joint.damping = rng.uniform(0.1, 3.0) * (rng.random() < 0.7), np.zeros(3)
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1], pos=[0, 0, 0.1])
    mu, hand = rng.choice([0.1, 0.5, 1.0]), spec.bodies[-1]
    for c in range(2):
        at, size = rng.normal(size=3) * 0.05 + [0, 0, 0.1], [0.02, 0, 0]
        hand.add_geom(name=f"ball{c}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=size, pos=at, mass=0)
        spec.add_pair(geomname1=f"ball{c}", geomname2="floor", condim=3, friction=[mu, mu, 0, 0, 0])
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    model = spec.compile()
    data = mujoco.MjData(model)
    lower, upper = model.jnt_range.T
    data.qpos[:] = rng.uniform(lower, upper)
    joint = rng.integers(N)
    data.qpos[joint] = rng.choice([data.qpos[joint], lower[joint] - 1e-3, upper[joint] + 1e-3])
    data.qvel[:] = rng.normal(size=N) * rng.choice([0.0, 0.01, 0.5])
    mujoco.mj_kinematics(model, data)
    heights = sorted(data.geom(f"ball{c}").xpos[2] for c in range(2))
    model.geom("floor").pos[2] = heights[rng.integers(2)] - 0.02 + rng.uniform(0.0, 1e-3)
    data.qfrc_applied[:] = rng.normal(size=N) * rng.choice([1.0, 20.0])
    mujoco.mj_forward(model, data)
    return model, data


def engine_rows(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, list[int], list[int], list[int]]:
    """The engine's Jacobian, and which rows are contacts, stops and joint friction."""
    J, kinds = np.zeros((data.nefc, N)), np.array(data.efc_type)
    if mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        J[:] = data.efc_J.reshape(data.nefc, N)
    names = mujoco.mjtConstraint
    of = [names.mjCNSTR_CONTACT_ELLIPTIC, names.mjCNSTR_LIMIT_JOINT, names.mjCNSTR_FRICTION_DOF]
    contacts, stops, rubs = ([int(r) for r in np.flatnonzero(kinds == int(kind))] for kind in of)
    assert len(contacts) + len(stops) + len(rubs) == data.nefc
    return J, contacts, stops, rubs


def test_with_the_engines_impedance_the_relaxed_problem_is_the_engines() -> None:
    """R and aref of the engine, elliptic cones: its accelerations to 1e-8 in 100 random states."""
    rng, seen, worst = np.random.default_rng(3), [0, 0, 0], 0.0
    for _ in range(100):
        model, data = scene(rng)
        J, contacts, stops, rubs = engine_rows(model, data)
        order, M = [*contacts, *stops, *rubs], np.zeros((N, N))
        mujoco.mj_fullM(model, data, M)
        w = VelocityProblem({"N": N, "contacts": 2, "rows": 6 + 3 * N})
        m = w.rows = len(order)
        w.M[:], w.momentum[:], w.J[: len(contacts)] = M, data.qfrc_smooth, J[contacts]
        w.contacts, w.stops, w.rubs = len(contacts) // 3, len(stops), len(rubs)
        w.aim[:m], w.R[:m], w.bound[:m] = data.efc_aref[order], data.efc_R[order], data.efc_frictionloss[order]
        w.mu[: w.contacts] = data.contact.friction[: w.contacts, 0]
        for r in range(len(contacts), m):
            w.dof[r] = int(np.abs(J[order[r]]).argmax())
            w.sign[r] = J[order[r], w.dof[r]]
        assert prepare(w)
        loosen(w, 0.0)
        assert relax(w)
        a = np.linalg.solve(M, data.qfrc_smooth + J[order].T @ w.impulse[:m])
        worst = max(worst, np.abs(a - data.qacc).max() / np.abs(data.qacc).max())
        seen = [k + (n > 0) for k, n in zip(seen, (w.contacts == 2, w.contacts, w.stops))]
    assert worst < 1e-8
    assert min(seen) >= 20
