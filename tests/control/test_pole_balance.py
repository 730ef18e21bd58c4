"""A pole on an iiwa: the torques against independent solvers and the coupled plant, and the closed loop."""

from __future__ import annotations

import functools

import daqp
import mujoco
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import linprog

from palpate.control import PoleBalance
from palpate.control.law import PoleView, Seen
from palpate.control.references import Circle
from palpate.control.references.reference import Hold, joint_target
from palpate.errors import InvalidInput
from palpate.robot import Robot, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import matrix_from_quat, rotation_error
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import Pole, Push, World
from palpate.world.plants.plant import build_plant

POSTURE = np.array([0, -0.8, 0, -1.9, 0, -1.1, 0])  # tool up above the base: half a metre of room on every side
CHANNELS = ("q", "v", "tau", "guard", "tool_position", "tool_quat_wxyz", "tool_twist", "target_position", "rest_q")


@functools.cache
def arm() -> Robot:
    return load_robot("iiwa14").with_payload(1.0, (0, 0, 0))


def run(law=None, *, degrees=0.0, azimuth=0.0, duration=6.0, reference=None, world=None, v_start=None, **clock):
    tilt = np.radians(degrees) * np.array([np.cos(azimuth), np.sin(azimuth)])
    world = world or World(pole=Pole(tilt=tuple(tilt)))
    recording = Recording(channels=CHANNELS, stride=5)
    return simulate(
        Run(
            arm(), law or PoleBalance(), world, reference or Hold(), clock=Clock(duration=duration, **clock),
            q_start=POSTURE, v_start=v_start, record=recording,
        )
    )  # fmt: skip


def distance(trace):
    return np.linalg.norm(trace["tool_position"] - trace["target_position"], axis=1)


def assert_sound(trace, *, speeds=True):
    """The run ended well, and the real arm could have done it: torques, stops and speeds."""
    limits = arm().limits
    assert trace.outcome.kind == "completed", trace.outcome
    assert (np.abs(trace["tau"]) <= limits.torque).all()
    assert trace.facts.guard_ticks["torque limit"] == 0
    assert np.minimum(trace["q"] - limits.lower, limits.upper - trace["q"]).min() > 0
    if speeds:
        assert (np.abs(trace["v"]) < limits.velocity).all()


def random_case(rng):
    """A state of arm, the target, and what is seen of the pole."""
    limits = arm().limits
    q = np.clip(POSTURE + rng.normal(scale=0.2, size=7), limits.lower + 0.01, limits.upper - 0.01)
    v = rng.normal(scale=0.3, size=7)
    target = joint_target(arm(), POSTURE)
    xy = rng.uniform(-0.2, 0.2, 2)
    r = np.array([*xy, np.sqrt(1 - xy @ xy)])
    return q, v, target, pole_at(r, np.cross(rng.normal(scale=0.5, size=3), r))


def pole_at(r, rate=(0.0, 0.0, 0.0)):
    """What is seen of a pole that points along r."""
    return Seen(pole=PoleView(AB=r, AB_rate=rate))


def wanted(law, q, v, target, view):
    """(a_A and α, f_B) as the law's docstring says, by numpy, for the whole horizontal force and for none of it."""
    x, K = arm().terms(q, v), law.force_gains()
    r, rate, twist = view.pole.AB, view.pole.AB_rate, x.J @ v
    away, speed = x.position - target.position, twist[:3] - target.twist[:3]
    f = [-K[:4] @ [away[i], speed[i], r[i], rate[i]] for i in range(2)]
    weight = 1.1 * 9.81 - K[4:] @ [away[2], speed[2]]
    turn = rotation_error(matrix_from_quat(target.quat_wxyz), x.rotation)
    alpha = law.orientation_stiffness * turn - law.orientation_damping * twist[3:]
    answers = []
    for force in ([*f, weight], [0.0, 0.0, weight]):
        a_A, _, f_B = law.model().accelerations(r, rate, force)
        answers.append((np.r_[a_A, alpha], f_B))
    return answers


def constraints(q, v, acceleration, f_B):
    """A z = b on z = (v̇, τ): the manipulator equation under −f_B, and the tool's acceleration."""
    x = arm().terms(q, v)
    A = np.block([[x.M, -np.eye(7)], [x.J, np.zeros((6, 7))]])
    return A, np.r_[-x.bias - x.J[:3].T @ f_B, acceleration - x.drift]


def preference(law, q, v, target):
    """(H, z₀): the law minimises (z − z₀)ᵀ H (z − z₀)."""
    x = arm().terms(q, v)
    rest = law.posture_stiffness * (target.q - q) - law.posture_damping * v
    z0 = np.r_[rest, x.M @ rest + x.bias] if law.self_motion == "held" else np.zeros(14)
    chosen = [0.0] * 7 + [1.0] * 7 if law.nearest == "torque" else [1.0] * 7 + [0.0] * 7
    return np.diag(chosen), z0


