"""Hundreds of seeded tries: nothing crashes, hangs, leaves the tree of errors, or is accepted that cannot exist."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from moments import ENDLESS

TRIES = {"models": 200, "scenarios": 10, "traces": 300, "tables": 300, "api": 400, "kernels": 1, "folders": 8}
LONGEST = "300"  # s of computing: a try takes milliseconds, and a second once in a hundred; only endless ones take more
WITHOUT_REFUSALS = ("kernels", "folders")  # what is damaged is compiled anew; commands end by an exit code


@pytest.mark.parametrize("target", TRIES)
def test_fuzzing_finds_nothing(target: str, tmp_path: Path):
    log = tmp_path / "under_way"
    words = ["--targets", target, "--seed", "0", "--tries", str(TRIES[target]), "--longest", LONGEST, "--log", str(log)]
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode in (0, 1), f"crashed at {log.read_text() if log.exists() else '?'}: {done.stderr[-2000:]}"
    counts = json.loads(done.stdout)[target]
    assert counts["faults"] == []
    assert set(counts) <= {"tries", "accepted", "refused", "faults"}
    assert counts["tries"] == TRIES[target]
    assert target in WITHOUT_REFUSALS or counts["refused"] > 0
