"""Rigid contact: it carries its force while it slides, rubs with μ, hardly creeps, and says its limit."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.control.law import PythonLaw
from palpate.control.laws.hybrid_force import HybridForce
from palpate.control.references.motions import Line
from palpate.run.assemble.assemble import assemble
from palpate.run.before.checks import check_start
from palpate.run.run import Run
from palpate.trace import Trace
from palpate.world.clock import Clock
from palpate.world.config import Surface, World
from palpate.world.plants.plant import rigid_sliding_speed

MASS, FORCE, MU = 2.73, 10.0, 0.5  # what a Panda shows a table, and presses with
SLED = f"""<mujoco><option gravity="0 0 0"/><worldbody><body name="sled" pos="0 0 0.01">
<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
<inertial pos="0 0 0" mass="{MASS}" diaginertia="1 1 1"/><geom name="tip" size="0.01"/></body></worldbody></mujoco>"""


def sled(speed: float | None = None, side: float = 0.0, duration: float = 1.0) -> Trace:
    """A point pressed down with a constant force, moved along at a speed, or pushed sideways."""

    def press(tick, gains, memory):
        along = side if speed is None else 400.0 * (speed - tick.v[0]) + MU * FORCE
        return {"press": np.array([along, -FORCE])}

    table = World(surfaces=(Surface(name="table", contact="rigid", friction=MU),))
    robot = pp.Robot.from_mjcf_text(SLED, name="sled")
    start = None if speed is None else [speed, 0.0]
    return pp.simulate(
        Run(robot, PythonLaw(press, terms=("press",)), table, clock=Clock(duration=duration), v_start=start)
    )


@pytest.mark.parametrize("speed", [0.005, 0.05, 0.19])
def test_a_sliding_contact_carries_the_force_and_rubs_with_mu(speed: float) -> None:
    trace = sled(speed)
    late = trace.time > 0.5
    force = trace["contact_wrench"][late]
    assert trace["tool_twist"][late, 0] == pytest.approx(speed, rel=0.02)
    assert np.abs(force[:, 2] - FORCE).max() < 0.005
    assert -force[:, 0] / force[:, 2] == pytest.approx(MU, abs=1e-3)


def test_a_panda_slides_on_a_rigid_table_with_the_exact_tables_force() -> None:
    """From the start of the way on within 1 % of the multiplier; at speed (9 cm/s) to a thousandth of a newton."""
    changes = ['robot.joints="ideal"', "run.duration=4"]
    kinds = {
        kind: pp.simulate(pp.load_scenario("panda-slide", [f"world.surfaces.table.contact={kind}", *changes]))
        for kind in ("rigid", "exact")
    }
    force, multiplier = (kinds[kind]["contact_wrench"][:, 2] for kind in ("rigid", "exact"))
    time, wrench = kinds["rigid"].time, kinds["rigid"]["contact_wrench"]
    sliding, fast = time > 1.6, time > 2.5
    assert np.abs(force[sliding] / multiplier[sliding] - 1.0).max() < 0.01
    assert np.abs(force - multiplier)[fast].max() < 2e-3
    assert np.hypot(wrench[fast, 0], wrench[fast, 1]) / force[fast] == pytest.approx(0.3, abs=1e-6)


def test_a_stuck_contact_hardly_creeps() -> None:
    trace = sled(side=3.0, duration=5.0)  # the slip it began with fades within seconds
    late = trace.time > 4.5
    assert -trace["contact_wrench"][late, 0] == pytest.approx(3.0, abs=5e-3)
    assert np.abs(trace["tool_twist"][late, 0]).max() < 0.03e-3  # m/s


def test_beyond_its_sliding_speed_contact_chatters() -> None:
    """The limit that is warned of is where it begins."""
    most = rigid_sliding_speed(FORCE, MU, MASS)
    assert most == pytest.approx(0.48, abs=0.02)
    below, above = sled(0.8 * most), sled(1.3 * most)
    late = below.time > 0.5
    assert np.ptp(below["contact_wrench"][late, 2]) < 0.05
    assert np.ptp(above["contact_wrench"][late, 2]) > 1.0


@pytest.mark.parametrize(("length", "warned"), [(0.1, False), (2.0, True)])
def test_a_target_that_slides_too_fast_is_warned_of(length: float, warned: bool) -> None:
    robot = pp.load_robot("cartesian2")
    wall = Surface(name="wall", normal=(-1, 0, 0), position=(0.5, 0, 0), contact="rigid", friction=MU)
    reference = Line(offset=(0, length, 0), duration=1.0, wrench=(-10, 0, 0, 0, 0, 0))
    law = HybridForce(force=("x",), motion=("y",))
    run = Run(robot, law, World(surfaces=(wall,)), reference, clock=Clock(duration=1.0))
    said = [text for text in check_start(assemble(run)).warnings if "chatter" in text]
    assert bool(said) == warned
    if warned:
        assert "rigid contact with 'wall' will chatter" in said[0]
