"""First minutes with the command line: examples run, mistakes are said, machines get JSON, tables stay whole."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console

from moments import ENDLESS
from palpate.cli import console, tables
from palpate.cli.console import CompileProgress, needed
from palpate.cli.main import COMMANDS, _modules, _parsers, main
from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.run.loop.loop import run_steps

Capture = pytest.CaptureFixture[str]
SHORT = ["--set", "run.duration=0.05"]
# So that the examples of hundreds of runs are done in seconds: fewer runs, each of a few steps.
QUICKER = {
    "run": SHORT, "design": [], "sweep": [*SHORT, "--runs", "3", "--workers", "0", "--no-report"],
    "tune": [*SHORT, "--runs", "2", "--workers", "0", "--no-report"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def examples(text: str) -> list[list[str]]:
    """The command lines in a help text, as words: what stands behind two blanks, a pipe or `>` is for people."""
    joined = re.sub(r"\\\n\s+", "", text)
    found = re.findall(r"(?:^  |^example: |^  \w+ +)(palpate .*)$", joined, re.MULTILINE)
    lines = [part for line in found for part in re.split(r"  +|>", line)[0].split("&&")]
    return [shlex.split(line)[1:] for line in lines if line.split()[:1] == ["palpate"]]


def all_examples() -> list[tuple[str, list[str]]]:
    """Those of `serve` wait for a client, those of `drive` need a robot: tests/serving plays them."""
    texts = {name: parser.epilog or "" for name, parser in _parsers(_modules(COMMANDS))[1].items()}
    texts["main"] = str(sys.modules["palpate.cli.main"].__doc__)
    played = ("serve", "drive", "play")
    return [(name, words) for name, text in texts.items() for words in examples(text) if words[0] not in played]


def test_examples_are_found() -> None:
    text = "examples:\n  palpate a b   what\n  bash   palpate c > x\nexample: palpate new m && palpate run m.toml"
    assert examples(text) == [["a", "b"], ["c"], ["new", "m"], ["run", "m.toml"]]
    assert len(all_examples()) > 25


def _arm() -> str:
    """Three joints and a flange tool0, as a URDF."""
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    mass = f'<inertial><origin xyz="0 0 0.15"/><mass value="2"/>{inertia}</inertial>'
    links = "".join(f'<link name="l{i}">{mass if i else ""}</link>' for i in range(4))
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0 0 0.3"/>'
        f'<axis xyz="{"0 0 1" if i == 0 else "0 1 0"}"/>'
        '<limit lower="-2.5" upper="2.5" velocity="3" effort="80"/></joint>'
        for i in range(3)
    )
    flange = '<link name="tool0"/><joint name="f" type="fixed"><parent link="l3"/><child link="tool0"/>'
    return f'<robot name="arm">{links}{joints}{flange}<origin xyz="0 0 0.3"/></joint></robot>'


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs, the sweep and the search that some examples go on with."""
    folder = tmp_path_factory.mktemp("work")
    before = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(2):
            assert main(["run", "panda-wall", *SHORT, "--no-report", "--quiet"]) in (0, 1)
        assert main(["sweep", "panda-wall", "--vary", "run.seed=0,1", *QUICKER["sweep"]]) == 0
        over = ["--over", "control.damping.0=20:300", "--minimise", "effort"]
        assert main(["tune", "panda-wall", *over, *QUICKER["tune"]]) in (0, 1)
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize(("command", "words"), all_examples(), ids=[" ".join(words) for _, words in all_examples()])
def test_an_example_of_the_help_runs_as_written(
    command: str, words: list[str], workplace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needs = any(word.startswith("runs/") for word in words)
    if needs:
        monkeypatch.chdir(workplace)
    if words[0] == "run" and words[1] == "mine.toml":
        assert main(["new", "mine"]) == 0  # the example's other half
    if words[1:2] == ["press.toml"]:
        assert main(["new", "press", "--robot", "ur5e"]) == 0
    if "arm.urdf" in words:
        Path("arm.urdf").write_text(_arm())
    if "mine.tex" in words:
        Path("mine.tex").write_text(r"$M_{33} = \frac{1}{3} m_3 L^2$")
    if "notes.md" in words:
        Path("notes.md").write_text("$$g_2 = m_2 g l_2 c_{12}$$")
    if "answers" in words:
        Path("answers").mkdir()
        Path("answers", "anna.md").write_text("$$g_2 = m_2 g l_2 c_{12}$$")
    if words[0] == "cases" and "mine.toml" in words:
        case = 'place = "1"\nasked = "expression"\nnumbers = [["2*cos(pi/3)"]]\nprinted = "1.000"\n'
        Path("mine.toml").write_text(f'source = "exam"\n[case.a]\n{case}')
    more = QUICKER.get(words[0], []) if "--resume" not in words else []
    more = [*SHORT, "--runs", "3"] if "--laws" in words else more
    if "slurm:job.toml" in words:
        Path("job.toml").write_text('jobs = 2\ncores = 1\nmemory = "2GB"\nwalltime = "01:00:00"\n')
        more = [*SHORT, "--runs", "3"]
    more = ["--dry-run"] if "map" in words or "--map" in words else more
    more = ["000"] if words in (["verify"], ["verify", "--figures", "figures"]) else more  # one of the five documents
    assert main([*words, *more]) in (0, 1, 3)  # 1: cut this short, bounds are not met; 3: predicted to be unstable


# ------------------------------------------------------------------ mistakes


def test_a_misspelt_option_of_the_program_is_said(capsys: Capture) -> None:
    assert main(["--versoin"]) == 2
    assert "mean '--version'" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--replay"]])
def test_a_run_that_is_not_there_is_said_with_those_that_are(more: list[str], capsys: Capture) -> None:
    assert main(["report", "nofolder", *more]) == 2
    assert "there is no file or folder nofolder\n  hint: palpate run SCENARIO makes one" in capsys.readouterr().err
    assert main(["run", "pendulum", *SHORT, "--no-report", "--quiet"]) == 0
    Path("empty").mkdir()
    assert main(["report", "empty", *more]) == 2
    assert f"empty holds no run: there is no trace.parquet in it\n  hint: runs here: {Path('runs/pendulum-1')}" in (
        capsys.readouterr().err
    )


def test_a_scenario_file_named_without_its_suffix_is_offered(capsys: Capture) -> None:
    assert main(["new", "mine"]) == 0
    assert main(["run", "mine"]) == 2
    assert "you mean" in capsys.readouterr().err


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "palpate", "--version"], capture_output=True, text=True, timeout=ENDLESS
    )
    assert done.stdout.startswith("palpate ")


