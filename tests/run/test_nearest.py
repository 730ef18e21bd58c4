"""A run that touches nothing says so, and how near it came."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.cli.main import main
from palpate.run.after.finish import unfinished
from palpate.run.before.checks import Foretold
from palpate.run.simulate import as_run, assemble, simulate
from palpate.scenario.file.load import load_scenario


@pytest.mark.parametrize("reach", [0.0, 0.01, 0.02])
def test_the_closest_distance_is_that_of_the_tool_sphere_from_the_wall(reach: float):
    scenario = load_scenario("panda-wall", [f"reference.offset=[{reach}, 0, 0]", "run.duration=2.5"])
    trace = simulate(scenario)
    (remark,) = [text for text in trace.facts.remarks if "no surface was touched" in text]
    radius = 0.01  # of the Panda's tip, whose centre is the tool's origin
    closest = 0.35 - float(np.max(trace["tool_position"][:, 0])) - radius
    assert remark.endswith(f"the closest distance was {1e3 * closest:.3g} mm, from 'tip' to 'wall'")


def test_a_run_that_touches_has_no_such_remark_and_says_when(tmp_path, capsys):
    words = ["run", "panda-wall", "--no-report", "--out", str(tmp_path / "a")]
    main(words)
    out = capsys.readouterr().out
    assert "no surface was touched" not in out
    assert "contact: first at 0.86" in out
    assert "at most 20.3" in out


def test_a_run_without_bounds_prints_six_metrics(tmp_path, capsys):
    words = ["run", "panda-wall", "--set", "metrics={}", "--set", "run.duration=0.2", "--no-report"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("metric "))
    assert [line.split()[0] for line in lines[start + 1 : start + 3]] == ["force_peak", "force_steady_error"]
    assert "do not apply" in lines[start + 7]


def test_a_divergence_begins_with_its_cause(tmp_path, capsys):
    words = ["run", "planar2-slot", "--set", "world.pushes=[{force=[1e15,0,0]}]", "--no-report"]
    assert main([*words, "--out", str(tmp_path / "a")]) == 1
    assert capsys.readouterr().out.splitlines()[1].startswith("diverged at 0 s: the state of planar2 is not finite")


def test_nothing_is_said_of_contact_before_the_first_sample():
    """What a run of more than two seconds writes beside itself, in case that it is killed."""
    assembly = assemble(as_run(load_scenario("panda-wall")))
    begun = unfinished(assembly, Foretold([], []))
    assert len(begun) == 0
    assert not any("touched" in text for text in begun.facts.remarks)
