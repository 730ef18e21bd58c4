"""A quadruped on its feet: the equations, the optimum within its limits, and the closed loop."""

from __future__ import annotations

import functools
from dataclasses import replace

import daqp
import mujoco
import numpy as np
import pytest

from palpate.control import Standing, stand
from palpate.control.law import Target, sizes_of
from palpate.control.references.reference import Hold
from palpate.control.solve.hierarchy import solve_hierarchy
from palpate.errors import InvalidInput, UnknownName
from palpate.robot import Robot, load_robot
from palpate.run import simulate as runner
from palpate.run.run import Run
from palpate.spatial import matrix_from_quat, rotation_error
from palpate.world.clock import Clock
from palpate.world.config import Push, Surface, World

FEET = ("foot_fl", "foot_fr", "foot_rl", "foot_rr")
RADIUS, MU = 0.02, 0.5


@functools.cache
def machine() -> Robot:
    return load_robot("quadruped")


def state(rng, size=0.1):
    """A posture near home, turned and shifted, moving."""
    shift = rng.normal(scale=size, size=18)
    return machine().integrate(machine().home, shift, 1.0), rng.normal(scale=0.2, size=18)


def contact_rows(q, v):
    """J and J̇ v of the points under the feet, from the engine's own point Jacobians; J̇ v by finite differences."""

    def jacobian(at):
        data = mujoco.MjData(machine().model)
        data.qpos[:] = at
        mujoco.mj_forward(machine().model, data)
        rows = []
        for foot in FEET:
            point = data.site(foot).xpos - [0, 0, RADIUS]
            J = np.zeros((3, 18))
            mujoco.mj_jac(machine().model, data, J, None, point, machine().model.site(foot).bodyid[0])
            rows.append(J)
        return np.vstack(rows)

    h = 1e-6
    ahead, behind = machine().integrate(q, v, h), machine().integrate(q, v, -h)
    return jacobian(q), (jacobian(ahead) - jacobian(behind)) @ v / (2 * h)


def test_forces_and_torques_obey_newton_and_keep_the_feet_still():
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, v = state(rng)
        wanted = rng.normal(scale=0.3, size=6)
        stance = stand(machine(), q, v, wanted, friction=MU)
        J, drift = contact_rows(q, v)
        x = machine().terms(q, v)
        acceleration = np.linalg.solve(x.M, stance.torque + J.T @ stance.forces.ravel() - x.bias)
        assert np.allclose(x.J @ acceleration + x.drift, stance.acceleration, atol=1e-9)
        assert np.allclose(J @ acceleration + drift, 0, atol=1e-8)  # J̇ v by differences
        assert np.array_equal(stance.torque[:6], np.zeros(6))


def test_a_wish_within_reach_is_granted_with_the_smallest_forces():
    q, v = machine().home, np.zeros(18)
    wanted = np.array([0.5, -0.3, 0.2, 0.1, 0.2, -0.1])
    stance = stand(machine(), q, v, wanted, friction=MU)
    assert np.allclose(stance.acceleration, wanted, atol=1e-10)
    assert stance.relaxation == 0
    # Any other forces with the same effect on the base are larger: f is orthogonal to what changes nothing.
    J, _ = contact_rows(q, v)
    nothing = np.linalg.svd(J[:, :6].T)[2][6:]
    assert np.allclose(nothing @ stance.forces.ravel(), 0, atol=1e-9)


def test_standing_still_carries_the_weight():
    stance = stand(machine(), machine().home, np.zeros(18), np.zeros(6))
    assert stance.forces.sum(axis=0) == pytest.approx([0, 0, machine().mass * 9.81], abs=1e-9)


def test_a_wish_beyond_the_cones_is_met_as_nearly_as_an_independent_program_finds():
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, v = state(rng)
        wanted = rng.normal(scale=[6, 6, 6, 15, 15, 15])
        stance = stand(machine(), q, v, wanted, friction=MU, least_force=2.0)
        inside_cones(stance.forces)
        assert (stance.forces[:, 2] > 2.0 - 1e-9).all()
        assert (np.abs(stance.torque) <= np.r_[np.zeros(6), machine().limits.torque[6:]] + 1e-9).all()
        best = program(q, v, wanted)
        assert np.allclose(stance.acceleration, best, atol=1e-4)  # the program's own weight on everything else


