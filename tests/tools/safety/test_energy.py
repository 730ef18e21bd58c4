"""The energy book, the tank and the passivity controller against closed forms, and in the loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import Tick
from palpate.run.build import build
from palpate.run.tangent.loop_poles import poles
from palpate.tools.safety.energy import (
    EnergyMemory,
    EnergySettings,
    Passivity,
    Tank,
    brake_excess,
    keep_book,
    late_damper_energy,
    late_spring_energy,
    sampled_work,
    schedule_energy,
    slow_set_points,
    turn_valve,
)
from palpate.tools.safety.reactions import Reactions
from tools.safety.arms import NEVER, plane, quietly

SIZES = {"nq": 1, "nv": 1}


def booked(torque: np.ndarray, q: np.ndarray, period: float, settings: EnergySettings) -> EnergyMemory:
    """The book of one joint whose held torques and positions are given."""
    tick, memory = Tick(SIZES), EnergyMemory(SIZES)
    tick.dt = period
    for k in range(len(q)):
        tick.q[0], tick.tau[0] = q[k], torque[k - 1] if k else 0.0
        keep_book(tick, settings, memory)
    return memory


def test_a_schedule_of_stiffness_takes_785398_microjoules_a_period() -> None:
    """K(t) = K₀ + 500 sin 2ωt along e = 0.01 cos ωt: ½ π 500 a² = 0.0785398 J, in the sampled book up to the hold."""
    assert schedule_energy(500.0, 0.01) == pytest.approx(0.0785398, abs=5e-8)
    count, w = 4000, 2 * math.pi
    t = np.arange(count + 1) / count
    e = 0.01 * np.cos(w * t)
    torque = (1000.0 + 500.0 * np.sin(2 * w * t)) * e
    memory = booked(torque, -e, 1 / count, EnergySettings(book=True, tank=True, start=1.0, most=10.0))
    # The hold of a spring is late by half a period: π K₀ a² ω T/2 on top.
    late = math.pi * 1000.0 * 0.01**2 * w / count / 2
    assert memory.work == pytest.approx(0.0785398 + late, abs=2e-7)
    assert memory.work == pytest.approx(sampled_work(torque, -e), rel=1e-12)
    assert memory.tank == pytest.approx(1.0 - memory.work, rel=1e-12)
    continuous = np.trapezoid(torque * w * 0.01 * np.sin(w * t), t)
    assert continuous == pytest.approx(0.0785398, abs=5e-8)


@pytest.mark.parametrize(
    ("harmonic", "phase", "offset", "amplitude"), [(2, 0.7, 0.0, 350.0), (1, -0.4, 0.03, 900.0), (3, 0.2, 0.02, 400.0)]
)
def test_a_schedule_of_any_phase_takes_half_of_its_change_times_the_error_squared(
    harmonic: int, phase: float, offset: float, amplitude: float
) -> None:
    a, w, t = 0.02, 7.0, np.linspace(0.0, 2 * math.pi / 7.0, 200_001)
    e = offset + a * np.cos(w * t)
    rate = amplitude * harmonic * w * np.cos(harmonic * w * t + phase)
    told = schedule_energy(amplitude, a, harmonic=harmonic, phase=phase, offset=offset)
    assert told == pytest.approx(np.trapezoid(0.5 * rate * e**2, t), abs=1e-9)


@pytest.mark.parametrize(("delay", "per_cycle"), [(0, 50), (3, 40), (12, 125)])
def test_late_springs_and_dampers_give_what_their_sines_say(delay: int, per_cycle: int) -> None:
    T, K, D, a = 2e-3, 730.0, 11.0, 0.013
    w, k = 2 * math.pi / (per_cycle * T), np.arange(per_cycle + 1)
    q, late = a * np.sin(w * T * k), w * T * (k - delay)
    spring, damper = -K * a * np.sin(late), -D * a * w * np.cos(late)
    f = 1.0 / (per_cycle * T)
    assert sampled_work(spring, q) == pytest.approx(late_spring_energy(K, a, f, T, delay), rel=1e-11)
    assert sampled_work(damper, q) == pytest.approx(late_damper_energy(D, a, f, T, delay), rel=1e-11)
    assert booked(spring + damper, q, T, EnergySettings(book=True)).work == pytest.approx(
        late_spring_energy(K, a, f, T, delay) + late_damper_energy(D, a, f, T, delay), rel=1e-10
    )


def test_what_comes_back_counts_at_its_share() -> None:
    q = np.array([0.0, 0.1, 0.0])
    settings = EnergySettings(book=True, tank=True, start=1.0, most=2.0, refill=0.25)
    memory = booked(np.array([4.0, 4.0, 0.0]), q, 1e-3, settings)
    assert memory.work == pytest.approx(0.0, abs=1e-15)
    assert memory.tank == pytest.approx(1.0 - 0.4 + 0.25 * 0.4)
    assert memory.refused == pytest.approx(0.75 * 0.4)


def test_a_late_spring_gives_3700_microjoules_a_cycle() -> None:
    assert late_spring_energy(500.0, 0.01, 2.5, 1e-3, 1) == pytest.approx(3.7007e-3, abs=5e-8)
    k = np.arange(401)
    q, torque = 0.01 * np.sin(5 * math.pi * 1e-3 * k), -5.0 * np.sin(5 * math.pi * 1e-3 * (k - 1))
    memory = booked(torque, q, 1e-3, EnergySettings(book=True))
    assert memory.work == pytest.approx(late_spring_energy(500.0, 0.01, 2.5, 1e-3, 1), rel=1e-10)


def test_a_full_tank_lets_energy_go_and_says_how_much() -> None:
    q = np.array([0.0, -0.1, -0.2])
    memory = booked(np.array([5.0, 5.0, 5.0]), q, 1e-3, EnergySettings(book=True, tank=True, start=0.4, most=0.5))
    assert memory.tank == pytest.approx(0.5)
    assert memory.refused == pytest.approx(0.9)


def test_the_valve_lets_exactly_what_the_tank_has_through() -> None:
    settings = EnergySettings(book=True, tank=True, start=1.0, floor=0.2, most=2.0, most_brake=100.0)
    tick, memory, torque = Tick(SIZES), EnergyMemory(SIZES), np.array([9.0])
    tick.dt, tick.v[0], tick.gravity[0], memory.tank = 1e-3, 2.0, 1.0, 0.2 + 0.004
    turn_valve(tick, settings, memory, torque)
    assert memory.valve == pytest.approx(0.25)  # (9 − 1) · 2 · 1 ms = 16 mJ asked, 4 there
    assert torque[0] == pytest.approx(1.0 + 0.25 * 8.0)
    torque[0] = -9.0
    turn_valve(tick, settings, memory, torque)
    assert torque[0] == -9.0
    assert memory.valve == 1.0


def test_the_brake_takes_what_is_too_much_within_its_bound() -> None:
    tick, memory, torque = Tick(SIZES), EnergyMemory(SIZES), np.zeros(1)
    tick.dt, tick.v[0], tick.M[0, 0] = 1e-3, 2.0, 3.0
    brake_excess(tick, EnergySettings(most_brake=1e3), memory, 0.006, torque)
    assert -torque[0] * 2.0 * 1e-3 == pytest.approx(0.006)
    torque[0] = 0.0
    brake_excess(tick, EnergySettings(most_brake=0.1), memory, 0.006, torque)
    assert torque[0] == pytest.approx(-0.1 * 3.0 * 2.0)


def slowed(energy: float, wrench: float, steps: list[float], positions: bool = True) -> tuple[list[float], float]:
    """Set points that leave the valve, and its share, of a joint whose tool is at it."""
    settings = EnergySettings(tank=True, floor=0.1, reserve=0.4, creep=0.05)
    tick, memory, point, out = Tick(SIZES), EnergyMemory(SIZES), np.zeros(1), []
    tick.dt, tick.J[0, 0], tick.wrench[0], memory.tank = 1e-3, 1.0, wrench, energy
    law = 0.0
    for step in steps:
        law += step
        point[0] = law if positions else step / 1e-3
        slow_set_points(tick, settings, memory, positions, point)
        out.append(float(point[0]))
    return out, memory.valve


def test_set_points_that_press_are_slowed_by_what_the_tank_lacks() -> None:
    assert slowed(0.6, -20.0, [0.0, 1e-4, 1e-4]) == ([0.0, 1e-4, 2e-4], 1.0)  # more than floor and reserve
    points, valve = slowed(0.2, -20.0, [0.0, 1e-4, 1e-4])
    assert valve == pytest.approx(0.25)  # (0.2 − 0.1) / 0.4
    assert points == pytest.approx([0.0, 0.25e-4, 0.5e-4], rel=1e-3)  # and 1/4 s of 1 s is made up for: next to nothing
    assert slowed(0.05, -20.0, [0.0, 1e-4])[1] == 0.05  # an empty tank creeps
    points, valve = slowed(0.05, -20.0, [0.0, -1e-4])  # with the wrench: it yields
    assert valve == 1.0
    assert points[-1] == pytest.approx(-1e-4)
    assert slowed(0.2, -20.0, [1e-4], positions=False)[0] == pytest.approx([0.25 * 0.1])


def test_what_was_kept_back_is_made_up_for() -> None:
    settings = EnergySettings(tank=True, floor=0.1, reserve=0.4)
    tick, memory, point = Tick(SIZES), EnergyMemory(SIZES), np.zeros(1)
    tick.dt, tick.J[0, 0], memory.tank = 1e-3, 1.0, 0.3
    lacks = []
    for k in range(2001):
        point[0] = 0.01 if k else 0.0
        slow_set_points(tick, settings, memory, True, point)
        lacks.append(0.01 - point[0])
    assert lacks[1] == pytest.approx(0.005)
    assert lacks[2000] == pytest.approx(0.005 * math.exp(-0.5 * 1.999), rel=1e-3)


def test_a_late_admittance_hammers_beyond_the_edge_of_its_poles_and_calms_down_with_a_tank() -> None:
    """The forecast's edge without a tank lies between 28 and 32 ticks, and that of the runs; with one 40 are calm."""
    scenario = pp.load_scenario("ur5e-late-admittance")
    swings, largest = {}, {}
    for delay in (28, 32):
        late = scenario.replace(world__driver__delay=delay, run__duration=4.0)
        bare = replace(build(late), around=None)
        force = quietly(bare)["contact_force"]
        swings[delay] = [np.ptp(force[k : k + 1000]) for k in (1000, 3000)]
        largest[delay] = np.abs(poles(bare, 0.2).poles).max()  # on the wall, after the first touch
    assert largest[28] < 1.0 < largest[32]
    assert swings[28][1] < 0.2 * swings[28][0]
    assert swings[32][1] > 40.0  # it leaves the wall and hits it again
    run = build(scenario)
    wild, calm = quietly(replace(run, around=None)), quietly(run)
    assert np.ptp(wild["contact_force"][-1000:]) > 50.0
    assert np.ptp(calm["contact_force"][-1000:]) < 0.5
    assert calm["contact_force"][-1000:].mean() == pytest.approx(20.0, abs=0.5)


