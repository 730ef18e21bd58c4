"""What is looked at before anything is computed: versions of packages, and the processor; and notes to the user."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable

from palpate.errors import UnsupportedProcessor, UnsupportedVersion

LEAST = {"numba": "0.65", "mujoco-core": "4.0.1"}  # as in pyproject.toml
# Of numba from the first to below the second: its inner parts are used; any other is used by its public interface.
VERIFIED_NUMBA = "0.66", "0.69"


def check_versions(packages: tuple[str, ...] = ("numba", "mujoco-core")) -> None:
    """Refuse a package that is too old.

    Raises:
        UnsupportedVersion: the message names the package, its version, the bound and the command that mends it.
    """
    for package in packages:
        least, installed = LEAST[package], importlib.metadata.version(package)
        if _parts(installed) < _parts(least):
            raise UnsupportedVersion(
                f"palpate works with {package} from {least} on, and {installed} is installed",
                hint=f"pip install '{package}>={least}'",
            )


def note_two_mujocos(version: Callable[[str], str] = importlib.metadata.version) -> None:
    """Print one line if the packages `mujoco` and `mujoco-core` are installed in unlike versions.

    Both put their files into the folder `mujoco`: those of the one installed last replace some of the other's.

    Args:
        version: that of an installed package; PackageNotFoundError for one that is not.
    """
    try:
        whole, core = version("mujoco"), version("mujoco-core")
    except importlib.metadata.PackageNotFoundError:
        return
    if whole != core:
        note(
            f"mujoco {whole} and mujoco-core {core} share one folder, and their files are mixed;"
            f" pip uninstall mujoco mujoco-core, then pip install mujoco-core=={core}"
        )


def is_verified(numba: str) -> bool:
    """Whether the inner parts of a version of numba are known."""
    first, below = VERIFIED_NUMBA
    return _parts(first) <= _parts(numba) < _parts(below)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


# ---------------------------------------- Whether this processor can run MuJoCo's library, asked before it is loaded:
# without AVX it kills the process


_INFO = "/proc/cpuinfo"


def check_processor(info: str | None = None, machine: str | None = None) -> None:
    """Refuse an x86 processor without AVX; where the system does not tell its flags, nothing is refused.

    Args:
        info: what the system tells of its processors; that of this machine if not given.
        machine: kind of processor, such as "x86_64"; this machine's if not given.

    Raises:
        UnsupportedProcessor: MuJoCo's library would end the process with an illegal instruction (SIGILL).
    """
    if (machine or platform.machine()) not in ("x86_64", "AMD64"):
        return
    lines = (_first_processor() if info is None else info).splitlines()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    if flags is not None and "avx" not in flags:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "it")
        raise UnsupportedProcessor(
            f"MuJoCo's library needs a processor with AVX, and {model} has none",
            hint="another machine, or a virtual machine that passes AVX on; MuJoCo built from its source runs without",
        )


def _first_processor() -> str:
    try:
        with open(_INFO, encoding="utf-8", errors="replace") as file:
            return file.read(8192)
    except OSError:
        return ""


# ---------------------------------------- Notes to the user that need no answer: each is printed once, by the first
# of all processes that a command starts


_PRINTED = "PALPATE_NOTES_PRINTED"


def note(text: str) -> None:
    """Print a note to stderr, unless this process or the one that started it has done so."""
    printed = os.environ.get(_PRINTED, "").split()
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    if mark not in printed:
        os.environ[_PRINTED] = " ".join([*printed, mark])
        print(f"note: {text}", file=sys.stderr, flush=True)
