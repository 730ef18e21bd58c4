"""The task's inertia and products of fixed sizes, without a loop: loops make a processor wait for its own memory.

    M = L D Lᵀ,   W = L⁻¹ J_tᵀ,   Y = (L⁻ᵀ D⁻¹ W)ᵀ = J_t M⁻¹,   J_t M⁻¹ J_tᵀ = Wᵀ D⁻¹ W = G E Gᵀ,   Λ = G⁻ᵀ E⁻¹ G⁻¹

with ones on the diagonals of L and G: no square root stands between one pivot and the next. Every number is loaded
once, stays in registers, and results are stored at the end. Rows of the task stand side by side in vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_REAL, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


Entries = dict[tuple[int, int], Any]


@dataclass
class LdlFactor:
    """L below its diagonal, D and its inverse, and whether D is positive."""

    L: Entries
    pivots: list[Any]
    inverse: list[Any]
    good: Any


class _Writer:
    """Instructions on numbers and on vectors of `rows` numbers."""

    def __init__(self, builder: Any, rows: int) -> None:
        self.b, self.rows, self.vector = builder, rows, ir.VectorType(_REAL, rows)

    def array(self, address: Any) -> Any:
        """The numbers at an address."""
        return self.b.inttoptr(address, _REAL.as_pointer())

    def load(self, array: Any, index: int) -> Any:
        """One number of an array."""
        return self.b.load(self.b.gep(array, [ir.Constant(_PLACE, index)]))

    def store(self, value: Any, array: Any, index: int) -> None:
        """Write one number of an array."""
        self.b.store(value, self.b.gep(array, [ir.Constant(_PLACE, index)]))

    def take(self, vector: Any, row: int) -> Any:
        """One number of a vector."""
        return self.b.extract_element(vector, ir.Constant(_LANE, row))

    def gather(self, values: Sequence[Any]) -> Any:
        """A vector of numbers."""
        out = ir.Constant(self.vector, ir.Undefined)
        for row, value in enumerate(values):
            out = self.b.insert_element(out, value, ir.Constant(_LANE, row))
        return out

    def spread(self, value: Any) -> Any:
        """A number in every row."""
        return self.gather([value] * self.rows)

    def minus(self, x: Any, a: Any, y: Any) -> Any:
        """x − a y."""
        return self.b.fsub(x, self.b.fmul(a, y))

    def root(self, x: Any) -> Any:
        """The processor's own square root."""
        kind = ir.FunctionType(_REAL, [_REAL])
        known = self.b.module.globals.get("llvm.sqrt.f64") or ir.Function(self.b.module, kind, "llvm.sqrt.f64")
        return self.b.call(known, [x])

    def lower(self, array: Any, n: int) -> Entries:
        """The lower triangle of an n×n matrix."""
        return {(i, j): self.load(array, n * i + j) for i in range(n) for j in range(i + 1)}

    def factor(self, A: Entries, n: int) -> LdlFactor:
        """L and D with A = L D Lᵀ, and whether every pivot is positive."""
        b, one = self.b, ir.Constant(_REAL, 1.0)
        f = LdlFactor({}, [], [], ir.Constant(ir.IntType(1), 1))
        scaled: Entries = {}  # L D
        for j in range(n):
            for i in range(j, n):
                scaled[i, j] = A[i, j]
                for k in range(j):
                    scaled[i, j] = self.minus(scaled[i, j], scaled[i, k], f.L[j, k])
            f.pivots.append(scaled[j, j])
            f.inverse.append(b.fdiv(one, scaled[j, j]))
            f.good = b.and_(f.good, b.fcmp_ordered(">", scaled[j, j], ir.Constant(_REAL, 0.0)))
            for i in range(j + 1, n):
                f.L[i, j] = b.fmul(scaled[i, j], f.inverse[j])
        return f

    def forward(self, f: LdlFactor, x: list[Any]) -> list[Any]:
        """L⁻¹ x for vectors x."""
        out: list[Any] = []
        for i, entry in enumerate(x):
            for k in range(i):
                entry = self.minus(entry, self.spread(f.L[i, k]), out[k])
            out.append(entry)
        return out

    def backward(self, f: LdlFactor, x: list[Any]) -> list[Any]:
        """L⁻ᵀ x for vectors x."""
        out = list(x)
        for i in range(len(x) - 1, -1, -1):
            for k in range(i + 1, len(x)):
                out[i] = self.minus(out[i], self.spread(f.L[k, i]), out[k])
        return out

    def inverse(self, f: LdlFactor) -> Entries:
        """Lower triangle of (L D Lᵀ)⁻¹ = Xᵀ D⁻¹ X with X = L⁻¹."""
        b, n = self.b, len(f.inverse)
        X: Entries = {}
        for j in range(n):
            for i in range(j + 1, n):
                total = f.L[i, j]
                for k in range(j + 1, i):
                    total = b.fadd(total, b.fmul(f.L[i, k], X[k, j]))
                X[i, j] = b.fneg(total)
        Z = {(i, j): b.fmul(f.inverse[i], x) for (i, j), x in X.items()} | {(i, i): x for i, x in enumerate(f.inverse)}
        out: Entries = {}
        for i in range(n):
            for j in range(i + 1):
                out[i, j] = Z[i, j]
                for k in range(i + 1, n):
                    out[i, j] = b.fadd(out[i, j], b.fmul(X[k, i], Z[k, j]))
        return out


