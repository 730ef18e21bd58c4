"""Every compiled law depends on nothing: no mathematics library, no allocation, no interpreter, no runtime.

That is what lets a law leave the house as the very machine code that was verified here.
"""

from __future__ import annotations

import importlib
import math
import struct
import sys

import numpy as np
import pytest

from palpate.control import LAWS
from palpate.engine.kernels import Kernel, kernel
from palpate.engine.records import Vector
from palpate.scenario.model import law_class

NOBODY = {"", "_GLOBAL_OFFSET_TABLE_", "memcpy", "memset", "memmove"}  # the linker's, or every compiler's own
UNDEFINED, SYMBOLS = 0, 2  # ELF: a symbol's section; the type of a section that lists symbols
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads ELF objects")


def undefined_symbols(law: Kernel) -> set[str]:
    """What the machine code of a kernel, and of all it calls, leaves to a linker."""
    reached, waiting, wanted = {}, [law], set()
    while waiting:
        kernel = waiting.pop()
        if kernel.symbol not in reached:
            reached[kernel.symbol] = kernel
            wanted |= _undefined(kernel.object_code)
            waiting += kernel.callees
    return wanted - set(reached) - NOBODY


def _undefined(elf: bytes) -> set[str]:
    """Names that an ELF object refers to and does not hold."""
    (sections,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, sections + k * size) for k in range(count)]
    found = set()
    for _, kind, _, _, start, length, link, *_ in headers:
        if kind == SYMBOLS:
            names = headers[link][4]
            symbols = (struct.unpack_from("<IBBH", elf, at) for at in range(start, start + length, 24))
            found |= {_text(elf, names + name) for name, _, _, section in symbols if section == UNDEFINED}
    return found


def _text(elf: bytes, at: int) -> str:
    return elf[at : elf.index(b"\0", at)].decode()


@pytest.mark.parametrize("name", LAWS.shipped)
def test_a_compiled_law_needs_no_library(name: str) -> None:
    law = law_class(name)
    assert isinstance(law.kernel, Kernel)
    assert undefined_symbols(law.kernel) == set()


@pytest.mark.parametrize("loop", ["palpate.run.loop.loop:run_steps", "palpate.tools.contact.plant:steps_to_event"])
def test_a_loop_calls_the_physics_engine_and_no_mathematics_library(loop: str) -> None:
    module, name = loop.split(":")
    kernel: Kernel = getattr(importlib.import_module(module), name)
    assert all(name.startswith(("mj_", "mju_")) for name in undefined_symbols(kernel))


def test_products_and_sums_are_rounded_one_by_one() -> None:
    @kernel
    def rest(a: float, b: float, c: float) -> float:
        return a * b - c

    a = 1.0 + 2.0**-30
    assert rest(a, a, a * a) == 0.0  # a fused operation would leave 2^-60


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
