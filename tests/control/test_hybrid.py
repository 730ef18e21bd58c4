"""Hybrid position/force control: exact decoupling, sliding under friction, and the way into and out of contact."""

import numpy as np
import pytest

from palpate.control.law import Rig
from palpate.control.laws.hybrid_force import HybridForce
from palpate.control.references import Line
from palpate.control.references.reference import Hold, WantedWrench, joint_target
from palpate.control.steps.force_loop import force_loop_poles
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.scenario.reference import rig_of
from palpate.spatial import matrix_from_quat
from palpate.world.clock import Clock
from palpate.world.config import Sensors, Surface, World, WrenchSensor


def test_motion_and_force_are_decoupled_exactly():
    """V̇_m = A_d + K_d ΔV + K_p e and Λ_ff (V̇ − d ΔV)_f = W + F_f, for a force and a moment at once, turned axes."""
    robot, rng = load_robot("iiwa14"), np.random.default_rng(5)
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    law = HybridForce(
        axes_quat_wxyz=tuple(quat), force=("z", "rx"), motion=("x", "y", "ry", "rz"), proportional=0.7, integral=0.0
    )
    q, v = robot.home + 0.1, 0.3 * rng.normal(size=7)
    R = matrix_from_quat(quat)
    turn = np.kron(np.eye(2), R)  # task axes to world, both halves
    wanted_A, felt_A = np.array([0, 0, 10, 1, 0, 0.0]), np.array([2.0, -1, 4, 0.5, 0.2, 0.1])
    target = joint_target(robot, q)
    target.position[:] += 0.01
    twist, acceleration = rng.normal(size=6), rng.normal(size=6)
    target.twist[:], target.acceleration[:] = twist, acceleration
    target.wrench[:] = turn @ wanted_A
    tick = law.tick(robot, q, v, target=target, wrench=turn @ felt_A)
    J, drift, M = robot.jacobian(q), robot.jacobian_drift(q, v), robot.mass_matrix(q)
    a = np.linalg.solve(M, tick.command + J.T @ turn @ felt_A - robot.bias(q, v))
    V_rate = turn.T @ (J @ a + drift)
    rate = turn.T @ (twist - J @ v)
    error = np.r_[R.T @ np.full(3, 0.01), np.zeros(3)]
    motion = turn.T @ acceleration + 40 * rate + 400 * error
    np.testing.assert_allclose(V_rate[[0, 1, 4, 5]], motion[[0, 1, 4, 5]], atol=1e-8)
    inertia = np.linalg.inv(turn.T @ J @ np.linalg.solve(M, J.T) @ turn)[np.ix_([2, 3], [2, 3])]
    W = -(wanted_A + 0.7 * (wanted_A - felt_A))
    net = inertia @ (V_rate - 60 * rate)[[2, 3]]
    np.testing.assert_allclose(net, (W + felt_A)[[2, 3]], atol=1e-8)


def table(robot, gap=0.05, **settings):
    height = robot.pose(robot.home).position[2] - gap
    tip = 0.0
    for g in range(robot.model.ngeom):
        if robot.model.geom(g).name == "tip":
            tip = float(robot.model.geom(g).size[0])
    return Surface(position=(0, 0, height - tip), **{"stiffness": 1e4, "damping": 50.0, "friction": 0.3, **settings})


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_it_slides_at_the_wanted_speed_while_holding_ten_newtons_under_friction(name):
    robot = load_robot(name, joints="ideal")
    slide = Line(offset=(0, 0.2, 0), start=1.5, duration=4.0, wrench=WantedWrench(value=(0, 0, 10, 0, 0, 0)))
    law = HybridForce(approach_speed=0.1)
    trace = simulate(Run(robot, law, World(surfaces=(table(robot),)), slide, clock=Clock(duration=6.0)))
    on = trace.time > 1.4
    assert abs(trace["contact_wrench"][on, 2] - 10).max() < 0.2
    assert abs(trace["tool_twist"] - trace["target_twist"])[on, :2].max() < 1e-3
    assert abs(trace["contact_wrench"][on, 1]).max() > 2.5  # friction did act


