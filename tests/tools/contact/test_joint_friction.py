"""Dry friction in joints as modes of exact contact: closed forms, an own integration, the time-stepping loop."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import palpate as pp
from palpate.metrics import evaluate
from palpate.robot.robot import Robot
from palpate.tools.contact import Contact, HybridSystem, Plane

G = 9.81
WITH_FRICTION = ("panda", "fr3", "ur3e", "ur5e", "ur10e", "puma560")


def hinge(inertia: float, friction: float, damping: float = 0.0) -> Robot:
    """One hinge about the vertical, without gravity."""
    text = (
        '<mujoco><option gravity="0 0 0"/><worldbody><body name="b">'
        f'<joint name="j" axis="0 0 1" frictionloss="{friction}" damping="{damping}"/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/>'
        '<site name="tool" pos="1 0 0"/></body></worldbody></mujoco>'
    )
    return Robot.from_mjcf_text(text, name="hinge")


def without_friction(robot: Robot) -> Robot:
    spec = robot.spec()
    for joint in spec.joints:
        joint.frictionloss = 0.0
    return Robot(spec, name=robot.name, tool_frame=robot.tool_frame)


def two_links(friction: tuple[float, float]) -> Robot:
    """Unit links with unit masses at their ends; angles from the x axis, gravity along −y, as in document 002."""
    text = '<site name="tool" pos="1 0 0"/>'
    for number in (2, 1):
        joint = f'<joint name="joint{number}" axis="0 0 1" frictionloss="{friction[number - 1]}"/>'
        inertial = '<inertial pos="1 0 0" mass="1" diaginertia="1e-14 1e-14 1e-14"/>'
        text = f'<body name="link{number}" pos="{number - 1} 0 0">{joint}{inertial}{text}</body>'
    text = f'<mujoco><option gravity="0 -{G} 0"/><worldbody>{text}</worldbody></mujoco>'
    return Robot.from_mjcf_text(text, name="two links")


def test_a_joint_brakes_stops_and_sticks_where_the_closed_form_says() -> None:
    """I v̇ = −F: it stops after I v₀/F at v₀² I/(2 F), and stays."""
    inertia, friction, speed = 0.2, 0.5, 2.0
    result = HybridSystem(hinge(inertia, friction), []).run([0.0], [speed], 1.0)
    (event,) = result.events
    assert (event.what, event.contact, event.before, event.after) == ("stick", "j", "sliding", "sticking")
    assert event.time == pytest.approx(inertia * speed / friction, abs=1e-13)
    assert result.state.q == pytest.approx([speed**2 * inertia / (2 * friction)], abs=1e-13)
    assert result.state.v.tolist() == [0.0]
    assert result.state.joint_modes == ("sticking",)


def test_torque_steps_below_and_above_the_friction_hold_break_away_and_stop() -> None:
    system = HybridSystem(hinge(0.2, 0.5), [])
    held = system.advance(system.start([0.3]), 0.5, [0.4])
    assert held.events == ()
    assert held.state.v.tolist() == [0.0]
    assert held.state.joint_friction == pytest.approx([-0.4], abs=1e-15)
    gone = system.advance(held.state, 1.0, [0.7])
    assert [(e.what, e.time) for e in gone.events] == [("slip", 0.5)]
    assert gone.state.v == pytest.approx([(0.7 - 0.5) / 0.2 * 0.5], abs=1e-14)
    assert gone.state.joint_friction == pytest.approx([-0.5], abs=1e-15)
    # −0.3 N·m and friction brake with 0.8 N·m; the friction then holds 0.3 N·m.
    stopped = system.advance(gone.state, 2.0, [-0.3])
    assert [e.what for e in stopped.events] == ["stick"]
    assert stopped.events[0].time == pytest.approx(1.0 + 0.5 * 0.2 / 0.8, abs=1e-13)
    turned = system.advance(gone.state, 2.0, [-0.9])
    assert [e.what for e in turned.events] == ["reversal"]
    when = 1.0 + 0.5 * 0.2 / 1.4
    assert turned.events[0].time == pytest.approx(when, abs=1e-13)
    assert turned.state.v == pytest.approx([-(0.9 - 0.5) / 0.2 * (2.0 - when)], abs=1e-12)


def test_a_ramp_breaks_a_joint_away_where_it_reaches_the_friction() -> None:
    """τ = r t: away at F/r, then v = r (t − F/r)²/(2 I)."""
    result = HybridSystem(hinge(0.2, 0.5), []).run([0.0], None, 1.0, lambda t, q, v: [0.8 * t])
    (event,) = result.events
    assert (event.what, event.time) == ("slip", pytest.approx(0.625, abs=1e-10))
    assert result.state.v == pytest.approx([0.8 * 0.375**2 / 0.4], abs=1e-9)


def test_viscous_and_dry_friction_stop_a_joint_after_the_logarithm_of_their_ratio() -> None:
    """I v̇ = −F − d v: T = (I/d) ln(1 + d v₀/F)."""
    inertia, friction, damping, speed = 0.2, 0.5, 0.3, 4.0
    result = HybridSystem(hinge(inertia, friction, damping), []).run([0.0], [speed], 2.0)
    assert result.events[0].time == pytest.approx(inertia / damping * np.log1p(damping * speed / friction), abs=1e-12)


def test_a_spring_leaves_a_joint_anywhere_within_its_friction() -> None:
    """k |q| ≤ F ends it: each half swing loses 2 F/k of amplitude (2.1, 1.1, then 0.1 < 0.5)."""
    result = HybridSystem(hinge(1.0, 1.0), []).run([2.1], None, 10.0, lambda t, q, v: -2.0 * q)
    assert [e.what for e in result.events] == ["reversal", "stick"]
    assert [e.time for e in result.events] == pytest.approx([np.pi / np.sqrt(2.0) * k for k in (1, 2)], abs=1e-9)
    assert result.state.q == pytest.approx([0.1], abs=1e-9)
    assert result.state.v.tolist() == [0.0]


class OwnArm:
    """Two unit links with friction, integrated apart from the package: modes by trying all nine, events by SciPy."""

    def __init__(self, friction: tuple[float, float]) -> None:
        self.F, self.tau = np.array(friction), np.zeros(2)

    def terms(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c2, s2 = np.cos(q[1]), np.sin(q[1])
        M = np.array([[3 + 2 * c2, 1 + c2], [1 + c2, 1.0]])
        coriolis = np.array([-s2 * (2 * v[0] * v[1] + v[1] ** 2), s2 * v[0] ** 2])
        gravity = G * np.array([2 * np.cos(q[0]) + np.cos(q[0] + q[1]), np.cos(q[0] + q[1])])
        return M, coriolis + gravity

    def solve(self, y: np.ndarray, modes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """a and f: −1 and 1 slide with f = −F mode, 0 sticks with a = 0."""
        M, h = self.terms(y[:2], y[2:])
        A, b = np.zeros((4, 4)), np.zeros(4)
        A[:2, :2], A[:2, 2:], b[:2] = M, -np.eye(2), self.tau - h
        for i, mode in enumerate(modes):
            A[2 + i, i if mode == 0 else 2 + i] = 1.0
            b[2 + i] = -self.F[i] * mode
        x = np.linalg.solve(A, b)
        return x[:2], x[2:]

    def choose(self, y: np.ndarray) -> tuple[int, int]:
        moving = np.abs(y[2:]) > 1e-9
        for modes in itertools.product((0, 1, -1), repeat=2):
            a, f = self.solve(y, modes)
            good = True
            for i, mode in enumerate(modes):
                if moving[i]:
                    good &= mode == np.sign(y[2 + i])
                elif mode == 0:
                    good &= abs(f[i]) <= self.F[i]
                else:
                    good &= mode * a[i] > 0
            if good:
                return modes
        raise AssertionError("no mode")

    def run(self, q, levels, edges: tuple[float, ...]) -> tuple[np.ndarray, list[tuple[float, int]]]:
        t, y, changes = 0.0, np.array([*q, 0.0, 0.0]), []
        for self.tau, edge in zip(levels, edges):
            while t < edge - 1e-12:
                assert len(changes) < 100
                modes = self.choose(y)
                checks = []
                for i, mode in enumerate(modes):
                    if mode:
                        checks.append(lambda s, x, i=i, mode=mode: mode * x[2 + i] + 1e-11)
                    else:
                        checks.append(lambda s, x, i=i, m=modes: self.F[i] - abs(self.solve(x, m)[1][i]) + 1e-11)
                for check in checks:
                    check.terminal, check.direction = True, -1
                rate = lambda s, x, m=modes: np.concatenate([x[2:], self.solve(x, m)[0]])  # noqa: E731
                part = solve_ivp(rate, (t, edge), y, "DOP853", events=checks, rtol=1e-12, atol=1e-13, max_step=0.01)
                t, y = float(part.t[-1]), part.y[:, -1].copy()
                for i, times in enumerate(part.t_events):
                    if len(times):
                        changes.append((t, i))
                        y[2 + i] = 0.0
        return y, changes


def test_an_arm_with_friction_in_both_joints_moves_as_an_own_integration_says() -> None:
    friction, edges = (2.5, 1.0), (0.4, 0.8)
    levels = [np.array([25.0, 8.0]), np.array([8.0, 10.5]), np.array([24.0, 7.0])]

    own = OwnArm(friction)
    y, changes = own.run([0.3, 0.4], levels, (*edges, 1.2))
    system = HybridSystem(two_links(friction), [])
    state, events = system.start([0.3, 0.4]), []
    for level, until in zip(levels, (*edges, 1.2)):
        step = system.advance(state, until, level)
        state, events = step.state, events + list(step.events)
    assert state.q == pytest.approx(y[:2], abs=1e-9)
    assert state.v == pytest.approx(y[2:], abs=1e-8)
    inner = [(e.time, e.contact) for e in events if min(abs(e.time - edge) for edge in (0.0, *edges)) > 1e-9]
    assert len(inner) == len(changes) >= 3
    for (when, name), (own_time, joint) in zip(inner, changes):
        assert name == f"joint{joint + 1}"
        assert when == pytest.approx(own_time, abs=1e-9)


FALL = [
    "world.plant.joint_friction=[1.5, 0.6]",
    "world.surfaces.wall.position=[0, -9, 0]",
    "run.duration=0.6",
    "metrics={}",
]


def test_the_time_stepping_loop_comes_to_the_exact_motion_of_dry_joints_as_its_step_shrinks() -> None:
    exact = pp.simulate(pp.load_scenario("planar2-drop", FALL))
    assert exact.outcome.kind == "completed"
    assert any(event["contact"].startswith("joint") for event in exact.facts.contact_events)
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        changes = [*FALL, f"run.timestep={step}", f"run.period={step}"]
        changes += ["world.surfaces=[]", "world.contact_points=[]"]
        trace = pp.simulate(pp.load_scenario("planar2-drop", changes))
        errors.append(float(np.abs(trace["q"][-1] - exact["q"][-1]).max()))
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (ratios > 1.7).all()
    assert errors[-1] < 2e-3


@pytest.mark.parametrize("name", WITH_FRICTION)
def test_every_arm_with_joint_friction_collides_touches_and_runs(name: str) -> None:
    robot = pp.load_robot(name)
    q = np.array(robot.home)
    floor = Contact(Plane(robot.pose(q).position, (0, 0, 1)), friction=0.3, restitution=0.2, name="floor")
    v = np.linalg.pinv(robot.jacobian(q)) @ np.array([0.1, 0.0, -0.3, 0.0, 0.0, 0.0])
    # Bounded torques give no impulse: the blow is that of an arm without friction.
    blow, smooth = (pp.contact.impact(r, q, v, [floor]) for r in (robot, without_friction(robot)))
    assert blow.velocity.tolist() == smooth.velocity.tolist()
    held = pp.contact.constrained_dynamics(robot, q, np.zeros(robot.nv), robot.gravity(q), [floor])
    assert np.abs(held.acceleration).max() < 1e-9
    rubbing = robot.model.dof_frictionloss > 0
    assert [mode == "sticking" for mode in held.joint_modes] == rubbing.tolist()
    loose = pp.contact.constrained_dynamics(robot, q, np.zeros(robot.nv), robot.gravity(q), [floor], losses=False)
    assert loose.joint_modes == ("free",) * robot.nv
    result = HybridSystem(robot, [floor]).run(q, v, 0.05, robot.gravity(q))
    assert result.outcome == "done"
    assert np.abs(result.state.joint_friction[~rubbing]).max(initial=0.0) == 0.0
    assert (np.abs(result.state.joint_friction) <= robot.model.dof_frictionloss * (1 + 1e-12)).all()


def test_a_moving_joint_is_braked_by_exactly_its_friction_beside_a_contact() -> None:
    """τ' = τ − F sign(v) on an arm without friction gives the same accelerations and contact forces."""
    rng = np.random.default_rng(7)
    friction = (1.3, 0.7)
    dry, smooth = two_links(friction), two_links((0.0, 0.0))
    for _ in range(40):
        q1 = rng.uniform(0.2, 1.3)
        q, v1 = np.array([q1, -2 * q1]), rng.uniform(-2, 2)
        v, tau = np.array([v1, -2 * v1]), rng.uniform(-5, 5, 2)
        wall = Contact(Plane(normal=(0, 1, 0)), friction=0.1, two_sided=True)
        a = pp.contact.constrained_dynamics(dry, q, v, tau, [wall])
        b = pp.contact.constrained_dynamics(smooth, q, v, tau - friction * np.sign(v), [wall])
        assert a.acceleration == pytest.approx(b.acceleration, rel=1e-10, abs=1e-10)
        assert a.forces == pytest.approx(b.forces, rel=1e-10, abs=1e-10)
        assert a.joint_friction == pytest.approx(-np.array(friction) * np.sign(v))


