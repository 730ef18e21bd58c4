"""Tools can be taken away: the core runs without each of them, and without all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from house_rules import ROOT
from test_arrows import TIER_ONE, TOOLS


def without(away: list[str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A Python program that does not find those tools."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PALPATE_TOOLS_AWAY": " ".join(away)}
    return subprocess.run([sys.executable, *words], env=environment, cwd=folder, capture_output=True, text=True)


RUN = """
import sys, tools_away
from palpate.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
LOOK = """
import importlib, json, pkgutil, sys, tools_away
from palpate import toolbox
from palpate.cli.main import COMMANDS
for package in sys.argv[1:]:
    path = importlib.import_module(f"palpate.{package}").__path__
    for module in pkgutil.walk_packages(path, f"palpate.{package}."):
        importlib.import_module(module.name)
print(json.dumps([sorted(toolbox.installed()), sorted(COMMANDS.shipped)]))
"""
SHORT = ["run", "panda-wall", "--set", "run.duration=0.05", "--no-report", "--quiet"]
BOUND_BROKEN = 1  # a twentieth of a second is too short for the wall


@pytest.mark.parametrize("away", [*([tool] for tool in TOOLS), list(TOOLS)], ids="+".join)
def test_a_scenario_runs_without(away: list[str], tmp_path: Path) -> None:
    ran = without(away, tmp_path, "-c", RUN, *SHORT)
    assert ran.returncode == BOUND_BROKEN, ran.stderr
    assert ran.stdout.startswith("completed at 0.05 s")


def test_every_module_of_the_core_loads_without_tools(tmp_path: Path) -> None:
    looked = without(list(TOOLS), tmp_path, "-c", LOOK, *sorted(TIER_ONE))
    assert looked.returncode == 0, looked.stderr
    tools, commands = json.loads(looked.stdout)
    assert tools == []
    assert "run" in commands
    assert not {"sweep", "derive", "export", "serve", "play", "log"} & set(commands)


def test_exact_contact_without_its_tool_is_refused_by_name(tmp_path: Path) -> None:
    ran = without(["contact"], tmp_path, "-c", RUN, "run", "planar2-drop")
    assert ran.returncode == 2
    assert "exact contact needs" in ran.stderr


# The core's folders of tests; what they hold of tools is in tests/tools. Some here, all in `make core-alone`.
ALL = ["engine", "spatial", "equations", "robot", "control", "world", "trace", "metrics", "scenario", "run", "parquet"]
SOME = ["metrics/test_signals.py", "trace/test_recording.py", "scenario/test_overrides.py"]


@pytest.mark.parametrize("tests", [pytest.param(SOME, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.slow)])
def test_the_tests_of_the_core_pass_without_tools(tests: list[str], tmp_path: Path) -> None:
    words = ["-m", "pytest", "-q", "-p", "tools_away", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    paths = [str(ROOT / "tests" / one) for one in tests]
    ran = without(list(TOOLS), tmp_path, *words, "-c", str(ROOT / "pyproject.toml"), *paths)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
