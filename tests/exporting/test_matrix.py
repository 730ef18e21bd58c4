"""Whole runs of many laws on every machine that can be had here: the same answers, to the bit. `make export-matrix`."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import palpate as pp
from palpate.exporting import export
from palpate.run.simulate import as_run

SCENARIOS = [
    "panda-wall", "panda-joint-impedance", "iiwa14-computed-torque", "iiwa14-push", "panda-operational-space",
    "panda-slide", "panda-shaped-mass", "ur5e-admittance", "panda-stop", "panda-priorities", "iiwa14-pole",
    "floating-stand", "cartesian2-press", "cartesian2-parallel", "pendulum", "panda-blind-touch",
]  # fmt: skip
MACHINES = {
    "x86-64": ("cc", []),
    "aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64"]),
    "riscv64": ("riscv64-linux-gnu-gcc", ["qemu-riscv64"]),
}
pytestmark = pytest.mark.slow


def tools_of(target: str) -> list[str]:
    compiler, emulator = MACHINES[target]
    return [compiler, *emulator]


def available() -> list[str]:
    found = [target for target in MACHINES if all(map(shutil.which, tools_of(target)))]
    linkers = ("wasm-ld", *(f"wasm-ld-{n}" for n in range(12, 23)))
    return found + (["wasm32"] if any(map(shutil.which, linkers)) and shutil.which("node") else [])


def replayed(folder: Path, name: str, target: str) -> str:
    if target == "wasm32":
        words = ["node", "replay.mjs"]
    else:
        compiler, emulator = MACHINES[target]
        library = f"{target}/lib{name}.a"
        subprocess.run([compiler, "-O2", "-static", "main.c", library, "-o", f"r-{target}"], cwd=folder, check=True)
        words = [*emulator, f"./r-{target}"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("hash")[1].split()[0]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("model", ["given", "own"])
def test_every_machine_gives_the_bits_of_the_run(tmp_path: Path, scenario: str, model: Any) -> None:
    targets = available()
    done = export(scenario, tmp_path / "out", targets=targets, model=model, ticks=20_000)
    assert done.difference == 0.0 or model == "own"
    assert len({replayed(done.folder, done.name, target) for target in targets}) == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_exported_law_in_the_loop_gives_the_same_trace(tmp_path: Path, scenario: str) -> None:
    export(scenario, tmp_path / "out", model="given", ticks=10)
    run = as_run(scenario)
    ours, theirs = pp.simulate(run), pp.simulate(replace(run, law=pp.load_exported(tmp_path / "out")))
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours.channels)
