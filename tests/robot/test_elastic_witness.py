"""An arm with elastic joints beside an integration of its own equations with Pinocchio's terms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import palpate as pp
from palpate.control import GravityCompensation
from palpate.run.assemble.assemble import assemble
from palpate.run.run import Run
from palpate.run.simulate import execute
from palpate.world.clock import Clock
from palpate.world.config import World

pytest.importorskip("pinocchio")


def test_a_free_arm_moves_as_pinocchio_has_it_with_motors_on_springs(twin) -> None:
    robot = pp.load_robot("panda", joints="elastic").with_gravity((0, 0, 0))
    other, n = twin(robot), robot.nv
    K, D = robot.joint_stiffness, robot.gear_damping
    B, F = robot.model.dof_armature.copy(), robot.model.dof_damping.copy()
    random = np.random.default_rng(1)
    q, v, bent = robot.home, 0.3 * random.normal(size=n), 2e-3 * random.normal(size=n)

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        q, theta, v, w = x.reshape(4, n)
        S = K * (theta - q) + D * (w - v)
        links = other.mass_matrix(q) - np.diag(B)
        return np.concatenate([v, w, np.linalg.solve(links, S - other.bias(q, v)), (-S - F * w) / B])

    exact = solve_ivp(rates, (0, 0.05), np.concatenate([q, q + bent, v, v]), rtol=1e-9, atol=1e-11).y[:, -1]
    errors = []
    for step in (5e-4, 1.25e-4):
        clock = Clock(duration=0.05, timestep=step, period=step)
        made = assemble(Run(robot, GravityCompensation(damping=0.0), World(), clock=clock, q_start=q, v_start=v))
        made.loop.elastic.motor_q[:] = q + bent
        made.loop.elastic.coulomb[:] = 0.0
        trace = execute(made)
        ours = np.concatenate([trace["q"][-1], trace["motor_q"][-1]])
        errors.append(np.abs(ours - exact[: 2 * n]).max())
    assert errors[1] < 3e-4
    assert errors[1] < 0.35 * errors[0]  # of first order, as the rigid plant
