"""The house's compiler: kernels typed by their annotations, compiled when first used, cached on disk, GIL released."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, overload

from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from palpate.engine.linking import (
    KernelCompiler,
    NumbaCache,
    called_places,
    is_findable,
    is_taken,
    kernel_at,
    leave_nothing_to_copy,
    quickly,
    take_number,
)
from palpate.engine.records import Kind, Record, RecordsType, Vector, kind_of, numba_type
from palpate.engine.sources import remember_source
from palpate.errors import InvalidInput

Function = Callable[..., Any]


class Kernel(CPUDispatcher):
    """A function compiled to the one signature that its annotations state, not before it is first needed."""

    def __init__(self, function: Function, options: dict[str, Any], namespace: dict[str, Any]) -> None:
        inner = options | {"no_cpython_wrapper": True}
        super().__init__(py_func=function, targetoptions=inner, pipeline_class=KernelCompiler)
        self._door_options = options
        self._entry: Any = None
        self._by_symbol = is_findable(function) and not options.get("forceinline")
        self._namespace: dict[str, Any] | None = namespace
        self._stated: Signature | None = None
        remember_source(Path(function.__code__.co_filename))

    @property
    def stated(self) -> Signature:
        """The signature that the annotations state."""
        if self._stated is None:
            self._stated = signature_of(self.py_func, self._namespace or {})
            self._namespace = None
        return self._stated

    def ready(self) -> None:
        """Compile, or load from the cache, if that has not been done; one thread at a time."""
        with global_compiler_lock:
            if not self.overloads:
                _keep(self)
                if not self._loaded():
                    with quickly():
                        self.compile(self.stated)

    def _loaded(self) -> bool:
        """Take what is kept; on numba's own way there every call of LLVM is timed, once per caller in the chain."""
        found = self._cache.load_overload(self.stated, self.targetctx)  # pyright: ignore[reportAttributeAccessIssue]
        if found is not None:
            self._cache_hits[self.stated] += 1  # pyright: ignore[reportAttributeAccessIssue]
            self.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
            self.add_overload(found)
        return found is not None

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Called by numba when Python calls and nothing fits yet."""
        given = tuple(self.typeof_pyval(value) for value in args)
        if len(given) != len(self.stated.args) or not all(map(self._converts, given, self.stated.args)):
            raise InvalidInput(f"{self.py_func.__name__} takes ({_listed(self.stated.args)}), got ({_listed(given)})")
        with global_compiler_lock:
            return self._door()

    def _door(self) -> Any:
        """The way in from Python, a kernel of its own: most kernels are called by kernels alone, and go without."""
        if self._entry is None:
            self.ready()
            door = CPUDispatcher(_door_of(self), targetoptions=self._door_options, pipeline_class=KernelCompiler)
            _keep(door)
            self._entry = door.compile(self.stated)
            take_number(door.py_func)
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
        take_number(self.py_func)
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
        return [kernel_at(place) for place in called_places(self.result.library)]

    @property
    def object_code(self) -> bytes:
        """The machine code, as an object file of this system; that of its callees stands in theirs."""
        library = self.result.library
        return getattr(library, "object_code", None) or library._get_compiled_object()

    @property
    def pointer(self) -> int:
        """Address of the machine code, for calls through it; valid as long as the kernel is."""
        return self._address(self.symbol)

    @property
    def c_pointer(self) -> int:
        """Address that C code calls, of a kernel made `from_c`; valid as long as the kernel is."""
        return self._address(self.result.fndesc.llvm_cfunc_wrapper_name)

    def _address(self, symbol: str) -> int:
        return self.result.library.codegen._engine.get_function_address(symbol)


def _keep(dispatcher: CPUDispatcher) -> None:
    """Keep what it compiles on disk, unless it was typed into a notebook or its module was loaded anew."""
    if Path(dispatcher.py_func.__code__.co_filename).is_file() and not is_taken(dispatcher.py_func):
        dispatcher._cache = NumbaCache(dispatcher.py_func, bool(dispatcher.targetoptions.get("_nrt")))  # pyright: ignore[reportAttributeAccessIssue]


def _door_of(kernel: Kernel) -> Function:
    """A function that does nothing but call a kernel, at the place of the kernel's own."""
    inner, names = kernel.py_func, ", ".join(kernel.py_func.__code__.co_varnames[: len(kernel.stated.args)])
    made: dict[str, Any] = {"kernel": kernel, "__name__": inner.__module__}
    exec(f"def {inner.__name__}({names}): return kernel({names})", made)
    door = made[inner.__name__]
    door.__code__ = door.__code__.replace(
        co_filename=inner.__code__.co_filename, co_firstlineno=inner.__code__.co_firstlineno
    )
    door.__qualname__ = f"{inner.__qualname__}.door"
    return door