def test_an_arm_whose_joints_stick_at_a_wall_is_held_and_its_forces_follow_the_torque() -> None:
    """Two stuck joints and a normal force hold two freedoms: many reactions would do, and they change by little."""
    robot = two_links((3.0, 3.0))
    system = HybridSystem(robot, [Contact(Plane(normal=(0, 1, 0)), name="wall")])
    press = robot.gravity([0.7, -1.4]) + robot.jacobian([0.7, -1.4])[:2].T @ [0.0, -5.0]
    state = system.run([0.7, -1.4], [0.2, -0.4], 0.6, press).state
    assert state.joint_modes == ("sticking", "sticking")

    def reaction(state, tau) -> float:
        left = tau - robot.gravity(state.q) + state.joint_friction + robot.jacobian(state.q)[:3].T @ state.forces[0]
        assert np.abs(left).max() < 1e-9
        assert (np.abs(state.joint_friction) <= 3.0).all()
        assert np.abs(state.v).max() < 1e-14
        return float(state.forces[0, 1])

    forces = [reaction(state, press)]
    for tick in range(1, 21):
        tau = press - [0.05 * tick, 0.0]
        state = system.advance(state, 0.6 + 1e-3 * tick, tau).state
        forces.append(reaction(state, tau))
    assert np.ptp(np.diff(forces)) < 1e-9  # in proportion to the torque
    assert 0.0 < abs(forces[-1] - forces[0]) < 1.5


def test_a_run_with_joint_friction_and_contact_closes_its_books() -> None:
    changes = ["world.plant.joint_friction=[0.8, 0.3]", "metrics={}", "run.duration=1.2"]
    trace = pp.simulate(pp.load_scenario("planar2-drop", changes))
    assert trace.outcome.kind == "completed"
    assert {r.name: r.value for r in evaluate(trace)}["energy_residual"] == pytest.approx(0.0, abs=1e-9)
    assert trace["energy.dissipated"][-1] > 1.0
