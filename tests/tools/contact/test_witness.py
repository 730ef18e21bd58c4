"""Constrained and impulse dynamics against Pinocchio at random states, fixed and floating."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.robot.build import set_inertia
from palpate.tools.contact import Plane

pin = pytest.importorskip("pinocchio")

# Relative to the largest entry. Both engines solve with a mass matrix of condition up to 1e4: rounding leaves 1e-12.
TOLERANCE = 1e-10
MACHINES = [(name, floating) for name in ("panda", "iiwa14", "ur5e") for floating in (False, True)]


def assert_agree(ours, theirs, what: str) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    worst = np.abs(ours - theirs).max()
    assert worst <= TOLERANCE * max(1.0, np.abs(theirs).max()), f"{what}: {worst}"


def machine(name: str, floating: bool) -> pp.Robot:
    robot = pp.load_robot(name, joints="ideal")
    if not floating:
        return robot
    spec = robot.spec()
    base = spec.worldbody.first_body()
    if robot.model.body(base.name).mass[0] == 0:  # a base without mass cannot float: give it one
        set_inertia(base, 5.0, np.zeros(3), 0.1 * np.eye(3))
    return pp.Robot(spec, name=name, tool_frame=robot.tool_frame).with_free_base()


def without(v: np.ndarray, A: np.ndarray, M: np.ndarray) -> np.ndarray:
    """v with A v = 0, changed by an impulse."""
    X = np.linalg.solve(M, A.T)
    return v - X @ np.linalg.solve(A @ X, A @ v)


@pytest.mark.parametrize(("name", "floating"), MACHINES)
def test_a_pinned_tool_agrees_with_pinocchio(name: str, floating: bool, twin, state) -> None:
    robot = machine(name, floating)
    other, random = twin(robot), np.random.default_rng(21)
    frame = other.model.getFrameId(robot.tool_frame)
    joint, place = other.model.frames[frame].parentJoint, other.model.frames[frame].placement
    for _ in range(5):
        q, v = state(robot, random)
        tau = 10 * random.normal(size=robot.nv)
        v = without(v, robot.jacobian(q)[:3], robot.mass_matrix(q))
        held = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, other.model, joint, place, pin.LOCAL_WORLD_ALIGNED)
        models, memories = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        models.append(held)
        memories.append(held.createData())
        data = other.model.createData()
        pin.initConstraintDynamics(other.model, data, models, memories)
        T = other.axes(q)
        exact = pin.ProximalSettings(1e-14, 0.0, 10)
        a = pin.constraintDynamics(other.model, data, other.coordinates(q), T.T @ v, T.T @ tau, models, memories, exact)
        found = pp.contact.constrained_dynamics(robot, q, v, tau, [pp.contact.Pin()])
        assert_agree(found.acceleration, T @ (a - other.still(q, v)), "acceleration")
        left = robot.mass_matrix(q) @ found.acceleration + robot.bias(q, v) - tau
        assert_agree(robot.jacobian(q)[:3].T @ found.forces[0], left, "force")


@pytest.mark.parametrize(("name", "floating"), MACHINES)
def test_a_sliding_tool_agrees_with_pinocchio(name: str, floating: bool, twin, state) -> None:
    robot = machine(name, floating)
    other, random = twin(robot), np.random.default_rng(22)
    for _ in range(5):
        q, v = state(robot, random)
        n = random.normal(size=3)
        n /= np.linalg.norm(n)
        tau = 10 * random.normal(size=robot.nv)
        v = without(v, (n @ robot.jacobian(q)[:3])[None], robot.mass_matrix(q))
        T = other.axes(q)
        row = (n @ other.jacobian(q, robot.tool_frame)[:3])[None]
        drift = np.array([n @ other.drift(q, v, robot.tool_frame)[:3]])
        M, bias = other.mass_matrix(q), other.bias(q, v)
        KKT = np.block([[M, -row.T], [row, np.zeros((1, 1))]])
        expected = np.linalg.solve(KKT, np.concatenate([tau - bias, -drift]))
        wall = pp.contact.Contact(Plane(robot.pose(q).position, n), two_sided=True)
        found = pp.contact.constrained_dynamics(robot, q, v, tau, [wall])
        assert_agree(found.acceleration, expected[:-1], "acceleration")
        assert_agree(found.multipliers[0, 0], expected[-1], "multiplier")
        assert T.shape == (robot.nv, robot.nv)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("name", "floating"), MACHINES)
def test_an_impact_agrees_with_pinocchio_and_loses_the_energy_it_must(
    name: str, floating: bool, e: float, twin, state
) -> None:
    """ΔT = −½ (1 − e²) u_nᵀ Λ u_n with Λ = (J M⁻¹ Jᵀ)⁻¹."""
    robot = machine(name, floating)
    other, random = twin(robot), np.random.default_rng(23)
    for _ in range(5):
        q, v = state(robot, random)
        n = random.normal(size=3)
        n /= np.linalg.norm(n)
        speed = float(n @ robot.jacobian(q)[:3] @ v)
        n = n if speed < 0 else -n
        speed = -abs(speed)
        wall = pp.contact.Contact(Plane(robot.pose(q).position, n))
        found = pp.contact.impact(robot, q, v, [wall], e, 0.0)
        T, row = other.axes(q), (n @ other.jacobian(q, robot.tool_frame)[:3])[None]
        after = pin.impulseDynamics(other.model, other.data, other.coordinates(q), T.T @ v, row @ T, e, 0.0)
        assert_agree(found.velocity, T @ after, "velocity")
        inertia = 1 / (row @ np.linalg.solve(other.mass_matrix(q), row.T)).item()
        lost = 0.5 * (1 - e**2) * inertia * speed**2
        assert found.dissipated == pytest.approx(lost, abs=1e-12 * max(1.0, found.energy_before))