def inside_cones(forces, mu=MU):
    assert (np.hypot(forces[..., 0], forces[..., 1]) <= mu * forces[..., 2] * (1 + 1e-9)).all()


def program(q, v, wanted):
    """min |J v̇ + J̇ v − a_d|² over (v̇, τ, f) with every equation written out, by DAQP."""
    x, (Jf, drift) = machine().terms(q, v), contact_rows(q, v)
    S = np.vstack([np.zeros((6, 12)), np.eye(12)])
    A = np.block([[x.M, -S, -Jf.T], [Jf, np.zeros((12, 24))]])
    k = MU / np.sqrt(2)
    cone = np.kron(np.eye(4), [[0.0, 0, 1], [1, 0, -k], [-1, 0, -k], [0, 1, -k], [0, -1, -k]])
    rows = np.vstack([A, np.c_[np.zeros((20, 30)), cone], np.c_[np.zeros((12, 18)), np.eye(12), np.zeros((12, 12))]])
    most = machine().limits.torque[6:]
    low = np.r_[-x.bias, -drift, np.tile([2.0, *[-1e30] * 4], 4), -most]
    high = np.r_[-x.bias, -drift, np.tile([1e30, 0, 0, 0, 0], 4), most]
    sense = np.r_[np.full(30, 5), np.zeros(32)].astype(np.int32)
    task = np.c_[x.J, np.zeros((6, 24))]
    H = task.T @ task + 1e-8 * np.eye(42)
    z, _, status, _ = daqp.solve(H, -task.T @ (wanted - x.drift), rows, high, low, sense)
    assert status == 1
    return x.J @ z[:18] + x.drift


def test_limits_that_conflict_give_way_and_are_named():
    stance = stand(machine(), machine().home, np.zeros(18), np.zeros(6), least_force=1000.0)
    assert stance.relaxation > 0
    assert any(name.startswith("load of foot_") for name in stance.conflict)
    assert any(name.startswith("torque of ") for name in stance.conflict)


# ---------------------------------------------------------------------------------------------- in the loop

FLOOR = Surface(name="floor", friction=0.7, stiffness=2e4, damping=200.0)
PUSH = Push(frame="base", force=(0.0, 30.0, 0.0), start=0.5, duration=0.2)


@pytest.fixture(scope="module")
def pushed():
    """A compliant floor, 30 N on the trunk for 0.2 s: the trace, and what floor and law had as forces at every tick."""
    seen, ready = [], runner.assemble

    def watched(parts, *arguments, **more):
        """The same law, called from Python."""
        assembly = ready(parts, *arguments, **more)
        law = assembly.law

        def spy(tick, gains, memory):
            law.decide(tick._record)
            seen.append(np.array([contact.force for contact in assembly.loop.contacts]))
            return dict(zip(law.terms, law.rows.copy()))

        assembly.law = replace(law, function=spy, answer=None)
        return assembly

    world = World(surfaces=(FLOOR,), pushes=(PUSH,))
    clock = Clock(duration=2.0, timestep=2.5e-4, period=1e-3)
    run = Run(machine(), Standing(friction=MU), world, clock=clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "assemble", watched)
        trace = runner.simulate(run)
    planned = trace["law.forces"].reshape(-1, 4, 3)[::4][: len(seen)]  # recorded at every step of 0.25 ms
    return trace, np.array(seen), planned


def test_it_stands_and_comes_back_from_a_push(pushed):
    trace, _, _ = pushed
    assert trace.outcome.kind == "completed", trace.outcome
    assert np.abs(trace["tool_position"][:, 2] - 0.34).max() < 5e-3
    assert np.abs(trace["tool_position"][:, 1]).max() > 5e-3, "the push must be felt"
    assert np.linalg.norm(trace["tool_position"][-1] - [0, 0, 0.34]) < 1e-4
    assert np.abs(trace["tool_quat_wxyz"][-1] - [1, 0, 0, 0]).max() < 1e-4