# ------------------------------------------------------------------ JSON


def answer(capsys: Capture) -> dict:
    captured = capsys.readouterr()
    assert [line for line in captured.err.splitlines() if not line.endswith("…")] == []  # "loading …" if it takes long
    return json.loads(captured.out)


def test_a_run_is_told_as_json(capsys: Capture) -> None:
    assert main(["run", "pendulum", *SHORT, "--no-report", "--json"]) == 0
    told = answer(capsys)
    assert (told["outcome"]["kind"], told["ok"], told["scenario"]) == ("completed", True, "pendulum")
    assert told["metrics"]["energy_residual"]["passed"] is True
    assert Path(told["see"]) == Path("runs/pendulum-1/trace.parquet")


def test_lists_are_told_as_json(capsys: Capture) -> None:
    assert main(["run", "pendulum", *SHORT, "--no-report", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["list", "runs", "metrics", "channels", "--json"]) == 0
    told = answer(capsys)
    assert [(one["scenario"], one["outcome"], one["bounds_kept"]) for one in told["runs"]] == [
        ("pendulum", "completed", "1 of 1")
    ]
    assert {"name": "force_peak", "unit": "N", "help": "largest contact force"} in told["metrics"]
    assert {"contact_force", "tau.<name>", "law.<name>"} <= {one["name"] for one in told["channels"]}


def test_a_comparison_is_told_as_json_and_shows_what_differs(capsys: Capture) -> None:
    for mass in (1.0, 2.0):
        more = ["--set", f"robot.parameters.mass={mass}"]
        assert main(["run", "pendulum", *SHORT, "--no-report", "--quiet", *more]) == 0
    capsys.readouterr()
    assert main(["compare", "runs/pendulum-1", "runs/pendulum-2", "--json"]) == 0
    told = answer(capsys)
    assert told["settings"] == {"robot.parameters.mass": ["1.0", "2.0"]}
    assert told["metrics"]["energy_residual"]["unit"] == "J"
    assert main(["compare", "runs/pendulum-1", "runs/pendulum-2"]) == 0
    assert re.search(r"robot\.parameters\.mass +1\.0 +2\.0", capsys.readouterr().out)


def test_a_scenario_is_shown_with_its_law_and_as_json(capsys: Capture) -> None:
    assert main(["show", "panda-wall"]) == 0
    out = capsys.readouterr().out
    assert "τ = Jᵀ (K e + D (V_d − V))" in out
    assert re.search(r"stiffness +\[400\.0.* N/m, N·m/rad", out)
    assert main(["show", "panda-wall", "--json"]) == 0
    assert answer(capsys)["control"]["law"] == "cartesian-impedance"


# ------------------------------------------------------------------ lists and tables


def test_there_are_no_runs_at_first_and_a_damaged_one_is_said(capsys: Capture) -> None:
    assert main(["list", "runs"]) == 0
    assert "palpate run SCENARIO makes one" in capsys.readouterr().out
    Path("runs/x").mkdir(parents=True)
    Path("runs/x/trace.parquet").write_bytes(b"no trace")
    assert main(["list", "runs"]) == 0
    assert re.search(r"runs.x +damaged", capsys.readouterr().out)


@pytest.mark.parametrize("section", ["scenarios", "laws", "metrics", "robots", "channels"])
def test_no_word_is_broken_at_80_columns(section: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    from palpate.cli.list import SECTIONS

    screen = io.StringIO()
    monkeypatch.setattr(
        "rich.console.Console", lambda **_: Console(file=screen, width=80, force_terminal=True, color_system=None)
    )
    found = SECTIONS[section]()
    tables.print_table(found.heads, found.rows, found.align)
    lines = screen.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    shown = set(screen.getvalue().split())
    words = {word for row in found.rows for cell in row for word in cell.split() if len(word) < 25}
    assert words <= shown


@pytest.mark.parametrize(
    "key", ["", *(f"control.{law}" for law in LAWS), *(f"reference.{kind}" for kind in REFERENCES)]
)
def test_explain_loses_no_text_at_80_columns(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def at_80(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> None:
        screen = io.StringIO()
        made = Console(file=screen, width=80, force_terminal=True, color_system=None)
        monkeypatch.setattr("rich.console.Console", lambda **_: made)
        print_whole(heads, rows, align)
        shown.append((screen.getvalue(), [*heads, *(cell for row in rows for cell in row)]))

    print_whole = tables.print_table
    monkeypatch.setattr("palpate.cli.explain.print_table", at_80)
    assert main(["explain", key]) == 0
    for text, cells in shown:
        assert max(map(cell_len, text.splitlines())) <= 80
        assert sorted("".join(text.split())) == sorted("".join("".join(cells).split()))  # every letter is there
        broken = {word for cell in cells for word in cell.split()} - set(text.split())
        assert all("/" in word or len(word) > 15 for word in broken)  # paths, and what no arrangement has room for
    assert shown


def test_verdicts_are_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, width=80, force_terminal=True))
    tables.print_table(["a", "b"], [["x", "ok"], ["y", "FAILED"]], "ll")
    assert "\x1b[32mok" in screen.getvalue()
    assert "\x1b[1;31mFAILED" in screen.getvalue()


# ------------------------------------------------------------------ what takes long


@pytest.mark.parametrize("words", [["explain", "control"], ["list", "scenarios"], ["list", "robots"], ["new", "mine"]])
def test_commands_that_only_tell_compile_nothing(words: list[str]) -> None:
    lines = (
        "import sys; from palpate.engine.kernels import Kernel; from palpate.cli.main import main;"
        "Kernel._make_ready = lambda self: sys.exit(77); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", lines, *words], capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr


def test_the_kernels_that_one_needs_are_counted() -> None:
    every = needed(run_steps)
    assert run_steps in every
    assert len(every) > 20


def test_compiling_is_counted_aloud_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    now = [0.0]
    monkeypatch.setattr(console.time, "perf_counter", lambda: now[0])
    kernels = [SimpleNamespace(py_func=lambda: None) for _ in range(3)]
    monkeypatch.setattr(console, "needed", lambda kernel: set(map(id, kernels)))
    progress = CompileProgress()
    progress.terminal = False
    for kernel in map(lambda k: _Hashed(k), kernels):
        progress.begin(kernel)
        now[0] += 3.0
        progress.end(kernel)
    assert "compiling, once: 1 of " in capsys.readouterr().err


class _Hashed:
    """Stands for a kernel: it has a function with a name."""

    def __init__(self, kernel: SimpleNamespace) -> None:
        self.py_func = kernel.py_func


def test_a_large_record_is_announced_with_a_way_out(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    from palpate.cli import run

    monkeypatch.setattr(run, "LARGE", 0.01)
    assert main(["run", "pendulum", "--set", "run.duration=0.5", "--no-report"]) == 0
    err = capsys.readouterr().err
    assert re.search(r"note: this records 0 MB: \d+ samples of \d+ numbers; --set record\.stride=\d+ keeps", err)


def test_every_command_is_covered() -> None:
    commands = {name for name, _ in all_examples()}
    elsewhere = {"check", "verify", "export", "serve", "drive", "play"}  # their examples stand elsewhere
    assert set(COMMANDS) - commands <= elsewhere
