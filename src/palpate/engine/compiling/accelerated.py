"""Kernels compiled with numba's inner parts: only on versions of numba that were verified (`numba_parts.py`).

Numba copies the code of every function into each of its callers, their callers, and so on, and optimises all of it
anew each time: a loop of two hundred kernels was optimised several times over. Here a kernel of the package leaves
nothing to copy: its callers refer to its symbol, which the engine binds to the one machine code there is. Kernels made
`inline` are copied as before; so are small ones, and those that cannot be found again by their name (made inside of
functions, in notebooks).

A caller's kept machine code is of use only beside the very symbols it refers to. They are kept with it, by module and
name of their kernels; where one has another symbol now, the caller is compiled anew.
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
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, _rebuild_env
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.registry import CPUDispatcher
from numba.core.types import BaseFunction

from palpate.engine.compiling.cache import KernelCache, origin_of
from palpate.engine.compiling.kernel_files import Callee, KeptKernel
from palpate.engine.compiling.numba_parts import compiling
from palpate.engine.compiling.sources import remember_source
from palpate.engine.signatures import Function, call_through, signature_of
from palpate.errors import InvalidInput
from palpate.forking import cached_property

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


class _TextCompiler(KernelCompiler):
    library = _UnoptimisedLibrary


def _number(function: Any) -> int:
    """The number of a function's place; chance where the place is taken, or cannot be found again."""
    return secrets.randbits(62) if is_reserved(function) or not is_findable(function) else _number_of_location(function)


def reserve_number(function: Any) -> None:
    """Give the number of a function's place to no other: code of it is there now, compiled or loaded."""
    _reserved.add(_number_of_location(function))


def is_reserved(function: Any) -> bool:
    """Whether code of a function's place is there already: its module was loaded anew, perhaps from another text."""
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
    """Instructions of compiled code; 0 of code that was loaded, which has been judged before."""
    return sum(1 for code in library._final_module.functions for block in code.blocks for _ in block.instructions)


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
    """Compile without the collector of cycles (millions of objects are made, few could go), and without looking a
    known operation up again: numba tries every overload of + and [] anew, wherever one stands.
    """
    was_on, looked_up = gc.isenabled(), BaseFunction.get_call_type
    gc.disable()
    BaseFunction.get_call_type = _known_call_type
    try:
        yield
    finally:
        BaseFunction.get_call_type = looked_up
        if was_on:
            gc.enable()


_look_up = BaseFunction.get_call_type
_known: dict[tuple[int, Any], Any] = {}


