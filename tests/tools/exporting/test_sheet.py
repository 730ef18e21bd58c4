"""The commissioning sheet: its numbers are those of runs; the folder says who made it, when, under which licence."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from palpate.control.law import Target, sizes_of
from palpate.control.references.motions import Line
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.build import build
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.tools.exporting import export
from palpate.tools.exporting.arm_facts import adds_gravity, at_arm_rate
from palpate.tools.exporting.commissioning import STEPS, Slowed, _changed, turned_down
from palpate.world.plants.plant import dry_friction

ROOT = Path(__file__).parents[3]


def rows_of(folder: Path) -> list[str]:
    return re.findall(r"<tr><td>.*?</tr>", (folder / "commissioning.html").read_text(), re.DOTALL)


def band(row: str, name: str) -> tuple[float, float]:
    match = re.search(rf"{name}: <b>([^<]*)</b>", row)
    assert match, row
    low, _, high = match[1].partition(" … ")
    return float(low), float(high or low)


def test_the_sheet_s_last_step_is_the_scenario_s_own_run(pressing: Path) -> None:
    rows = rows_of(pressing)
    assert [re.search(r"<b>\d\. ([^<]*)</b>", row)[1] for row in rows] == [step.title for step in STEPS]  # pyright: ignore[reportOptionalSubscript]
    trace = simulate(load_scenario("fr3-wall"))
    low, high = band(rows[-1], "force, steady")
    force = float(trace.slice(trace["time"][-1] - 0.2, trace["time"][-1])["contact_force"].mean())
    assert low * 0.99 <= force <= high * 1.01
    low, high = band(rows[-1], "torque, largest")
    assert low * 0.99 <= 100.0 * np.abs(trace["tau"] / load_robot("fr3").limits.torque).max() <= high * 1.01
    assert all(row.count("☐") == 2 for row in rows)


def test_soft_steps_press_less_and_err_more(pressing: Path) -> None:
    rows = rows_of(pressing)
    assert band(rows[4], "force, steady")[1] < 0.3 * band(rows[5], "force, steady")[0]
    assert band(rows[2], "tool error, steady")[1] > band(rows[3], "tool error, steady")[1]
    assert band(rows[3], "force, largest") == (0.0, 0.0)  # in air


def test_the_manifest_has_the_steps_and_friction_counts_as_a_force(pressing: Path) -> None:
    steps = json.loads((pressing / "manifest.json").read_text())["commissioning"]
    rows = rows_of(pressing)
    assert [step["title"] for step in steps] == [step.title for step in STEPS]
    for step, row in zip(steps, rows):
        shown = band(row, "force, largest")
        assert shown == pytest.approx([x if x >= 5e-3 else 0.0 for x in step["bands"]["force, largest, N"]], rel=5e-3)
        assert f"force above {step['end_above']['force']:.3g}&nbsp;N" in row
        assert step["end_above"]["force"] >= step["bands"]["force, largest, N"][1] + 5.0 + step["friction"] - 1e-9
    # The worst of all signs of Coulomb friction at the start, where the arm stands: no more, and not much less.
    run = build(load_scenario("fr3-wall"))
    estimate, friction = np.linalg.pinv(run.robot.jacobian(run.start()[0]).T)[:3], dry_friction(run.robot, run.world)
    worst = max(np.linalg.norm(estimate @ (friction * signs)) for signs in itertools.product((-1.0, 1.0), repeat=7))
    assert worst <= steps[0]["friction"] <= 1.2 * worst
    assert f"up to {max(step['friction'] for step in steps):.2g} N" in (pressing / "commissioning.html").read_text()


def test_a_slowed_reference_has_the_rates_of_its_positions() -> None:
    robot = load_robot("panda")
    times = np.linspace(0.0, 30.0, 3001)
    array = Slowed(Line(offset=(0.1, 0.0, 0.0), duration=1.0), 0.05).sample(times, robot, robot.home)
    views = Target.columns(array, sizes_of(robot))
    np.testing.assert_allclose(np.gradient(views["position"], times, axis=0)[5:-5], views["twist"][5:-5, :3], atol=2e-6)
    rates = np.gradient(views["twist"], times, axis=0)[5:-5]
    np.testing.assert_allclose(rates, views["acceleration"][5:-5], atol=2e-5)
    assert views["position"][-1, 0] - views["position"][0, 0] == pytest.approx(0.1)


def test_steps_change_what_they_say() -> None:
    run = build(load_scenario("panda-wall"))
    soft = turned_down(run.law, 0.1)  # pyright: ignore[reportArgumentType]
    assert soft.stiffness[0] == pytest.approx(40.0)  # pyright: ignore[reportAttributeAccessIssue]
    assert soft.damping[0] == pytest.approx(80.0 * 0.1**0.5)  # pyright: ignore[reportAttributeAccessIssue]
    slow = _changed(run, STEPS[4])
    assert slow.clock.duration == 60.0
    assert slow.world.surfaces
    assert not _changed(run, STEPS[2]).world.surfaces


def test_the_folder_has_licence_notice_day_and_revision(pressing: Path) -> None:
    assert (pressing / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert "Apache License, Version 2.0" in (pressing / "NOTICE").read_text()
    facts = json.loads((pressing / "manifest.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])
    assert re.fullmatch(r"[0-9a-f]{12}", facts["revision"])
    assert facts["licence"] == "Apache-2.0"
    assert facts["gravity"] == "added by the arm's controller"
    page = (pressing / "commissioning.html").read_text()
    for name in ("x86-64/libfr3_wall.a", "vectors.bin"):
        if name in facts["files"]:
            assert facts["files"][name] in page
    told = set(re.findall(r"builds (\S+) with cc", (pressing / "README.md").read_text()))
    assert told == {"main.c"}
    assert (pressing / "main.c").is_file()


def test_rate_and_gravity_are_the_arm_s() -> None:
    """A UR takes 500 commands a second, and adds gravity, whatever driver the scenario has."""
    changed, note = at_arm_rate(load_scenario("ur5e-admittance"))
    assert build(changed).clock.control_period == 0.002
    assert "500 Hz" in note
    assert "1000 Hz" in note
    same = load_scenario("panda-wall")
    assert at_arm_rate(same) == (same, "")
    assert adds_gravity(build(same))
    assert not build(same).world.driver.facts.adds_gravity
    with pytest.raises(InvalidInput, match="rate"):
        export(same, "nowhere", rate="fast")  # pyright: ignore[reportArgumentType]