def test_a_schedule_that_pumps_grows_without_and_stays_small_with_a_tank() -> None:
    """K between 300 and 1500 N/m about twice as often as the tool swings: parametric resonance."""
    half, soft = 0.12, {"stiffness": [300] * 3 + [30] * 3, "damping": [1] * 3 + [0.5] * 3}
    stages = [
        {
            **soft,
            "start": 0.05 + half * k,
            "duration": half - 1e-6,
            "stiffness": [300 if k % 2 else 1500] * 3 + [30] * 3,
        }
        for k in range(30)
    ]
    scenario = pp.load_scenario("panda-wall").replace(
        metrics=None, world__surfaces=[], reference={"kind": "hold"}, robot__joints="ideal",
        world__plant__rotor_inertia=0.1, control__stiffness=soft["stiffness"], control__damping=soft["damping"],
        control__schedule=stages, run__duration=3.7,
        world__pushes=[{"name": "p", "kind": "pulse", "force": [20, 0, 0], "start": 0.0, "duration": 0.05}],
    )  # fmt: skip
    run = build(scenario)
    tank = Tank(start=0.1, floor=0.01, most=0.1)

    def swing(**kept: object) -> tuple[float, float]:
        around = Reactions(on_contact="nothing", threshold=NEVER, **kept)  # pyright: ignore[reportArgumentType]
        position = quietly(replace(run, around=around))["tool_position"]
        way = np.linalg.norm(position - position[0], axis=1)
        return float(way[:500].max()), float(way[-500:].max())

    first, last = swing()
    assert last > 5.0 * first
    for kept in ({"tank": tank}, {"passivity": Passivity(budget=0.05)}):
        first, last = swing(**kept)
        assert last < 1.2 * first