OPTIONS = [("free", "torque"), ("held", "torque"), ("held", "acceleration")]


@pytest.mark.parametrize(("self_motion", "nearest"), OPTIONS)
def test_torques_solve_the_equality_constrained_program(self_motion, nearest):
    choice = {"self_motion": self_motion, "nearest": nearest, "avoid_stops": False}
    law = PoleBalance(**choice, respect_limits=False, force_limit=1e9)
    rng = np.random.default_rng(1)
    for _ in range(50):
        q, v, target, view = random_case(rng)
        A, b = constraints(q, v, *wanted(law, q, v, target, view)[0])
        H, z0 = preference(law, q, v, target)
        kkt = np.block([[H, A.T], [A, np.zeros((13, 13))]])
        solved = np.linalg.solve(kkt, np.r_[H @ z0, b])[7:14]
        command = law.tick(arm(), q, v, target=target, seen=view).command
        assert np.allclose(command, solved, rtol=1e-9, atol=1e-9 * np.abs(solved).max())


@pytest.mark.parametrize(("self_motion", "nearest"), OPTIONS)
def test_torques_within_limits_solve_the_quadratic_program_or_keep_the_largest_share(self_motion, nearest):
    choice = {"self_motion": self_motion, "nearest": nearest, "avoid_stops": False}
    law, rng = PoleBalance(**choice, force_limit=1e9), np.random.default_rng(2)
    bent = shared = 0
    for _ in range(90):
        q, v, target, view = random_case(rng)
        limits = np.abs(law.tick(arm(), q, v, target=target, seen=view).command) * rng.uniform(0.7, 1.3, 7) + 1.0
        bound = law.bind(arm())
        bound.gains.torque_limit[:] = limits
        command = bound.tick(arm(), q, v, target=target, seen=view).command
        (full, none), (_, z0) = wanted(law, q, v, target, view), preference(law, q, v, target)
        A, b = constraints(q, v, *full)
        A, b0 = constraints(q, v, *none)
        share = largest_share(A, b, b0, limits)
        if share is None:
            continue
        bent, shared = bent + bound.memory.bent, shared + bound.memory.shared
        assert (np.abs(command) <= limits * (1 + 1e-9)).all()
        if share < 1.0 - 1e-9:
            # At the largest share the program has one solution: what is left free is the share itself.
            assert achieved_share(A, b, b0, q, v, command) == pytest.approx(share, abs=1e-7)
        else:
            solved = program(law, z0, A, b, limits)
            assert np.allclose(command, solved, rtol=0, atol=1e-8 * np.abs(command).max())
    assert min(bent, shared) > 6


def largest_share(A, b, b0, limits):
    """max s in [0, 1] with A z = b₀ + s (b − b₀), |τ| ≤ limits, by linear programming; None if there is none."""
    bounds = [(None, None)] * 7 + [(-x, x) for x in limits] + [(0, 1)]
    found = linprog(np.r_[np.zeros(14), -1.0], A_eq=np.c_[A, b0 - b], b_eq=b0, bounds=bounds)
    return found.x[-1] if found.status == 0 else None


def achieved_share(A, b, b0, q, v, command):
    """The share of the horizontal force under which a command fulfils the equations."""
    unknown = np.c_[A[:, :7], b0 - b]
    return np.linalg.lstsq(unknown, b0 - A[:, 7:] @ command, rcond=None)[0][-1]


def program(law, z0, A, b, limits):
    """The law's quadratic program in the variable it compares, v̇ or τ, the other eliminated; returns τ."""
    M, pushed, J = A[:7, :7], -b[:7], A[7:, :7]  # M v̇ + pushed = τ
    if law.nearest == "torque":
        over = J @ np.linalg.inv(M)
        tool = b[7:] + over @ pushed
        rows, low, high, start = np.r_[over, np.eye(7)], np.r_[tool, -limits], np.r_[tool, limits], z0[7:]
    else:
        rows, low, high, start = np.r_[J, M], np.r_[b[7:], -limits - pushed], np.r_[b[7:], limits - pushed], z0[:7]
    sense = np.r_[np.full(6, 5), np.zeros(7)].astype(np.int32)
    x, _, status, _ = daqp.solve(np.eye(7), -start, rows, high, low, sense, primal_tol=1e-11)
    assert status == 1
    return x if law.nearest == "torque" else M @ x + pushed


