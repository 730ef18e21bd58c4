"""Every compiled law depends on nothing but the mathematics library: no allocation, no interpreter, no runtime.

That is what lets a law leave the house as the very machine code that was verified here.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator

import numpy as np
import pytest

from palpate.control import LAWS
from palpate.engine.kernels import Kernel, kernel
from palpate.engine.records import Vector

LIBM = {
    "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "fabs",
    "fmod", "hypot", "log", "pow", "sin", "sinh", "sqrt", "tan",
}  # fmt: skip
GLOBAL = re.compile(r'@(?:"([^"]+)"|([\w.$-]+))')


def undefined_symbols(law: Kernel) -> set[str]:
    """What the machine code of a kernel, and all it calls, leaves to a linker."""
    law.ready()
    result = law.overloads[tuple(law.stated.args)]
    module = result.library._get_module_for_linking()
    functions = {function.name: function for function in module.functions}
    constants = {variable.name for variable in module.global_variables if not variable.is_declaration}
    reached, waiting = set(), [result.fndesc.llvm_func_name]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [] if name not in functions or functions[name].is_declaration else _names(str(functions[name]))
    defined = {name for name, function in functions.items() if not function.is_declaration} | constants
    return {name for name in map(_linked, reached - defined) if name}


def _linked(name: str) -> str:
    """The function behind a name of LLVM's own; "" for an instruction, or a memory function every compiler brings."""
    mathematical = re.fullmatch(r"llvm\.(\w+)\.f64", name)
    if mathematical and mathematical[1] in LIBM:
        return mathematical[1]
    return "" if name.startswith("llvm.") else name


def _names(text: str) -> Iterator[str]:
    for quoted, plain in GLOBAL.findall(text):
        yield quoted or plain


@pytest.mark.parametrize("name", LAWS)
def test_a_compiled_law_needs_the_mathematics_library_alone(name: str) -> None:
    module, class_name = LAWS[name]
    law = getattr(importlib.import_module(module), class_name)
    assert isinstance(law.kernel, Kernel)
    assert undefined_symbols(law.kernel) <= LIBM


def test_a_law_that_allocates_is_seen() -> None:
    @kernel(allocates=True)
    def greedy(x: Vector) -> float:
        return np.ones(x.size).sum()

    assert any(name.startswith("NRT_") for name in undefined_symbols(greedy))


def test_what_a_called_step_needs_is_seen() -> None:
    @kernel
    def step(x: Vector) -> float:
        return np.sin(x[0])

    @kernel
    def lean(x: Vector) -> float:
        return 2.0 * step(x) * math.hypot(x[0], x[1])

    assert undefined_symbols(lean) == {"sin", "hypot"}
