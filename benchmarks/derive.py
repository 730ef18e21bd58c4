"""Deriving equations of motion, beside SymPy's own methods and published counts; generated C beside Pinocchio.

The six-joint arm is a UR5e. Counted are the operations for one state; what depends on parameters alone is done once.
SymPyBotics' published counts are the goal for symbols; the rule of Khalil and Kleinfinger for six hinges, 92 n − 127
products and 81 n − 117 sums, is the goal for numbers. Deriving and the C are timed by the processor's clock.
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from sympy.physics import mechanics

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from palpate.equations.model.mechanism import mechanism_from_model

CLOSED = ("position", "rotation", "J", "Jdot", "T", "V", "M", "C", "g", "tau")
ROUNDS, BATCH = 200, 200


def measure() -> list[Measurement]:
    """Counts, times of deriving, times of the code."""
    return [*_counts(), *_times(), *_sympy(), *_sympybotics(), *_generated_c()]


def _seconds(work: Callable[[], object]) -> float:
    """Time of this thread alone."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _counts() -> list[Measurement]:
    robot = pp.load_robot("ur5e")
    symbolic, numeric = pp.derive(robot, parameters="all"), pp.derive(robot, parameters="numbers")
    rows = []
    goals = {"tau": (509, 414), "M": (397, 327)}
    for name, (products, sums) in goals.items():
        counts = symbolic.counts(name)
        rows.append(Measurement(f"UR5e {name}, all symbols: multiplications", counts.multiplications, "", products))
        rows.append(Measurement(f"UR5e {name}, all symbols: additions", counts.additions, "", sums))
    counts = numeric.counts("tau")
    rows.append(Measurement("UR5e tau, numbers: multiplications", counts.multiplications, "", 425))
    rows.append(Measurement("UR5e tau, numbers: additions", counts.additions, "", 369))
    return rows


def _times() -> list[Measurement]:
    robot = pp.load_robot("ur5e")
    pp.derive(pp.load_robot("planar2")).text()  # imports
    rows = [
        Measurement("UR5e tau, all symbols: derive", _seconds(lambda: _program(robot)), "s", 1.0),
        Measurement("UR5e tau: derive, compile, check", _seconds(lambda: _compiled(robot)), "s", 10.0),
    ]
    for name, goal in (("planar3", 2.0), ("ur5e-3link", 5.0)):
        arm = pp.load_robot(name)
        rows.append(Measurement(f"{name} in closed form, everything", _seconds(lambda a=arm: _closed(a)), "s", goal))
    return rows


def _program(robot: pp.Robot) -> object:
    return pp.derive(robot, parameters="all").program("tau")


def _compiled(robot: pp.Robot) -> None:
    derivation = pp.derive(robot)
    derivation.compiled("tau")(np.zeros(6), np.zeros(6), np.zeros(6))
    assert derivation.check(robot).ok


def _closed(robot: pp.Robot) -> list[Any]:
    derivation = pp.derive(robot)
    return [derivation[name] for name in CLOSED]


# ---------------------------------------------------------------------- SymPy's own


def _sympy() -> list[Measurement]:
    """M and forcing of the planar 3R arm of thin rods by SymPy; its expressions as they come, and simplified."""
    rows = [Measurement("planar3 M and bias, palpate", _seconds(_ours), "s")]
    for name, method in (("LagrangesMethod", _lagrange), ("KanesMethod", _kane)):
        found: list[Any] = []
        rows.append(
            Measurement(f"planar3 M and bias, SymPy {name}", _seconds(lambda m=method, f=found: f.append(m())), "s")
        )
        rows.append(Measurement(f"planar3 M and bias, SymPy {name}: operations", _operations(found[0]), ""))
    derivation = pp.derive(pp.load_robot("planar3"))
    rows.append(
        Measurement("planar3 M and bias, palpate: operations", _operations([derivation.M, derivation["bias"]]), "")
    )
    return rows


def _ours() -> object:
    derivation = pp.derive(pp.load_robot("planar3"))
    return derivation.M, derivation["bias"]


def _operations(matrices: list[Any]) -> int:
    return int(sum(sp.count_ops(x) for matrix in matrices for x in matrix))


def _rods() -> tuple[Any, list[Any], list[Any], list[Any]]:
    """Frame, bodies, coordinates and speeds of three thin rods in a plane."""
    q, u = mechanics.dynamicsymbols("q1:4"), mechanics.dynamicsymbols("u1:4")
    N = mechanics.ReferenceFrame("N")
    origin = mechanics.Point("O")
    origin.set_vel(N, 0)
    before, joint, bodies = N, origin, []
    for i in range(3):
        length, mass = sp.symbols(f"l{i + 1} m{i + 1}")
        frame = before.orientnew(f"A{i}", "Axis", [q[i], N.z])
        frame.set_ang_vel(before, u[i] * N.z)
        com = joint.locatenew(f"C{i}", length / 2 * frame.x)
        com.v2pt_theory(joint, N, frame)
        tensor = mechanics.inertia(frame, 0, mass * length**2 / 12, mass * length**2 / 12)
        bodies.append(mechanics.RigidBody(f"B{i}", com, frame, mass, (tensor, com)))
        end = joint.locatenew(f"P{i}", length * frame.x)
        end.v2pt_theory(joint, N, frame)
        before, joint = frame, end
    return N, bodies, q, u


