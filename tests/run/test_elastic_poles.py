"""Poles of loops around elastic joints: motors and springs are in them, against sampled closed forms and runs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

from palpate.control import JointImpedance
from palpate.robot import Robot, load_robot
from palpate.robot.catalogue import facts
from palpate.robot.catalogue.joint_facts import ranges
from palpate.robot.joints.elastic_modes import elastic_modes, held_modes
from palpate.run.build import build
from palpate.run.forecast.design import design
from palpate.run.forecast.ends import ends_of, range_sentence
from palpate.run.forecast.limits import Limit
from palpate.run.forecast.pushes import AFTER, course_of
from palpate.run.forecast.variants import Setting, Variants, settings_of
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.run.tangent.loop_poles import poles
from palpate.scenario.file.load import load_scenario
from palpate.world.clock import Clock
from palpate.world.config import PlantChange, Push, Sensors, World
from palpate.world.driver import Driver

ONE = """<mujoco><option gravity="0 0 0"/><worldbody><body name="b">
<joint name="x" type="slide" axis="1 0 0" armature="{B}"/>
<geom name="tip" type="sphere" size="0.1" mass="{m}"/><site name="tool"/></body></worldbody></mujoco>"""
B, M, K, D = 0.3, 0.7, 4000.0, 1.5
T = 1e-3


def loop(kp: float, kd: float, side: Any, delay: int, step: float = T, *, push: float = 0.0, **clock) -> Run:
    """A position held by a motor: a law on the motor's angle, or on the link's."""
    pushes = (Push(name="p", kind="impulse", force=(push, 0, 0), start=0.0, duration=step),) if push else ()
    world = World(
        plant=PlantChange(joint_stiffness=K, gear_damping=D),
        sensors=Sensors(encoders=side),
        driver=Driver(delay=delay, torque_limit=False, torque_rate_limit=False),
        pushes=pushes,
    )
    timing: dict[str, Any] = {"duration": 0.05, "timestep": step, "period": T} | clock
    robot = Robot.from_mjcf_text(ONE.format(B=B, m=M), name="one")
    return Run(robot, JointImpedance(stiffness=(kp,), damping=(kd,)), world, clock=Clock(**timing))


def sampled_poles(kp: float, kd: float, side: Any, delay: int) -> np.ndarray:
    """The same with the torque held between samples: by the exponential of both masses, some samples late."""
    A = np.zeros((5, 5))  # θ, q, θ̇, q̇, τ
    A[0, 2] = A[1, 3] = 1.0
    A[2] = np.array([-K, K, -D, D, 1.0]) / B
    A[3] = np.array([K, -K, D, -D, 0.0]) / M
    E = expm(T * A)
    n = 4 + delay
    P = np.zeros((n, n))
    P[:4, :4] = E[:4, :4]
    command = np.zeros(n)
    command[[0, 2] if side == "motor" else [1, 3]] = -kp, -kd
    if delay == 0:
        P[:4] += np.outer(E[:4, 4], command)
        return np.linalg.eigvals(P)
    P[:4, n - 1] = E[:4, 4]
    P[4] = command
    for k in range(5, n):
        P[k, k - 1] = 1.0
    return np.linalg.eigvals(P)


def largest(kp: float, kd: float, side: Any, delay: int) -> float:
    return float(np.abs(sampled_poles(kp, kd, side, delay)).max())


def crossing(function: Any, low: float, high: float) -> float:
    """Where a function passes 0, within a thousandth."""
    root: Any = brentq(function, low, high, xtol=1e-3 * low)
    return float(root)


def range_of(name: str, kind: str) -> Any:
    return ranges(facts(name), kind, load_robot(name).dof_names)


@pytest.mark.parametrize(("side", "delay"), [("motor", 0), ("motor", 3), ("link", 0), ("link", 2)])
def test_poles_approach_those_of_two_masses_under_a_sampled_law(side: Any, delay: int) -> None:
    errors = []
    for ratio in (4, 16):
        found = poles(loop(300.0, 6.0, side, delay, T / ratio), 0.02, finer=False).largest
        errors.append(abs(found - largest(300.0, 6.0, side, delay)))
    assert errors[1] < 2e-4
    assert errors[1] < 0.35 * errors[0] + 1e-7


def test_a_loop_on_the_motor_bears_more_than_one_on_the_link_and_both_limits_are_the_closed_ones() -> None:
    """Without delay a motor's loop is collocated: only sampling limits it; a link's is not, and damping excites it."""
    limits = {}
    for side in ("motor", "link"):
        exact = crossing(lambda kd, side=side: largest(50.0, kd, side, 1) - 1.0, 0.5, 300.0)
        found = crossing(
            lambda kd, side=side: poles(loop(50.0, kd, side, 1, T / 16), 0.02, finer=False).largest - 1.0,
            0.8 * exact,
            1.25 * exact,
        )
        limits[side] = found
        assert found == pytest.approx(exact, rel=0.02)
    assert limits["motor"] > 3.0 * limits["link"]


def test_runs_on_both_sides_of_the_limit_die_out_and_grow() -> None:
    exact = crossing(lambda kd: largest(50.0, kd, "link", 1) - 1.0, 0.5, 300.0)
    sizes = {}
    for share in (0.9, 1.15):
        trace = simulate(loop(50.0, share * exact, "link", 1, T / 8, push=1e-3, duration=2.0))
        bent = np.abs(trace["motor_q"][:, 0] - trace["q"][:, 0])
        sizes[share] = bent[-1000:].max() / bent[1000:3000].max()
    assert sizes[0.9] < 0.5
    assert sizes[1.15] > 2.0


def test_the_forecast_of_an_arm_has_its_motors_and_a_rigid_one_has_none() -> None:
    scenario = load_scenario("panda-wall")
    rigid, elastic = (
        poles(scenario.replace(robot__joints=joints), 0.02, finer=False) for joints in ("as_built", "elastic")
    )
    names = [name for name in elastic.states if "elastic" in name]
    assert sum(name.startswith("loop.elastic.motor_") for name in names) == 14
    assert not any("motor_q" in name and "elastic" in name for name in rigid.states if name in rigid.neutral)
    assert elastic.stable


def test_modes_of_an_arm_are_those_of_its_loop_without_gains() -> None:
    """Motors free under no law: the poles of a step are e^(s h) of the arm's modes, to 0.3 % in frequency."""
    robot = load_robot("panda", joints="elastic").with_gravity((0, 0, 0))
    run = Run(robot, JointImpedance(stiffness=(1e-6,) * 7, damping=(1e-6,) * 7), World(), clock=Clock(duration=0.05))
    found = poles(run, 0.02, finer=False)
    rates = found.rates
    shown = np.sort(np.abs(rates[np.imag(rates) > 100.0]) / (2 * np.pi))
    expected = [mode.frequency for mode in elastic_modes(robot, robot.home)]
    assert shown == pytest.approx(expected, rel=4e-3)