@pytest.mark.parametrize("stiffness", [3e3, 1e4, 5e4])
def test_contact_at_a_tenth_of_a_metre_per_second_is_lost_at_most_once(stiffness):
    robot = load_robot("panda", joints="ideal")
    world = World(surfaces=(table(robot, stiffness=stiffness, damping=50.0),))
    trace = simulate(
        Run(
            robot,
            HybridForce(approach_speed=0.1),
            world,
            Hold(wrench=WantedWrench(value=(0, 0, 10, 0, 0, 0))),
            clock=Clock(duration=2.5),
        )
    )
    ends = [e for e in trace.events if e.source == "contact" and e.kind == "end"]
    assert len(ends) <= 1
    before = np.flatnonzero(trace["contact_force"] > 0)[0] - 1
    assert trace["tool_twist"][before, 2] == pytest.approx(-0.1, abs=2e-3)
    assert trace["contact_wrench"][-1, 2] == pytest.approx(10, abs=1e-2)


def test_a_wanted_wrench_of_zero_leads_back_to_the_motion():
    robot = load_robot("panda", joints="ideal")
    wanted = WantedWrench(value=(0, 0, 10, 0, 0, 0), then=(0, 0, 0, 0, 0, 0), at=2.0)
    trace = simulate(
        Run(
            robot,
            HybridForce(),
            World(surfaces=(table(robot, gap=0.02),)),
            Hold(wrench=wanted),
            clock=Clock(duration=4.0),
        )
    )
    assert trace["contact_wrench"][1990, 2] == pytest.approx(10, abs=0.05)
    assert [e.kind for e in trace.events if e.source == "contact"] == ["start", "end"]
    np.testing.assert_allclose(trace["tool_position"][-1], robot.pose(robot.home).position, atol=1e-4)


def test_contact_that_vanishes_is_counted_and_sought_again():
    """The table drops by 2 cm at 1.5 s faster than the tool follows."""
    from palpate.world.config import Motion

    robot = load_robot("panda", joints="ideal")
    motion = Motion(velocity=(0, 0, -2.0), start=1.5, stop=1.51)
    world = World(surfaces=(table(robot, gap=0.01, motion=motion),))
    trace = simulate(
        Run(
            robot, HybridForce(), world, Hold(wrench=WantedWrench(value=(0, 0, 10, 0, 0, 0))), clock=Clock(duration=4.0)
        )
    )
    kinds = [e.kind for e in trace.events if e.source == "contact"]
    assert kinds[:3] == ["start", "end", "start"]
    assert trace["contact_wrench"][-1, 2] == pytest.approx(10, abs=1e-2)


def test_one_force_axis_rings_as_its_poles_say():
    """cartesian2 pressed on a soft wall: the last of the swing has the frequency and decay of the slowest poles."""
    robot = load_robot("cartesian2")
    wall = Surface(position=(0.01, 0, 0), normal=(-1, 0, 0), stiffness=1e3, damping=0.0)
    law = HybridForce(force=("x",), motion=("y",), force_damping=6.0, integral=2.0, contact_force=0.5, force_speed=1.0)
    trace = simulate(
        Run(
            robot,
            law,
            World(surfaces=(wall,)),
            Hold(wrench=WantedWrench(value=(-10, 0, 0, 0, 0, 0))),
            clock=Clock(duration=3.0, timestep=1e-4),
        )
    )
    poles = force_loop_poles(2.0, 2.0 * 6.0, 2.0, 1e3)
    swing = -trace["contact_wrench"][:, 0] - 10
    touch = np.flatnonzero(swing > -9.5)[0] + 20
    t = trace.time[touch:]
    basis = np.column_stack([f(np.exp(p * (t - t[0]))) for p in poles[poles.imag >= 0] for f in (np.real, np.imag)])
    left = swing[touch:] - basis @ np.linalg.lstsq(basis, swing[touch:], rcond=None)[0]
    assert abs(left).max() < 0.01 * abs(swing[touch:]).max()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_noisy_sensor_makes_no_contact_where_there_is_none(seed):
    """1 N of noise: the impact is that of a true sensor, and contact is made once."""
    peaks = []
    for noise in (0.0, 1.0):
        changes = [f"world.sensors.wrench.noise_force={noise}", f"run.seed={seed}", "run.duration=1.4"]
        trace = simulate(load_scenario("panda-slide", changes))
        peaks.append(trace["contact_force"].max())
        assert "contact made 1 times, lost 0 times" in trace.facts.remarks[0]
    assert peaks[0] < 17.0
    assert peaks[1] < peaks[0] + 6.0  # 5 N of threshold and three ticks later


