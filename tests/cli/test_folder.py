"""The folder of a run: what may be replaced, who may write, and what is there when something fails."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from moments import finished, held
from palpate.cli import folder as folders
from palpate.cli.folder import LOCK, MARKER, PARTIAL, claim_folder
from palpate.cli.main import main
from palpate.errors import FileError, InUse
from palpate.trace import load_trace
from palpate.trace.partial import MAGIC

SHORT = ["run", "pendulum", "--set", "run.duration=0.05", "--no-report", "--quiet"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_folder_that_holds_the_scenario_is_refused_and_nothing_is_touched(capsys: Capture) -> None:
    main(["new", "mine"])
    before = Path("mine.toml").read_bytes()
    Path("figures").mkdir()
    Path("figures/own.png").write_text("mine")
    assert main(["run", "mine.toml", "--out", "."]) == 2
    assert "scenario being" in capsys.readouterr().err
    assert main([*SHORT, "--out", "."]) == 2
    assert "other things" in capsys.readouterr().err
    assert Path("mine.toml").read_bytes() == before
    assert Path("figures/own.png").read_text() == "mine"
    assert sorted(entry.name for entry in Path().iterdir()) == ["figures", "mine.toml"]
    assert main([*SHORT, "--out", "first"]) == 0
    assert main(["run", "first/scenario.toml", "--no-report", "--out", "first"]) == 2


def test_only_the_files_of_a_run_are_replaced() -> None:
    assert main(["run", "pendulum", "--set", "run.duration=0.05", "--quiet", "--out", "here"]) == 0
    assert len(list(Path("here/figures").iterdir())) > 1
    own = [Path("here/notes.md"), Path("here/figures/own.png"), Path("here/figures/joints.svg"), Path("here/own/a.txt")]
    own[3].parent.mkdir()
    for file in own:
        file.write_text("mine")
    assert main([*SHORT, "--out", "here"]) == 0  # without a report: the figures of before are gone
    assert [file.read_text() for file in own] == ["mine"] * 4
    assert sorted(entry.name for entry in Path("here/figures").iterdir()) == ["joints.svg", "own.png"]
    assert not Path("here/report.html").exists()


def test_nothing_is_written_through_a_symbolic_link(capsys: Capture) -> None:
    assert main([*SHORT, "--out", "here"]) == 0
    Path("elsewhere").mkdir()
    Path("precious").write_text("mine")
    Path("link").symlink_to("elsewhere")
    assert main([*SHORT, "--out", "link"]) == 2
    Path("here/report.html").symlink_to("../precious")
    assert main([*SHORT, "--out", "here"]) == 2
    assert "symbolic link" in capsys.readouterr().err
    Path("here/report.html").unlink()
    Path("here/figures").symlink_to("../elsewhere")
    assert main([*SHORT, "--out", "here"]) == 2
    assert Path("precious").read_text() == "mine"
    assert list(Path("elsewhere").iterdir()) == []


def test_two_runs_in_one_folder_do_not_meet() -> None:
    with claim_folder("here", "x", "pendulum"), pytest.raises(InUse, match=r"another.*writing"):
        claim_folder("here", "x", "pendulum")
    with claim_folder("here", "x", "pendulum"):
        assert Path("here", LOCK).exists()
    assert not Path("here", LOCK).exists()


def test_a_folder_that_cannot_be_written_is_refused_before_the_simulation(monkeypatch, capsys: Capture) -> None:
    def no_simulation(*_: object) -> None:
        raise AssertionError("simulated first")

    monkeypatch.setattr("palpate.run.simulate.execute", no_simulation)
    Path("file").write_text("")
    assert main([*SHORT, "--out", "file/below"]) == 2
    assert "folder file/below: Not a directory" in capsys.readouterr().err
    if os.geteuid() != 0:  # root may write anywhere
        Path("closed").mkdir(mode=0o555)
        assert main([*SHORT, "--out", "closed"]) == 2


def test_litter_of_a_killed_run_goes_and_its_files_may_be_replaced() -> None:
    with claim_folder("here", "x", "pendulum"):
        pass
    Path("here", ".palpate-0123.part").write_text("half")
    Path("here", PARTIAL).write_bytes(MAGIC + b"half")
    Path("here", LOCK).write_text("")  # nobody holds it
    assert main([*SHORT, "--out", "here"]) == 0
    assert sorted(entry.name for entry in Path("here").iterdir()) == [
        MARKER, "metrics.json", "scenario.toml", "trace.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "content", ["", "{", '{"palpate": 1, "files": {"../precious": null}}', '{"files": ["notes.md"]}']
)
def test_what_the_marker_says_deletes_nothing(content: str) -> None:
    assert main([*SHORT, "--out", "here"]) == 0
    Path("precious").write_text("mine")
    Path("here/notes.md").write_text("mine")
    Path("here", MARKER).write_text(content)
    assert main([*SHORT, "--out", "here"]) == 0
    assert (Path("precious").read_text(), Path("here/notes.md").read_text()) == ("mine", "mine")


@pytest.mark.parametrize("name", ["scenario.toml", "trace.parquet", "report.html", "thesis.txt"])
def test_a_folder_without_the_marker_is_refused(name: str, capsys: Capture) -> None:
    Path("here").mkdir()
    Path("here", name).write_text("mine")
    assert main([*SHORT, "--out", "here"]) == 2
    assert name in capsys.readouterr().err
    assert Path("here", name).read_text() == "mine"


@pytest.mark.parametrize("name", ["scenario.toml", "trace.parquet", PARTIAL, MARKER])
def test_a_folder_with_the_name_of_a_file_is_refused_by_name(name: str, capsys: Capture) -> None:
    assert main([*SHORT, "--out", "here"]) == 0
    Path("here", name).unlink(missing_ok=True)
    Path("here", name).mkdir()
    Path("here", name, "thesis.txt").write_text("mine")
    assert main([*SHORT, "--out", "here"]) == 2
    assert f"here/{name}" in capsys.readouterr().err
    assert Path("here", name, "thesis.txt").read_text() == "mine"


def test_the_marker_is_there_before_any_file_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    replace = os.replace

    def watched(source: str, target: Path) -> None:
        order.append(target.name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    assert main([*SHORT, "--out", "here"]) == 0
    assert order == [MARKER, "trace.parquet", "scenario.toml", "metrics.json"]


def test_a_full_disk_costs_the_pages_not_the_trace(monkeypatch, capsys: Capture) -> None:
    def full(*_: object) -> None:
        raise FileError("cannot write report.html: No space left on device")

    monkeypatch.setattr("palpate.views.report", full)
    assert main(["run", "pendulum", "--set", "run.duration=0.05", "--out", "here"]) == 0
    captured = capsys.readouterr()
    assert "No space left on device); the trace" in captured.err
    assert "see here/trace.parquet" in captured.out
    assert load_trace("here/trace.parquet").outcome.kind == "completed"


def test_ctrl_c_while_the_report_is_written_keeps_the_run(monkeypatch, capsys: Capture) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folders.RunFolder, "write_pages", interrupted)
    assert main(["run", "pendulum", "--set", "run.duration=0.05", "--out", "here"]) == 0
    assert re.search(r"trace.*kept", capsys.readouterr().err)
    assert load_trace("here/trace.parquet").outcome.kind == "completed"


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_from_outside_leaves_a_trace_in_its_folder(kind: signal.Signals, capsys: Capture) -> None:
    long, partial = ["run", "pendulum", "--set", "run.duration=3000", "--out", "here"], Path("here", PARTIAL)
    every = {"palpate.run.after.keep:EVERY": 0.0}
    process = held(long, "palpate.cli.console:RunProgress.__call__", 3, every)
    process.send_signal(kind)
    out, _ = finished(process)
    if kind == signal.SIGTERM:
        assert process.returncode == 130
        assert out.startswith("interrupted at") or "\ninterrupted at" in out
        assert not partial.exists()
    found = folders.find_trace("here")
    trace = load_trace(found)
    assert found.name == ("trace.parquet" if kind == signal.SIGTERM else PARTIAL)
    assert trace.outcome.kind == "interrupted"
    assert len(trace) > 100  # the first slice of the loop has 1024 steps
    assert main([*SHORT, "--out", "here"]) == 0  # and the next run may have the folder
    assert not partial.exists()


def test_repair_replaces_no_file_unless_forced(capsys: Capture) -> None:
    Path("arm.urdf").write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0"'
        ' iyy="1" iyz="0" izz="5"/></inertial></link><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    before = Path("arm.urdf").read_bytes()
    assert main(["check", "arm.urdf", "--repair", "arm.urdf"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert Path("arm.urdf").read_bytes() == before
    assert main(["check", "arm.urdf", "--repair", "new.urdf"]) == 0
    assert main(["check", "arm.urdf", "--repair", "new.urdf"]) == 2
    assert main(["check", "arm.urdf", "--repair", "arm.urdf", "--force"]) == 0
    assert Path("arm.urdf").read_bytes() != before
