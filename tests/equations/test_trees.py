"""From a tree to a program: its operations, carried out one by one, give the robot's numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.derive.start import mechanism_from_robot
from palpate.equations.code.program import Program
from palpate.equations.trees import program_of_tree

NAMES = ("M", "bias", "g", "position", "rotation", "J", "drift")
RULES: dict[str, Any] = {
    "neg": lambda a: -a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "sin": math.sin, "cos": math.cos, "sqrt": math.sqrt,
}  # fmt: skip


def carried_out(program: Program, inputs: dict[str, float]) -> dict[str, np.ndarray]:
    registers: list[float] = []
    for step in program.operations():
        assert step.index == len(registers)
        if step.op == "number":
            registers.append(step.value)
        elif step.op == "symbol":
            registers.append(inputs[step.name])
        else:
            registers.append(RULES[step.op](*(registers[a] for a in step.arguments)))
    places, shapes = program.registers(), {output.name: output.shape for output in program.outputs}
    return {name: np.array([registers[i] for i in found]).reshape(shapes[name]) for name, found in places.items()}


@pytest.mark.parametrize("name", ["planar2", "ur5e", "panda"])
@pytest.mark.parametrize("parameters", ["numbers", "all"])
def test_the_operations_of_a_program_give_the_robots_terms(name: str, parameters: Any) -> None:
    robot = pp.load_robot(name)
    program = program_of_tree(mechanism_from_robot(robot), NAMES, parameters)
    q, v = np.random.default_rng(1).normal(size=(2, robot.nv))
    values = pp.derive(robot, parameters=parameters).values
    inputs = {**values, **dict(zip(program.inputs["q"], q)), **dict(zip(program.inputs["v"], v))}
    found, terms = carried_out(program, inputs), robot.terms(q, v)
    wanted = (terms.M, terms.bias, terms.gravity, terms.position, terms.rotation, terms.J, terms.drift)
    for key, right in zip(NAMES, wanted):
        np.testing.assert_allclose(found[key], right, atol=1e-9, err_msg=key)


def test_what_depends_on_parameters_alone_is_marked() -> None:
    program = program_of_tree(mechanism_from_robot(pp.load_robot("planar2")), ["M"], "symbols")
    steps = program.operations()
    assert all(steps[a].once for step in steps if step.once for a in step.arguments)
    assert any(step.once and step.op == "mul" for step in steps)
    assert not any(step.once for step in steps if step.op in ("sin", "cos"))
