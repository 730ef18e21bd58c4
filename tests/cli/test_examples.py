"""What help and README offer to type first changes a number that is printed."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest

import palpate as pp
from palpate.cli import main as main_module, run as run_module
from palpate.metrics import evaluate
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario

README = Path(__file__).parents[2] / "README.md"
TEXTS = f"{main_module.__doc__}{run_module.__doc__}" + README.read_text(encoding="utf-8")


def examples() -> list[tuple[str, list[str]]]:
    """Every `palpate run NAME --set …` of a shipped scenario: its name and its changes."""
    found = []
    for line in re.findall(r"palpate run (\S+ --set .*)", TEXTS):
        words = shlex.split(line, comments=True)
        found.append((words[0], [word for flag, word in itertools.pairwise(words) if flag == "--set"]))
    return [example for example in found if example[0] in shipped()]


def printed(name: str, changes: list[str]) -> dict[str, str]:
    """The bounded metrics as the terminal shows them, in four digits."""
    scenario = load_scenario(name, changes)
    results = evaluate(pp.simulate(scenario), scenario.metrics)
    return {r.name: f"{r.value:.4g}" for r in results if r.passed is not None and r.value is not None}


def test_there_are_examples():
    assert len(examples()) >= 4


@pytest.mark.parametrize(("name", "changes"), examples(), ids=lambda value: str(value))
def test_an_example_changes_a_metric_that_is_printed(name: str, changes: list[str]):
    before, after = printed(name, []), printed(name, changes)
    assert before != after
    assert all(value == "0" or float(value) < 40 for value in (after["force_peak"], after["bounces"]))