def test_modes_of_one_joint_have_closed_forms() -> None:
    text = ONE.format(B=B, m=M).replace(
        "<worldbody>",
        f'<custom><numeric name="joint_stiffness" data="{K}"/>'
        f'<numeric name="gear_damping" data="{D}"/></custom><worldbody>',
    )
    robot = Robot.from_mjcf_text(text, name="one")
    (free,), (held,) = elastic_modes(robot, np.zeros(1)), held_modes(robot, np.zeros(1))
    W = 1 / B + 1 / M
    assert free.frequency == pytest.approx(np.sqrt(K * W) / (2 * np.pi), rel=1e-12)
    assert free.damping_ratio == pytest.approx(D * W / (2 * np.sqrt(K * W)), rel=1e-12)
    assert held.frequency == pytest.approx(np.sqrt(K / M) / (2 * np.pi), rel=1e-12)
    assert held.damping_ratio == pytest.approx(D / (2 * np.sqrt(K * M)), rel=1e-12)


def test_both_ends_of_the_ranges_are_runs_of_their_own() -> None:
    run = build(load_scenario("panda-wall").replace(robot__joints="elastic"))
    soft, stiff = ends_of(run)
    low, _, high = range_of("panda", "joint_stiffness")
    assert soft.run.world.plant.joint_stiffness == tuple(low)
    assert stiff.run.world.plant.joint_stiffness == tuple(high)
    rotors: Any = stiff.run.world.plant.rotor_inertia
    assert rotors[0] == pytest.approx(0.605721456 - 0.195)
    assert ends_of(build(load_scenario("panda-wall"))) == ()


def test_every_range_of_the_catalogue_is_no_wider_than_threefold() -> None:
    for name in ("panda", "fr3", "iiwa14", "ur5e", "ur10e"):
        for kind in ("joint_stiffness", "rotor_inertia"):
            low, value, high = range_of(name, kind)
            assert (low <= value).all()
            assert (value <= high).all()
            assert (high <= 3.2 * low).all()


