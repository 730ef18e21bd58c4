"""Derivations as code: NumPy, numba, C99; against the numeric robot."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.errors import BadShape, FileError, InvalidInput, NotFinite, UnknownName
from palpate.tools.derive import derive_from_energy
from palpate.tools.derive.verify import random_states

TERMS = ("M", "bias", "g", "position", "rotation", "J", "drift")


def terms(robot: pp.Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    t = robot.terms(q, v)
    return t.M, t.bias, t.gravity, t.position, t.rotation, t.J, t.drift


def loaded(library: Path, function: str, robot: pp.Robot, sizes: list[int]) -> Callable[..., list[np.ndarray]]:
    """A C function as a Python one."""
    pointer = np.ctypeslib.ndpointer(dtype=np.float64, flags="C_CONTIGUOUS")
    found = getattr(ctypes.CDLL(str(library)), f"{robot.name.replace('-', '_')}_{function}")
    found.restype = None

    def call(*states: np.ndarray) -> list[np.ndarray]:
        outputs = [np.empty(size) for size in sizes]
        found.argtypes = [pointer] * (len(states) + len(outputs))
        found(*(np.ascontiguousarray(x) for x in states), *outputs)
        return outputs

    return call


# ---------------------------------------------------------------------- C


def test_the_c_of_a_panda_agrees_with_the_robot_at_a_thousand_states(tmp_path: Path, compile_c: Any) -> None:
    robot = pp.load_robot("panda")
    derivation = pp.derive(robot)
    derivation.c(tmp_path, robot=robot)
    library = compile_c(tmp_path, ["panda.c"], "panda.so", "-shared", "-fPIC")
    states = random_states(derivation, 1000, seed=9)
    call = loaded(library, "terms", robot, [49, 7, 7, 3, 9, 42, 6])
    torques = loaded(library, "inverse_dynamics", robot, [7])
    for q, v, a in zip(*states):
        for found, wanted in zip(call(q, v), terms(robot, q, v)):
            np.testing.assert_allclose(found, wanted.ravel(), atol=1e-10, rtol=0)
        wanted = robot.inverse_dynamics(q, v, a, losses=False)
        np.testing.assert_allclose(torques(q, v, a)[0], wanted, atol=1e-10, rtol=0)


@pytest.mark.parametrize(
    ("name", "numbers"), [("ur5e-3link", False), ("ur5e", False), ("cartesian2", True), ("planar3", True)]
)
def test_the_test_program_of_the_c_passes(name: str, numbers: bool, tmp_path: Path, compile_c: Any) -> None:
    robot = pp.load_robot(name)
    header, source, test = pp.derive(robot).c(tmp_path, robot=robot, numbers=numbers, states=5)
    program = compile_c(tmp_path, [source.name, test.name], "test")
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "20 calls, largest" in done.stdout
    assert ("_constants(" in header.read_text()) == (not numbers)


def test_the_test_program_of_the_c_can_fail(tmp_path: Path, compile_c: Any) -> None:
    robot = pp.load_robot("planar2")
    _, source, test = pp.derive(robot).c(tmp_path, robot=robot, states=2)
    source.write_text(source.read_text().replace("bias[0] = ", "bias[0] = 1e-8 + "))
    done = subprocess.run([compile_c(tmp_path, [source.name, test.name], "test")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "largest error" in done.stdout


def test_the_c_of_energies_passes_its_test(tmp_path: Path, compile_c: Any) -> None:
    values = {"me": 1.0, "ms": 0.1, "l": 1.0, "g": 9.81}
    pole = derive_from_energy(
        "me*dz**2/2 + ms*(dx**2 + (dz - x*dx/sqrt(l**2 - x**2))**2)/2",
        "(me+ms)*g*z",
        "z x",
        values=values,
        name="a pole",
    )
    _, source, test = pole.c(tmp_path, numbers=False, states=3)
    assert source.name == "a_pole.c"
    assert subprocess.run([compile_c(tmp_path, [source.name, test.name], "test")]).returncode == 0


def test_c_needs_values_and_a_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no value.*m"):
        derive_from_energy("m*dx**2/2", "0", "x").c(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"cannot make.*folder"):
        pp.derive(pp.load_robot("pendulum")).c(tmp_path / "file" / "deeper")


# ---------------------------------------------------------------------- Python


@pytest.mark.parametrize("name", ["planar3", "panda", "quadruped"])
def test_a_numpy_function_takes_one_state_or_many(name: str) -> None:
    robot = pp.load_robot(name)
    derivation = pp.derive(robot)
    q, v, _ = random_states(derivation, 6, seed=2)
    function = derivation.function(*TERMS)
    many = function(q.reshape(2, 3, -1), v.reshape(2, 3, -1))
    for i in range(6):
        one = function(q[i], v[i])
        for single, batch, wanted in zip(one, many, terms(robot, q[i], v[i])):
            np.testing.assert_allclose(single, wanted, atol=1e-11)
            np.testing.assert_allclose(batch[i // 3, i % 3], single, atol=1e-13)


def test_a_compiled_function_is_the_numpy_one() -> None:
    robot = pp.load_robot("ur5e-3link")
    derivation = pp.derive(robot)
    q, v, a = random_states(derivation, 3, seed=4)
    for names, states in ((("tau",), (q, v, a)), (("M", "C"), (q, v))):
        plain, fast = derivation.function(*names), derivation.compiled(*names)
        for i in range(3):
            one, other = plain(*(x[i] for x in states)), fast(*(x[i] for x in states))
            for x, y in zip(one, other):
                np.testing.assert_allclose(x, y, atol=1e-13)


def test_parameters_may_be_replaced_by_name() -> None:
    derivation = pp.derive(pp.load_robot("planar2"))
    heavier = pp.load_robot("planar2", mass=(1.0, 2.5))
    M = derivation.function("M")
    np.testing.assert_allclose(M([0.1, 0.2], parameters={"m2": 2.5}), heavier.mass_matrix([0.1, 0.2]), atol=1e-11)
    with pytest.raises(UnknownName, match="unknown parameter 'm3'"):
        M([0.1, 0.2], parameters={"m3": 1.0})


def test_a_function_checks_what_it_gets() -> None:
    bias = pp.derive(pp.load_robot("planar2")).function("bias")
    with pytest.raises(InvalidInput, match=r"takes \(q, v\), got 1"):
        bias([0, 0])
    with pytest.raises(BadShape, match=r"2 entries.*axis"):
        bias([0, 0, 0], [0, 0])
    with pytest.raises(NotFinite, match=r"q.*bias.*finite"):
        bias([0, np.nan], [0, 0])


def test_a_compiled_function_takes_one_state() -> None:
    g = pp.derive(pp.load_robot("pendulum")).compiled("g")
    with pytest.raises(BadShape, match=r"state.*time"):
        g(np.zeros((2, 1)))


def test_the_source_of_a_function_runs_by_itself() -> None:
    derivation = pp.derive(pp.load_robot("planar2"), parameters="numbers")
    space: dict[str, Any] = {}
    exec(derivation.python("M"), space)
    np.testing.assert_allclose(space["M"](np.array([0.1, 0.2])), derivation.function("M")([0.1, 0.2]))


@pytest.mark.parametrize("name", ["pendulum", "planar2", "ur5e-3link", "ur5e"])
def test_the_printed_program_gives_the_robots_numbers(name: str, tmp_path: Path) -> None:
    robot = pp.load_robot(name)
    source = pp.derive(robot).python("M", "g", "tau")
    space: dict[str, Any] = {}
    exec(source, space)
    rng = np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, robot.nv))
    M, g, tau = space["M_g_tau"](q, v, a)
    np.testing.assert_allclose(M, robot.mass_matrix(q), atol=1e-12)
    np.testing.assert_allclose(g, robot.gravity(q), atol=1e-12)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a, losses=False), atol=1e-11)
    (tmp_path / "program.py").write_text(source, encoding="utf-8")
    subprocess.run([sys.executable, str(tmp_path / "program.py")], check=True, capture_output=True)


def tilted() -> pp.Robot:
    turned = pp.spatial.matrix_from_euler([0.3, -0.4, 0.7], "ZYX")
    return pp.load_robot("planar2").with_base(pp.spatial.Pose([0, 0, 0], turned))


def test_fixed_angles_that_are_no_quarter_turns_are_put_in_as_numbers(tmp_path: Path) -> None:
    robot, derivation = tilted(), pp.derive(tilted())
    q, v, a = np.random.default_rng(4).normal(size=(3, 2))
    np.testing.assert_allclose(derivation.compiled("tau")(q, v, a), robot.inverse_dynamics(q, v, a), atol=1e-12)
    assert derivation.counts("tau", numbers=True).multiplications <= derivation.counts("tau").multiplications
    text = next(path for path in derivation.c(tmp_path, robot=robot) if path.suffix == ".c").read_text()
    assert "sin(0." not in text  # the sines of fixed angles are numbers


def test_a_derivation_begins_with_a_name() -> None:
    assert pp.derive("planar2").M == pp.derive(pp.load_robot("planar2")).M


def test_constants_are_computed_once() -> None:
    counts = pp.derive(pp.load_robot("ur5e")).counts("tau")
    assert counts.once > 100
    assert "operations once" in str(counts)


def test_c_files_that_somebody_changed_are_named_and_kept_unless_forced(tmp_path: Path) -> None:
    derivation = pp.derive("pendulum")
    paths = derivation.c(tmp_path, states=2)
    assert derivation.c(tmp_path, states=3) == paths  # written by palpate, changed by nobody
    (tmp_path / "pendulum.c").write_text("/* mine */\n")
    with pytest.raises(FileError, match=r"pendulum\.c\b"):
        derivation.c(tmp_path, states=3)
    assert (tmp_path / "pendulum.c").read_text() == "/* mine */\n"
    assert derivation.c(tmp_path, states=3, force=True) == paths
    assert "/* mine */" not in (tmp_path / "pendulum.c").read_text()


def test_a_file_of_somebody_else_is_not_replaced_by_c_code(tmp_path: Path) -> None:
    (tmp_path / "pendulum.h").write_text("#pragma once\n")
    with pytest.raises(FileError, match=r"pendulum\.h"):
        pp.derive("pendulum").c(tmp_path, states=2)
    assert [path.name for path in tmp_path.iterdir()] == ["pendulum.h"]
