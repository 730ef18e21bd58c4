"""Two bodies that meet: reflected mass, force, energy and the speeds that limits allow."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from house_rules import ROOT
from palpate.errors import InvalidInput
from palpate.tools.safety.impact import (
    Partner,
    braked_separation,
    held_force,
    pressure_speed,
    reflected_mass,
    separation,
    series_stiffness,
    speed_for_separation,
)
from palpate.tools.safety.limits import load_limits, permitted_speeds, template
from palpate.tools.safety.predict import HeldArm
from tools.safety.arms import arm


def test_the_rotors_of_a_panda_nearly_triple_its_reflected_mass() -> None:
    robot = arm("panda")
    mass = reflected_mass(robot, robot.home, [1, 0, 0])
    assert mass.links == pytest.approx(0.940, abs=5e-4)
    assert mass.with_rotors == pytest.approx(2.653, abs=5e-4)
    assert mass.rule == pytest.approx(8.396, abs=1e-3)


def test_the_speed_for_a_force_gives_that_force_in_a_simulated_impact() -> None:
    """v = F / √(μ k), μ = m₁ m₂ / (m₁ + m₂), against a spring between two masses."""
    partner, m1, force = Partner(4.4, 75e3), 2.65, 140.0
    v = partner.speed_for_force(m1, force)
    mu = m1 * 4.4 / (m1 + 4.4)
    assert v == pytest.approx(force / math.sqrt(mu * 75e3))
    x, speeds, most, h = 0.0, [v, 0.0], 0.0, 1e-7
    for _ in range(int(0.03 / h)):
        f = 75e3 * x
        most = max(most, f)
        speeds[0] -= h * f / m1
        speeds[1] += h * f / 4.4
        x += h * (speeds[0] - speeds[1])
        if x < 0:
            break
    assert most == pytest.approx(force, rel=1e-4)
    assert partner.energy(m1, v) == pytest.approx(force**2 / (2 * 75e3))
    assert partner.speed_for_energy(m1, 0.5) == pytest.approx(math.sqrt(2 * 0.5 / mu))


def test_a_clamped_part_leaves_the_arms_mass_alone() -> None:
    assert Partner(math.inf, 1e4).force(2.0, 0.25) == pytest.approx(0.25 * math.sqrt(2.0 * 1e4))


def test_the_held_arm_of_one_joint_is_the_undamped_impact() -> None:
    """F = v √(m k), after half a period of √(k/m) it leaves."""
    arm = HeldArm(np.array([[2.0]]), np.eye(6)[:, :1], np.array([-1.0, 0.0, 0.0]), 1e4, 0.0, 1e-5)
    moved = arm.moved(0.0, np.array([0.25]))
    assert moved.force.max() == pytest.approx(0.25 * math.sqrt(2.0 * 1e4), rel=1e-4)
    assert (len(moved.force) - 1) * 1e-6 == pytest.approx(math.pi * math.sqrt(2.0 / 1e4), rel=1e-3)
    assert moved.torques[:, 0].sum() * 1e-5 == pytest.approx(-2.0 * 2.0 * 0.25, rel=1e-3)  # the momentum turned round


def test_friction_of_the_held_arm_stops_it_after_its_way() -> None:
    """Sliding into nothing: v²/(2 F/m); and a joint at rest below its breakaway stays."""
    far = {"k": 1e-9, "d": 0.0, "period": 1e-4, "coulomb": np.array([3.0])}
    arm = HeldArm(np.array([[2.0]]), np.eye(6)[:, :1], np.array([-1.0, 0.0, 0.0]), **far)
    assert arm.moved(0.0, np.array([0.25])).depth.max() == pytest.approx(0.25**2 / (2 * 1.5), rel=1e-2)
    held = HeldArm(np.array([[2.0]]), np.eye(6)[:, :1], np.array([-1.0, 0.0, 0.0]), torque=np.array([2.9]), **far)
    assert held.moved(0.0, np.array([0.0])).depth.max() < 0.31 * 1e-4


def test_separation_adds_what_both_move_until_the_arm_stands() -> None:
    assert separation(0.5, 1.6, 0.1, 0.3, 0.08) == pytest.approx((0.5 + 1.6) * 0.1 + 1.6 * 0.3 + 0.08)


def test_a_load_is_part_of_the_arm() -> None:
    """As a body of the model, and at least the sum: what gave way aside gets heavier too."""
    robot, q, u = arm("panda"), arm("panda").home + 0.2, np.array([0.3, -0.8, 0.5])
    bare, loaded = reflected_mass(robot, q, u), reflected_mass(robot, q, u, load=1.5)
    terms = robot.terms(q, np.zeros(7))
    J = np.array(terms.J)[:3]
    u = u / np.linalg.norm(u)
    inertia = np.linalg.inv(J @ np.linalg.inv(np.array(terms.M)) @ J.T)  # of the tool's point, to which the load adds
    assert loaded.with_rotors == pytest.approx(1 / (u @ np.linalg.inv(inertia + 1.5 * np.eye(3)) @ u), rel=1e-10)
    assert loaded.with_rotors > bare.with_rotors + 1.5
    assert loaded.links > bare.links + 1.5
    assert loaded.rule == pytest.approx(bare.rule + 1.5)


def test_a_pad_and_a_part_give_way_one_behind_the_other() -> None:
    assert series_stiffness(30e3, 20e3) == pytest.approx(12e3)
    assert held_force(800.0, 20e3, 0.01) == pytest.approx(800 * 20e3 / 20.8e3 * 0.01)
    partner = Partner(5.6, series_stiffness(75e3, 25e3))
    v = pressure_speed(partner, 3.0, 2.1e6, 1e-4)
    assert partner.force(3.0, v) == pytest.approx(210.0)


def test_a_separation_with_margins_is_what_two_walk_until_one_stands() -> None:
    d = braked_separation(0.9, 1.6, 0.12, 2.5, intrusion=0.1, uncertainty=0.05)
    x = person = t = 0.0
    v, h = 0.9, 1e-6
    while v > 0.0:
        v -= 2.5 * h if t > 0.12 else 0.0
        x, person, t = x + h * v, person + h * 1.6, t + h
    assert d == pytest.approx(x + person + 0.15, abs=2e-5)
    assert speed_for_separation(d - 0.15, 1.6, 0.12, 2.5) == pytest.approx(0.9)
    assert speed_for_separation(0.1, 1.6, 0.12, 2.5) == 0.0


FILE = """
title = "numbers of a test, from nowhere"
edition = "0"
source = "none"
licence = "none"
[[region]]
name = "part"
table = "none"
force_free = 140
force_clamped = 70
pressure_free = 1e6
pressure_clamped = 5e5
mass = 4.4
stiffness = 75000
[[region]]
name = "unknown"
table = "none"
"""


def test_a_file_of_limits_gives_speeds_by_both_masses(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(FILE)
    robot, limits = arm("panda"), load_limits(tmp_path / "limits.toml")
    part, unknown = permitted_speeds(limits, robot, robot.home, [1, 0, 0], area=1e-4)
    m = reflected_mass(robot, robot.home, [1, 0, 0])
    assert part.free == pytest.approx(140 / math.sqrt(m.with_rotors * 4.4 / (m.with_rotors + 4.4) * 75e3))
    assert part.rule == pytest.approx(140 / math.sqrt(m.rule * 4.4 / (m.rule + 4.4) * 75e3))
    assert part.clamped == pytest.approx(70 / math.sqrt(m.with_rotors * 75e3))
    assert part.free is not None
    assert part.pressure == pytest.approx(part.free * 100 / 140)
    assert part.clamped is not None
    assert part.pressure_clamped is not None
    assert part.pressure_clamped == pytest.approx(part.clamped * 50 / 70)
    assert part.energy == pytest.approx(0.5 * m.with_rotors * part.pressure_clamped**2)  # the smallest, and its mass
    assert unknown.free is None
    assert unknown.energy is None


def test_the_example_of_the_docs_is_a_file_of_limits() -> None:
    robot, limits = arm("panda"), load_limits(ROOT / "docs" / "contact-limits.toml")
    assert "invented" in limits.title
    first, second = permitted_speeds(limits, robot, robot.home, [0, 1, 0], area=2e-4)
    assert first.free is not None
    assert first.pressure == pytest.approx(first.free * 200 / 140)  # 1 MPa over 2 cm²
    assert second.pressure is None


@pytest.mark.parametrize(
    ("broken", "named"), [("title =", "not TOML"), ('title = "x"', "edition"), (FILE + "weight = 3\n", "weight")]
)
def test_a_broken_file_of_limits_is_refused_by_its_key(broken: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(broken)
    with pytest.raises(InvalidInput, match=named):
        load_limits(tmp_path / "limits.toml")


def test_the_template_is_toml_with_empty_sources(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(template())
    with pytest.raises(InvalidInput, match="title"):
        load_limits(tmp_path / "limits.toml")
    assert np.isfinite(len(template()))
