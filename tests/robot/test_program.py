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
    compute_terms,
)
from palpate.equations.model.mechanism import LinkFrame, mechanism_from_model
from palpate.errors import BadShape, InvalidInput, NotFinite
from palpate.robot import catalogue
from palpate.robot.terms import reason_for_engine

TOLERANCE = 1e-10  # of the largest entry


def program_of(model: mujoco.MjModel, coupling: Any = None) -> TreeProgram:
    return TreeProgram(mechanism_from_model(model, "it", {}, "", coupling))


def from_program(program: TreeProgram, q: Array, v: Array, place: LinkFrame) -> dict[str, Array]:
    terms, frame = TreeTerms(program.record_sizes), FrameTerms(program.record_sizes)
    here = program.place(place)
    compute_terms(program.code.address, q, v, terms.address)
    compute_frame(program.code.address, terms.address, here.address, frame.address)
    whole = {name: getattr(terms, name).copy() for name in ("M", "bias", "gravity")}
    return whole | {name: getattr(frame, name).copy() for name in ("position", "rotation", "J", "drift", "twist")}


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
    return known | {"drift": rate @ v, "twist": J @ v}


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


# ---------------------------------------------------------------------------------------------- many states at once


@pytest.mark.parametrize(("name", "count"), [("panda", 1003), ("quadruped", 6), ("planar2", 1), ("scara", 0)])
def test_every_lane_has_the_bits_of_the_state_alone(name: str, count: int) -> None:
    robot, random = pp.load_robot(name), np.random.default_rng(3)
    Q = np.array([random_state(robot.model, random)[0] for _ in range(count)]).reshape(-1, robot.nq)
    V = random.normal(size=(count, robot.nv))
    many = robot.terms_batch(Q, V)
    assert [part.shape[0] for part in many] == [count] * len(many)
    for i in {0, 1, 2, 3, count // 2, count - 2, count - 1} & set(range(count)):
        one = robot.terms(Q[i], V[i])
        for field in one._fields:
            np.testing.assert_array_equal(getattr(many, field)[i], getattr(one, field), err_msg=f"{field} of {i}")
    assert np.array_equal(robot.mass_matrix_batch(Q), many.M)
    assert np.array_equal(robot.jacobian_batch(Q), many.J)
    position, rotation = robot.pose_batch(Q)
    assert np.array_equal(position, many.position)
    assert np.array_equal(rotation, many.rotation)


@pytest.mark.parametrize("name", ["ur5e", "quadruped", "panda"])
@pytest.mark.parametrize("losses", [True, False])
def test_dynamics_of_many_states_are_those_of_each(name: str, losses: bool) -> None:
    robot, random = pp.load_robot(name), np.random.default_rng(4)
    Q = np.array([random_state(robot.model, random)[0] for _ in range(7)])
    V, A = random.normal(size=(2, 7, robot.nv))
    T = robot.inverse_dynamics_batch(Q, V, A, losses=losses)
    wanted = [robot.inverse_dynamics(*state, losses=losses) for state in zip(Q, V, A)]
    np.testing.assert_allclose(T, wanted, rtol=1e-10, atol=1e-10)
    found = robot.forward_dynamics_batch(Q, V, T, losses=losses)
    np.testing.assert_allclose(
        found, [robot.forward_dynamics(*state, losses=losses) for state in zip(Q, V, T)], rtol=1e-8, atol=1e-8
    )


def test_states_are_shared_between_threads_without_a_difference(monkeypatch: Any) -> None:
    from palpate.robot import terms as equations

    robot, random = pp.load_robot("ur5e"), np.random.default_rng(5)
    Q, V = random.normal(size=(2, 2 * equations.FEWEST_A_THREAD + 3, 6))
    results = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(equations, "_cores", lambda cores=cores: cores)
        results.append(robot.terms_batch(Q, V).M)
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_a_frame_on_the_ground_stands_still() -> None:
    robot = pp.load_robot("panda")
    terms = robot.terms(robot.home, np.ones(7), "world")
    assert not terms.J.any()
    assert not terms.drift.any()
    assert np.array_equal(terms.rotation, np.eye(3))


# ---------------------------------------------------------------------------------------------- what is refused


def test_states_of_the_wrong_shape_are_refused_by_name() -> None:
    robot = pp.load_robot("planar2")
    with pytest.raises(BadShape, match=r"V of planar2.*shape \(N, 2\).*state.*\(3,\)"):
        robot.terms_batch(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(BadShape, match="3 in Q, 4 in V"):
        robot.terms_batch(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(BadShape, match=r"q of planar2.*shape \(2,\)"):
        robot.terms(np.zeros(3), np.zeros(2))


def test_a_state_that_is_no_number_is_refused_by_row_and_joint() -> None:
    robot = pp.load_robot("planar2")
    Q, V, A = np.zeros((3, 1500, 2))
    V[1234, 1] = np.nan
    with pytest.raises(NotFinite, match=r"v\[1234\] of planar2.*finite.*nan.*joint2"):
        robot.terms_batch(Q, V)
    Q[7, 0], V[1234, 1] = np.inf, 0.0
    with pytest.raises(NotFinite, match=r"q\[7\] of planar2.*finite.*inf.*joint1"):
        robot.pose_batch(Q)
    Q[7, 0], A[2, 1] = 0.0, np.nan
    with pytest.raises(NotFinite, match=r"A\[2\] of planar2.*finite.*nan.*joint2"):
        robot.inverse_dynamics_batch(Q, V, A, losses=False)


def test_an_angle_beyond_the_range_of_sine_is_refused() -> None:
    robot = pp.load_robot("planar2")
    with pytest.raises(InvalidInput, match=r"q of planar2 is 2e\+06 at joint2, beyond ±1048576"):
        robot.terms([0.0, 2e6], [0.0, 0.0])


BALL = "<body name='a'><joint name='b' type='ball'/><geom size='.1'/><body name='c' pos='0 0 1'>"
BALL += "<joint name='h'/><geom size='.1'/></body></body>"


def test_a_ball_joint_says_why_it_runs_on_the_engine() -> None:
    robot = pp.Robot.from_mjcf_text(f"<mujoco model='it'><worldbody>{BALL}</worldbody></mujoco>")
    assert reason_for_engine(robot.model) == "joint 'b' is a ball joint; replace it by three hinges at one point"
    q, v = np.array([1.0, 0, 0, 0, 0.3]), np.ones(4)
    assert robot.terms(q, v).M.shape == (4, 4)
    with pytest.raises(InvalidInput, match=r"it: joint 'b'.*ball"):
        robot.terms_batch(q[None], v[None])


def test_a_robot_of_many_joints_stays_with_the_engine_for_one_state() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody>" + "<body pos='0 0 1'><joint/><geom size='.1'/>" * 17 + "</body>" * 17
        + "</worldbody></mujoco>"
    )  # fmt: skip
    assert reason_for_engine(model) == "it has 17 joints; equations are compiled for up to 16"
