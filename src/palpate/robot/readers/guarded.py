"""A stranger's file in a process of its own, with limits on time and memory: compiling MJCF, expanding xacro."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palpate.errors import shortened
from palpate.robot.readers.assets import enclosing_package, folders_above
from palpate.robot.readers.findings import printable
from palpate.robot.readers.xmlfile import MAX_BYTES, Report, read_bytes
from palpate.user_code import refuse_programs

_LIMITED, _CHILD = (Path(__file__).with_name(name) for name in ("limited.py", "compile_child.py"))


@dataclass(frozen=True)
class CompileLimits:
    """Limits of time and memory for compiling a foreign model.

    Attributes:
        seconds: processor time, s, so that a busy machine refuses nothing an idle one takes.
        memory: address space, bytes.
        patience: wall-clock time, s, after which even an idle process is stopped; on systems that cannot limit
            processor time it is the only limit.
    """

    seconds: float = 10.0
    memory: int = 4 * 2**30
    patience: float = 120.0


PLAIN_LIMITS = CompileLimits(memory=2 * 2**30)  # of what needs no address space for MuJoCo: xacro, COLLADA


@dataclass(frozen=True)
class Compilation:
    """Result of compiling a foreign model.

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
    weighty: Sequence[str] = ()


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
    process = run_guarded(_CHILD, [str(Path(path).resolve()), json.dumps(list(missing))], limits)
    if process is None:
        return Compilation(accident=f"compiling took longer than {limits.patience:g} s and was stopped")
    return _compilation_from(process, limits)


def run_guarded(
    script: Path, arguments: list[str], limits: CompileLimits, *, bare: bool = False
) -> subprocess.CompletedProcess[bytes] | None:
    """Runs a script of ours alone; None if it had to be stopped.

    The working folder is a temporary one, so that no log file is left behind. `bare` hides the environment and takes
    the right to write files.
    """
    limit_arguments = [str(_LIMITED), str(limits.seconds), str(limits.memory), str(int(not bare))]
    # One thread: each would reserve address space and eat into the limit.
    environment = {**({} if bare else os.environ), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="palpate-") as folder:
        try:
            return subprocess.run(
                [sys.executable, "-I", *limit_arguments, str(script), *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=limits.patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None


def _compilation_from(process: subprocess.CompletedProcess[bytes], limits: CompileLimits) -> Compilation:
    if process.returncode != 0:
        return Compilation(accident=_accident(process, limits))
    try:
        made = Compilation(**json.loads(process.stdout))
    except ValueError:
        return Compilation(accident=f"MuJoCo ended without an answer: {_last_line(process.stderr)}")
    return Compilation(accident=_out_of_memory(limits)) if "alloc" in (made.refusal or "").lower() else made


def _accident(process: subprocess.CompletedProcess[bytes], limits: CompileLimits) -> str:
    code = process.returncode
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"compiling took longer than {limits.seconds:g} s of processor time and was stopped"
    if b"alloc" in process.stderr.lower() or b"MemoryError" in process.stderr:
        return _out_of_memory(limits)
    if code < 0:
        return f"MuJoCo crashed ({signal.Signals(-code).name})"
    return f"MuJoCo ended with exit code {code}: {_last_line(process.stderr)}"


def _out_of_memory(limits: CompileLimits) -> str:
    return f"compiling took more than {limits.memory / 2**30:.3g} GiB of memory and was stopped"


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return printable(lines[-1])[:200] if lines else "no message"


# ----------------------------------------------------------------------------------------------
# xacro files, expanded on request only: a xacro file is a program, and a stranger's program is not run unasked.


_XACRO = Path(__file__).with_name("xacro_child.py")


def expand_xacro(
    path: Path,
    report: Report,
    arguments: Mapping[str, str],
    package_roots: Sequence[Path] = (),
    limits: CompileLimits | None = None,
) -> bytes | None:
    """The URDF text of a xacro file, or None with the reason reported.

    It runs in a process of its own, with limits on time and memory, an empty environment and no right to write files.
    It reads files of the model's folder, its package, the declared roots and the packages that it finds, and no others.

    Args:
        path: the file.
        report: takes the reason if there is no answer.
        arguments: of the file's `<xacro:arg>`s, by name.
        package_roots: folders in which `$(find package)` is looked up, besides those above the file, where a package is
            a folder with a package.xml.
        limits: what it may cost.
    """
    refuse_programs(f"{shortened(str(path))}, xacro,")
    if importlib.util.find_spec("xacro") is None:
        report.error(None, "needs xacro, which is not installed", "xacro files are expanded first", _INSTALL_XACRO)
        return None
    if read_bytes(path, report) is None:
        return None
    limits = limits or PLAIN_LIMITS
    home, roots = path.parent.resolve(), [Path(root).resolve() for root in package_roots]
    folders = {"roots": roots, "own": [home, *enclosing_package(home)], "above": folders_above(home)}
    listed = {name: [str(folder) for folder in some] for name, some in folders.items()}
    options = json.dumps({"arguments": dict(arguments), **listed})
    process = run_guarded(_XACRO, [str(path.resolve()), options], limits, bare=True)
    if process is not None and process.returncode == 0 and 0 < len(process.stdout) <= MAX_BYTES:
        return process.stdout
    report.error(None, f"xacro: {_reason(process, limits)}", "the file cannot be expanded")
    return None


_INSTALL_XACRO = "pip install 'palpate[xacro]'"


def _reason(process: object, limits: CompileLimits) -> str:
    code = getattr(process, "returncode", None)
    if code is None or code == -getattr(signal, "SIGXCPU", 0):
        return f"took longer than {limits.seconds:g} s of processor time, or {limits.patience:g} s, and was stopped"
    if code == 0:
        return f"gave {len(getattr(process, 'stdout', b''))} bytes; a model file has at most {MAX_BYTES // 2**20} MiB"
    lines = getattr(process, "stderr", b"").decode(errors="replace").strip().splitlines()
    return printable(" ".join(lines))[:400] if lines else f"ended with exit code {code}"
