"""One folder, exported once for all tests that only look at it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from palpate.tools.exporting import export

SCENARIO, NAME = "iiwa14-push", "iiwa14_push"  # the law of the smallest kernel


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "arm"
    targets = ["x86-64", "aarch64", "riscv64", *(["wasm32"] if _linker() else [])]
    export(SCENARIO, out, targets=targets, model="given", ticks=400)
    return out


def _linker() -> bool:
    return any(shutil.which(name) for name in ("wasm-ld", *(f"wasm-ld-{n}" for n in range(12, 23))))


@pytest.fixture(scope="session")
def pressing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fr3-wall: Cartesian impedance with a model inside, and its wrapper for libfranka."""
    out = tmp_path_factory.mktemp("franka") / "arm"
    export("fr3-wall", out, ticks=5000)
    return out


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copied"))