def test_no_torque_on_the_base_and_none_beyond_the_limits(pushed):
    trace, _, _ = pushed
    assert not trace["tau"][:, :6].any()
    assert not trace["command"][:, :6].any()
    assert (np.abs(trace["tau"][:, 6:]) <= machine().limits.torque[6:]).all()
    assert trace.facts.guard_ticks["torque limit"] == 0


def test_the_floor_answers_inside_the_cones_with_the_forces_the_law_meant(pushed):
    _, seen, planned = pushed
    assert len(planned) == len(seen)
    inside_cones(planned)
    inside_cones(seen[100:])  # the feet touch without load at the start
    assert (seen[100:, :, 2] > 1.0).all()
    assert np.abs(seen[400] - planned[400]).max() < 1e-3  # before the push all is at rest
    assert (
        np.abs(seen[100:] - planned[100:]).max() < 5.0
    )  # the push itself, which the law does not know, shakes the floor


def test_the_trunk_follows_its_reference_as_the_law_says():
    law = Standing(frequency=10.0)
    world = World(surfaces=(Surface(name="floor", friction=0.7, contact="rigid"),))
    reference = Hold(offset=(0.005, 0.0, -0.01))
    trace = runner.simulate(Run(machine(), law, world, reference, clock=Clock(duration=0.6)))
    error = trace["target_position"] - trace["tool_position"]
    share = (1 + 10 * trace.time) * np.exp(-10 * trace.time)  # of ë + 2 ω ė + ω² e = 0 from rest
    expected = share[:, None] * [0.005, 0.0, -0.01]
    # The rigid floor is MuJoCo's, which gives a little; torques are held for 1 ms of a 100 ms motion.
    assert np.abs(error - expected).max() < 3e-4


# ---------------------------------------------------------------------------------------------- compiled


def moment(rng, far):
    """A state near home and a target near that, everything moving."""
    q, v = state(rng)
    target = Target.over(rng.normal(scale=0.2, size=Target.width(sizes_of(machine()))), sizes_of(machine()))
    pose = machine().pose(machine().integrate(q, rng.normal(scale=far, size=18), 1.0))
    target.position[:], target.quat_wxyz[:] = pose.position, pose.quat_wxyz
    return q, v, target


def in_numpy(q, v, wanted, friction, least):
    """(support, motion, forces, relaxation, acceleration) by pinv: v̇ = lift ([a; 0] − J̇ v), a = B f + c."""
    x, shift = machine().terms(q, v), np.array([[0.0, RADIUS, 0.0], [-RADIUS, 0.0, 0.0], [0.0, 0.0, 0.0]])
    rows = [(machine().jacobian(q, foot), machine().jacobian_drift(q, v, foot)) for foot in FEET]
    Jf = np.vstack([J[:3] - shift @ J[3:] for J, _ in rows])
    drift = np.concatenate([x.drift, *(d[:3] - shift @ d[3:] for _, d in rows)])
    lift = np.linalg.pinv(np.vstack([x.J, Jf]))
    still, moving = -lift @ drift, lift[:, :6]
    inertia = np.linalg.inv(x.M[:6] @ moving)
    B, c = inertia @ Jf[:, :6].T, -inertia @ (x.M[:6] @ still + x.bias[:6])
    T, t = (x.M @ moving @ B - Jf.T)[6:], (x.M @ (still + moving @ c) + x.bias)[6:]  # τ = T f + t
    k, most = friction / np.sqrt(2.0), machine().limits.torque[6:]
    cone = np.kron(np.eye(4), [[0.0, 0, 1], [1, 0, -k], [-1, 0, -k], [0, 1, -k], [0, -1, -k]])
    lower = np.concatenate([np.tile([least, *[-np.inf] * 4], 4), -most - t])
    upper = np.concatenate([np.tile([np.inf, 0.0, 0.0, 0.0, 0.0], 4), most - t])
    width = np.concatenate([np.ones(20), most])
    solution = solve_hierarchy(B, wanted - c, np.array([0, 6]), np.vstack([cone, T]), lower, upper, width)
    support = np.r_[np.zeros(6), -Jf[:, 6:].T @ solution.x]
    motion = np.r_[np.zeros(6), T @ solution.x + t] - support
    return support, motion, solution.x.reshape(4, 3), solution.relaxation, B @ solution.x + c


