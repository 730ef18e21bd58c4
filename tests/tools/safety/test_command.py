"""The command, the section of a scenario, its figures, and the words that must not appear."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from house_rules import ROOT
from palpate.cli.main import main
from palpate.errors import PalpateError, ScenarioError
from palpate.scenario.schema import json_schema
from palpate.tools.safety.figures import figures_of
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import Threshold
from tools.safety.arms import quietly, towards_wall

NAMES = ("panda-felt-wall", "fr3-felt-push", "panda-fenced", "panda-late-tank", "ur5e-late-admittance")


def test_the_first_contact_is_told_beside_its_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reactions", "panda-felt-wall", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["contact"]
    assert told["speed"] == pytest.approx(0.25, abs=0.01)
    assert told["predicted"]["delay"] == pytest.approx(told["happened"]["delay"], abs=1.1e-3)
    assert told["reflected_mass"]["half_mass_rule"] == pytest.approx(8.396, abs=1e-3)
    assert main(["reactions", "panda-felt-wall"]) == 0
    assert re.search(r"felt after +\d+ +\d+ +ms", capsys.readouterr().out)


def test_a_rate_is_stated_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reactions", "panda-felt-wall", "--rate", "0.1", "--motions", "19", "--json"]) == 0
    rate = json.loads(capsys.readouterr().out)["false_alarms"]
    assert rate["probability"] == pytest.approx(0.1)
    assert rate["expected"][0] <= rate["counted"] <= rate["expected"][1]


def test_speeds_by_a_file_of_limits_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tools.safety.test_impact import FILE

    (tmp_path / "limits.toml").write_text(FILE)
    assert main(["reactions", "panda-felt-wall", "--limits", str(tmp_path / "limits.toml"), "--json"]) == 0
    regions = json.loads(capsys.readouterr().out)["limits"]["regions"]
    assert regions[0]["free"] > regions[0]["rule"] > 0
    assert regions[1]["free"] is None


def test_a_template_is_written(tmp_path: Path) -> None:
    assert main(["reactions", "panda-felt-wall", "--template", str(tmp_path / "limits.toml")]) == 0
    assert "licence" in (tmp_path / "limits.toml").read_text()


@pytest.mark.parametrize("words", [[], ["--rate", "0.1", "--motions", "19"], ["--help"]])
def test_what_the_command_says_promises_nothing_either(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):  # of --help
        main(["reactions", "panda-felt-wall", "--limits", str(ROOT / "docs" / "contact-limits.toml"), *words])
    said = "".join(capsys.readouterr())
    assert said
    assert not re.search(r"\bsafe(ly|ty)?\b|certif", said, re.IGNORECASE)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--rate", "2"], "between 0 and 1"),
        (["--rate", "0.001", "--motions", "10"], "999"),
        (["--limits", "nowhere.toml"], "nowhere.toml"),
        (["--set", "reactions.on_contact=run"], "on_contact"),
        (["--set", "reactions.treshold.level=2"], "threshold"),
    ],
)
def test_bad_input_is_named(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reactions", "panda-felt-wall", *words]) == 2
    assert named in capsys.readouterr().err


def test_a_scenario_without_reactions_takes_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reactions", "panda-wall", "--set", "run.duration=1.2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["assumed_reactions"]
    assert told["contact"]["with"] == "wall"


def test_the_section_is_data_that_comes_back_equal() -> None:
    scenario = pp.load_scenario("panda-fenced")
    again = type(scenario).model_validate(scenario.as_data())
    assert again == scenario
    assert isinstance(again.reactions, Reactions)
    assert again.reactions.barriers is not None
    assert again.reactions.barriers.walls[0].name == "fence"
    assert scenario.replace(reactions=None).reactions is None


def test_a_misspelt_key_of_the_section_is_named(tmp_path: Path) -> None:
    text = 'name = "x"\nextends = "panda-felt-wall"\n[reactions.observer]\ngian = 3\n'
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ScenarioError, match="gain"):
        pp.load_scenario(tmp_path / "x.toml")
    with pytest.raises(PalpateError, match="table"):
        pp.load_scenario("panda-wall", ["reactions=3"])


def test_the_schema_and_the_explanations_hold_the_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert "on_contact" in json_schema()["properties"]["reactions"]["properties"]
    assert main(["explain", "reactions.tank"]) == 0
    assert "floor" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_scenario_keeps_its_bounds(name: str) -> None:
    from palpate.metrics import evaluate

    scenario = pp.load_scenario(name)
    trace = _run(name)
    results = evaluate(trace, scenario.metrics)
    assert all(result.passed for result in results if result.name in scenario.metrics)
    assert all(len(figure.panels) > 1 for figure in figures_of(trace) if figure.panels)


def _run(name: str) -> pp.Trace:
    from palpate.run.build import build

    return quietly(build(pp.load_scenario(name)))


def test_figures_and_metrics_of_a_reaction() -> None:
    from palpate.metrics import METRICS

    trace = quietly(towards_wall("panda", Reactions(on_contact="stop", threshold=Threshold(level=2.0))))
    assert [figure.name for figure in figures_of(trace) if figure.panels] == ["reactions"]
    felt = METRICS["felt_after"].compute(trace)
    touch = np.argmax(trace["contact_force"] > 0)
    assert felt == pytest.approx(trace.time[np.argmax(trace["reaction.mode"] > 0)] - trace.time[touch])
    assert METRICS["felt_ratio_max"].compute(trace) > 1.0
    assert figures_of(_run("panda-wall")) == []


def test_no_page_or_text_of_the_tool_promises_what_it_cannot() -> None:
    tool = ROOT / "src" / "palpate" / "tools" / "safety"
    files = [*tool.rglob("*.py"), *tool.rglob("*.toml"), *(ROOT / "docs").glob("contact-*.*")]
    for file in files:
        text = file.read_text("utf-8").replace("tools.safety", "").replace("tools/safety", "")
        assert not re.search(r"\bsafe(ly|ty)?\b|certif", text, re.IGNORECASE), file
