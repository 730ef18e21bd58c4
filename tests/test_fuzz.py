"""A minute of fuzzing: nothing crashes, hangs, leaves the tree of errors, or is accepted that cannot exist."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = {"models": 4, "scenarios": 14, "traces": 4, "tables": 3, "api": 4, "kernels": 8, "folders": 6}
LEAST_TRIES = {"models": 10, "scenarios": 8, "traces": 20, "tables": 20, "api": 40, "kernels": 1, "folders": 3}
WITHOUT_REFUSALS = ("kernels", "folders")  # what is damaged is compiled anew; commands end by an exit code


@pytest.mark.parametrize("target", SECONDS)
def test_fuzzing_finds_nothing(target: str, tmp_path: Path):
    log = tmp_path / "under_way"
    words = ["--targets", target, "--seed", "0", "--seconds", str(SECONDS[target]), "--log", str(log)]
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode in (0, 1), f"crashed at {log.read_text() if log.exists() else '?'}: {done.stderr[-2000:]}"
    counts = json.loads(done.stdout)[target]
    assert counts["faults"] == []
    assert set(counts) <= {"tries", "accepted", "refused", "faults"}
    assert counts["tries"] >= LEAST_TRIES[target]
    assert target in WITHOUT_REFUSALS or counts["refused"] > 0
