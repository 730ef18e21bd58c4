"""load_exported: a law out of an exported folder, a law like any other."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, cast

from palpate.control.law import Law
from palpate.engine.compiling.numba_parts import choice
from palpate.engine.kernels import Kernel
from palpate.errors import NotApplicable
from palpate.files import a_path
from palpate.scenario.model import Scenario
from palpate.tools.exporting.code.native import Native, host
from palpate.tools.exporting.writing.manifest import read_manifest


class ExportedKernel:
    """The machine code of an exported law where a kernel is expected; what it reads is told by the kernel's source."""

    def __init__(self, kernel: Kernel, native: Native, symbol: str) -> None:
        self._kernel, self._native = kernel, native
        self.pointer = native.address(symbol if choice().reason else f"{symbol}_code")
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(native.address(symbol))
        self.py_func = kernel.py_func

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __call__(self, tick: int, gains: int, memory: int, terms: int) -> None:
        self._call(tick, gains, memory, terms)


def load_exported(folder: str | os.PathLike[str]) -> Law:
    """The law of an exported folder, with the settings it was exported with; its machine code is the folder's.

    Raises:
        FileError: no export, or a file in it was changed.
        NotApplicable: it has no code for this machine.
    """
    path = a_path(folder, "the folder of an export")
    content = read_manifest(path)
    name, target = content["name"], host().name
    if target not in content["targets"]:
        raise NotApplicable(
            f"{path} has code for {', '.join(content['targets'])}, not for {target}",
            hint=f"palpate export … --target {target}",
        )
    native = Native(Path(path / target / f"{name}.o").read_bytes())
    law = Scenario.model_validate(content["scenario"]).with_code().control
    return _with_code(law, native, f"{name}_law")


def _with_code(law: Law, native: Native, symbol: str) -> Law:
    """The same settings in a class whose kernel is the exported code."""
    cls = type(law)
    body = {"kernel": ExportedKernel(cls.kernel, native, symbol), "__module__": cls.__module__, "__doc__": cls.__doc__}
    made = cast(Any, type(cls))(cls.__name__, (cls,), body)
    return made(**{name: getattr(law, name) for name in cls.model_fields})
