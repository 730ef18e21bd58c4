"""Numba's compiler for kernels: symbols that are the same in every process, and no code that callers would copy."""

from __future__ import annotations

import gc
import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite import binding
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.ir import Inst, Loc, Var
from numba.core.types import BaseFunction
from numba.np import arrayobj

from palpate.engine.compiling.kernel_files import Callee
from palpate.engine.compiling.lean_arrays import make_array_value

_PACKAGES = "palpate.", "palpate_documents."
_NAMES_OF_OPTIONS = hash(Flags())  # numba takes it from the names of all options, so it is the same for all
_FOR_ARRAYS = {
    "WithLifting",
    "InlineClosureLikes",
    "DeadBranchPrune",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
}
_SMALL = 300  # instructions
_INSTRUCTION = re.compile(r"^  (?=[^ \]])", re.MULTILINE)  # a line of its own; tables of a switch stand further in
_PLAIN = ("_operator", "builtins", "math")  # modules of operations whose types follow from their arguments' types
_alive: list[Any] = []  # operations whose numbers are in use
_reserved: set[int] = set()  # numbers of the kernels of this process


def is_findable(function: Any) -> bool:
    """Whether a kernel can be found again by its name in a module that comes with palpate."""
    return function.__module__.startswith(_PACKAGES) and "<locals>" not in function.__qualname__


class _Flags(Flags):
    """Numba's options of one compilation, compared without listing all of them: that was a seventh of the time."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _NAMES_OF_OPTIONS

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, _Flags) else super().__eq__(other)


class _LeanLibrary(JITCodeLibrary):
    """Code of a kernel that counts no references: optimised once, where numba goes over it thrice."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        # Loops here have about as many turns as an arm has joints: vectors of them are never filled.
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False)
        passes.run(self._final_module, builder)


class _UnoptimisedLibrary(_LeanLibrary):
    """Code as numba wrote it: for other machines, which have passes of their own."""

    def _optimize_final_module(self) -> None:
        pass


class KernelCompiler(Compiler):
    """Numba's compiler, with symbols that are the same in every process, and without what no lean kernel needs."""

    library: type[_LeanLibrary] = _LeanLibrary

    def _compile_bytecode(self) -> Any:
        state = self.state
        state.func_id.unique_id = _number(state.func_id.func)
        state.flags.__class__ = _Flags
        if not state.flags.nrt:
            state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super()._compile_bytecode()

    def define_pipelines(self) -> Any:
        """Numba's passes; those that look for closures, literals and array expressions for kernels that allocate."""
        (pipeline,) = super().define_pipelines()
        if not self.state.flags.nrt:
            pipeline.passes = [step for step in pipeline.passes if step[0].__name__ not in _FOR_ARRAYS]
            pipeline._finalized = False
            pipeline.finalize()
        return [pipeline]


class TextCompiler(KernelCompiler):
    """The compiler of a kernel whose code is wanted as text, not optimised."""

    library = _UnoptimisedLibrary


def _number(function: Any) -> int:
    """The id of a function's location; a random one if the location is in use, or cannot be found again."""
    return secrets.randbits(62) if is_reserved(function) or not is_findable(function) else _number_of_location(function)


def reserve_number(function: Any) -> None:
    """Reserve the id of a function's location: its code exists now, compiled or loaded."""
    _reserved.add(_number_of_location(function))


def is_reserved(function: Any) -> bool:
    """Whether code of a function's location exists already: its module was loaded again, perhaps from another text."""
    return is_findable(function) and _number_of_location(function) in _reserved


def _number_of_location(function: Any) -> int:
    location = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
    return int.from_bytes(hashlib.sha256(location.encode()).digest()[:6], "big")


def leave_nothing_to_copy(result: CompileResult, function: Any) -> None:
    """Let callers refer to a compiled kernel by its symbol alone, unless a call would cost as much as what it does."""
    library = result.library
    if _size(library) > _SMALL:
        library._shared_module = binding.parse_assembly(str(library.codegen._create_empty_module(library.name)))
    if not any(library._get_module_for_linking().functions):
        library.callee = Callee(function.__module__, function.__qualname__, result.fndesc.llvm_func_name)


def _size(library: Any) -> int:
    """Instructions of compiled code, counted in its text; 0 of code that was loaded, which has been judged before."""
    return len(_INSTRUCTION.findall(str(library._final_module)))


def called_places(library: Any) -> tuple[Callee, ...]:
    """The kernels that a library calls by their symbols, those called by code copied into it included."""
    if hasattr(library, "called"):
        return library.called
    callees: dict[Callee, None] = {}
    for other in library._linking_libraries:
        callees.update(dict.fromkeys([other.callee] if hasattr(other, "callee") else called_places(other)))
    library.called = tuple(callees)
    return library.called


@contextmanager
def compiling_fast() -> Iterator[None]:
    """Compile without what numba does over and over: the collector of cycles (millions of objects are made, few could
    go), notes of every call of LLVM, and all that `_FASTER` replaces.
    """
    was_on, lock = gc.isenabled(), binding.ffi.lib._lock  # pyright: ignore[reportAttributeAccessIssue]
    replaced = [(owner, name, getattr(owner, name)) for owner, name, _ in _FASTER]
    noted, lock._cblist = lock._cblist, []
    gc.disable()
    _keep_short_loops()
    for owner, name, faster in _FASTER:
        setattr(owner, name, faster)
    try:
        yield
    finally:
        for owner, name, original in replaced:
            setattr(owner, name, original)
        lock._cblist = noted
        if was_on:
            gc.enable()


@cache
def _keep_short_loops() -> None:
    """Let LLVM unroll no loop whose number of turns is unknown: here that is about the number of an arm's joints."""
    binding.set_option("", "-unroll-runtime=false")


_look_up = BaseFunction.get_call_type
_known: dict[tuple[int, Any], Any] = {}


def _known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operation on given types, as it was found the first time.

    Numba tries every overload of + and [] anew, wherever one stands.
    """
    if kws or getattr(self.typing_key, "__module__", "") not in _PLAIN:
        return _look_up(self, context, args, kws)
    signature = _known.get((id(self), args))
    if signature is None:
        signature = _look_up(self, context, args, kws)
        if signature is not None:
            _known[id(self), args] = signature
            _alive.append(self)
    return signature


_find_size = BaseContext.get_abi_sizeof
_sizes: dict[str, int] = {}


def _known_size(self: Any, ty: Any) -> int:
    """The size of a type, which numba has LLVM tell anew by a module of its own."""
    written = str(ty)
    if written not in _sizes:
        _sizes[written] = _find_size(self, ty)
    return _sizes[written]


def _variables(self: Any, value: Any) -> list[Any]:
    """The variables in a part of a statement, or of a table of parts."""
    kind = type(value)
    if kind is Var:
        return [value]
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        return value.list_vars() if isinstance(value, Inst) else []
    found = []
    for part in value:
        kind = type(part)
        if kind is Var:
            found.append(part)
        elif kind is not str and kind is not Loc:
            found += _variables(self, part)
    return found


_FASTER = (
    (BaseFunction, "get_call_type", _known_call_type),
    (BaseContext, "get_abi_sizeof", _known_size),
    (Inst, "_rec_list_vars", _variables),
    (arrayobj, "make_array", make_array_value),
)
