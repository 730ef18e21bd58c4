"""Parts of arrays in compiled code, without slices.

They are written as machine code, not compiled from Python: a loop makes hundreds, and each would compile a function,
count references and allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable
from numpy.typing import NDArray

from palpate.engine.compiling.numba_parts import populate_array

Floats = NDArray[np.float64]
_WIDE = 4  # numbers copied at once


def make_view(context: Any, builder: Any, kind: types.Array, pointer: Any, shape: Sequence[Any]) -> Any:
    """The LLVM value of a C-contiguous array `kind` whose data lie at a pointer."""
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [context.get_constant(types.intp, size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, size)
    populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def machine_code_of(function: Any, rule: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Decorate what writes a function's machine code; `rule` gives its signature for types of arguments, or None."""
    type_callable(function)(lambda context: rule)
    return lower_builtin(function, *arguments)


def _is_flat(array: types.Type) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"


def part(array: Floats, start: int, size: int) -> Floats:
    """array[start : start + size]."""
    return array[start : start + size]


def _part_signature(array: Any, start: Any, size: Any) -> Any:
    return array(array, types.int64, types.int64) if _is_flat(array) else None


def fold(array: Floats, start: int, rows: int, columns: int) -> Floats:
    """The rows × columns numbers of a flat array from `start` on, as a matrix."""
    return array[start : start + rows * columns].reshape((rows, columns))


def _fold_signature(array: Any, start: Any, rows: Any, columns: Any) -> Any:
    return types.float64[:, ::1](array, types.int64, types.int64, types.int64) if _is_flat(array) else None


@machine_code_of(part, _part_signature, types.Array, types.int64, types.int64)
@machine_code_of(fold, _fold_signature, types.Array, types.int64, types.int64, types.int64)
def _lower_part(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return make_view(context, builder, signature.return_type, builder.gep(data, [args[1]]), args[2:])


def flat(matrix: Floats) -> Floats:
    """All numbers of a matrix or cube in one row."""
    return matrix.reshape(-1)


def _flat_signature(array: Any) -> Any:
    contiguous = isinstance(array, types.Array) and array.layout == "C"
    return types.Array(array.dtype, 1, "C")(array) if contiguous else None


@machine_code_of(flat, _flat_signature, types.Array)
def _lower_flat(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return make_view(context, builder, signature.return_type, array.data, [array.nitems])


def copy_long(target: Floats, source: Floats) -> None:
    """Set a vector to another one, four numbers at once: for rows of a hundred and more that do not overlap."""
    target[:] = source


def _copy_signature(target: Any, source: Any) -> Any:
    return types.void(target, source) if _is_flat(target) and _is_flat(source) else None


@machine_code_of(copy_long, _copy_signature, types.Array, types.Array)
def _lower_copy_long(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    to, source = (context.make_array(kind)(context, builder, value) for kind, value in zip(signature.args, args))
    count, word = source.nitems, ir.IntType(64)
    whole = builder.and_(count, ir.Constant(word, -_WIDE))
    wide = ir.VectorType(ir.DoubleType(), _WIDE).as_pointer()
    _copy_each(builder, to.data, source.data, (ir.Constant(word, 0), whole, _WIDE), wide)
    _copy_each(builder, to.data, source.data, (whole, count, 1), ir.DoubleType().as_pointer())
    return context.get_dummy_value()


def _copy_each(builder: Any, target: Any, source: Any, span: tuple[Any, Any, int], kind: Any) -> None:
    """Copy numbers of a span (first, end, at once) in a loop."""
    first, end, step = span
    start, head = builder.block, builder.append_basic_block("copy")
    body, after = builder.append_basic_block("numbers"), builder.append_basic_block("copied")
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(first.type)
    index.add_incoming(first, start)
    builder.cbranch(builder.icmp_signed("<", index, end), body, after)
    builder.position_at_end(body)
    value = builder.load(builder.bitcast(builder.gep(source, [index]), kind), align=8)
    builder.store(value, builder.bitcast(builder.gep(target, [index]), kind), align=8)
    index.add_incoming(builder.add(index, ir.Constant(first.type, step)), body)
    builder.branch(head)
    builder.position_at_end(after)


def address_of(array: NDArray[Any]) -> int:
    """Address of an array's first element."""
    return array.ctypes.data


@machine_code_of(address_of, lambda array: types.int64 if isinstance(array, types.Array) else None, types.Array)
def _lower_address_of(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.ptrtoint(array.data, context.get_value_type(types.int64))
