"""The pole as a thing of the world: its channels and mass, the camera, falls, and the document's sub-system alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate.control import PoleBalance, PoleModel
from palpate.control.law import PythonLaw
from palpate.control.solve.force_torques import torques_for_force
from palpate.errors import InvalidInput
from palpate.metrics import METRICS
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.trace import Recording
from palpate.views.panels import figures_of
from palpate.world.clock import Clock
from palpate.world.config import Camera, Driver, Pole, Push, Sensors, World

POSTURE = np.array([0, -0.8, 0, -1.9, 0, -1.1, 0])


def arm():
    return pp.load_robot("iiwa14").with_payload(1.0, (0, 0, 0))


def balance(law=None, world=None, *, q=POSTURE, duration=3.0, stride=1, **clock):
    world = world or World(pole=Pole(tilt=(0.0, 0.05)))
    run = Run(
        arm(),
        law or PoleBalance(),
        world,
        clock=Clock(duration=duration, **clock),
        q_start=q,
        record=Recording(stride=stride),
    )
    return simulate(run)


# ------------------------------------------------------------------ the sub-system alone


def pushed(force, pole, v_start=(0.0, 0.0, 0.0), duration=1e-3):
    """The end-effector alone under a constant force."""
    law = PythonLaw(lambda tick, gains, memory: {"torque": np.array(force)})
    world = World(pole=pole, driver=Driver(torque_limit=False))
    robot = pp.load_robot("point3")
    clock = Clock(duration=duration, timestep=1e-6, period=1e-6, integrator="rk4")
    return simulate(Run(robot, law, world, clock=clock, v_start=v_start, record=Recording(stride=1)))


def test_the_point_alone_accelerates_as_the_document_says_corrected():
    # From rest at x_AB = (0.3, −0.4): the closed form and the corrected (10)–(12), both against the engine.
    x, y, f = 0.3, -0.4, np.array([1.0, -2.0, 12.0])
    z = math.sqrt(1 - x * x - y * y)
    about_y = math.asin(x)  # the pole turns about x first, then about y
    about_x = math.atan2(-y, z)
    trace = pushed(f, Pole(tilt=(about_x, about_y)))
    assert trace["pole.AB"][0] == pytest.approx([x, y, z], abs=1e-12)
    a_A, _, _ = PoleModel().accelerations([x, y, z], [0, 0, 0], f)
    M, C = PoleModel().mass_and_bias([x, y], [0, 0])
    assert np.linalg.solve(M, np.r_[f, 0, 0] - C)[:3] == pytest.approx(a_A, rel=1e-12)
    assert trace["v"][1000] / 1e-3 == pytest.approx(a_A, abs=1e-4)


def test_the_accelerations_of_pole_and_end_effector_are_the_audited_ones():
    xy, rate, f = [0.3, -0.4], [1.5, 2.0], np.array([1.0, -2.0, 12.0, 0.0, 0.0])
    right = [0.861482595125, -1.815310126833, 1.790134695040, 0.523691453624, -0.031588604832]
    M, C = PoleModel().mass_and_bias(xy, rate)
    assert np.linalg.solve(M, f - C) == pytest.approx(right, abs=1e-11)


def test_a_rod_with_mass_accelerates_as_the_closed_form_says():
    f, pole = np.array([2.0, 0.5, 13.0]), Pole(tilt=(0.0, 0.3), rod_mass=0.25, mass=0.15, length=0.8)
    trace = pushed(f, pole)
    model = PoleModel(0.8, 0.15, 1.0, 9.81, 0.25)
    r = 0.8 * np.array([math.sin(0.3), 0, math.cos(0.3)])
    a_A, a_B, _ = model.accelerations(r, [0, 0, 0], f)
    assert trace["v"][1000] / 1e-3 == pytest.approx(a_A, abs=1e-4)
    moved = trace["tool_position"] + trace["pole.AB"]
    assert 2 * (moved[1000] - moved[0]) / 1e-6 == pytest.approx(a_B, abs=1e-3)


def test_the_linear_axis_of_a_heavy_rod_is_the_derivative_of_its_closed_form():
    model, small = PoleModel(0.8, 0.15, 1.2, 9.81, 0.25), 1e-6
    A, B = model.linear_axis()
    weight = (1.2 + 0.4) * 9.81

    def level(x, f):
        r = np.array([x, 0.0, math.sqrt(0.64 - x * x)])
        a_A, a_B, _ = model.accelerations(r, [0, 0, 0], [f, 0, weight])
        return np.array([a_A[0], a_B[0] - a_A[0]])

    assert (level(small, 0) - level(-small, 0)) / (2 * small) == pytest.approx(A[[1, 3], 2], rel=1e-6)
    assert (level(0, small) - level(0, -small)) / (2 * small) == pytest.approx(B[[1, 3], 0], rel=1e-6)


def test_friction_of_the_hinge_takes_energy_out():
    world = {"pole": Pole(tilt=(3.0, 0.0), pivot_damping=0.02), "driver": Driver(torque_limit=False)}
    law = PythonLaw(lambda tick, gains, memory: {"torque": tick.gravity - 300 * tick.v})
    clock = Clock(duration=2.0, timestep=1e-3)
    trace = simulate(Run(pp.load_robot("point3"), law, World(**world), clock=clock))
    assert trace["energy.dissipated"][-1] > 1e-4
    assert METRICS["energy_residual"].compute(trace) < 1e-3


def test_the_scenario_of_the_sub_system_keeps_its_bounds():
    trace = pp.simulate("pole-alone")
    assert METRICS["tilt_end"].compute(trace) < 2e-3
    assert METRICS["position_steady_error"].compute(trace) < 1e-2


# ------------------------------------------------------------------ channels, metrics, figure


def test_the_pole_is_recorded_measured_and_drawn():
    trace = balance()
    AB, tilt = trace["pole.AB"], trace["pole.tilt"]
    assert np.linalg.norm(AB, axis=1) == pytest.approx(np.ones(len(trace)), abs=1e-9)
    assert tilt[0] == pytest.approx(0.05, abs=1e-12)
    assert np.cos(tilt) == pytest.approx(AB[:, 2], abs=1e-12)
    assert METRICS["tilt_max"].compute(trace) >= 0.05 - 1e-9
    assert METRICS["tilt_end"].compute(trace) < METRICS["tilt_max"].compute(trace)
    assert trace["law.AB"][1::1][:-1] == pytest.approx(AB[1:-1], abs=1e-9)  # an ideal camera
    a_A, _, f_B = PoleModel().accelerations(AB[0], [0, 0, 0], trace["law.f"][0])
    assert trace["law.f_B"][0] == pytest.approx(f_B, abs=1e-9)
    assert (trace["tool_twist"][1] - trace["tool_twist"][0])[:3] / trace.time[1] == pytest.approx(a_A, abs=0.05)
    figure = next(f for f in figures_of(trace) if f.name == "pole")
    assert [panel.unit for panel in figure.panels] == ["rad", "m", "m"]


def test_a_run_without_a_pole_has_no_tilt_and_says_so():
    trace = pp.simulate("pendulum")
    assert "pole.tilt" not in trace
    result = next(r for r in pp.metrics.evaluate(trace) if r.name == "tilt_max")
    assert (result.value, result.reason) == (None, "there is no pole")


# ------------------------------------------------------------------ the camera


def test_a_late_noisy_camera_balances_the_pole():
    trace = pp.simulate("iiwa14-pole-camera")
    assert trace.outcome.kind == "completed"
    assert not trace.warnings
    assert METRICS["tilt_end"].compute(trace) < 0.03
    away = trace["law.AB"] - trace["pole.AB"]
    assert np.sqrt(np.mean(away[1000:2400, :2] ** 2)) < 3e-3  # in quiet, better than one picture


def test_without_an_estimator_the_same_camera_would_lose_it():
    law = PoleBalance(disturbance=1e6)  # a gain of 1: every picture is believed, its noise differentiated
    camera = Camera(rate=30, delay=0.03, noise=0.01)
    believed, weighed = (
        balance(law, World(pole=Pole(tilt=(0.0, 0.05)), sensors=Sensors(camera=camera)), duration=4.0, stride=5)
        for law in (law, PoleBalance())
    )
    assert METRICS["tilt_rms"].compute(weighed) < 0.5 * METRICS["tilt_rms"].compute(believed)


def test_pictures_come_when_they_should_and_are_as_noisy_as_said():
    camera = Camera(rate=50, delay=0.035, noise=0.004)
    seen = []

    def watch(tick, gains, memory):
        view = tick.seen.pole
        seen.append((tick.t, view.fresh, view.age, view.AB.copy()))
        return {"torque": tick.gravity}

    world = World(pole=Pole(), sensors=Sensors(camera=camera), driver=Driver(torque_limit=False))
    trace = simulate(Run(pp.load_robot("point3", gravity=0.0), PythonLaw(watch), world, clock=Clock(duration=4.0)))
    times = np.array([t for t, fresh, *_ in seen if fresh])
    assert times[:4] == pytest.approx([0.0, 0.035, 0.055, 0.075], abs=1e-9)
    ages = np.array([age for t, _, age, _ in seen if t > 0.1])
    assert (ages.min(), ages.max()) == pytest.approx((0.035, 0.054), abs=1e-9)
    pictures = np.array([AB for _, fresh, _, AB in seen if fresh])
    assert np.linalg.norm(pictures, axis=1) == pytest.approx(np.ones(len(pictures)))
    assert pictures[:, :2].std() == pytest.approx(0.004, rel=0.1)
    assert trace.outcome.kind == "completed"


# ------------------------------------------------------------------ what is refused, warned of, or ends the run


def test_pole_balance_without_a_pole_is_refused():
    with pytest.raises(InvalidInput, match=r"none in.*world"):
        balance(world=World())


def test_gravity_that_differs_from_the_laws_is_warned_of():
    trace = balance(world=World(pole=Pole(), gravity=(0, 0, -9.7)), duration=0.01)
    assert trace.warnings[0] == "pole-balance assumes gravity of 9.81 m/s² along −z; the world's is (0, 0, -9.7) m/s²"
    assert not any("gravity" in w for w in balance(duration=0.01).warnings)


def test_a_fall_is_named_the_arm_brakes_and_the_run_ends():
    push = Push(frame="pole_tip", force=(0, 0.8, 0), start=0.2, duration=0.3)
    trace = balance(world=World(pole=Pole(), pushes=(push,)), duration=6.0)
    assert trace.outcome.kind == "stopped"
    assert "arm braked" in trace.outcome.reason
    assert trace.outcome.time < 4.0
    assert np.abs(trace["v"][-1]).max() < 0.02
    assert any("arm braked" in w for w in trace.warnings)
    rated = arm().limits.velocity
    assert (np.abs(trace["v"]) / rated).max() < 10  # 37 times and more where nobody gives up


def test_pd_makes_the_tool_level_and_hold_keeps_its_start():
    q = POSTURE + np.array([0, 0, 0, 0, 0, 0.1, 0.0])
    for law, angle in ((PoleBalance(), 0.0), (PoleBalance(orientation="hold"), 0.1)):
        trace = balance(law, q=q, world=World(pole=Pole()))
        w, x, y, z = trace["tool_quat_wxyz"][-1]
        assert math.acos(min(1.0, w * w - x * x - y * y + z * z)) == pytest.approx(angle, abs=2e-3)


# ------------------------------------------------------------------ torques for a force


def random_force(rng):
    q, v = POSTURE + rng.normal(scale=0.2, size=7), rng.normal(scale=0.3, size=7)
    n = np.array([*rng.uniform(-0.3, 0.3, 2), 1.0])
    r = n / np.linalg.norm(n)
    return q, v, rng.normal(scale=3, size=3) + np.array([0, 0, 10.8]), r, np.cross(rng.normal(scale=0.5, size=3), r)


def test_torques_for_a_force_are_the_documents_program():
    robot, rng = arm(), np.random.default_rng(4)
    for _ in range(20):
        q, v, f, r, rate = random_force(rng)
        found = torques_for_force(robot, q, v, f, r, rate, angular_acceleration=[0.1, -0.2, 0.3])
        a_A, _, f_B = PoleModel().accelerations(r, rate, f)
        x = robot.terms(q, v)
        # (14) and (15) on (v̇, τ), min τᵀτ: the KKT system.
        A = np.block([[x.M, -np.eye(7)], [x.J, np.zeros((6, 7))]])
        b = np.r_[-x.bias - x.J[:3].T @ f_B, np.r_[a_A, 0.1, -0.2, 0.3] - x.drift]
        kkt = np.block([[np.diag([0.0] * 7 + [1.0] * 7), A.T], [A, np.zeros((13, 13))]])
        solved = np.linalg.solve(kkt, np.r_[np.zeros(14), b])
        assert found.torque == pytest.approx(solved[7:14], abs=1e-8)
        assert found.acceleration == pytest.approx(solved[:7], abs=1e-7)
        assert found.reached


def test_torques_for_a_force_within_limits_are_the_least_there_are():
    robot, rng, bent = arm(), np.random.default_rng(5), 0
    for _ in range(20):
        q, v, f, r, rate = random_force(rng)
        free, x = torques_for_force(robot, q, v, f, r, rate).torque, robot.terms(q, v)
        limits = np.abs(free) + 5.0
        limits[1] -= 5.5
        found = pp.control.torques_for_force(robot, q, v, f, r, rate, limits=limits)
        # One freedom is left, torques free + s null with free across null: the s nearest to 0 within the limits.
        null = np.linalg.svd(np.linalg.solve(x.M, x.J.T).T)[2][-1]
        moves = np.abs(null) > 1e-9
        ends = np.sort([(side * limits - free)[moves] / null[moves] for side in (-1, 1)], axis=0)
        low, high = ends[0].max(), ends[1].min()
        assert free @ null == pytest.approx(0.0, abs=1e-8)
        assert (np.abs(found.torque) <= limits + 1e-7).all()
        stuck = (np.abs(free) > limits)[~moves].any()
        assert found.reached == (low <= high and not stuck)
        if found.reached:
            bent += 1
            assert found.torque == pytest.approx(free + min(max(0.0, low), high) * null, abs=1e-6)
    assert bent > 3


def test_a_force_beyond_the_limits_says_what_it_misses():
    robot = arm()
    found = torques_for_force(robot, POSTURE, np.zeros(7), [0, 0, 10.8], [0, 0, 1.0], limits=np.full(7, 5.0))
    assert not found.reached
    assert np.abs(found.missed).max() > 1.0
    assert (np.abs(found.torque) <= 5.0 + 1e-9).all()
    with pytest.raises(InvalidInput, match="cannot give"):
        torques_for_force(pp.load_robot("planar3"), [0, 0.5, 0.5], np.zeros(3), [0, 0, 10.0], [0, 0, 1.0])
