"""Symbolic links where a command wants to write: refused by name, and what they point at is as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from palpate import views
from palpate.cli.folder import LOCK, MARKER
from palpate.cli.main import main
from palpate.errors import FileError
from palpate.trace import load_trace
from palpate.trace.partial import PartialFile

RUN = ["run", "pendulum", "--set", "run.duration=0.05", "--quiet"]
SWEEP = [
    "sweep", "pendulum", "--set", "run.duration=0.02", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--runs", "3",
    "--metrics", "energy_residual", "--workers", "0", "--quiet",
]  # fmt: skip
ARM = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0"
 iyy="1" iyz="0" izz="5"/></inertial></link><joint name="j" type="revolute"><parent link="a"/>
<child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
# Where the link is planted, and the command that would write through it.
PLANTED = {
    "the marker of a run": (f"new/{MARKER}", [*RUN, "--out", "new"]),
    "the lock of a run": (f"new/{LOCK}", [*RUN, "--out", "new"]),
    "a report": ("run/report.html", ["report", "run"]),
    "a report elsewhere": ("page.html", ["report", "run", "--out", "page.html"]),
    "a replay": ("run/replay.html", ["report", "run", "--replay"]),
    "the scenario of a run": ("run/scenario.toml", [*RUN, "--out", "run"]),
    "a comparison": ("compare.html", ["compare", "run", "run"]),
    "the scenario of a sweep": ("new/scenario.toml", [*SWEEP, "--out", "new"]),
    "the chunks of a sweep": ("begun/chunks", ["sweep", "--resume", "begun", "--workers", "0"]),
    "the report of a finished sweep": ("sweep/report.html", ["sweep", "--resume", "sweep"]),
    "the summary of a finished sweep": ("sweep/summary.json", ["sweep", "--resume", "sweep", "--no-report"]),
    "a chunk of a sweep": ("begun/chunks/0000000000.json", ["sweep", "--resume", "begun", "--workers", "0"]),
    "the table of a sweep": ("begun/table.parquet", ["sweep", "--resume", "begun", "--workers", "0"]),
    "code in C": ("code/planar2.c", ["derive", "planar2", "--numbers", "--c", "code"]),
    "a folder for code": ("code", ["derive", "planar2", "--numbers", "--c", "code"]),
    "a derivation": ("page.html", ["derive", "planar2", "--html", "page.html"]),
    "a repaired model": ("mended.urdf", ["check", "arm.urdf", "--repair", "mended.urdf", "--force"]),
    "a new scenario": ("mine.toml", ["new", "mine"]),
}


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, a finished sweep, and one that has made no run yet."""
    folder = tmp_path_factory.mktemp("templates")
    assert main([*RUN, "--no-report", "--out", str(folder / "run")]) == 0
    assert main([*SWEEP, "--no-report", "--out", str(folder / "sweep")]) == 0
    shutil.copytree(folder / "sweep", folder / "begun")
    (folder / "begun" / "table.parquet").unlink()
    (folder / "begun" / "chunks").mkdir()
    (folder / "arm.urdf").write_text(ARM)
    return folder


@pytest.mark.parametrize("dangling", [False, True], ids=["", "dangling"])
@pytest.mark.parametrize("case", PLANTED)
def test_no_command_writes_through_a_symbolic_link(
    case: str, dangling: bool, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    here = tmp_path / "here"
    shutil.copytree(templates, here)
    monkeypatch.chdir(here)
    planted, command = PLANTED[case]
    is_folder = not Path(planted).suffix and not Path(planted).name.startswith(".")
    victim = tmp_path / "victim"
    if not dangling:
        victim.mkdir() if is_folder else victim.write_text("mine")
    Path(planted).rmdir() if Path(planted).is_dir() else Path(planted).unlink(missing_ok=True)
    Path(planted).parent.mkdir(exist_ok=True)
    Path(planted).symlink_to(victim)
    assert main(command) == 2
    said = capsys.readouterr().err
    assert Path(planted).name in said, said
    assert Path(planted).is_symlink()
    assert victim.exists() != dangling
    if not dangling:
        assert list(victim.iterdir()) == [] if is_folder else victim.read_text() == "mine"
    assert not list(here.rglob(".palpate-*.part"))


SAVED = {
    "a trace as Parquet": ("t.parquet", lambda trace, path: trace.save(path)),
    "a trace as text": ("t.csv", lambda trace, path: trace.save(path)),
    "a trace for NumPy": ("t.npz", lambda trace, path: trace.save(path)),
    "a partial trace": ("t.parts", lambda trace, path: PartialFile(path, trace).close()),
    "a report": ("t.html", lambda trace, path: views.report(trace, path)),
    "a replay": ("t.html", lambda trace, path: views.replay(trace, path)),
    "a folder of figures": ("figures", lambda trace, path: views.save_figures(trace, path)),
    "a trace for Foxglove": ("t.mcap", lambda trace, path: views.save_mcap(trace, path)),
}


@pytest.mark.parametrize("case", SAVED)
def test_no_function_writes_through_a_symbolic_link(case: str, templates: Path, tmp_path: Path) -> None:
    name, save = SAVED[case]
    victim = tmp_path / "victim"
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(FileError, match=f"{name} is a symbolic link|{name}: it is a symbolic link"):
        save(load_trace(templates / "run" / "trace.parquet"), tmp_path / name)
    assert not victim.exists()