@pytest.mark.parametrize("joint", ["universal", "ball"])
@pytest.mark.parametrize(("self_motion", "nearest"), OPTIONS)
def test_the_coupled_plant_accelerates_as_commanded(joint, self_motion, nearest):
    choice = {"self_motion": self_motion, "nearest": nearest, "fall_angle": None, "avoid_stops": False}
    law = PoleBalance(respect_limits=False, force_limit=1e9, **choice)
    plant = build_plant(arm(), World(pole=Pole(joint=joint)), 1e-3, q_start=POSTURE)
    data, rng = mujoco.MjData(plant.model), np.random.default_rng(4)
    for _ in range(10):
        q, v, target, view = random_case(rng)
        lean, rate = rng.normal(scale=0.15, size=2), rng.normal(scale=0.5, size=2)
        data.qpos[:7], data.qvel[:7] = q, v
        # A massless pole has no say in its own spin: a ball joint's third velocity stays 0.
        data.qpos[7:] = lean if joint == "universal" else np.r_[1.0, lean, 0.0] / np.linalg.norm([1.0, *lean])
        data.qvel[7:9] = rate
        AB = seen(plant.model, data, q, v)
        view = pole_at(AB[:3], AB[3:])
        data.qfrc_applied[:7] = law.tick(arm(), q, v, target=target, seen=view).command
        mujoco.mj_forward(plant.model, data)
        x = arm().terms(q, v)
        acceleration, _ = wanted(law, q, v, target, view)[0]
        error = x.J @ data.qacc[:7] + x.drift - acceleration
        assert np.abs(error[:3]).max() < 1e-9
        # Light wrist links: the turn loses digits to the mass matrix's condition, 4e3, squared where torques compare.
        assert np.abs(error[3:]).max() < 1e-9 * np.abs(acceleration).max()


def seen(model, data, q, v):
    """AB and its rate from the engine."""
    mujoco.mj_forward(model, data)
    tip, J, twist = data.site("pole_tip").xpos, np.zeros((3, model.nv)), arm().jacobian(q) @ v
    mujoco.mj_jacSite(model, data, J, None, model.site("pole_tip").id)
    return np.r_[tip - arm().pose(q).position, J @ data.qvel - twist[:3]]


def test_the_loop_answers_as_the_linear_design_says():
    law = PoleBalance()
    A, B = law.model().linear_axis()
    trace = run(law, world=World(pole=Pole(tilt=(0.0, 1e-4))), duration=2.0, timestep=2.5e-4, integrator="rk4")
    closed = A - B @ law.force_gains()[None, :4]
    expected = np.array([(expm(closed * t) @ [0, 0, np.sin(1e-4), 0])[0] for t in trace.time])
    found = (trace["tool_position"] - trace["target_position"])[:, 0]
    # Torques held for a period act half a period late: 0.125 ms at a fastest pole of 10 /s.
    assert np.abs(found - expected).max() < 2e-3 * np.abs(expected).max()


@pytest.mark.parametrize("azimuth", [0.0, 0.8, 1.6, -1.6])
def test_balances_from_five_degrees_and_holds_position(azimuth):
    trace = run(degrees=5.0, azimuth=azimuth, duration=8.0)
    assert_sound(trace)
    assert distance(trace)[trace.time >= 5.0].max() < 1e-3  # 1 cm is asked for
    assert np.abs(trace["rest_q"][-1]).max() < 1e-4


@pytest.mark.parametrize("azimuth", np.arange(8) * np.pi / 4)
def test_recovers_from_fifteen_degrees_in_every_direction(azimuth):
    trace = run(degrees=15.0, azimuth=azimuth)
    assert_sound(trace, speeds=False)
    assert distance(trace)[-1] < 1e-3


def test_follows_a_circle_of_two_decimetres_radius():
    circle = Circle(centre=(0.2, 0.0, 0.0), duration=16.0)
    trace = run(reference=circle, duration=17.0)
    assert_sound(trace)
    assert np.ptp(trace["tool_position"], axis=0)[:2] == pytest.approx([0.4, 0.4], abs=0.01)
    assert distance(trace).max() < 0.01
    assert np.abs(trace["rest_q"]).max() < np.radians(1.0)


@pytest.mark.parametrize(
    "push",
    [
        Push(frame="pole_tip", force=(0.1, 0.1, 0.0), start=0.5, duration=0.2),
        Push(force=(10.0, -10.0, 0.0), start=0.5, duration=0.2),
    ],
    ids=["sphere", "tool"],
)
def test_survives_a_sideways_push(push):
    trace = run(world=World(pole=Pole(), pushes=(push,)))
    assert_sound(trace)
    assert distance(trace).max() > 0.05, "the push must be felt"
    assert distance(trace)[-1] < 1e-3


