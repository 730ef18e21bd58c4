"""How a run in which a law does not keep its promise ends: told by name, and with exit code 3 under --strict."""

from __future__ import annotations

from pathlib import Path

import pytest

import palpate as pp
from palpate.cli.main import main

# What is run, what is changed, how the run ends, and what is said.
BROKEN = {
    "a pole that falls": (
        "pole-alone", ["world.pole.tilt=[0.6,0.0]", "run.duration=6.0"], "stopped", "the pole fell: past",
    ),
    "a stop whose tool is not at rest by the end": (
        "planar3-stop", ["run.duration=0.02"], "completed", "the tool had not stopped by the end",
    ),
    "a force without contact": (
        "panda-slide", ["world.surfaces=[]", "run.duration=0.2"], "completed", "contact was never made",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_promise_that_is_not_kept_is_a_warning_and_exit_code_3_under_strict(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, changes, ending, words = BROKEN[case]
    line = ["run", scenario, "--no-report", "--set", "metrics={}"]
    line += [word for change in changes for word in ("--set", change)]
    assert main([*line, "--strict", "--out", str(tmp_path / "strict")]) == 3
    printed = "".join(capsys.readouterr())
    assert any("warning" in text and words in text for text in printed.splitlines()), printed
    trace = pp.load_trace(tmp_path / "strict" / "trace.parquet")
    assert trace.outcome.kind == ending
    assert any(words in text for text in trace.warnings)
    if ending == "stopped":  # the outcome itself says why
        assert words in trace.outcome.reason
        assert main([*line, "--out", str(tmp_path / "plain")]) == 0