def test_the_contact_threshold_is_chosen_from_the_noise_that_arrives():
    robot = load_robot("panda", joints="ideal")
    law = HybridForce().suited(robot, Rig(noise_force=0.6, noise_moment=0.01))
    assert (law.contact_force, law.contact_moment, law.contact_ticks) == (3.0, 0.1, 3)
    quiet = HybridForce().suited(robot, Rig())
    assert (quiet.contact_force, quiet.contact_moment, quiet.contact_ticks) == (1.0, 0.1, 1)
    sensors = Sensors(wrench=WrenchSensor(noise_force=2.0, noise_torque=0.5, cutoff=50.0))
    rig = rig_of(World(sensors=sensors), Clock())
    rng = np.random.default_rng(0)
    share, filtered, seen = 1 - np.exp(-2 * np.pi * 50.0 * 1e-3), 0.0, []
    for reading in rng.normal(scale=2.0, size=200_000):
        filtered += share * (reading - filtered)
        seen.append(filtered)
    assert np.std(seen) == pytest.approx(rig.noise_force, rel=0.02)
    assert rig.noise_moment == pytest.approx(rig.noise_force / 4)


def test_contact_must_be_felt_so_many_times_in_a_row():
    law = Feeling(contact_force=1.0, contact_ticks=3)
    for _ in range(5):
        law.feel(2.0, ticks=2)
        law.feel(0.5)
    assert not law.memory.in_contact
    law.feel(2.0, ticks=3)
    assert law.memory.in_contact


def test_in_force_mode_the_tool_moves_no_faster_than_its_cap():
    """A dropped-out contact: what was felt once is gone, and the integral would drive the tool ever faster."""
    robot = load_robot("panda", joints="ideal")
    law = HybridForce(release_time=10.0, approach_speed=0.02, force_speed=0.03)
    bound, q, v = law.bind(robot), robot.home.copy(), np.zeros(7)
    target = joint_target(robot, q)
    target.wrench[2] = 10.0
    down = []
    for k in range(400):
        felt = [0, 0, 2.0 if k == 0 else 0.0, 0, 0, 0]
        tau = bound.tick(robot, q, v, target=target, wrench=felt, dt=1e-3).command
        v = v + 1e-3 * np.linalg.solve(robot.mass_matrix(q), tau - robot.bias(q, v))
        q = q + 1e-3 * v
        down.append(-(robot.jacobian(q) @ v)[2])
    assert max(down) == pytest.approx(0.03, abs=1e-3)
    assert bound.memory.capped > 100
    assert bound.memory.integral[2] < 3.0  # held while capped: k_i 10 N over 0.4 s would be 40 N
    assert "limited" in law.suited(robot, Rig()).report.remarks(bound.memory)[1]


def test_a_wanted_force_below_the_threshold_is_named():
    law = Feeling(contact_force=5.0, contact_moment=0.1)
    law.feel(0.0, wanted=3.0)
    said = HybridForce(contact_force=5.0, contact_moment=0.1).report.remarks(law.memory)
    assert any("force of 3 is below" in text for text in said)


def test_the_integral_holds_while_a_torque_is_beyond_its_limit():
    robot = load_robot("panda", joints="ideal")
    for far, moved in ((0.0, True), (5.0, False)):
        bound, q = HybridForce(integral=2.0).bind(robot), robot.home
        target = joint_target(robot, q)
        target.wrench[2] = 10.0
        target.position[0] += far  # asks for more torque than there is
        bound.tick(robot, q, np.zeros(7), target=target, wrench=[0, 0, 4.0, 0, 0, 0], dt=PERIOD)
        assert (bound.memory.integral[2] != 0.0) == moved


PERIOD = 1.0 / 128  # s: sums of it are exact


