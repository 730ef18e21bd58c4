"""Machine code of programs that the package writes itself: LLVM code compiled once, kept on disk and shipped.

Unlike numba's kernels they are the same on every machine of a kind: no processor's own instructions are used beyond
those that palpate asks for anyway (AVX on x86), nothing is contracted, and no function outside is called. Code for many
lanes is compiled for AVX-512 where there is that: wider registers and twice as many, the same bits.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from palpate.engine.compiling.cache import Origin
from palpate.engine.compiling.kernel_files import KeptKernel
from palpate.engine.compiling.shipped import KernelCache
from palpate.forking import inherited_free

_PROCESSORS = {"x86_64": ("x86-64", "+avx"), "AMD64": ("x86-64", "+avx")}
_WIDE = ("avx512f", "avx512dq", "avx512vl")
_lock = inherited_free()
_loaded: set[str] = set()


def load(origin: Origin, write: Callable[[str], str], lanes: int = 1) -> str:
    """Make the functions of a program ready; the prefix of their names, for `address`.

    Args:
        origin: what the program is made from; `digest` describes it beyond its sources.
        write: gives the LLVM code of all functions for a prefix of their names.
        lanes: for how many states at once.
    """
    features = _wide_registers() if lanes > 1 else ""
    if lanes > 1:
        origin = origin._replace(name=f"{origin.name}{lanes}{'_wide' if features else ''}")
    with _lock:
        files = KernelCache(origin)
        prefix = f"p{hashlib.sha256(f'{origin.name} {origin.digest}'.encode()).hexdigest()[:16]}"
        if prefix in _loaded:
            return prefix
        code = next((kept.object_code for kept in files.read("", "")), None)
        if code is None:
            code = machine_code(write(prefix), features)
            files.write("", "", KeptKernel("", prefix, "", prefix, "", False, [], (), code, b""))
        _engine().add_object_file(binding.ObjectFileRef.from_data(code))
        _engine().finalize_object()
        _loaded.add(prefix)
        return prefix


def machine_code(text: str, features: str = "") -> bytes:
    """LLVM code as an object file of this system."""
    return _machine(features).emit_object(binding.parse_assembly(text))


@cache
def _wide_registers() -> str:
    """AVX-512 as LLVM's features, where this processor has it and code is not compiled for any processor."""
    if platform.machine() not in _PROCESSORS or os.environ.get("NUMBA_CPU_NAME") == "generic":
        return ""
    here = binding.get_host_cpu_features()
    return "".join(f",+{name}" for name in _WIDE) if all(here.get(name) for name in _WIDE) else ""


def address(name: str) -> int:
    """Address of a function that was made ready; valid to the end of the process."""
    return _engine().get_function_address(name)


@cache
def whole_number(name: str) -> int:
    """A 64-bit constant of a program that was made ready."""
    return ctypes.c_int64.from_address(_engine().get_global_value_address(name)).value


@cache
def _machine(features: str = "") -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    processor, common = _PROCESSORS.get(platform.machine(), ("generic", ""))
    target = binding.Target.from_default_triple()
    return target.create_target_machine(processor, common + features, opt=2, codemodel="jitdefault", jit=True)


@cache
def _engine() -> Any:
    return binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())


@intrinsic
def call_program(typingctx: Any, pointer: Any, arguments: Any) -> Any:
    """Call a program's function at an address with a tuple of addresses of arrays."""

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        word = ir.IntType(64)
        values = [builder.extract_value(args[1], i) for i in range(len(arguments))]
        kind = ir.FunctionType(ir.VoidType(), [word] * len(values))
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), values)
        return context.get_dummy_value()

    return types.void(types.int64, types.UniTuple(types.int64, len(arguments))), generate
