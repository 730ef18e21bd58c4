"""The folder of a sweep holds no path of the user's machine, goes on elsewhere, and is free of what a kill left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.parquet import read_footer
from palpate.tools.study import open_sweep
from palpate.tools.study.plans.plan import plan_from_text
from palpate.tools.study.running.store import KEY, Store

ARM = """<robot name="arm"><link name="base"/><link name="link"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="link"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="50" velocity="5"/></joint></robot>"""
SCENARIO = """name = "arm"
[robot]
model = "r.urdf"
[control]
law = "gravity-compensation"
[run]
duration = 0.02
"""
VARIED = ["--vary", "world.plant.mass_scale=uniform(0.9, 1.1)", "--runs", "70", "--metrics", "energy_residual"]
QUICK = ["--workers", "0", "--no-report", "--quiet"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and a scenario that names it."""
    folder = tmp_path / "users-own"
    folder.mkdir()
    (folder / "r.urdf").write_text(ARM)
    (folder / "s.toml").write_text(SCENARIO)
    monkeypatch.chdir(folder)
    return folder


def unfinished(folder: Path) -> dict[str, bytes]:
    """Make a finished sweep one that was killed: some chunks are there, and a half-written one; the table as it was."""
    table = (folder / "table.parquet").read_bytes()
    (folder / "table.parquet").unlink()
    (folder / "summary.json").unlink()
    (folder / "chunks").mkdir()
    for litter in (folder, folder / "chunks"):
        (litter / ".palpate-0123.part").write_bytes(b"half")
    return {"table.parquet": table}


@pytest.mark.parametrize("named", ["relative", "absolute", "by --set"])
def test_a_sweep_holds_no_absolute_path_and_goes_on_where_it_was_moved_to(here: Path, named: str, monkeypatch) -> None:
    source = {"absolute": [str(here / "s.toml")], "by --set": ["s.toml", "--set", "robot.model='r.urdf'"]}
    assert main(["sweep", *source.get(named, ["s.toml"]), *VARIED, *QUICK, "--out", "sweep"]) == 0
    for file in ("scenario.toml", "sweep.json", "table.parquet", "summary.json"):
        assert str(here).encode() not in Path("sweep", file).read_bytes(), file
    assert str(here) not in "".join(read_footer("sweep/table.parquet").metadata.values())
    before = unfinished(here / "sweep")
    moved = here.parent / "elsewhere"
    shutil.move(here, moved)
    monkeypatch.chdir(moved.parent)
    assert main(["sweep", "--resume", "elsewhere/sweep", *QUICK]) == 0
    assert (moved / "sweep" / "table.parquet").read_bytes() == before["table.parquet"]
    assert sorted(os.listdir(moved / "sweep")) == ["scenario.toml", "summary.json", "sweep.json", "table.parquet"]
    table = moved / "sweep" / "table.parquet"
    plan = plan_from_text(read_footer(table).metadata[KEY], str(table)).read_in(table.parent)
    assert plan.scenario["robot"]["model"] == str(moved / "r.urdf")
    assert len(open_sweep(moved / "sweep").trace(3)) == 21


def test_the_scenario_beside_a_sweep_can_be_run(here: Path) -> None:
    assert main(["sweep", "s.toml", *VARIED, *QUICK, "--out", "sweep"]) == 0
    assert main(["run", "sweep/scenario.toml", "--no-report", "--quiet", "--out", "run"]) == 0


def test_the_same_command_goes_on_with_the_same_sweep(here: Path) -> None:
    line = ["sweep", "s.toml", *VARIED, *QUICK, "--out", "sweep"]
    assert main(line) == 0
    before = unfinished(here / "sweep")
    assert main(line) == 0
    assert Path("sweep/table.parquet").read_bytes() == before["table.parquet"]
    (here / "r.urdf").write_text(ARM.replace('mass value="1"', 'mass value="2"'))
    assert main(line) == 2


def test_a_study_holds_no_absolute_path_and_goes_on_where_it_was_moved_to(here: Path, monkeypatch) -> None:
    words = ["--no-map", "--runs", "4", *QUICK]
    assert main(["sweep", str(here / "s.toml"), "--uncertain", *words, "--out", "study"]) == 0
    for file in [path for path in Path("study").rglob("*") if path.is_file()]:
        assert str(here).encode() not in file.read_bytes(), file
    before = unfinished_study(here / "study")
    moved = here.parent / "elsewhere"
    shutil.move(here, moved)
    monkeypatch.chdir(moved.parent)
    assert main(["sweep", "--resume", "elsewhere/study", *QUICK]) == 0
    assert (moved / "study" / "draws" / "table.parquet").read_bytes() == before


def unfinished_study(folder: Path) -> bytes:
    table = (folder / "draws" / "table.parquet").read_bytes()
    (folder / "draws" / "table.parquet").unlink()
    return table


def test_a_plan_without_files_is_written_as_it_is(here: Path) -> None:
    words = ["--set", "run.duration=0.02", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--runs", "3"]
    assert main(["sweep", "pendulum", *words, *QUICK, "--out", "sweep"]) == 0
    plan = Store.open("sweep").plan
    assert plan.scenario["robot"]["model"] == "pendulum"
    assert plan.source == ("pendulum", "--set", "run.duration=0.02")
    assert plan.seen_from("sweep") == plan