def _known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operation on given types, as it was found the first time."""
    if kws or getattr(self.typing_key, "__module__", "") not in _PLAIN:
        return _look_up(self, context, args, kws)
    signature = _known.get((id(self), args))
    if signature is None:
        signature = _look_up(self, context, args, kws)
        if signature is not None:
            _known[id(self), args] = signature
            _alive.append(self)
    return signature


def kernel_at(callee: Callee) -> Any:
    """The kernel that stands at a place."""
    module = sys.modules.get(callee.module) or importlib.import_module(callee.module)
    return reduce(getattr, callee.name.split("."), module)


def bind(places: tuple[Callee, ...]) -> bool:
    """Make called kernels ready, before code that refers to their symbols is loaded; whether each has its symbol."""
    return all(kernel_at(callee).symbol == callee.symbol for callee in places)


# ------------------------------------------------------------------------------------------------ kernels


class Kernel(CPUDispatcher):
    """A function compiled to the one signature that its annotations state, not before it is first needed."""

    def __init__(
        self, function: Function, namespace: dict[str, Any], *, allocates: bool, inline: bool, from_c: bool
    ) -> None:
        options = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": allocates, "boundscheck": None}
        options["no_cfunc_wrapper"] = not from_c  # laws are called by their own address
        if inline:
            options["forceinline"] = True
        inner = options | {"no_cpython_wrapper": True}
        super().__init__(py_func=function, targetoptions=inner, pipeline_class=KernelCompiler)
        self._entry_options = options
        self._entry: Any = None
        self._by_symbol = is_findable(function) and not inline
        self._namespace = namespace
        remember_source(Path(function.__code__.co_filename))

    @cached_property
    def stated(self) -> Any:
        """The signature that the annotations state."""
        namespace, self._namespace = self._namespace, {}  # a function's names would keep all it has alive
        return signature_of(self.py_func, namespace)

    def ready(self) -> None:
        """Compile, or load from the cache, if that has not been done; one thread at a time."""
        with global_compiler_lock:
            if not self.overloads:
                _enable_cache(self)
                if not self._loaded():
                    with compiling_fast(), compiling(self):
                        self.compile(self.stated)

    def _loaded(self) -> bool:
        """Take what is kept; on numba's own way there every call of LLVM is timed, once per caller in the chain."""
        overload = self._cache.load_overload(self.stated, self.targetctx)  # pyright: ignore[reportAttributeAccessIssue]
        if overload is not None:
            self._cache_hits[self.stated] += 1  # pyright: ignore[reportAttributeAccessIssue]
            self.targetctx.insert_user_function(overload.entry_point, overload.fndesc, [overload.library])
            self.add_overload(overload)
        return overload is not None

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Called by numba when Python calls and nothing fits yet."""
        given = tuple(self.typeof_pyval(value) for value in args)
        if len(given) != len(self.stated.args) or not all(map(self._converts, given, self.stated.args)):
            self._explain_matching_error(*args)
        with global_compiler_lock:
            return self._python_entry()

    def _explain_matching_error(self, *args: Any, **kws: Any) -> None:
        """Called by numba when Python calls with what does not fit."""
        given = ", ".join(str(self.typeof_pyval(value)) for value in args)
        raise InvalidInput(f"{self.py_func.__name__} takes ({', '.join(map(str, self.stated.args))}), got ({given})")

    def _python_entry(self) -> Any:
        """The way in from Python, a kernel of its own: most kernels are called by kernels alone, and go without."""
        if self._entry is None:
            self.ready()
            entry = CPUDispatcher(
                call_through(self, "door"), targetoptions=self._entry_options, pipeline_class=KernelCompiler
            )
            _enable_cache(entry)
            self._entry = entry.compile(self.stated)
            reserve_number(entry.py_func)
            self._insert([kind._code for kind in self.stated.args], self._entry, False)  # pyright: ignore[reportAttributeAccessIssue]
            self.disable_compile()
        return self._entry

    def _converts(self, given: types.Type, stated: types.Type) -> bool:
        """Whether a value may be passed; numba's table of conversions is told, because it is asked at every call."""
        conversion = self.typingctx.can_convert(given, stated)
        if conversion is not None and given != stated:
            self.typingctx.tm.set_compatible(given, stated, conversion)
        return conversion is not None

    def add_overload(self, cres: Any) -> None:
        """Called by numba when the code is there, compiled or loaded, before it is kept and before anyone calls it."""
        reserve_number(self.py_func)
        if self._by_symbol:
            leave_nothing_to_copy(cres, self.py_func)
        self.overloads[tuple(cres.signature.args)] = cres

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What the compiler of a caller asks for: the one signature, whatever converts to it."""
        self.ready()
        can_compile, self._can_compile = self._can_compile, False  # pyright: ignore[reportAttributeAccessIssue]
        try:
            return super().get_call_template(args, kws)
        finally:
            self._can_compile = can_compile

    @property
    def result(self) -> Any:
        """What numba made of the function."""
        self.ready()
        return self.overloads[tuple(self.stated.args)]

    @property
    def symbol(self) -> str:
        """The name of the machine code, by which other kernels call it."""
        return self.result.fndesc.llvm_func_name

    @property
    def callees(self) -> list[Kernel]:
        """The kernels that this one calls by their symbols; what is made `inline` is part of its own code."""
        return [kernel_at(callee) for callee in called_places(self.result.library)]

    @property
    def object_code(self) -> bytes:
        """The machine code, as an object file of this system; that of its callees stands in theirs."""
        library = self.result.library
        return getattr(library, "object_code", None) or library._get_compiled_object()

    def llvm(self) -> str:
        """Its code in LLVM's language, not optimised, compiled afresh: a kept kernel has machine code alone."""
        fresh = CPUDispatcher(self.py_func, targetoptions=self.targetoptions, pipeline_class=_TextCompiler)
        with global_compiler_lock, compiling_fast(), compiling(self):
            fresh.compile(self.stated)
        result = fresh.overloads[tuple(self.stated.args)]
        return result.library.get_llvm_str().replace(result.fndesc.llvm_func_name, self.symbol)

    @cached_property
    def pointer(self) -> int:
        """Address of the machine code, for calls through it; valid as long as the kernel is."""
        return self._address(self.symbol)

    @property
    def c_pointer(self) -> int:
        """Address that C code calls, of a kernel made `from_c`; valid as long as the kernel is."""
        return self._address(self.result.fndesc.llvm_cfunc_wrapper_name)

    def _address(self, symbol: str) -> int:
        return self.result.library.codegen._engine.get_function_address(symbol)


