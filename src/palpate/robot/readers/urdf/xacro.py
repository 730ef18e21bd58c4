"""xacro files, expanded on request only: a xacro file is a program, and a stranger's program is not run unasked."""

from __future__ import annotations

import importlib.util
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from palpate.robot.readers.assets import folders_above
from palpate.robot.readers.findings import printable
from palpate.robot.readers.guarded import CompileLimits, limit_words, run_guarded
from palpate.robot.readers.xmlfile import MAX_BYTES, Report, read_bytes

_CHILD = Path(__file__).with_name("xacro_child.py")


def expand_xacro(
    path: Path,
    report: Report,
    arguments: Mapping[str, str],
    package_roots: Sequence[Path] = (),
    limits: CompileLimits | None = None,
) -> bytes | None:
    """The URDF text of a xacro file, or None with the reason reported.

    It runs in a process of its own, with limits on time and memory, an empty environment and no right to write files.

    Args:
        path: the file.
        report: takes the reason if there is no answer.
        arguments: of the file's `<xacro:arg>`s, by name.
        package_roots: folders in which `$(find package)` is looked up, besides those above the file.
        limits: what it may cost.
    """
    if importlib.util.find_spec("xacro") is None:
        report.error(None, "needs xacro, which is not installed", "xacro files are expanded first", _INSTALL)
        return None
    if read_bytes(path, report) is None:
        return None
    limits = limits or CompileLimits()
    roots = [str(Path(root).resolve()) for root in package_roots] + [
        str(p) for p in folders_above(path.parent.resolve())
    ]
    options = json.dumps({"arguments": dict(arguments), "roots": roots})
    done = run_guarded(_CHILD, [str(path.resolve()), *limit_words(limits), options], limits, bare=True)
    if done is not None and done.returncode == 0 and 0 < len(done.stdout) <= MAX_BYTES:
        return done.stdout
    report.error(None, f"xacro: {_reason(done, limits)}", "the file cannot be expanded")
    return None


_INSTALL = "pip install 'palpate[xacro]'"


def _reason(done: object, limits: CompileLimits) -> str:
    code = getattr(done, "returncode", None)
    if code is None or code == -getattr(signal, "SIGXCPU", 0):
        return f"took longer than {limits.seconds:g} s of processor time, or {limits.patience:g} s, and was stopped"
    if code == 0:
        return f"gave {len(getattr(done, 'stdout', b''))} bytes; a model file has at most {MAX_BYTES // 2**20} MiB"
    lines = getattr(done, "stderr", b"").decode(errors="replace").strip().splitlines()
    return printable(" ".join(lines))[:400] if lines else f"ended with exit code {code}"