def test_a_ball_joint_and_a_universal_joint_move_the_arm_alike():
    traces = [
        run(world=World(pole=Pole(joint=joint, tilt=(0.05, 0.06))), duration=3.0) for joint in ("ball", "universal")
    ]
    assert_sound(traces[0])
    # The same motion in other coordinates; the two integrate a turn over a step differently.
    assert np.abs(traces[0]["tool_position"] - traces[1]["tool_position"]).max() < 1e-4


def test_seven_states_leave_the_tool_where_it_comes_to_rest():
    trace = run(PoleBalance(hold_position=False), degrees=5.0, duration=8.0)
    assert_sound(trace)
    assert np.abs(trace["rest_q"][-1]).max() < 1e-3
    assert distance(trace)[-1] > 0.1


def test_least_torque_as_printed_lets_the_elbow_fall_and_a_held_posture_keeps_it():
    as_printed = PoleBalance(self_motion="free", nearest="torque", avoid_stops=False)
    printed = run(as_printed, degrees=1.0, azimuth=0.3, duration=3.0)
    held = run(PoleBalance(), degrees=1.0, azimuth=0.3, duration=3.0)
    assert np.abs(printed["q"] - POSTURE).max() > 1.5
    assert (np.abs(printed["v"]) > arm().limits.velocity).any()
    assert np.abs(held["q"] - POSTURE).max() < 0.1


def test_zero_angular_acceleration_lets_a_turn_go_on_and_the_pd_law_stops_it():
    twist = np.array([0, 0, 0, 0, 0, 0.2])
    v_start = np.linalg.pinv(arm().jacobian(POSTURE)) @ twist
    spins = {}
    for option in ("zero", "pd"):
        trace = run(PoleBalance(orientation=option), duration=1.5, v_start=v_start)
        spins[option] = trace["tool_twist"][-1, 5]
    assert spins["zero"] == pytest.approx(0.2, rel=0.05)
    assert abs(spins["pd"]) < 1e-3


def test_torque_limits_shrink_the_force_and_are_said():
    law = PoleBalance(force_limit=1000.0, fall_angle=None)
    bound, target = law.bind(arm()), joint_target(arm(), POSTURE)
    view = pole_at([0.6, 0, 0.8])
    bound.gains.torque_limit[:] = 0.3 * arm().limits.torque
    tick = bound.tick(arm(), POSTURE, np.zeros(7), target=target, seen=view)
    assert (np.abs(tick.terms["balance"]) > 0.3 * arm().limits.torque).any()
    assert (np.abs(tick.command) <= 0.3 * arm().limits.torque * (1 + 1e-12)).all()
    assert law.report.remarks(bound.memory) == [
        "only a share of the desired force was within the torque limits at 1 ticks"
    ]


def test_a_wanted_acceleration_leans_the_pole():
    law, target = PoleBalance(), joint_target(arm(), POSTURE)
    target.acceleration[0] = 0.5
    r = np.array([0.5 / 9.81, 0, np.sqrt(1 - (0.5 / 9.81) ** 2)])
    command = law.tick(arm(), POSTURE, np.zeros(7), target=target, seen=pole_at(r)).command
    a_A, a_B, f_B = law.model().accelerations(r, np.zeros(3), [0.55, 0, 1.1 * 9.81])
    x = arm().terms(POSTURE, np.zeros(7))
    found = x.J @ np.linalg.solve(x.M, command - x.bias - x.J[:3].T @ f_B)
    assert np.allclose(found[:3], a_A, atol=1e-9)
    assert np.allclose(a_B[0], a_A[0], atol=2e-3)  # the pole comes along, to the square of its lean


def test_six_joints_leave_no_freedom_and_a_limit_shrinks_the_force():
    robot = load_robot("ur5e").with_payload(1.0, (0, 0, 0))
    law, target = PoleBalance(force_limit=1e9, fall_angle=None, orientation="hold"), joint_target(robot, robot.home)
    leaning, upright = pole_at([0.3, 0.2, np.sqrt(1 - 0.13)]), pole_at([0, 0, 1])
    full = law.tick(robot, robot.home, np.zeros(6), target=target, seen=leaning).command
    rest = law.tick(robot, robot.home, np.zeros(6), target=target, seen=upright).command
    bound, worst = law.bind(robot), int(np.argmax(np.abs(full - rest)))
    bound.gains.torque_limit[worst] = abs(rest[worst]) + 0.5 * abs(full[worst] - rest[worst])
    command = bound.tick(robot, robot.home, np.zeros(6), target=target, seen=leaning).command
    assert abs(command[worst]) == pytest.approx(bound.gains.torque_limit[worst], rel=1e-12)
    assert bound.memory.shared == 1


def test_too_few_and_too_many_joints_are_refused():
    for name, joints in (("planar3", 3), ("quadruped", 18)):
        with pytest.raises(InvalidInput, match=str(joints)):
            PoleBalance().bind(load_robot(name))
