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

from pathlib import Path
from typing import Any

from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from palpate.engine.compiling.lean_compiler import (
    KernelCompiler,
    TextCompiler,
    called_places,
    compiling_fast,
    is_findable,
    is_reserved,
    leave_nothing_to_copy,
    reserve_number,
)
from palpate.engine.compiling.numba_cache import NumbaCache, kernel_at
from palpate.engine.compiling.numba_parts import compiling
from palpate.engine.compiling.sources import remember_source
from palpate.engine.signatures import Function, call_through, signature_of
from palpate.errors import InvalidInput
from palpate.forking import cached_property


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
                        self._compile_and_keep()

    def _compile_and_keep(self) -> None:
        """Compile; on numba's own way there every call of LLVM is timed, once per caller in the chain."""
        self._cache_misses[self.stated] += 1  # pyright: ignore[reportAttributeAccessIssue]
        result = self._compiler.compile(self.stated.args, self.stated.return_type)  # pyright: ignore[reportAttributeAccessIssue]
        self.add_overload(result)
        self._cache.save_overload(self.stated, result)  # pyright: ignore[reportAttributeAccessIssue]

    def _loaded(self) -> bool:
        """Take what is kept."""
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
        """Called by numba when the code is there, compiled or loaded, before it is kept and before it is called."""
        reserve_number(self.py_func)
        if self._by_symbol:
            leave_nothing_to_copy(cres, self.py_func)
        self.overloads[tuple(cres.signature.args)] = cres

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The one signature, for the compiler of a caller, whatever converts to it."""
        self.ready()
        can_compile, self._can_compile = self._can_compile, False  # pyright: ignore[reportAttributeAccessIssue]
        try:
            return super().get_call_template(args, kws)
        finally:
            self._can_compile = can_compile

    @property
    def result(self) -> Any:
        """Numba's result of compiling the function."""
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
        fresh = CPUDispatcher(self.py_func, targetoptions=self.targetoptions, pipeline_class=TextCompiler)
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
    """Keep what it compiles on disk, unless it was typed into a notebook or its module was loaded again."""
    if Path(dispatcher.py_func.__code__.co_filename).is_file() and not is_reserved(dispatcher.py_func):
        dispatcher._cache = NumbaCache(dispatcher.py_func, bool(dispatcher.targetoptions.get("_nrt")))  # pyright: ignore[reportAttributeAccessIssue]


def call_at(context: Any, builder: Any, address: Any, result: types.Type, arguments: Any, values: Any) -> Any:
    """Machine code that calls a kernel at its `pointer`; the value is what the kernel returns."""
    kind = context.call_conv.get_function_type(result, arguments)
    function = builder.inttoptr(address, kind.as_pointer())
    return context.call_conv.call_function(builder, function, result, arguments, values)[1]
