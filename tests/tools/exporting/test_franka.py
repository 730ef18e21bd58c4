"""The exported law drives the maker's own library against a served robot; and its C++ loops against a stub of it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from moments import ENDLESS
from palpate.robot import load_robot
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.tools.exporting.code.native import host
from tools.exporting.test_folder import needs, run
from tools.serving.conftest import serving

HERE = Path(__file__).parent


@needs("cc")
@pytest.mark.skipif(importlib.util.find_spec("pylibfranka") is None, reason="pylibfranka is not installed")
def test_the_exported_law_drives_libfranka_as_the_run_does(pressing: Path, tmp_path: Path) -> None:
    """f = K k / (K + k) · depth, as of the run; the joints go the run's way."""
    library = tmp_path / "law.so"
    words = [
        "cc",
        "-O2",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        f"-I{pressing / 'franka'}",
        str(HERE / "franka_law.c"),
    ]
    run(*words, f"{host().name}/libfr3_wall.a", "-lm", "-o", str(library), cwd=pressing)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])}
    free = ["world.driver.viscous_compensation=1", "world.driver.coulomb_compensation=1"]
    scenario = load_scenario("fr3-wall", free)  # without friction, so that the formula holds
    with serving(scenario) as server:
        command = [sys.executable, str(HERE / "franka_law.py"), str(library), str(pressing / "vectors.bin")]
        with subprocess.Popen(
            [*command, server.address[0]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        ) as client:
            trace = server.serve(server.wait(ENDLESS))
            said, complaint = client.communicate(timeout=ENDLESS)
    assert said, complaint
    assert json.loads(said)["codes"] == [0]
    start = load_robot("fr3").pose(load_robot("fr3").home).position[0]
    formula = 400.0 * 10_000.0 / 10_400.0 * (start + 0.0851 - 0.34)
    alone = simulate(scenario)
    assert trace.slice(4.5, 4.9)["contact_force"].mean() == pytest.approx(formula, rel=0.01)
    assert json.loads(said)["force"][0] == pytest.approx(formula, rel=0.01)
    assert np.abs(trace.slice(0.0, 4.9)["q"] - alone.slice(0.0, 4.9)["q"]).max() < 2e-3
    assert not trace.warnings


@needs("g++")
def test_callback_and_active_control_send_the_same_torques(pressing: Path, tmp_path: Path) -> None:
    """Filter and limits of the active loop are those of libfranka's own; on a stub, with 100 states."""
    paths = [f"-I{HERE / 'stubs'}", f"-I{pressing / 'franka'}"]
    words = ["g++", "-std=c++17", "-O1", "-Wall", "-Werror", *paths, str(HERE / "franka_loops.cpp")]
    run(*words, f"{host().name}/libfr3_wall.a", "-o", str(tmp_path / "loops"), cwd=pressing)
    *loops, refused, ended = run(str(tmp_path / "loops"), cwd=tmp_path).splitlines()
    assert len(loops) == 2
    for line in loops:
        called, asked, apart, steepest = (float(word) for word in line.split())
        assert called == asked == 101
        assert apart < 1e-12
        assert 0.9 < steepest <= 0.999999 + 1e-12  # N·m in a tick: the limit was needed
    assert refused == "fr3_wall refused a tick: NOT_FINITE, 0 commands"
    assert ended == "fr3_wall refused a tick: NOT_FINITE, 281 commands"  # 31 of the law, 250 of the ramp


def test_only_a_franka_has_a_wrapper_for_libfranka(folder: Path) -> None:
    assert not (folder / "franka").exists()
