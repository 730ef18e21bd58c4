"""An exported object in this process: its functions by name."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding

from palpate.errors import NotApplicable
from palpate.tools.exporting.code.objects import TARGETS, TargetMachine, machine

_MACHINES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64", "riscv64": "riscv64"}


def host() -> TargetMachine:
    """The target that this process runs on.

    Raises:
        NotApplicable: none of those that are exported to.
    """
    name = _MACHINES.get(platform.machine().lower())
    if name is None:
        raise NotApplicable(f"exported code is verified where it is made; {platform.machine()} is not a target")
    return TARGETS[name]


class Native:
    """An object file for this machine, loaded; its code lives as long as this does."""

    def __init__(self, data: bytes) -> None:
        target = host()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine(target))
        self._engine.add_object_file(binding.object_file.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function lies."""
        return self._engine.get_function_address(name)

    def function(self, name: str, *arguments: Any) -> Callable[..., int]:
        """A function of C that returns a code."""
        return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *arguments)(self.address(name))


class LawSession:
    """An exported law at work in this process."""

    def __init__(self, native: Native, name: str, state_bytes: int, version: int) -> None:
        self.native, self.name = native, name
        self.words = np.zeros(state_bytes // 8, dtype=np.int64)
        self._step = native.function(f"{name}_step", ctypes.c_void_p, ctypes.c_void_p)
        init = native.function(f"{name}_init", ctypes.c_size_t, ctypes.c_uint32)
        self.code = init(self.words.ctypes.data, state_bytes, version)

    def step(self, given: int, answer: int) -> int:
        """One tick, by addresses of its input and answer."""
        return self._step(self.words.ctypes.data, given, answer)
