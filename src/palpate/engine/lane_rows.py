"""Numbers in lanes, written out as rows: four by four through vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

FOUR = 4  # lanes
_PAIRS = ((0, 4, 2, 6), (1, 5, 3, 7))  # of two vectors: their even, and their odd lanes
_HALVES = ((0, 1, 4, 5), (2, 3, 6, 7))  # of two vectors: their lower, and their upper halves


def _four_by_four(builder: Any, rows: Sequence[Any]) -> list[Any]:
    """The columns of a matrix of four vectors."""

    def mixed(a: Any, b: Any, order: tuple[int, ...]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), FOUR), list(order)))

    a, b, c, d = rows
    even, odd = ((mixed(a, b, order), mixed(c, d, order)) for order in _PAIRS)
    (first, third), (second, fourth) = ([mixed(*pair, half) for half in _HALVES] for pair in (even, odd))
    return [first, second, third, fourth]


@intrinsic
def rows_from_lanes(typingctx: Any, source: Any, rows: Any) -> Any:
    """Four numbers of four lanes each, at an address, to the addresses of four rows: a lane to each."""

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> None:
        vector = ir.VectorType(ir.DoubleType(), FOUR)
        pointer = builder.inttoptr(args[0], vector.as_pointer())
        numbers = [builder.load(builder.gep(pointer, [ir.IntType(64)(i)]), align=8) for i in range(FOUR)]
        for lane, value in enumerate(_four_by_four(builder, numbers)):
            target = builder.inttoptr(builder.extract_value(args[1], lane), vector.as_pointer())
            builder.store(value, target, align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.UniTuple(types.int64, FOUR)), generate
