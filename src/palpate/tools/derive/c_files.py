"""C99 files of a derivation: source, header, and a test program with values to compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from palpate.checks import Array
from palpate.equations.algebra.graph import Output
from palpate.equations.code import c_code
from palpate.equations.code.c_code import CLibrary, Function, TestVector
from palpate.equations.code.program import make_program
from palpate.equations.quantities import arguments
from palpate.errors import FileError
from palpate.escape.c import c_identifier
from palpate.files import checksum, make_folder, read_text, refuse_changed, write_file
from palpate.robot.robot import Robot
from palpate.tools.derive.verify import NUMERIC, evaluate_outputs, random_states

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation

_SUMS = ".palpate-derive.json"  # in the folder: checksums of what was written there
# C function → (meaning, quantities), for a robot and for a system given by its energies.
_ROBOT = {
    "terms": (
        "M, C v + g, g, pose, Jacobian and J' v of the tool frame; matrices row by row",
        ("M", "bias", "g", "position", "rotation", "J", "drift"),
    ),
    "inverse_dynamics": ("tau = M a + C v + g", ("tau",)),
    "mass_matrix": ("M(q), row by row", ("M",)),
    "coriolis_matrix": ("C(q, v) of Christoffel, row by row", ("C",)),
}
_ENERGY = {
    "terms": ("M, C v + g, g; matrices row by row", ("M", "bias", "g")),
    "inverse_dynamics": ("generalised forces M a + C v + g", ("tau",)),
}


def library(derivation: Derivation, numbers: bool) -> CLibrary:
    """The derivation's functions in C."""
    table = _ROBOT if derivation.model is not None else _ENERGY
    derivation.refuse_unknown_values(derivation.parameters)
    names = list(dict.fromkeys(name for _, wanted in table.values() for name in wanted))
    made = {o.name: o for o in derivation.outputs(names, numbers)}
    functions = []
    for name, (meaning, wanted) in table.items():
        program = make_program([made[w] for w in wanted], derivation.names.inputs, arguments(wanted))
        functions.append(Function(name, meaning, program))
    about = (
        f"Equations of motion of {derivation.name}: M(q) a + C(q, v) v + g(q) = tau.",
        "C99, no dependencies but libm. SI units; rows of the Jacobian are linear, then angular, base axes.",
        f"q: {', '.join(derivation.names.q)}; v: {', '.join(derivation.names.v)}",
        "Derived by palpate.",
    )
    return CLibrary(c_identifier(derivation.name), about, tuple(functions), {} if numbers else derivation.values)


def write_c(
    derivation: Derivation, folder: Path, robot: Robot | None, *, numbers: bool, states: int, force: bool
) -> list[Path]:
    """Write PREFIX.h, PREFIX.c and PREFIX_test.c, and note their checksums beside them; returns their paths.

    Raises:
        FileError: one of them is there and was changed, or was not written by palpate; `force` replaces it anyway.
    """
    made = library(derivation, numbers)
    cases = _cases(derivation, robot, made, states)
    make_folder(folder)
    texts = {
        f"{made.prefix}.h": c_code.header(made),
        f"{made.prefix}.c": c_code.source(made),
        f"{made.prefix}_test.c": c_code.test_main(made, cases),
    }
    new, written = {name: checksum(text) for name, text in texts.items()}, _written(folder)
    same = {name: new[name] for name in texts if _holds(folder / name, new[name])}
    if not force:
        refuse_changed(folder, texts, written | same)
    paths = [write_file(folder / name, text) for name, text in texts.items()]
    write_file(folder / _SUMS, json.dumps({"palpate": 1, "files": written | new}, indent=1) + "\n")
    return paths


def _written(folder: Path) -> dict[str, str]:
    """Checksums of the files that were written into a folder before; nothing where that is not known."""
    try:
        files = json.loads(read_text(folder / _SUMS, most_bytes=1_000_000))["files"]
        return {str(name): str(digest) for name, digest in files.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, FileError):
        return {}


def _holds(file: Path, digest: str) -> bool:
    return file.is_file() and checksum(file.read_bytes()) == digest


def _cases(derivation: Derivation, robot: Robot | None, made: CLibrary, states: int) -> list[TestVector]:
    q, v, a = random_states(derivation, states, seed=1)
    cases = []
    for function in made.functions:
        inputs = {"q": q, "v": v, "a": a}
        chosen = [inputs[key] for key in function.program.inputs]
        wanted = [_wanted(derivation, robot, o, q, v, a) for o in function.program.outputs]
        for state in range(states):
            cases.append(TestVector(function.name, tuple(x[state] for x in chosen), tuple(w[state] for w in wanted)))
    return cases


def _wanted(derivation: Derivation, robot: Robot | None, output: Output, q: Array, v: Array, a: Array) -> Array:
    """A quantity at every state by the robot; by the derivation where the robot does not compute it."""
    if robot is None or output.name == "C":
        return evaluate_outputs(derivation, [derivation.forms.output(output.name)], q, v, a)[0]
    if output.name == "tau":
        return np.array([robot.inverse_dynamics(x, y, z, losses=False) for x, y, z in zip(q, v, a)])
    return np.array([NUMERIC[output.name](robot, x, y) for x, y in zip(q, v)])