def _listed(kinds: Iterable[types.Type]) -> str:
    return ", ".join(map(str, kinds))


def signature_of(function: Function, namespace: dict[str, Any]) -> Signature:
    """The compiled signature behind a function's annotations."""
    hints = get_type_hints(function, localns=namespace, include_extras=True)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    missing = [name for name in names if name not in hints]
    if missing:
        raise InvalidInput(f"kernel {function.__name__!r} needs a type for {', '.join(missing)}")
    arguments = [_compiled(hints[name], f"{function.__name__}({name})") for name in names]
    result = hints.get("return", type(None))
    return (types.void if result is type(None) else _compiled(result, f"result of {function.__name__}"))(*arguments)


def _compiled(hint: Any, where: str) -> types.Type:
    if get_origin(hint) is tuple:
        return types.Tuple([_compiled(part, where) for part in get_args(hint)])
    kind, listed = kind_of(hint, where)
    if listed:
        return RecordsType(kind)
    return kind.numba if isinstance(kind, Kind) else numba_type(kind)


@overload
def kernel(function: Function) -> Kernel: ...
@overload
def kernel(*, allocates: bool = False, inline: bool = False, from_c: bool = False) -> Callable[[Function], Kernel]: ...
def kernel(
    function: Function | None = None, *, allocates: bool = False, inline: bool = False, from_c: bool = False
) -> Any:
    """Compile a function to its annotations: `float`, `int`, `bool`, `Vector`, `Matrix` …, records, lists of records.

    Args:
        function: every parameter annotated; it writes into its arguments.
        allocates: let it make arrays and slices; others count no references, which is faster, and depend on nothing
            but the mathematics library.
        inline: put its code into every caller.
        from_c: give it an address that C code can call.
    """
    names = sys._getframe(1).f_locals

    def compiled(function: Function) -> Kernel:
        options = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": allocates, "boundscheck": None}
        options["no_cfunc_wrapper"] = not from_c  # laws are called by their own address
        if inline:
            options["forceinline"] = True
        return Kernel(function, options, names)

    return compiled if function is None else compiled(function)


def follows_types(function: Function) -> CPUDispatcher:
    """Compile a function anew for whatever types it is called with: for scratch in tuples and structured arrays."""
    made = CPUDispatcher(py_func=function, targetoptions={"nopython": True, "nogil": True, "error_model": "numpy"})
    remember_source(Path(function.__code__.co_filename))
    made._cache = NumbaCache(function)  # pyright: ignore[reportAttributeAccessIssue]
    return made


@intrinsic
def call_law(typingctx: Any, pointer: Any, tick: Any, gains: Any, memory: Any, terms: Any) -> Any:
    """law(tick, gains, memory, terms) at an address: four records whose layouts the law knows."""
    words = [types.int64] * 4

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        kind = context.call_conv.get_function_type(types.void, words)
        function = builder.inttoptr(args[0], kind.as_pointer())
        context.call_conv.call_function(builder, function, types.void, words, args[1:])
        return context.get_dummy_value()

    return types.void(types.int64, *words), generate


@intrinsic
def address_of_record(typingctx: Any, record: Any) -> Any:
    """Where a record's table lies."""

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        return args[0]

    return types.int64(record), generate


@kernel(inline=True)
def put(target: Vector, start: int, source: Vector) -> None:
    """target[start : start + len(source)] = source."""
    for k in range(source.size):
        target[start + k] = source[k]


@kernel(inline=True)
def clear(target: Vector) -> None:
    """Set every element of a vector to 0."""
    for k in range(target.size):
        target[k] = 0.0


__all__ = ["Kernel", "Record", "address_of_record", "call_law", "clear", "kernel", "put", "signature_of"]
