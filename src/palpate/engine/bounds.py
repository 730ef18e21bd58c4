"""Versions of the packages that palpate leans on: what it needs at least, and what it was verified with."""

from __future__ import annotations

import importlib.metadata
import re

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


def is_verified(numba: str) -> bool:
    """Whether the inner parts of a version of numba are known."""
    first, below = VERIFIED_NUMBA
    return _parts(first) <= _parts(numba) < _parts(below)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
