"""Two bodies that meet: reflected mass, force, energy and the speeds that limits allow."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import InvalidInput
from palpate.tools.safety.impact import Partner, reflected_mass, separation
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
    assert unknown.free is None
    assert unknown.energy is None


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
