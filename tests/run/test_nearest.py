"""A run that touches nothing says so, and how near it came."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.cli.main import main
from palpate.run.after.finish import unfinished
from palpate.run.before.checks import Prediction
from palpate.run.simulate import as_run, assemble, execute, simulate
from palpate.scenario.file.load import load_scenario


@pytest.mark.parametrize("reach", [0.0, 0.01, 0.02])
def test_the_closest_distance_is_that_of_the_tool_sphere_from_the_wall(reach: float):
    scenario = load_scenario("panda-wall", [f"reference.offset=[{reach}, 0, 0]", "run.duration=2.5"])
    trace = simulate(scenario)
    (remark,) = [text for text in trace.facts.remarks if "no surface" in text]
    radius = 0.01  # of the Panda's tip, whose centre is the tool's origin
    closest = 0.35 - float(np.max(trace["tool_position"][:, 0])) - radius
    assert remark.endswith(f"the closest distance was {1e3 * closest:.3g} mm, from 'tip' to 'wall'")


def test_a_run_that_touches_has_no_such_remark_and_says_when(tmp_path, capsys):
    words = ["run", "panda-wall", "--no-report", "--out", str(tmp_path / "a")]
    main(words)
    out = capsys.readouterr().out
    assert "no surface was touched" not in out
    assert "first at 0.89" in out
    assert "at most 20.2" in out


def test_a_run_without_bounds_prints_six_metrics(tmp_path, capsys):
    words = ["run", "panda-wall", "--set", "metrics={}", "--set", "run.duration=0.2", "--no-report"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("metric "))
    assert [line.split()[0] for line in lines[start + 1 : start + 3]] == ["force_peak", "force_steady_error"]
    assert "not apply" in lines[start + 7]


def test_a_divergence_begins_with_its_cause(tmp_path, capsys):
    words = ["run", "planar2-slot", "--set", "world.pushes=[{force=[1e15,0,0]}]", "--no-report"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 1
    assert capsys.readouterr().out.splitlines()[1].startswith("diverged at 0 s: the state of planar2 is not finite")


def test_nothing_is_said_of_contact_before_the_first_sample():
    """What a run of more than two seconds writes beside itself, in case that it is killed."""
    assembly = assemble(as_run(load_scenario("panda-wall")))
    begun = unfinished(assembly, Prediction([], []))
    assert len(begun) == 0
    assert not any("touched" in text for text in begun.facts.remarks)


def test_a_contact_between_two_recorded_samples_is_not_denied():
    """A ball that a push throws against the wall touches for some 20 ms; only every 2000th step is recorded."""
    changes = ["world.pushes=[{force=[60, 0, 0], start=0.3, duration=0.1}]", "reference.offset=[0.0, 0, 0]"]
    whole = simulate(load_scenario("panda-wall", changes))
    touching = np.flatnonzero(whole["contact_force"] > 0)
    assert 2 < len(touching) < 500
    few = simulate(load_scenario("panda-wall", [*changes, "record.stride=2000"]))
    assert not few["contact_force"].any()
    (remark,) = [text for text in few.facts.remarks if "touched" in text]
    assert remark == "a surface was touched, between two of the recorded samples: every 2000th step is recorded"


@pytest.mark.parametrize("contact", ["compliant", "rigid"])
def test_every_step_in_contact_is_counted(contact: str):
    assembly = assemble(
        as_run(load_scenario("panda-wall", [f'world.surfaces.0.contact="{contact}"', "run.duration=2"]))
    )
    trace = execute(assembly)
    looks = [c.looks for c in assembly.loop.contacts] + [r.looks for r in assembly.loop.rigid if not r.distance]
    assert max(looks) == np.count_nonzero(trace["penetration" if contact == "compliant" else "contact_force"] > 0)
