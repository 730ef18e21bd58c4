"""What a plain installation does without what only extras bring: pyarrow, matplotlib, pandas."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = "import sys\nfor name in ('pyarrow', 'matplotlib', 'pandas', 'PIL'): sys.modules[name] = None\n"
INSTALL = 'pip install "palpate[figures]"'


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCKED + code], cwd=folder, capture_output=True, text=True)


def palpate(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(f"from palpate.cli.main import main\nsys.exit(main({list(words)!r}))", folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("light")
    done = palpate(place, "run", "panda-wall", "--set", "run.duration=0.5", "--out", "r", "--quiet")
    assert done.returncode in (0, 1), done.stderr  # cut short, it may miss a bound
    assert re.search(r"report.*whole", done.stderr)
    assert INSTALL in done.stderr
    return place


def test_a_run_is_whole_but_for_figures(folder: Path) -> None:
    assert {path.name for path in (folder / "r").iterdir()} >= {"report.html", "trace.parquet", "metrics.json"}
    assert not (folder / "r" / "figures").exists()


def test_that_figures_are_missing_is_said_at_the_first_run_alone(folder: Path) -> None:
    done = palpate(folder, "run", "panda-wall", "--set", "run.duration=0.05", "--out", "r2")
    assert (folder / "r2" / "report.html").is_file()
    assert not (folder / "r2" / "figures").exists()
    assert "matplotlib" not in done.stderr


def test_the_report_is_made_again_and_runs_are_compared(folder: Path) -> None:
    assert palpate(folder, "compare", "r", "r", "--out", "c.html").returncode == 0
    assert (folder / "c.html").stat().st_size > 100_000
    again = python("import palpate as pp\npp.report(pp.load_trace('r/trace.parquet'), 'again.html')", folder)
    assert again.returncode == 0, again.stderr


def test_a_sweep_needs_neither(folder: Path) -> None:
    words = ("sweep", "pendulum", "--vary", "run.seed=0,1", "--set", "run.duration=0.1", "--workers", "0")
    done = palpate(folder, *words, "--out", "s", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    assert (folder / "s" / "table.parquet").is_file()


@pytest.mark.parametrize("call", ["trace.plot('contact_force')", "save_figures(trace, 'f')"])
def test_what_needs_matplotlib_names_the_line_that_installs_it(folder: Path, call: str) -> None:
    code = "from palpate import load_trace\nfrom palpate.views import save_figures\n"
    code += "from palpate.errors import MissingExtra\n"
    code += f"trace = load_trace('r/trace.parquet')\ntry: {call}\nexcept MissingExtra as error: print(error)"
    done = python(code, folder)
    assert "needs matplotlib" in done.stdout, done.stderr
    assert INSTALL in done.stdout


def test_a_command_that_needs_matplotlib_ends_with_the_same_line_and_2(folder: Path) -> None:
    done = palpate(folder, "verify", "--figures", "f")
    assert done.returncode == 2
    assert INSTALL in done.stderr
    assert "Traceback" not in done.stderr
