"""Compiling a stranger's MJCF: in a process of its own, with limits on time and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palpate.robot.readers.findings import printable

_CHILD = Path(__file__).with_name("compile_child.py")


@dataclass(frozen=True)
class CompileLimits:
    """What a foreign model may cost: wall-clock time [s] and address space [bytes]."""

    seconds: float = 10.0
    memory: int = 4 * 2**30


@dataclass(frozen=True)
class Compilation:
    """What came of it.

    Attributes:
        facts: bodies, joints, dof, mass [kg], timestep [s], frequency [rad/s], finite, warnings; empty if it failed.
        refusal: MuJoCo's own message, or None.
        accident: why there is no answer at all (time, memory, crash), or None.
        schema: MuJoCo's vocabulary as text, where the refusal is about a word.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    refusal: str | None = None
    accident: str | None = None
    schema: str = ""


def compile_guarded(path: str | Path, limits: CompileLimits | None = None) -> Compilation:
    """Compiles an MJCF file and runs one forward pass, where neither a crash nor a hang can reach the caller.

    The working folder is a temporary one, so that no log file is left behind.
    """
    limits = limits or CompileLimits()
    command = [sys.executable, "-I", str(_CHILD), str(Path(path).resolve())]
    command += [str(limits.seconds), str(limits.memory)]
    # One thread: each would reserve address space and eat into the limit.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="palpate-") as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=limits.seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return Compilation(accident=f"compiling took longer than {limits.seconds:g} s and was stopped")
    return _answer(done, limits)


def _answer(done: subprocess.CompletedProcess[bytes], limits: CompileLimits) -> Compilation:
    if done.returncode != 0:
        return Compilation(accident=_accident(done, limits))
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return Compilation(accident=f"MuJoCo ended without an answer: {_tail(done.stderr)}")
    if "error" in answer:
        if "alloc" in answer["error"].lower():
            return Compilation(accident=_memory(limits))
        return Compilation(refusal=answer["error"], schema=answer["schema"])
    return Compilation(facts=answer)


def _accident(done: subprocess.CompletedProcess[bytes], limits: CompileLimits) -> str:
    code = done.returncode
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"compiling took longer than {limits.seconds:g} s of processor time and was stopped"
    if b"alloc" in done.stderr.lower() or b"MemoryError" in done.stderr:
        return _memory(limits)
    if code < 0:
        return f"MuJoCo crashed ({signal.Signals(-code).name})"
    return f"MuJoCo ended with exit code {code}: {_tail(done.stderr)}"


def _memory(limits: CompileLimits) -> str:
    return f"compiling took more than {limits.memory / 2**30:.3g} GiB of memory and was stopped"


def _tail(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return printable(lines[-1])[:200] if lines else "no message"
