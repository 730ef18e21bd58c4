"""The energy book, the tank and the passivity controller against closed forms, and in the loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import Tick
from palpate.run.build import build
from palpate.tools.safety.energy import (
    EnergyMemory,
    EnergySettings,
    Passivity,
    Tank,
    brake_excess,
    keep_book,
    late_spring_energy,
    sampled_work,
    schedule_energy,
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
