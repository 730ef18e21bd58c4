"""Kernels that call each other at their addresses, so that each is compiled once.

Numba copies the code of every function into each of its callers, their callers, and so on, and optimises all of it
anew each time: a loop of two hundred kernels was optimised several times over. Here a kernel of the package leaves
nothing to copy: its callers refer to its symbol, which the engine binds to the one machine code there is. Kernels made
`inline` are copied as before; so are small ones, and those that cannot be found again by their name (made inside of
functions, in notebooks).

A caller's kept machine code is of use only beside the very symbols it refers to. They are kept with it, by the places
of their kernels; where one has another symbol now, the caller is compiled anew.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.types import BaseFunction

_PACKAGES = ("palpate.", "palpate_documents.")  # both of this distribution
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
_SMALL = 40  # instructions
_PLAIN = ("_operator", "builtins", "math")  # modules of operations whose types follow from their arguments' types
_alive: list[Any] = []  # operations whose numbers are in use
_taken: set[int] = set()  # numbers of the kernels of this process


class Place(NamedTuple):
    """Where a called kernel is found, and the symbol its callers refer to."""

    module: str
    name: str
    symbol: str


def is_findable(function: Any) -> bool:
    """Whether a kernel can be found again by its name in a module of the distribution."""
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
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class KernelCompiler(Compiler):
    """Numba's compiler, with symbols that are the same in every process, and without what no lean kernel needs."""

    def _compile_bytecode(self) -> Any:
        state = self.state
        state.func_id.unique_id = _number(state.func_id.func)
        state.flags.__class__ = _Flags
        if not state.flags.nrt:
            state.library = _LeanLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
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


def _number(function: Any) -> int:
    """The number of a function's place; chance where the place is taken, or cannot be found again."""
    return secrets.randbits(62) if is_taken(function) or not is_findable(function) else _number_of_place(function)


def take_number(function: Any) -> None:
    """Give the number of a function's place to no other: code of it is there now, compiled or loaded."""
    _taken.add(_number_of_place(function))


def is_taken(function: Any) -> bool:
    """Whether code of a function's place is there already: its module was loaded anew, perhaps from another text."""
    return is_findable(function) and _number_of_place(function) in _taken


def _number_of_place(function: Any) -> int:
    place = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
    return int.from_bytes(hashlib.sha256(place.encode()).digest()[:6], "big")


def leave_nothing_to_copy(result: CompileResult, function: Any) -> None:
    """Let callers refer to a compiled kernel by its symbol alone, unless a call would cost as much as what it does."""
    library = result.library
    if _size(library) > _SMALL:
        library._shared_module = binding.parse_assembly(str(library.codegen._create_empty_module(library.name)))
    if not any(library._get_module_for_linking().functions):
        library.place = Place(function.__module__, function.__qualname__, result.fndesc.llvm_func_name)


def _size(library: Any) -> int:
    """Instructions of compiled code; 0 of code that was loaded, which has been judged before."""
    return sum(1 for code in library._final_module.functions for block in code.blocks for _ in block.instructions)


def called_places(library: Any) -> tuple[Place, ...]:
    """The kernels that a library calls by their symbols, those called by code copied into it included."""
    if hasattr(library, "called"):
        return library.called
    found: dict[Place, None] = {}
    for other in library._linking_libraries:
        found.update(dict.fromkeys([other.place] if hasattr(other, "place") else called_places(other)))
    library.called = tuple(found)
    return library.called


@contextmanager
def quickly() -> Iterator[None]:
    """Compile without the collector of cycles (millions of objects are made, few could go), and without looking a
    known operation up again: numba tries every overload of + and [] anew, wherever one stands.
    """
    was_on, looked_up = gc.isenabled(), BaseFunction.get_call_type
    gc.disable()
    BaseFunction.get_call_type = _remembered
    try:
        yield
    finally:
        BaseFunction.get_call_type = looked_up
        if was_on:
            gc.enable()


_look_up = BaseFunction.get_call_type
_known: dict[tuple[int, Any], Any] = {}


def _remembered(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operation on given types, as it was found the first time."""
    if kws or getattr(self.typing_key, "__module__", "") not in _PLAIN:
        return _look_up(self, context, args, kws)
    found = _known.get((id(self), args))
    if found is None:
        found = _look_up(self, context, args, kws)
        if found is not None:
            _known[id(self), args] = found
            _alive.append(self)
    return found


def kernel_at(place: Place) -> Any:
    """The kernel that stands at a place."""
    module = sys.modules.get(place.module) or importlib.import_module(place.module)
    return reduce(getattr, place.name.split("."), module)


def bind(places: tuple[Place, ...]) -> bool:
    """Make called kernels ready, before code that refers to their symbols is loaded; whether each has its symbol."""
    return all(kernel_at(place).symbol == place.symbol for place in places)
