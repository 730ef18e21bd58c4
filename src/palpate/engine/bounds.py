"""Bounds on the versions of packages, checked before anything is computed."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable

from palpate.engine.notes import note
from palpate.errors import UnsupportedVersion

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
