"""Versions of the packages whose inner parts palpate touches: a newer one is refused before it can go wrong."""

from __future__ import annotations

import importlib.metadata
import re

from palpate.errors import UnsupportedVersion

# The same bounds stand in pyproject.toml. At least the first, below the second.
BOUNDS: dict[str, tuple[str, str]] = {
    "numba": ("0.66", "0.69"),  # dispatcher, cache, type maps
    "mujoco-core": ("4.0", "4.1"),  # addresses, the head of mjData, exported symbols
}


def check_versions(packages: tuple[str, ...] = ("numba", "mujoco-core")) -> None:
    """Refuse a package outside the bounds.

    Raises:
        UnsupportedVersion: the message names the package, its version, the bounds and the command that mends it.
    """
    for package in packages:
        least, below = BOUNDS[package]
        found = importlib.metadata.version(package)
        if not _parts(least) <= _parts(found) < _parts(below):
            raise UnsupportedVersion(
                f"palpate works with {package} from {least} to below {below}, and {found} is installed",
                hint=f"pip install '{package}>={least},<{below}', or a newer palpate",
            )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
