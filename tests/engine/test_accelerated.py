"""Kernels refer to each other by symbols: compiled once, bound anew from the cache, never bound to another's code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

from moments import ENDLESS
from palpate.control.laws import cartesian_impedance
from palpate.engine.compiling import lean_compiler
from palpate.engine.compiling.kernel_files import Callee
from palpate.engine.compiling.lean_compiler import called_places
from palpate.engine.compiling.numba_cache import bind, kernel_at
from palpate.engine.kernels import kernel
from palpate.engine.records import Vector
from palpate.run.loop import loop


def test_a_loop_holds_no_copy_of_the_steps_it_calls() -> None:
    names = {callee.py_func.__name__ for callee in loop.run_steps.callees}
    assert names
    assert all(callee.symbol.encode() in loop.run_steps.object_code for callee in loop.run_steps.callees)
    sizes = [len(callee.object_code) for callee in loop.run_steps.callees]
    assert len(loop.run_steps.object_code) < max(sizes)  # a copy would make it larger than each


def test_a_symbol_is_the_same_in_every_process() -> None:
    code = "from palpate.control.laws.cartesian_impedance import _kernel; print(_kernel.symbol)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=ENDLESS)
    assert done.stdout.strip() == cartesian_impedance._kernel.symbol


def test_a_called_kernel_is_found_by_its_place() -> None:
    for place in called_places(loop.run_steps.result.library):
        assert kernel_at(place).symbol == place.symbol


def test_code_that_refers_to_another_symbol_is_not_bound() -> None:
    place = called_places(loop.run_steps.result.library)[0]
    assert bind((place,))
    assert not bind((Callee(place.module, place.name, place.symbol + "_of_older_sources"),))


@kernel
def _first_of_three(x: Vector) -> float:
    return x[0] + x[1] + x[2]


def test_an_array_of_a_kernel_is_a_value_and_takes_no_memory() -> None:
    text = _first_of_three.llvm()
    arrays = [line for line in text.splitlines() if "alloca {i8*, i8*, i64, i64, double*" in line]
    assert "extractvalue" in text
    assert not arrays
    assert _first_of_three(np.array([1.0, 2.0, 4.0])) == 7.0


def test_the_size_of_a_kernel_is_the_number_of_its_instructions() -> None:
    module = binding.parse_assembly(loop.run_steps.llvm())
    instructions = [one for code in module.functions for block in code.blocks for one in block.instructions]
    assert lean_compiler._size(SimpleNamespace(_final_module=module)) == len(instructions) > 100


def test_a_small_kernel_is_copied_into_its_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    typed: dict[str, Any] = {"__name__": "notebook"}  # of no file, so it is compiled here and not loaded
    exec("def half(x: float) -> float:\n    return 0.5 * x", typed)
    half = kernel(typed["half"])
    library = half.result.library
    lean_compiler.leave_nothing_to_copy(half.result, half.py_func)
    assert not hasattr(library, "place")
    monkeypatch.setattr(lean_compiler, "_SMALL", 0)
    lean_compiler.leave_nothing_to_copy(half.result, half.py_func)
    assert library.callee.symbol == half.symbol


CALLER = """
from palpate.engine.kernels import kernel
@kernel
def _called(x: float) -> float:
    y = 0.0
    for k in range(9):
        y += (x + k) / (1.0 + y * y) - (x - k) / (2.0 + y * y) + (x * k) / (3.0 + y * y)
    return y * FACTOR
@kernel
def _calling(x: float) -> float:
    return _called(x) + 1.0
"""
ASK = """
import sys
import palpate.engine.compiling.lean_compiler as lean_compiler
lean_compiler._SMALL = 5
sys.path.insert(0, sys.argv[1])
import palpate
palpate.__path__.append(sys.argv[1])
from palpate import walked
print(walked._calling(0.5), sum(walked._calling._cache_hits.values()), len(walked._calling.callees))
"""


def _ask(folder: Path, factor: float, then: str = "") -> list[float]:
    (folder / "walked.py").write_text(CALLER.replace("FACTOR", str(factor)))
    words = [sys.executable, "-B", "-c", ASK + then, str(folder)]
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(words, capture_output=True, text=True, timeout=ENDLESS, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def test_a_kept_caller_is_bound_to_its_kept_callee_and_never_to_an_older_one(tmp_path: Path) -> None:
    first = _ask(tmp_path, 2.0)
    again = _ask(tmp_path, 2.0)
    assert first[1:] == [0.0, 1.0]
    assert again == [first[0], 1.0, 1.0]
    changed = _ask(tmp_path, 4.0)
    assert changed[1] == 0.0
    assert changed[0] - 1.0 == pytest.approx(2.0 * (first[0] - 1.0), rel=1e-15)


def test_a_kept_caller_without_its_callee_is_made_whole(tmp_path: Path) -> None:
    first = _ask(tmp_path, 2.0)
    for file in (tmp_path / "cache").rglob("walked._called-*"):
        file.unlink()
    assert _ask(tmp_path, 2.0)[0] == first[0]


AGAIN = """
import importlib
from pathlib import Path
there = Path(walked.__file__)
there.write_text(there.read_text().replace("FIRST", "SECOND"))
print(importlib.reload(walked)._calling(0.5))
"""


def test_a_module_that_is_loaded_anew_runs_its_new_text_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    first, other = _ask(tmp_path, 2.0)[0], _ask(tmp_path, 8.0)[0]
    _ask(tmp_path, 2.0)
    change = AGAIN.replace("FIRST", "* 2.0").replace("SECOND", "* 8.0")
    kept = {file.name for file in (tmp_path / "cache").rglob("*")}
    assert _ask(tmp_path, 2.0, change)[::3] == [first, other]  # loaded from the cache first, then of the new text
    assert {file.name for file in (tmp_path / "cache").rglob("*")} == kept
    assert _ask(tmp_path, 2.0)[0] == first
