"""Robots that have everything a derivation may meet, and ways to evaluate what was derived."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import palpate as pp
from palpate.robot.readers.dh.table import DHLink
from palpate.robot.robot import Robot
from palpate.tools.derive.derivation import Derivation

# Oblique gravity; a body with two joints (one with a reference angle and an anchor), a slide with a rotor, a branch,
# a turned joint with a negative axis, a body that is fixed at an angle, and a tool turned against it.
TREE = """
<mujoco><option gravity="1 2 -9"/><worldbody>
<body name="b" pos=".1 .2 .3" euler="10 20 30"><inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>
  <joint name="turn" axis="1 1 0" pos=".1 0 .2" ref="20"/>
  <joint name="slide" type="slide" axis="0 1 0" ref=".1" armature=".3"/>
  <body name="c" pos=".3 0 0" euler="90 0 45"><joint name="third" axis="0 0 -1" pos="0 .1 0"/>
    <inertial mass="2" pos=".1 .2 .3" fullinertia=".1 .2 .15 .01 .02 .03"/>
    <body name="fixed" pos="0 0 .1" euler="0 30 0"><inertial mass=".5" pos="0 .1 0" diaginertia=".01 .02 .02"/>
      <site name="tool" pos=".1 0 0" euler="0 0 20"/></body></body>
  <body name="d" pos="0 .3 0"><joint name="branch" axis="0 1 0" damping="1"/>
    <inertial mass="1" pos=".1 0 0" diaginertia=".1 .1 .1"/></body>
</body></worldbody>{extra}</mujoco>
"""
MIMIC = '<equality><joint joint1="branch" joint2="turn" polycoef="{} 0 0 0"/></equality>'


@pytest.fixture(scope="session")
def tree() -> Callable[..., Robot]:
    """A tree with everything; joint `branch` follows `turn` if a constant and a slope are given."""

    def build(mimic: str = "") -> Robot:
        return Robot.from_mjcf_text(TREE.format(extra=MIMIC.format(mimic) if mimic else ""))

    return build


@pytest.fixture(scope="session")
def random_arm() -> Callable[..., Robot]:
    """A DH arm by seed and number of joints."""
    return _random_arm


def _random_arm(seed: int, joints: int, convention: Any = "standard") -> Robot:
    """A DH arm with random geometry: parallel, perpendicular and oblique axes, hinges and slides, rotors."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(joints):
        half = rng.normal(size=(3, 3))
        tensor = half @ half.T
        rows.append(
            DHLink(
                a=rng.uniform(-0.5, 0.5),
                alpha=float(rng.choice([0, np.pi / 2, -np.pi / 2, rng.uniform(-3, 3)])),
                d=rng.uniform(-0.5, 0.5),
                theta=float(rng.choice([0, np.pi / 2])),
                kind=rng.choice(["revolute", "revolute", "prismatic"]),
                mass=rng.uniform(0.5, 3),
                com=rng.uniform(-0.2, 0.2, 3),
                inertia=0.02 * (tensor + np.trace(tensor) * np.eye(3)),
                motor_inertia=rng.uniform(0, 0.01),
                gear=3.0,
            )
        )
    return Robot.from_dh(rows, convention)


@pytest.fixture(scope="session")
def numbers() -> Callable[..., Any]:
    """A SymPy expression's value for given symbols: an array, or a float."""
    return _numbers


def _numbers(expression: Any, **values: float) -> Any:
    put = {sp.Symbol(name): value for name, value in values.items()}
    if hasattr(expression, "shape"):
        return np.array(sp.Matrix(expression).subs(put).evalf(30).tolist(), dtype=float)
    return float(expression.subs(put).evalf(30))


@pytest.fixture(scope="session")
def same() -> Callable[[Derivation, Any, Any], bool]:
    """Whether two expressions of a derivation are equal, decided in normal form; matrices entry by entry."""
    return _same


def _same(derivation: Derivation, found: Any, wanted: Any) -> bool:
    difference = sp.Matrix([found - wanted]) if not hasattr(found, "shape") else sp.Matrix(found) - sp.Matrix(wanted)
    return all(derivation.forms.tidy(x) == 0 for x in difference)


@pytest.fixture(scope="session")
def three_link() -> Derivation:
    """The spatial three-link arm of the catalogue, by Lagrange in symbols."""
    return pp.derive(pp.load_robot("ur5e-3link"))


@pytest.fixture(scope="session")
def compile_c() -> Callable[..., Path]:
    """Compile C files of a folder with `cc -O2`; skips where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here")

    def build(folder: Path, sources: list[str], out: str, *options: str) -> Path:
        words = [compiler, "-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", *options, *sources, "-lm"]
        done = subprocess.run([*words, "-o", out], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return folder / out

    return build
