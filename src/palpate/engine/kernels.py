"""The house's compiler: kernels typed by their annotations, compiled when first used, cached on disk, GIL released."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from numba import types
from numba.extending import intrinsic

from palpate.engine.compiling import numba_parts
from palpate.engine.records import Vector
from palpate.engine.signatures import Function, instructions
from palpate.engine.views import part

if TYPE_CHECKING:
    from palpate.engine.compiling.accelerated import Kernel, call_at
else:
    _compiler = numba_parts.compiler()
    Kernel, call_at = _compiler.Kernel, _compiler.call_at


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
            at all (`engine.maths` has sine and the like).
        inline: put its code into every caller.
        from_c: give it an address that C code can call.
    """
    names = sys._getframe(1).f_locals

    def compiled(function: Function) -> Kernel:
        return Kernel(function, names, allocates=allocates, inline=inline, from_c=from_c)

    return compiled if function is None else compiled(function)


def caller(result: types.Type, *arguments: types.Type) -> Any:
    """A function for kernels that calls a kernel at its `pointer`, which it takes before the kernel's arguments."""

    def write(context: Any, builder: Any, pointer: Any, *values: Any) -> Any:
        value = call_at(context, builder, pointer, result, arguments, values)
        return None if result == types.void else value

    return instructions(result, types.int64, *arguments)(write)


# law(tick, gains, memory, terms) at an address: four records whose layouts the law knows.
call_law = caller(types.void, *[types.int64] * 4)


@intrinsic
def address_of_record(typingctx: Any, record: Any) -> Any:
    """Where a record's table lies."""

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        return args[0]

    return types.int64(record), generate


@kernel(inline=True)
def put(target: Vector, start: int, source: Vector) -> None:
    """target[start : start + len(source)] = source."""
    here = part(target, start, source.size)
    for k in range(source.size):
        here[k] = source[k]


@kernel(inline=True)
def clear(target: Vector) -> None:
    """Set every element of a vector to 0."""
    for k in range(target.size):
        target[k] = 0.0


@kernel(inline=True)
def dot(a: Vector, b: Vector, count: int) -> float:
    """a · b of their first `count` elements."""
    total = 0.0
    for k in range(count):
        total += a[k] * b[k]
    return total
