"""Half a minute of fuzzing: nothing crashes, hangs, leaves the tree of errors, or is accepted that cannot exist."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = {"models": 8, "scenarios": 12, "traces": 6, "api": 6}
LEAST_TRIES = {"models": 10, "scenarios": 8, "traces": 20, "api": 40}
FAULTS = ("hangs", "outside the tree", "not positive definite", "not finite")


@pytest.mark.parametrize("target", SECONDS)
def test_fuzzing_finds_nothing(target: str, tmp_path: Path):
    log = tmp_path / "under_way"
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), "--targets", target, "--log", str(log)]
    done = subprocess.run([*command, "--seconds", str(SECONDS[target])], capture_output=True, text=True, timeout=500)
    assert done.returncode in (0, 1), f"crashed at {log.read_text() if log.exists() else '?'}: {done.stderr[-2000:]}"
    counts = json.loads(done.stdout)[target]
    assert counts["faults"] == []
    assert not any(counts.get(fault) for fault in FAULTS)
    assert counts["tries"] >= LEAST_TRIES[target]
    assert counts["refused"] > 0
