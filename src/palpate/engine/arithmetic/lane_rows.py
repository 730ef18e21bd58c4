"""Lanes as rows: a block of W numbers by W lanes is written out at once, in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from palpate.engine.signatures import instructions

DOUBLES_IN_LINE = 8  # of what a processor's cache moves at once


def _transposed(builder: Any, rows: Sequence[Any]) -> list[Any]:
    """The columns of a square matrix of vectors, of 2ᵏ rows: blocks of 1, 2, 4 … change places across the diagonal."""
    count, rows = len(rows), list(rows)
    step = 1
    while step < count:
        lanes = range(count)
        upper = [lane if lane & step == 0 else lane - step + count for lane in lanes]
        lower = [lane + step if lane & step == 0 else lane + count for lane in lanes]
        orders = [ir.Constant(ir.VectorType(ir.IntType(32), count), order) for order in (upper, lower)]
        for i in range(count):
            if i & step == 0:
                pair = rows[i], rows[i + step]
                rows[i], rows[i + step] = (builder.shuffle_vector(*pair, order) for order in orders)
        step *= 2
    return rows


@intrinsic(prefer_literal=True)
def rows_from_lanes(typingctx: Any, lanes: Any, source: Any, target: Any, stride: Any) -> Any:
    """W numbers of W lanes each, at an address, to W rows that begin at another, `stride` doubles apart."""
    width = lanes.literal_value
    vector, word = ir.VectorType(ir.DoubleType(), width), ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        numbers = builder.inttoptr(args[1], vector.as_pointer())
        rows = builder.inttoptr(args[2], ir.DoubleType().as_pointer())
        block = [builder.load(builder.gep(numbers, [word(i)]), align=8) for i in range(width)]
        for lane, row in enumerate(_transposed(builder, block)):
            begin = builder.gep(rows, [builder.mul(args[3], word(lane))])
            builder.store(row, builder.bitcast(begin, vector.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(lanes, types.int64, types.int64, types.int64), generate


@instructions(types.void, types.int64)
def fetch_for_writing(context: Any, builder: Any, address: Any) -> None:
    """Have the processor fetch a line of memory that will be written soon; any address may be given."""
    number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    name = "llvm.prefetch.p0"
    fetch = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(fetch, [builder.inttoptr(address, pointer), number(1), number(3), number(1)])
