"""Nothing of the user's machine leaves it: paths in traces, reports and dumped scenarios."""

from __future__ import annotations

from pathlib import Path

from palpate.cli.main import main
from palpate.scenario.file.load import load_scenario
from palpate.trace import load_trace

ARM = """<mujoco><worldbody><body name="a"><joint name="i" axis="0 1 0"/><geom size=".1" mass="1"/>
<site name="tool" pos="0 0 .1"/></body></worldbody></mujoco>"""
TEXT = 'name = "x"\n[robot]\nmodel = "arm.xml"\n[control]\nlaw = "gravity-compensation"\n[run]\nduration = 0.05\n'


def test_no_absolute_path_is_written_and_the_dump_runs_again(tmp_path: Path, monkeypatch, capsys):
    home, work = tmp_path / "secret_home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    (home / "arm.xml").write_text(ARM)
    (home / "mine.toml").write_text(TEXT)
    monkeypatch.chdir(work)
    assert main(["run", str(home / "mine.toml"), "--out", "here"]) == 0
    for file in ("here/scenario.toml", "here/report.html", "here/metrics.json"):
        assert str(tmp_path) not in Path(file).read_text("utf-8")
    trace = load_trace("here/trace.parquet")
    assert trace.facts.scenario is not None
    assert trace.facts.scenario["robot"]["model"] == "arm.xml"
    assert str(tmp_path).encode() not in Path("here/trace.parquet").read_bytes()
    assert load_scenario("here/scenario.toml").robot.model == str(work / "here" / "../../secret_home/arm.xml")
    assert main(["run", "here/scenario.toml", "--out", "again", "--no-report"]) == 0
    assert load_trace("again/trace.parquet").equals(trace)


def test_a_description_cannot_steer_the_terminal(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("arm.xml").write_text(ARM)
    steering = 'name = "x"\ndescription = "\\u001b]0;owned\\u0007 \\u001b[2J"'
    Path("mine.toml").write_text(TEXT.replace('name = "x"', steering))
    assert main(["run", "mine.toml", "--no-report"]) == 0
    assert "\x1b" not in capsys.readouterr().out