def late_panda() -> pp.Run:
    scenario = pp.load_scenario("panda-wall").replace(
        metrics=None,
        world__surfaces=plane([0.35, 0, 0], stiffness=10000, damping=100),
        world__driver__delay=12,
        control__stiffness=[1500, 1500, 1500, 60, 60, 60],
        control__damping=[20, 20, 20, 2, 2, 2],
        run__duration=2.5,
    )
    return build(scenario)


def test_the_book_of_a_run_is_the_work_of_its_torques() -> None:
    around = Reactions(on_contact="nothing", threshold=NEVER)
    run = build(pp.load_scenario("panda-wall").replace(metrics=None, run__duration=0.5))
    trace = quietly(replace(run, around=around))
    q, tau, robot = trace["q"], trace["tau"], run.robot
    gravity = np.array([robot.terms(row, np.zeros(7)).gravity for row in q])
    work = np.concatenate([[0.0], np.cumsum(((tau - gravity)[:-1] * np.diff(q, axis=0)).sum(axis=1))])
    assert trace["reaction.work"] == pytest.approx(work, abs=1e-9)
    assert np.abs(work).max() > 1e-3


def test_a_late_loop_swings_up_without_and_calms_down_with_a_tank_or_brake() -> None:
    run = late_panda()
    wild = quietly(run)
    assert np.abs(wild["v"][-500:]).max() > 5.0
    for around in (
        Reactions(on_contact="nothing", threshold=NEVER, tank=Tank(start=0.5, floor=0.05, most=1.0)),
        Reactions(on_contact="nothing", threshold=NEVER, passivity=Passivity(budget=0.5)),
    ):
        calm = quietly(replace(run, around=around))
        assert np.abs(calm["v"][-500:]).max() < 1.2
        assert calm["contact_force"].max() < 0.3 * wild["contact_force"].max()
