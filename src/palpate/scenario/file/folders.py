"""Scenarios that go by their names: palpate's own, and those of installed packages. Quick to import."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from palpate import toolbox
from palpate.plugins import Table

# Packages whose .toml files are scenarios.
_SHIPPED = {"palpate": "palpate.scenario.library", **toolbox.scenario_packages()}
FOLDERS = Table("palpate.scenarios", _SHIPPED, lambda entry, package: package.__name__)


def shipped() -> list[str]:
    """Names of the scenarios that palpate and installed packages bring along."""
    return sorted({name for package in FOLDERS.values() for name in _files(package)})


def shipped_text(name: str) -> str | None:
    """The text of a scenario that goes by its name, palpate's own first; None if there is none."""
    for folder in FOLDERS:
        if (file := _files(FOLDERS[folder]).get(name)) is not None:
            return file.read_text(encoding="utf-8")
    return None


def _files(package: str) -> dict[str, Traversable]:
    """The scenario files of a package, by name."""
    files = (file for file in resources.files(package).iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file for file in files}
