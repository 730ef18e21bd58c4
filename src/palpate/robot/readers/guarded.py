"""A stranger's file in a process of its own, with limits on time and memory: compiling MJCF, expanding xacro."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palpate.robot.readers.findings import printable

_CHILD = Path(__file__).with_name("compile_child.py")


@dataclass(frozen=True)
class CompileLimits:
    """What a foreign model may cost.

    Attributes:
        seconds: processor time, s, so that a busy machine refuses nothing an idle one takes.
        memory: address space, bytes.
        patience: wall-clock time, s, after which even an idle process is stopped; on systems that cannot limit
            processor time it is the only limit.
    """

    seconds: float = 10.0
    memory: int = 4 * 2**30
    patience: float = 120.0


@dataclass(frozen=True)
class Compilation:
    """What came of it.

    Attributes:
        facts: bodies, joints, dof, mass [kg], timestep [s], frequency [rad/s], finite, warnings; empty if it failed.
        refusal: MuJoCo's own message, or None.
        accident: why there is no answer at all (time, memory, crash), or None.
        schema: MuJoCo's vocabulary as text, where the refusal is about a word.
        weighty: missing meshes from which a body's mass would have been computed.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    refusal: str | None = None
    accident: str | None = None
    schema: str = ""
    weighty: tuple[str, ...] = ()


def compile_guarded(
    path: str | Path, limits: CompileLimits | None = None, missing: Collection[str] = ()
) -> Compilation:
    """Compiles an MJCF file and runs one forward pass, where neither a crash nor a hang can reach the caller.

    Args:
        path: the file.
        limits: what it may cost.
        missing: names of meshes that are not there; the shapes that need them are left out.
    """
    limits = limits or CompileLimits()
    done = run_guarded(_CHILD, [str(Path(path).resolve()), *limit_words(limits), json.dumps(list(missing))], limits)
    if done is None:
        return Compilation(accident=f"compiling took longer than {limits.patience:g} s and was stopped")
    return _answer(done, limits)


def limit_words(limits: CompileLimits) -> list[str]:
    """The limits as a child is told them."""
    return [str(limits.seconds), str(limits.memory)]


def run_guarded(
    script: Path, arguments: list[str], limits: CompileLimits, *, bare: bool = False
) -> subprocess.CompletedProcess[bytes] | None:
    """Runs a script of ours alone; None if it had to be stopped.

    The working folder is a temporary one, so that no log file is left behind. `bare` hides the environment.
    """
    # One thread: each would reserve address space and eat into the limit.
    environment = {**({} if bare else os.environ), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="palpate-") as folder:
        try:
            return subprocess.run(
                [sys.executable, "-I", str(script), *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=limits.patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None


def _answer(done: subprocess.CompletedProcess[bytes], limits: CompileLimits) -> Compilation:
    if done.returncode != 0:
        return Compilation(accident=_accident(done, limits))
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return Compilation(accident=f"MuJoCo ended without an answer: {_tail(done.stderr)}")
    if "weighty" in answer:
        return Compilation(weighty=tuple(answer["weighty"]))
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
