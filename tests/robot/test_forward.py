"""Accelerations with joint friction by compiled equations, held to the engine and to the law of friction itself."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.errors import BadShape, InvalidInput, NotFinite
from palpate.robot.forward import engine_accelerations

ARMS = {name: pp.load_robot(name) for name in ("panda", "ur5e", "iiwa14", "planar2", "pendulum")}
# Damping and friction of a machine with a free base; springs, which the equations do not hold.
FLOATING = """<mujoco><worldbody><body><freejoint/><geom size="0.2" mass="3"/>
  <body pos="0.3 0 0"><joint name="a" type="hinge" axis="0 1 0" frictionloss="0.4" damping="0.2"/>
    <geom size="0.05" pos="0.2 0 0" mass="1"/>
    <body pos="0.3 0 0"><joint name="b" type="slide" axis="1 0 0" frictionloss="2"/><geom size="0.05" mass="1"/></body>
  </body></body></worldbody></mujoco>"""
SPRING = """<mujoco><worldbody><body><joint name="a" axis="0 1 0" stiffness="5" frictionloss="0.1"/>
  <geom size="0.05" pos="0.2 0 0" mass="1"/></body></worldbody></mujoco>"""


def _states(robot, rng, count):
    """Fast, slow and standing joints under torques from far below to far above their friction."""
    for k in range(count):
        q = robot.home + rng.uniform(-1.5, 1.5, robot.nq) * (robot.nq == robot.nv)
        v = rng.normal(size=robot.nv) * 10 ** rng.uniform(-7, 0.5) * (rng.random(robot.nv) < (1, 0.5, 0)[k % 3])
        yield q, v, robot.gravity(q) + rng.normal(size=robot.nv) * 10 ** rng.uniform(-3, 2)


@pytest.mark.parametrize("name", [*ARMS, "floating"])
def test_accelerations_are_the_engines(name):
    robot, rng = ARMS.get(name) or pp.Robot.from_mjcf_text(FLOATING), np.random.default_rng(1)
    for q, v, tau in _states(robot, rng, 400):
        wanted = engine_accelerations(robot, q, v, tau)
        assert robot.forward_dynamics(q, v, tau) == pytest.approx(wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max())


def test_friction_is_what_its_law_says():
    robot, rng, stuck, slid = ARMS["panda"], np.random.default_rng(2), 0, 0
    F, damping = robot.model.dof_frictionloss, robot.model.dof_damping
    mobility, b = robot.model.dof_invweight0, 2 / (0.95 * 0.02)  # 0.95, 0.9, 0.02: what MuJoCo documents as defaults
    for q, v, tau in _states(robot, rng, 300):
        a = robot.forward_dynamics(q, v, tau)
        f = robot.mass_matrix(q) @ a + robot.bias(q, v) + damping * v - tau
        wanted = np.clip(-(a + b * v) / (mobility * (1 - 0.9) / 0.9), -F, F)
        assert f == pytest.approx(wanted, abs=1e-9 * (1 + np.abs(tau).max()))
        stuck, slid = stuck + (np.abs(f) < 0.99 * F).sum(), slid + (np.abs(f) > 0.999 * F).sum()
    assert min(stuck, slid) > 200


@pytest.mark.parametrize("name", ["panda", "pendulum"])
def test_many_states_are_the_single_ones_to_the_bit(name):
    robot, rng = ARMS[name], np.random.default_rng(3)
    Q, V, T = (np.array(rows) for rows in zip(*_states(robot, rng, 1500)))
    many = robot.forward_dynamics_batch(Q, V, T)
    assert all(np.array_equal(many[k], robot.forward_dynamics(Q[k], V[k], T[k])) for k in range(0, 1500, 7))
    assert robot.forward_dynamics_batch(Q[:0], V[:0], T[:0]).shape == (0, robot.nv)


def test_lists_and_wrenches_give_what_arrays_give():
    robot, F = ARMS["panda"], np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])
    q, v, tau = robot.home, np.linspace(-0.2, 0.2, 7), robot.gravity(robot.home)
    a = robot.forward_dynamics(q, v, tau)
    assert np.array_equal(robot.forward_dynamics(q.tolist(), v.tolist(), tau.tolist()), a)
    assert np.array_equal(robot.forward_dynamics(np.repeat(q, 2)[::2], v, tau), a)
    pushed = robot.forward_dynamics(q, v, tau, wrench=F)
    assert np.array_equal(pushed, robot.forward_dynamics(q, v, tau + robot.jacobian(q).T @ F))


def test_what_is_no_state_is_refused():
    robot = ARMS["panda"]
    q, v, tau, bad = robot.home, np.zeros(7), np.zeros(7), np.full(7, np.nan)
    for state, error, what in (
        ((bad, v, tau), NotFinite, "q of panda"),
        ((q, bad, tau), NotFinite, "v of panda"),
        ((q, v, bad), NotFinite, "tau of panda"),
        ((q[:3], v, tau), BadShape, "q of panda"),
        ((q, v, tau[:3]), BadShape, "tau of panda"),
        ((q + 1e12, v, tau), InvalidInput, "q of panda"),
    ):
        with pytest.raises(error, match=what):
            robot.forward_dynamics(*state)
    T = np.zeros((5, 7))
    T[3, 2] = np.inf
    with pytest.raises(NotFinite, match=r"T\[3\].*panda.*finite.*inf.*joint3"):
        robot.forward_dynamics_batch(np.tile(q, (5, 1)), np.zeros((5, 7)), T)


@pytest.mark.parametrize("what", ['stiffness="5"', 'damping="1 0.5"'])
def test_springs_and_dampers_that_are_not_linear_are_left_to_the_engine(what):
    robot = pp.Robot.from_mjcf_text(SPRING.replace('stiffness="5"', what))
    assert robot._forward is None
    q, v = np.array([0.3]), np.zeros(1)
    batch = robot.forward_dynamics_batch(q[None], v[None], v[None])
    assert robot.forward_dynamics(q, v, v) == pytest.approx(batch[0], abs=0)