def _enable_cache(dispatcher: CPUDispatcher) -> None:
    """Keep what it compiles on disk, unless it was typed into a notebook or its module was loaded anew."""
    if Path(dispatcher.py_func.__code__.co_filename).is_file() and not is_reserved(dispatcher.py_func):
        dispatcher._cache = NumbaCache(dispatcher.py_func, bool(dispatcher.targetoptions.get("_nrt")))  # pyright: ignore[reportAttributeAccessIssue]


def call_at(context: Any, builder: Any, address: Any, result: types.Type, arguments: Any, values: Any) -> Any:
    """Machine code that calls a kernel at its `pointer`; the value is what the kernel returns."""
    kind = context.call_conv.get_function_type(result, arguments)
    function = builder.inttoptr(address, kind.as_pointer())
    return context.call_conv.call_function(builder, function, result, arguments, values)[1]


# ------------------------------------------------------------------------------------------------ kept kernels


class NumbaCache:
    """What numba asks for kept code: results of compilations out of our files, and into them."""

    cache_path = "palpate cache"  # shown in numba's statistics

    def __init__(self, function: Any, allocates: bool) -> None:
        self._function, self._allocates = function, allocates
        self._files = KernelCache(origin_of(function))

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """A kept kernel that fits; half a second of imports by numba is spent only where code allocates."""
        if self._allocates:
            target_context.refresh()
        for kept in self._files.read(str(sig), _processor(target_context)):
            try:
                if bind(kept.callees):
                    return self._rebuilt(sig, target_context, kept)
            except (ImportError, AttributeError):  # a module or a kernel that it refers to is gone
                continue
        return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep a kernel, if plain data can say what it is."""
        environments = data._find_referenced_environments()
        constants = any(env.consts for env in (data.environment, *environments))
        fixed = not (data.library.has_dynamic_globals or data.lifted or data.reload_init or data.fndesc.global_dict)
        if constants or not fixed:
            return
        name, _, (object_code, bitcode) = data.library.serialize_using_object_code()
        names = data.fndesc.unique_name, data.fndesc.mangled_name, data.fndesc.env_name
        envs = [(env.env_name, env.globals["__name__"]) for env in environments]
        callees = called_places(data.library)
        kept = KeptKernel("", name, *names, data.fndesc.inline, envs, callees, object_code, bitcode)
        self._files.write(str(sig), _processor(data.target_context), kept)

    def _rebuilt(self, sig: Any, context: Any, kept: KeptKernel) -> CompileResult:
        """A result of a compilation out of what was kept and of what is known from the function."""
        code, module = self._function.__code__, self._function.__module__
        descriptor = PythonFunctionDescriptor(
            native=True, modname=module, qualname=self._function.__qualname__, unique_name=kept.unique_name, doc="",
            typemap=None, restype=sig.return_type, calltypes=None, args=code.co_varnames[: code.co_argcount], kws=(),
            mangler=lambda *name, **more: kept.symbol, argtypes=sig.args, inline=kept.inline,
            env_name=kept.environment,
        )  # fmt: skip
        content = kept.library, "object", (kept.object_code, kept.bitcode)
        environments = [_rebuild_env(origin, (), name) for name, origin in kept.environments]
        mine = Environment.from_fndesc(descriptor)
        result = CompileResult._rebuild(context, content, descriptor, mine, sig, False, (), "", (), tuple(environments))
        result.library.called, result.library.object_code = kept.callees, kept.object_code
        return result


def _processor(target_context: Any) -> str:
    return " ".join(map(str, target_context.codegen().magic_tuple()))
