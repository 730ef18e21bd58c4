"""Memory by address in kernels: numbers, words, records and functions of whoever calls them from C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from palpate.engine.records import numba_type
from palpate.engine.views import make_view
from palpate.exporting.code.records import PartPlan, Station

_instructions: Any = intrinsic
_WORD = ir.IntType(64)


def _after(builder: Any, address: Any, words: Any) -> Any:
    return builder.add(address, builder.mul(words, ir.Constant(_WORD, 8)))


def _array_at(element: types.Type) -> Any:
    kind = types.Array(element, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        at = _after(builder, args[0], args[1])
        pointer = builder.inttoptr(at, context.get_data_type(element).as_pointer())
        return make_view(context, builder, kind, pointer, [args[2]])

    return kind(types.int64, types.int64, types.int64), generate


def _at(kind: types.Type) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        return _after(builder, args[0], args[1])

    return kind(types.int64, types.int64), generate


@_instructions
def numbers_at(typingctx: Any, address: Any, word: Any, size: Any) -> Any:
    """The real numbers that lie some words after an address."""
    return _array_at(types.float64)


@_instructions
def words_at(typingctx: Any, address: Any, word: Any, size: Any) -> Any:
    """The whole numbers that lie some words after an address."""
    return _array_at(types.int64)


@_instructions
def station_at(typingctx: Any, address: Any, word: Any) -> Any:
    """The station whose table lies some words after an address."""
    return _at(numba_type(Station))


@_instructions
def part_at(typingctx: Any, address: Any, word: Any) -> Any:
    """The part that is described some words after an address."""
    return _at(numba_type(PartPlan))


@_instructions
def address_after(typingctx: Any, address: Any, words: Any) -> Any:
    """An address some words later."""
    return _at(types.int64)


@_instructions
def call_c(typingctx: Any, function: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """int64_t function(int64_t, int64_t, int64_t, int64_t) at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        kind = ir.FunctionType(_WORD, [_WORD] * 4)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 5), generate