def test_the_rate_of_the_sensed_torque_damps_the_motor_as_its_equation_says() -> None:
    """B θ̈ + S = τ − k_s K (θ̇ − q̇): the rates of the loop are the eigenvalues of this, with a weak law beside it."""
    ks, kp, kd = 2e-3, 20.0, 1.0
    A = np.zeros((4, 4))  # θ, q, θ̇, q̇
    A[0, 2] = A[1, 3] = 1.0
    A[2] = np.array([-K - kp, K, -D - kd - ks * K, D + ks * K]) / B
    A[3] = np.array([K, -K, D, -D]) / M
    exact = np.linalg.eigvals(A)
    run = loop(kp, kd, "motor", 0, T / 50, period=T / 50)
    driver = run.world.driver.model_copy(update={"torque_rate_feedback": ks})
    world = run.world.model_copy(update={"driver": Driver.model_validate(driver.model_dump())})
    rates = poles(replace(run, world=world), 0.02, finer=False).rates
    fast = max(exact, key=abs)
    nearest = rates[np.argmin(np.abs(rates - fast))]
    assert abs(nearest - fast) < 0.01 * abs(fast)


def late_panda(**changes: Any) -> Any:
    """A Panda on its gears, without dry friction, behind libfranka's filter, a tick late."""
    wall = load_scenario("panda-wall")
    data = wall.as_data()
    data["robot"]["joints"], data["run"]["timestep"] = "elastic", 2.5e-4
    data["world"] |= {
        "driver": {"preset": "libfranka", "delay": 1, "coulomb_compensation": 1.0},
        "sensors": {"velocity": "differentiated", "velocity_cutoff": 100.0},
    }
    data["world"]["surfaces"][0]["friction"] = 0.0
    return type(wall).model_validate(data).replace(**changes)


def test_motors_at_their_limits_that_shake_less_for_a_while_are_not_quiet() -> None:
    """Between two pieces of time the shaking falls, and in the next it is back."""
    soft, _ = ends_of(build(late_panda()))
    variants = Variants(soft.run, AFTER)
    late, *_ = settings_of(variants.base)
    assert [course_of(variants, late.at(variants.base, delay)) for delay in (2, 4, 5)] == ["quiet", "shakes", "shakes"]


def limit(stable_to: float, unstable_at: float, quiet_at: float, shakes_at: float, *, rubs: bool = False) -> Limit:
    setting = Setting("control.stiffness", 1.0, "N/m")
    return Limit(setting, stable_to, unstable_at, None, quiet_at, shakes_at, "", rubs)


@pytest.mark.parametrize(
    ("soft", "stiff", "numbers", "agrees"),
    [
        (limit(900, 940, 810, 1034), limit(2400, 2500, 2160, 2750), "900.*2.4e\\+03 N/m", True),
        (limit(900, 940, 1034, 1500, rubs=True), limit(2400, 2500, 2160, 2750), "soft:.*1.03e\\+03.*friction", False),
        (limit(900, 940, 810, 1034), limit(32, math.inf, 32, math.nan), "32.*900.*more", True),
        (limit(32, math.inf, 32, math.nan), limit(64, math.inf, 64, math.nan), "32 N/m.*both", None),
        (limit(32, math.inf, 32, math.nan), None, "stiff", None),
    ],
)  # fmt: skip
def test_a_limit_over_the_ranges_says_what_runs_show_at_each_end(
    soft: Any, stiff: Any, numbers: str, agrees: bool | None
) -> None:
    said = range_sentence("control.stiffness", "N/m", {"soft": soft, "stiff": stiff})
    assert re.search(numbers, said)
    assert ("do not agree" in said) == (agrees is False)
    assert ("agree." in said) == (agrees is True)


@pytest.mark.slow
def test_limits_of_an_elastic_arm_are_confirmed_by_runs_and_lie_between_its_ends() -> None:
    """Runs agree with the poles on both sides, as the joints are and at both ends of what is known of them."""
    answer = design(late_panda())
    limits = {limit.setting.key: limit for limit in answer.limits}
    assert answer.stable
    for key in ("control.stiffness", "control.damping", "world.driver.delay"):
        assert limits[key].confirmed
    assert len(answer.ends) == len(answer.limits)
    (damping,) = (sentence for sentence in answer.ends if sentence.startswith("control.damping"))
    assert damping.endswith("agree.")
