"""Numba without its inner parts: the same numbers, one note, and no private name touched."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import palpate
from moments import ENDLESS
from palpate.lazy import parsed

PACKAGE = Path(palpate.__file__).parent
PUBLIC = {"numba", "numba.extending", "numba.types"}

# Every inner name of numba raises when a module of palpate asks for it, but for the five that records need; nothing can
# be derived from its classes.
GUARD = """
import importlib, pkgutil, sys, types
import numba, numba.extending, numba.np.arrayobj, numba.core.caching, numba.core.event
import numba.core.codegen, numba.core.compiler, numba.core.registry, numba.core.typeconv.castgraph
NEEDED = {"AttributeTemplate", "Conversion", "default_type_manager", "populate_array", "ExternalFunction"}
class Guarded(types.ModuleType):
    def __getattribute__(self, name):
        asking = sys._getframe(1).f_globals.get("__name__", "")
        if asking.startswith("palpate") and not name.startswith("__") and name not in NEEDED:
            raise AttributeError(f"{asking} touches {name} of numba")
        return super().__getattribute__(name)
public = (numba, numba.extending, numba.types, numba.extending.models)
for name, module in list(sys.modules.items()):
    if name.startswith("numba.") and module not in public:
        module.__class__ = Guarded
def refuse(cls, **more):
    if not cls.__module__.startswith("numba"):
        raise AttributeError(f"{cls} is derived from numba's inner classes")
for kind in (numba.core.compiler.Compiler, numba.core.codegen.JITCodeLibrary, numba.core.caching.FunctionCache,
             numba.core.registry.CPUDispatcher):
    kind.__init_subclass__ = classmethod(refuse)
"""

KERNELS = """
import math
from ctypes import CFUNCTYPE, c_double
import numpy as np
from palpate.engine.kernels import address_of_record, call_law, kernel
from palpate.engine.records import Record, Vector, sized
from palpate.errors import InvalidInput
class Gains(Record):
    stiffness: Vector = sized(2)
    damping: float = 3.0
class More(Gains):
    extra: int = 0
@kernel
def _law(x: Gains, k: Gains, m: Gains, out: Gains) -> None:
    out.stiffness[1] = k.stiffness[0] * math.sin(x.damping) + m.damping
@kernel
def _call(law: int, k: Gains, out: Gains) -> float:
    at = address_of_record(k)
    call_law(law, at, at, at, address_of_record(out))
    return out.stiffness[1]
@kernel(from_c=True)
def _third(x: float) -> float:
    return x / 3.0
@kernel(allocates=True)
def _total(x: Vector) -> float:
    return np.sum(x[1:] * 2.0)
@kernel
def _pair(a: float, b: int) -> tuple[float, float]:
    return a + b, _third(a)
gains, out = More(stiffness=[2.0, 0.0]), Gains()
print(_call(_law.pointer, gains, out), _call(_law.pointer, gains.address, out.address), _third(1), _pair(1.0, 2))
print(_total(np.arange(4.0)), CFUNCTYPE(c_double, c_double)(_third.c_pointer)(1.0))
try:
    _third("x")
except InvalidInput as error:
    print("_third takes (float64)" in str(error))
import palpate.engine.compiling.numba_parts as parts, sys
print(parts.choice().module, file=sys.stderr)
"""


def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PALPATE_NUMBA"} | settings
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=ENDLESS, check=False
    )


def test_kernels_give_the_same_without_numbas_inner_parts(tmp_path: Path) -> None:
    file = tmp_path / "kernels_of_test.py"
    file.write_text(KERNELS)
    load = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import kernels_of_test"
    fast, plain, guarded = run(load), run(load, PALPATE_NUMBA="plain"), run(GUARD + load)
    assert fast.stdout == plain.stdout == guarded.stdout != "", guarded.stderr
    assert "palpate.engine.compiling.accelerated" in fast.stderr
    for slow in (plain, guarded):
        assert "palpate.engine.compiling.plain" in slow.stderr
        assert slow.stderr.count("note:") == 1
    assert "PALPATE_NUMBA=plain is set" in plain.stderr
    assert "lacks something (ImportError" in guarded.stderr


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numba.core.typing.templates", "AttributeTemplate"),
        ("numba.core.typeconv.castgraph", "Conversion"),
        ("numba.core.typeconv.rules", "default_type_manager"),
        ("numba.np.arrayobj", "populate_array"),
        ("numba.core.types", "ExternalFunction"),
    ],
)
def test_a_part_that_numba_has_no_longer_is_named(module: str, name: str) -> None:
    done = run(f"import {module} as m; import numba.np.arrayobj; del m.{name}\nimport palpate.engine.records")
    assert done.returncode != 0
    assert f"has no {module}.{name}, which palpate's records need" in done.stderr
    assert "pip install" in done.stderr


def test_a_function_that_the_physics_engine_has_no_longer_is_named() -> None:
    done = run("from palpate.engine import library; library._function('mj_vanished')")
    assert "no function mj_vanished" in done.stderr


def test_a_run_needs_no_handler_of_fatal_errors() -> None:
    code = """
import llvmlite.binding as binding
known = binding.address_of_symbol
binding.address_of_symbol = lambda name: None if name == "_mjPRIVATE_setTlsLogHandler" else known(name)
import palpate as pp
from palpate.engine import fatal
print(fatal.POSSIBLE, pp.simulate("cartesian2-press").outcome.kind)
"""
    done = run(code)
    assert done.stdout.split() == ["False", "completed"], done.stderr


def test_numbas_inner_parts_are_imported_in_one_place() -> None:
    names = "accelerated", "lean_arrays", "lean_compiler", "numba_cache", "numba_parts"
    allowed = {f"engine/compiling/{name}.py" for name in names}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(parsed(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            inner = [name for name in names if name.split(".")[0] == "numba" and name not in PUBLIC]
            assert not inner or file.relative_to(PACKAGE).as_posix() in allowed, f"{file} imports {inner}"


TRACE = """
import sys
import palpate as pp
trace = pp.simulate("panda-wall")
import hashlib
for name in sorted(trace.columns if hasattr(trace, "columns") else trace.units):
    print(name, hashlib.sha256(trace[name].tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_whole_run_is_the_same_when_every_inner_name_of_numba_raises() -> None:
    fast, guarded = run(TRACE), run(GUARD + TRACE)
    assert guarded.returncode == 0, guarded.stderr
    assert "process anew" in guarded.stderr
    assert fast.stdout.count("\n") > 20
    assert guarded.stdout == fast.stdout
