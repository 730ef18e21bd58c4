"""The equations as machine code against MuJoCo and Pinocchio: the catalogue, what runs vary, and random trees."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from tests.robot.conftest import twin_of

import palpate as pp
from palpate.checks import Array
from palpate.equations.code import tree_program
from palpate.equations.code.tree_program import (
    FrameTerms,
    TreeProgram,
    TreeTerms,
    compute_frame,
    compute_pose,
    compute_terms,
    point_twist,
)
from palpate.equations.model.mechanism import Place, mechanism_from_model
from palpate.robot import catalogue

TOLERANCE = 1e-10  # of the largest entry


def program_of(model: mujoco.MjModel, coupling: Any = None) -> TreeProgram:
    return TreeProgram(mechanism_from_model(model, "it", {}, "", coupling))


def from_program(program: TreeProgram, q: Array, v: Array, place: Place) -> dict[str, Array]:
    terms, frame = TreeTerms(program.record_sizes), FrameTerms(program.record_sizes)
    here = program.place(place)
    compute_terms(program.code.address, q, v, terms.address)
    compute_frame(program.code.address, terms.address, here.address, frame.address)
    position, rotation, twist = np.zeros(3), np.zeros((3, 3)), np.zeros(6)
    compute_pose(terms.address, here.address, position, rotation)
    point_twist(terms.address, place.link, position, twist)
    whole = {name: getattr(terms, name).copy() for name in ("M", "bias", "gravity")}
    whole |= {name: getattr(frame, name).copy() for name in ("position", "rotation", "J", "drift", "twist")}
    return whole | {"pose alone": position, "axes alone": rotation, "twist alone": twist}


def from_engine(model: mujoco.MjModel, q: Array, v: Array, body: int) -> dict[str, Array]:
    data = mujoco.MjData(model)
    data.qpos, data.qvel = q, v
    for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_makeM, mujoco.mj_comVel):
        stage(model, data)
    M, bias, gravity = np.zeros((model.nv, model.nv)), np.zeros(model.nv), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, M)
    mujoco.mj_rne(model, data, 0, bias)
    J, rate, position = np.zeros((6, model.nv)), np.zeros((6, model.nv)), data.xpos[body].copy()
    mujoco.mj_jac(model, data, J[:3], J[3:], position, body)
    mujoco.mj_jacDot(model, data, rate[:3], rate[3:], position, body)
    data.qvel = np.zeros(model.nv)
    mujoco.mj_comVel(model, data)
    mujoco.mj_rne(model, data, 0, gravity)
    R = data.xmat[body].reshape(3, 3)
    known = {"M": M, "bias": bias, "gravity": gravity, "position": position, "rotation": R, "J": J}
    return known | {"drift": rate @ v, "twist": J @ v, "pose alone": position, "axes alone": R, "twist alone": J @ v}


def assert_same(ours: dict[str, Array], theirs: dict[str, Array]) -> None:
    for name, wanted in theirs.items():
        worst = np.abs(ours[name] - wanted).max()
        assert worst <= TOLERANCE * max(1.0, np.abs(wanted).max()), f"{name}: {worst}"


def random_state(model: mujoco.MjModel, random: np.random.Generator) -> tuple[Array, Array]:
    q = model.qpos0.copy()
    mujoco.mj_integratePos(model, q, random.normal(size=model.nv), 1.0)
    return q, random.normal(size=model.nv)


@pytest.mark.parametrize("name", catalogue.names())
def test_one_program_serves_loads_shifted_masses_and_tilted_gravity(name: str, monkeypatch: Any) -> None:
    robot, random = pp.load_robot(name), np.random.default_rng(1)
    assert robot.program.code.k.size  # compiled or loaded here
    monkeypatch.setattr(tree_program, "TreeGraph", None)  # from here on nothing is derived
    loaded = robot.with_payload(0.7, (0.03, -0.05, 0.11), (0.01, 0.02, 0.015, 0.001, -0.002, 0.003))
    model = loaded.with_gravity((1.3, -2.1, -9.2)).model
    model.body_ipos[1:] += 0.05 * random.normal(size=(model.nbody - 1, 3))
    model.body_mass[1:] *= random.uniform(0.5, 1.5, size=model.nbody - 1)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    program = program_of(model)
    other = twin_of(model)
    for body in {1, model.nbody // 2, model.nbody - 1}:
        q, v = random_state(model, random)
        ours = from_program(program, q, v, program.mechanism.bodies[body])
        assert_same(ours, from_engine(model, q, v, body))
        frame = model.body(body).name
        position, rotation = other.pose(q, frame)
        theirs = {"M": other.mass_matrix(q), "bias": other.bias(q, v), "gravity": other.gravity(q)}
        theirs |= {"position": position, "rotation": rotation, "J": other.jacobian(q, frame)}
        assert_same(ours, theirs | {"drift": other.drift(q, v, frame)})


def random_tree(random: np.random.Generator) -> mujoco.MjModel:
    """1 to 12 joints: hinges and slides along any axis, branches, bodies of two joints, bodies without mass."""
    spec = mujoco.MjSpec()
    spec.option.gravity = random.normal(size=3) * 5
    bodies, joints = [spec.worldbody], 0
    count = int(random.integers(1, 13))
    while joints < count:
        parent = bodies[max(0, len(bodies) - 1 - int(random.integers(0, 3)))]
        body = parent.add_body(name=f"b{len(bodies)}", pos=random.normal(size=3), quat=random_quat(random))
        body.mass, body.ipos = random.uniform(0.1, 3), random.normal(size=3) * 0.2
        body.inertia, body.iquat = random.uniform(0.01, 0.015, size=3), random_quat(random)
        body.explicitinertial = True
        if len(bodies) == 1 and random.uniform() < 0.25:
            body.add_freejoint()
        for _ in range(int(random.integers(0 if len(bodies) > 1 else 1, 3))):
            kind = mujoco.mjtJoint.mjJNT_SLIDE if random.uniform() < 0.3 else mujoco.mjtJoint.mjJNT_HINGE
            axis = np.eye(3)[int(random.integers(3))] * random.choice([-1, 1])
            axis = random.normal(size=3) if random.uniform() < 0.5 else axis
            if not any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints):
                body.add_joint(type=kind, axis=axis, pos=random.normal(size=3) * (random.uniform() < 0.5),
                               armature=random.uniform(), ref=random.normal() * (random.uniform() < 0.3))  # fmt: skip
            joints += 1
        bodies.append(body)
    model = spec.compile()
    for body in range(1, model.nbody):
        if random.uniform() < 0.2:
            model.body_mass[body], model.body_inertia[body] = 0.0, 0.0
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def random_quat(random: np.random.Generator) -> Array:
    quat = random.normal(size=4) if random.uniform() < 0.6 else np.array([1.0, 0, 0, 1.0])
    return quat / np.linalg.norm(quat)


def check_tree(seed: int) -> None:
    random = np.random.default_rng(seed)
    model = random_tree(random)
    program, other = program_of(model), twin_of(model)
    for _ in range(2):
        (q, v), body = random_state(model, random), int(random.integers(1, model.nbody))
        ours = from_program(program, q, v, program.mechanism.bodies[body])
        assert_same(ours, from_engine(model, q, v, body))
        theirs = {
            "M": other.mass_matrix(q),
            "bias": other.bias(q, v),
            "drift": other.drift(q, v, model.body(body).name),
        }
        assert_same(ours, theirs)


@pytest.mark.parametrize("seed", range(8))
def test_a_random_tree_agrees_with_mujoco_and_pinocchio(seed: int) -> None:
    check_tree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_any_random_tree_agrees_with_mujoco_and_pinocchio(seed: int) -> None:
    check_tree(seed)
