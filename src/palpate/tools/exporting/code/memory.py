"""Memory by address in kernels: numbers, words, records and functions of the caller in C."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from palpate.engine.record_types import numba_type
from palpate.engine.signatures import instructions
from palpate.engine.views import make_view
from palpate.tools.exporting.code.records import PartPlan, Station
from palpate.tools.exporting.code.tuning import Setup

_WORD = ir.IntType(64)


def _after(builder: Any, address: Any, words: Any) -> Any:
    return builder.add(address, builder.mul(words, ir.Constant(_WORD, 8)))


def _array_at(element: types.Type) -> Any:
    kind = types.Array(element, 1, "C")

    @instructions(kind, types.int64, types.int64, types.int64)
    def array_at(context: Any, builder: Any, address: Any, word: Any, size: Any) -> Any:
        pointer = builder.inttoptr(_after(builder, address, word), context.get_data_type(element).as_pointer())
        return make_view(context, builder, kind, pointer, [size])

    return array_at


def _word_at(kind: types.Type) -> Any:
    @instructions(kind, types.int64, types.int64)
    def word_at(context: Any, builder: Any, address: Any, word: Any) -> Any:
        return _after(builder, address, word)

    return word_at


# (address, word, size): the numbers, real or whole, that lie some words after an address.
numbers_at, words_at = _array_at(types.float64), _array_at(types.int64)
# (address, word): the record whose table lies some words after an address; that address itself.
station_at, part_at, setup_at, address_after = map(
    _word_at, (numba_type(Station), numba_type(PartPlan), numba_type(Setup), types.int64)
)


@instructions(types.int64, *[types.int64] * 5)
def call_c(context: Any, builder: Any, function: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """int64_t function(int64_t, int64_t, int64_t, int64_t) at an address."""
    kind = ir.FunctionType(_WORD, [_WORD] * 4)
    return builder.call(builder.inttoptr(function, kind.as_pointer()), [a, b, c, d])