def _lagrange() -> list[Any]:
    N, bodies, q, u = _rods()
    rates = {speed: coordinate.diff() for speed, coordinate in zip(u, q)}
    T = sum((body.kinetic_energy(N) for body in bodies), sp.Integer(0)).subs(rates)
    method = mechanics.LagrangesMethod(T, q)
    method.form_lagranges_equations()
    return [method.mass_matrix, method.forcing]


def _kane() -> list[Any]:
    N, bodies, q, u = _rods()
    method = mechanics.KanesMethod(N, q, u, [x.diff() - y for x, y in zip(q, u)])
    method.kanes_equations(bodies, [])
    return [method.mass_matrix, method.forcing]


def _sympybotics() -> list[Measurement]:
    """Its published counts where it is not installed."""
    if importlib.util.find_spec("sympybotics") is None:
        return [
            Measurement("UR5e tau, SymPyBotics (published): multiplications", 509, ""),
            Measurement("UR5e tau, SymPyBotics (published): additions", 414, ""),
            Measurement("UR5e M, SymPyBotics (published): multiplications", 397, ""),
            Measurement("UR5e M, SymPyBotics (published): additions", 327, ""),
        ]
    peer: Any = importlib.import_module("sympybotics")
    table = [
        ("pi/2", 0, "d1", "q"), (0, "a2", 0, "q"), (0, "a3", 0, "q"), ("pi/2", 0, "d4", "q"), ("-pi/2", 0, "d5", "q"),
        (0, 0, "d6", "q"),
    ]  # fmt: skip
    code: list[Any] = []
    definition = peer.RobotDef("UR5e", table, dh_convention="standard")
    seconds = _seconds(lambda: code.append(peer.RobotDynCode(definition)))
    return [Measurement("UR5e, SymPyBotics: everything", seconds, "s")]


# ---------------------------------------------------------------------- generated C

LOOP = """#include <stdio.h>
#include <time.h>
#include "panda.h"
int main(void)
{
    double q[7] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}, v[7] = {0.3}, a[7] = {0.2}, tau[7];
    clock_t start = clock();
    for (int i = 0; i < COUNT; i++) {
        panda_inverse_dynamics(q, v, a, tau);
        q[i % 7] += 1e-9 * tau[i % 7]; /* each call waits for the one before */
    }
    printf("%.3f\\n", 1e9 * (clock() - start) / CLOCKS_PER_SEC / COUNT);
    return tau[0] > 1e9;
}
"""


def _generated_c() -> list[Measurement]:
    """One call of a Panda's inverse dynamics: generated C in a loop of C, Pinocchio through its Python binding."""
    compiler = shutil.which("cc")
    if compiler is None:
        return []
    robot = pp.load_robot("panda", joints="ideal")
    with tempfile.TemporaryDirectory() as folder:
        pp.derive(robot).c(folder, robot=robot, states=1)
        (Path(folder) / "loop.c").write_text(LOOP)
        words = [compiler, "-std=c99", "-O2", "-DCOUNT=1000000", "panda.c", "loop.c", "-lm", "-o", "loop"]
        subprocess.run(words, cwd=folder, check=True)
        loop = str(Path(folder) / "loop")
        times = [float(subprocess.run([loop], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    rows = [Measurement("panda inverse dynamics, generated C", min(times), "ns")]
    if importlib.util.find_spec("pinocchio"):
        rows += _pinocchio(robot)
    return rows


def _pinocchio(robot: pp.Robot) -> list[Measurement]:
    """Its recursion, and a call of it that computes next to nothing: the difference is its own work."""
    pin: Any = importlib.import_module("pinocchio")
    model, joint = pin.Model(), 0
    for link in mechanism_from_model(robot.model, robot.name, {}).links:
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(link.rotation, link.position), link.joint)
        model.appendBodyToJoint(joint, pin.Inertia(link.mass, link.com, link.inertia), pin.SE3.Identity())
    data = model.createData()
    q, v, a = np.linspace(-1, 1, 7), np.full(7, 0.3), np.full(7, -0.2)
    np.testing.assert_allclose(pin.rnea(model, data, q, v, a), robot.inverse_dynamics(q, v, a, losses=False), atol=1e-9)
    contenders: dict[str, Callable[[], object]] = {
        "inverse dynamics, Pinocchio from Python": lambda: pin.rnea(model, data, q, v, a),
        "an idle call of Pinocchio from Python": lambda: pin.computeTotalMass(model, data),
    }
    seconds = interleaved_medians(contenders, ROUNDS, BATCH)
    return [Measurement(f"panda {name}", taken * 1e9, "ns") for name, taken in seconds.items()]
