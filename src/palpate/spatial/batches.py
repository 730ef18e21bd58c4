"""Compiled loops that call a kernel for every row of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba import types
from numba.extending import intrinsic

from palpate.engine.kernels import Kernel, call_at, kernel
from palpate.engine.records import Cube, Integers, Matrix, ReadCube, ReadMatrix, ReadVector
from palpate.spatial.euler_kernels import euler_from_matrix


@intrinsic
def _call(typingctx: Any, pointer: Any, arguments: Any) -> Any:
    """A kernel without a result at an address, with a tuple of arguments."""
    kinds = list(arguments.types)

    def generate(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        values = [builder.extract_value(args[1], i) for i in range(len(kinds))]
        call_at(context, builder, args[0], types.void, kinds, values)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


@kernel
def _vectors_of_vectors(function: int, a: ReadMatrix, out: Matrix) -> None:
    """function(a, out) for each row of both; `function` is a kernel's `pointer`, here and below."""
    for k in range(out.shape[0]):
        _call(function, (a[k], out[k]))  # pyright: ignore[reportCallIssue]


@kernel
def _matrices_of_vectors(function: int, a: ReadMatrix, out: Cube) -> None:
    """The same for kernels that write a matrix."""
    for k in range(out.shape[0]):
        _call(function, (a[k], out[k]))  # pyright: ignore[reportCallIssue]


@kernel
def _vectors_of_matrices(function: int, a: ReadCube, out: Matrix) -> None:
    """The same for kernels that read a matrix."""
    for k in range(out.shape[0]):
        _call(function, (a[k], out[k]))  # pyright: ignore[reportCallIssue]


@kernel
def _vectors_of_pairs(function: int, a: ReadMatrix, b: ReadMatrix, out: Matrix) -> None:
    """function(a, b, out) for each row of the three."""
    for k in range(out.shape[0]):
        _call(function, (a[k], b[k], out[k]))  # pyright: ignore[reportCallIssue]


@kernel
def _vectors_between_pairs(function: int, a: ReadMatrix, b: ReadMatrix, s: ReadVector, out: Matrix) -> None:
    """function(a, b, s, out) for each row of the matrices and each number s."""
    for k in range(out.shape[0]):
        _call(function, (a[k], b[k], s[k], out[k]))  # pyright: ignore[reportCallIssue]


# The loop over a batch for kernels, by the numbers of axes of their arguments, the output last.
BATCHES: dict[tuple[int, ...], Kernel] = {
    (1, 1): _vectors_of_vectors,
    (1, 2): _matrices_of_vectors,
    (2, 1): _vectors_of_matrices,
    (1, 1, 1): _vectors_of_pairs,
    (1, 1, 0, 1): _vectors_between_pairs,
}


@kernel
def euler_from_each(R: ReadCube, order: Integers, out: Matrix) -> None:
    """`euler_from_matrix` for every matrix; order = (i, j, last, first_is_zero)."""
    for k in range(out.shape[0]):
        euler_from_matrix(R[k], order[0], order[1], order[2], order[3] != 0, out[k])