def wish(law, q, v, target):
    """a_d = a_ref + K_p e − K_d (V − V_ref)."""
    x, (kp, kd) = machine().terms(q, v), (law.frequency**2, 2 * law.damping_ratio * law.frequency)
    error = np.r_[target.position - x.position, rotation_error(matrix_from_quat(target.quat_wxyz), x.rotation)]
    return target.acceleration + kp * error - kd * (x.J @ v - target.twist)


@pytest.mark.parametrize(("friction", "least"), [(0.5, 1.0), (0.2, 20.0), (0.5, 1000.0)])
def test_the_law_gives_the_torques_forces_and_counts_of_numpy(friction, least):
    law = Standing(friction=friction, least_force=least)
    bound, rng, conflicts, short = law.bind(machine()), np.random.default_rng(5), 0, 0
    for i in range(60):
        q, v, target = moment(rng, far=0.005 * (1 + i % 20))
        found, wanted = bound.tick(machine(), q, v, target=target), wish(law, q, v, target)
        support, motion, forces, relaxation, acceleration = in_numpy(q, v, wanted, friction, least)
        np.testing.assert_allclose(found.terms["support"], support, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.terms["motion"], motion, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(bound.memory.forces, forces, rtol=1e-9, atol=1e-9)
        conflicts += relaxation > 0
        short += np.abs(acceleration - wanted).max() > 1e-6
    assert (bound.memory.conflict, bound.memory.short, bound.memory.silent) == (conflicts, short, 0)
    assert short > 0
    assert (conflicts > 0) == (least == 1000.0)


def test_three_feet_and_a_straight_leg_are_served_like_by_the_library():
    """Three feet leave a leg free, and a straight knee cannot lift: both make the rows of the feet dependent."""
    law = Standing(feet=FEET[:3])
    q = machine().home.copy()
    q[-1] = 0.0
    for at in (machine().home, q):
        stance = stand(machine(), at, np.zeros(18), np.zeros(6), feet=FEET[:3])
        found = law.tick(machine(), at, np.zeros(18))
        np.testing.assert_allclose(found.command, stance.torque, rtol=1e-9, atol=1e-9)


def test_without_an_answer_the_last_torques_are_kept_and_that_is_said():
    bound = Standing().bind(machine())
    first = bound.tick(machine(), machine().home, np.zeros(18)).command
    bound.memory.footing.tree.rotation[:] = np.nan
    np.testing.assert_array_equal(bound.tick(machine(), machine().home, np.zeros(18)).command, first)
    assert bound.remarks(bound.memory) == ["no solution, so the torques of the previous tick were kept, at 1 ticks"]


def test_a_wish_beyond_reach_is_counted():
    law = Standing()
    bound = law.bind(machine())
    row = Hold(offset=(0.3, 0.0, 0.0)).sample(np.zeros(1), machine(), machine().home)[0]
    target = Target.over(row, sizes_of(machine()))
    bound.tick(machine(), machine().home, np.zeros(18), target=target)
    assert bound.memory.short == 1
    assert law.report.remarks(bound.memory) == [
        "the trunk's desired acceleration was beyond friction cones or torque limits at 1 ticks"
    ]


def test_machines_that_cannot_stand_are_refused():
    with pytest.raises(InvalidInput, match="no free base"):
        Standing().bind(load_robot("panda"))
    with pytest.raises(UnknownName, match="foot_f1"):
        Standing(feet=("foot_f1", "foot_fr", "foot_rl")).bind(machine())
    with pytest.raises(InvalidInput, match="at least 3 feet"):
        Standing(feet=("foot_fl", "foot_fr")).bind(machine())