class Feeling:
    """A law that is told what it feels along z; ten newtons are wanted."""

    def __init__(self, **settings):
        self.robot = load_robot("panda", joints="ideal")
        self.bound = HybridForce(**settings).bind(self.robot)
        self.memory = self.bound.memory

    def feel(self, force, wanted=10.0, ticks=1):
        target = joint_target(self.robot, self.robot.home)
        target.wrench[2] = wanted
        for _ in range(ticks):
            self.bound.tick(
                self.robot, self.robot.home, np.zeros(7), target=target, wrench=[0, 0, force, 0, 0, 0], dt=PERIOD
            )


def test_contact_begins_at_the_threshold_and_only_against_the_wanted_force():
    law = Feeling(contact_force=1.0)
    law.feel(0.999, ticks=5)
    law.feel(-5.0, ticks=5)
    assert not law.memory.in_contact
    law.feel(1.0)
    assert law.memory.in_contact
    assert (law.memory.made, law.memory.lost) == (1, 0)


def test_contact_is_lost_below_the_release_share_for_longer_than_the_release_time():
    law = Feeling(contact_force=2.0, release_share=0.25, release_time=4 * PERIOD)
    law.feel(2.0)
    law.feel(0.5, ticks=50)  # below the threshold, at the release share
    assert law.memory.in_contact
    law.feel(0.499, ticks=4)
    assert law.memory.away == 4 * PERIOD  # as long as allowed
    law.feel(0.5)
    assert law.memory.away == 0.0  # felt again: time starts anew
    law.feel(0.499, ticks=4)
    assert law.memory.in_contact
    law.feel(0.499)
    assert not law.memory.in_contact
    assert (law.memory.made, law.memory.lost) == (1, 1)
    law.feel(1.999, ticks=5)
    assert not law.memory.in_contact  # the release share keeps contact, it does not make it
    law.feel(2.0)
    assert (law.memory.made, law.memory.lost) == (2, 1)


def test_each_contact_starts_with_an_empty_integral():
    law = Feeling(integral=2.0, release_time=0.0)
    law.feel(4.0, ticks=8)
    assert law.memory.integral[2] == pytest.approx(2.0 * 8 * PERIOD * 6.0)
    law.feel(0.0)
    law.feel(4.0)
    assert law.memory.integral[2] == pytest.approx(2.0 * PERIOD * 6.0)


def test_a_wanted_force_of_zero_leaves_at_once_and_is_no_loss():
    law = Feeling(release_time=1.0)
    law.feel(5.0)
    law.feel(5.0, wanted=0.0)
    assert not law.memory.in_contact
    assert (law.memory.made, law.memory.lost) == (1, 0)


@pytest.mark.parametrize("share", [0.0, 0.35, 1.0])
def test_the_share_of_friction_that_is_not_undone_acts_through_the_task_inertia(share):
    """V̇ = [u_m; u_f] + Λ⁻¹ [(1 − c) F_m; 0], with a force and a moment controlled."""
    robot, rng = load_robot("iiwa14"), np.random.default_rng(8)
    q, v, still = robot.home + 0.1, 0.3 * rng.normal(size=7), np.array([3.0, -2.0, 6.0, 0.4, -0.3, 0.2])
    target = joint_target(robot, q)
    target.wrench[[2, 3]] = 10.0, 1.0
    J, M = robot.jacobian(q), robot.mass_matrix(q)

    def acceleration(c):
        law = HybridForce(force=("z", "rx"), motion=("x", "y", "ry", "rz"), friction_feedback=c)
        return J @ np.linalg.solve(M, law.tick(robot, q, v, target=target, wrench=still).command)

    left = (1 - share) * still * [1, 1, 0, 0, 1, 1]
    acted = J @ np.linalg.solve(M, J.T @ left)
    np.testing.assert_allclose(acceleration(share) - acceleration(1.0), acted, atol=1e-9)


def test_the_remarks_count_contacts():
    law = HybridForce()
    memory = law.memory(load_robot("panda", joints="ideal"))
    assert "contact made 0 times, lost 0 times" in law.report.remarks(memory)[0]


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ({"kp": (-1, 1, 1, 1, 1, 1)}, "kp along x.*least 0, got -1"),
        ({"kd": (1, 1, 1, 1, -2, 1)}, "kd along ry.*least 0, got -2"),
        ({"force": ("z",), "motion": ("z",)}, "z cannot be"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, words):
    with pytest.raises(InvalidInput, match=words):
        HybridForce(**gains).bind(load_robot("panda", joints="ideal"))