def _write_inverse(w: _Writer, k: int, n: int, arrays: Sequence[Any]) -> Any:
    """Y and Λ from M and J_t; the trace of Λ, 0 where there is none."""
    M, J, Y, Lambda = (w.array(address) for address in arrays)
    b, f = w.b, w.factor(w.lower(M, n), n)
    W = w.forward(f, [w.gather([w.load(J, n * i + l) for i in range(k)]) for l in range(n)])
    scaled = [b.fmul(w.spread(inverse), x) for inverse, x in zip(f.inverse, W)]
    mobility: Entries = {}
    for i in range(k):
        total = b.fmul(w.spread(w.take(scaled[0], i)), W[0])
        for l in range(1, n):
            total = b.fadd(total, b.fmul(w.spread(w.take(scaled[l], i)), W[l]))
        mobility |= {(i, j): w.take(total, j) for j in range(i + 1)}
    g = w.factor(mobility, k)
    inertia, weighed = w.inverse(g), w.backward(f, scaled)
    trace = inertia[0, 0]
    for i in range(k):
        trace = b.fadd(trace, inertia[i, i]) if i else trace
        for l in range(n):
            w.store(w.take(weighed[l], i), Y, n * i + l)
        for j in range(k):
            w.store(inertia[max(i, j), min(i, j)], Lambda, k * i + j)
    return b.select(g.good, trace, ir.Constant(_REAL, 0.0))


def _inverse_of(k: int, n: int) -> Any:
    @intrinsic
    def invert(typingctx: Any, M: Any, J: Any, Y: Any, Lambda: Any) -> Any:
        """Y = J_t M⁻¹ and Λ, from and to arrays at addresses; the trace of Λ, 0 where there is none."""

        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            return _write_inverse(_Writer(builder, k), k, n, args)

        return types.float64(*[types.int64] * 4), generate

    return invert


def _factor_of(n: int) -> Any:
    @intrinsic
    def factor(typingctx: Any, M: Any, out: Any) -> Any:
        """L of M = L Lᵀ, below the diagonal of the array at `out`."""

        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            w = _Writer(builder, 1)
            f, result = w.factor(w.lower(w.array(args[0]), n), n), w.array(args[1])
            for j in range(n):
                root = w.root(f.pivots[j])
                for i in range(j, n):
                    w.store(root if i == j else builder.fmul(f.L[i, j], root), result, n * i + j)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return factor


invert_6_7 = _inverse_of(6, 7)  # most arms: six directions of seven joints,
invert_6_6 = _inverse_of(6, 6)  # or of six
factor_7, factor_6 = _factor_of(7), _factor_of(6)


def _product_of(rows: int, n: int) -> Any:
    @intrinsic
    def times(typingctx: Any, A: Any, x: Any, out: Any) -> Any:
        """out = A x, at addresses; each sum in the order of its columns."""

        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            w = _Writer(builder, 1)
            matrix, vector, result = (w.array(address) for address in args)
            numbers = [w.load(vector, j) for j in range(n)]
            totals: list[Any] = [ir.Constant(_REAL, 0.0)] * rows
            for j in range(n):
                for i in range(rows):
                    totals[i] = builder.fadd(totals[i], builder.fmul(w.load(matrix, n * i + j), numbers[j]))
            for i, total in enumerate(totals):
                w.store(total, result, i)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return times


def _transposed_product_of(rows: int, n: int) -> Any:
    @intrinsic
    def add_transpose_times(typingctx: Any, A: Any, x: Any, sign: Any, out: Any) -> Any:
        """out += sign Aᵀ x, at addresses; row by row."""

        def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            w = _Writer(builder, n)
            matrix, vector, result = (w.array(args[k]) for k in (0, 1, 3))
            total = w.gather([w.load(result, j) for j in range(n)])
            for i in range(rows):
                row = w.gather([w.load(matrix, n * i + j) for j in range(n)])
                number = builder.fmul(args[2], w.load(vector, i))
                total = builder.fadd(total, builder.fmul(row, w.spread(number)))
            for j in range(n):
                w.store(w.take(total, j), result, j)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.float64, types.int64), generate

    return add_transpose_times


times_6_7, times_6_6 = _product_of(6, 7), _product_of(6, 6)
add_transpose_times_6_7, add_transpose_times_6_6 = _transposed_product_of(6, 7), _transposed_product_of(6, 6)
