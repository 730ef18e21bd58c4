"""Input of this package: checked for what is no rotation, no direction, no set of axes or no invertible map.

Everything takes batches: arrays whose last axes are one rotation, vector or pose, with any number of axes before them,
which are broadcast against each other. What is refused is named with its place in the batch.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, as_numbers, finite_array, finite_number
from palpate.engine.kernels import Kernel
from palpate.errors import BadRotation, BadShape, InvalidInput, Singular, UnknownName
from palpate.spatial.batches import BATCHES

Axes = Literal["world", "body"]
"""Which axes the components of an angular velocity refer to: the world's, or those of the turning body."""

TOLERANCE = 1e-6
"""How far from orthonormal, or from unit length, an input may be; within it, the input is put right."""

SMALLEST_GAIN = 1e-6
"""A map with a singular value below this is not inverted: rates would grow a million times."""

_ROUNDING = 4e-16  # from 1, of a norm that is 1

LARGEST_ANGLE = 1e6
"""Longest rotation vector accepted, rad: beyond it too few digits of the angle are left."""


@cache
def _axes(kernel: Kernel) -> tuple[int, ...]:
    """How many axes each argument of a kernel has, 0 for a number; the output is the last."""
    return tuple(getattr(kind, "ndim", 0) for kind in kernel.stated.args)


def result_of(kernel: Kernel, shape: tuple[int, ...], *inputs: Array | float) -> Array:
    """Result of a kernel, written into its last argument, an array of a given shape; for each of a batch."""
    axes = _axes(kernel)
    if tuple([getattr(value, "ndim", 0) for value in inputs]) == axes[:-1]:
        out = np.empty(shape)
        kernel(*inputs, out)
        return out
    arrays = [np.asarray(value) for value in inputs]
    batch = common_batch(*(array.shape[: array.ndim - count] for array, count in zip(arrays, axes)))
    members = [array.shape[array.ndim - count :] for array, count in zip(arrays, axes)]
    count, out = math.prod(batch), np.empty(batch + shape)
    rows = [np.broadcast_to(a, batch + part).reshape(count, *part) for a, part in zip(arrays, members)]
    BATCHES[axes](kernel.pointer, *map(np.ascontiguousarray, rows), out.reshape(count, *shape))
    return out


def common_batch(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of several batches broadcast against each other."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise BadShape(f"batches of shapes {' and '.join(map(str, shapes))} do not fit together") from None


def numbers(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    """`value` as finite numbers of a shape, or as a batch of them."""
    array = as_numbers(value, name)
    if array.ndim <= len(shape):
        return finite_array(array, name, shape)
    if array.shape[array.ndim - len(shape) :] != shape:
        inner = ", ".join(map(str, shape))
        raise BadShape(f"{name} must have shape {shape}, or (…, {inner}) for a batch, got {array.shape}")
    return finite_array(array, name)


def number(value: ArrayLike, name: str) -> Any:
    """`value` as a finite number, or as an array of them."""
    return finite_number(value, name) if np.ndim(value) == 0 else finite_array(value, name)  # pyright: ignore[reportArgumentType]


def vector(value: ArrayLike, name: str) -> Array:
    """`value` as three finite numbers."""
    return numbers(value, name, (3,))


def rotation(value: ArrayLike, name: str) -> Array:
    """`value` as a rotation matrix; small departures from RᵀR = I are projected away.

    Raises:
        BadRotation: if an entry of RᵀR − I exceeds 1e-6, or det R is not +1.
    """
    R = numbers(value, name, (3, 3))
    defect = _defect(R)
    if k := _first_true(~(defect <= TOLERANCE)):  # also true for the NaN of an overflow
        raise BadRotation(
            f"{name}{_index(k)} must be orthonormal to {TOLERANCE:g}, but RᵀR − I reaches {defect[k[0]]:.3g}",
            hint="check for scaling, rounded digits or a row that is not a unit vector",
        )
    if k := _first_true(np.linalg.det(R) < 0.0):
        raise BadRotation(
            f"{name}{_index(k)} must have determinant +1, got {np.linalg.det(R[k[0]]):.6g}:"
            " a reflection, not a rotation",
            hint="its axes are left-handed; swap two of them or reverse one",
        )
    while (defect > 1e-14).any():  # a Newton step towards the nearest rotation squares the defect
        step = R @ (1.5 * np.eye(3) - 0.5 * transposed(R) @ R)
        R = np.where(defect[..., None, None] > 1e-14, step, R)
        defect = _defect(R)
    return R


def quat(value: ArrayLike, name: str) -> Array:
    """`value` as a unit quaternion wxyz; refused unless its norm is within 1e-6 of one."""
    return _checked_unit(numbers(value, name, (4,)), name, "quaternion (wxyz)")


def axis(value: ArrayLike, name: str) -> Array:
    """`value` as a unit vector; refused unless its norm is within 1e-6 of one."""
    return _checked_unit(vector(value, name), name, "axis")


def rotation_vector(value: ArrayLike, name: str) -> Array:
    """`value` as a rotation vector no longer than `LARGEST_ANGLE`."""
    r = vector(value, name)
    if k := _first_true(np.abs(r).max(axis=-1, initial=0.0) > LARGEST_ANGLE):
        raise InvalidInput(
            f"{name}{_index(k)} must be at most {LARGEST_ANGLE:g} rad long, got {r[k[0]]}", hint="is it in radians?"
        )
    return r


def transposed(matrices: Array) -> Array:
    """Aᵀ, of each matrix of a batch."""
    return matrices.swapaxes(-1, -2)


def product(A: Array, B: Array) -> Array:
    """A B, of each pair of a batch."""
    common_batch(A.shape[:-2], B.shape[:-2])
    return A @ B


def times(matrices: Array, vectors: Array) -> Array:
    """A v, of each of a batch."""
    if vectors.ndim == 1:
        return matrices @ vectors
    common_batch(matrices.shape[:-2], vectors.shape[:-1])
    return (matrices @ vectors[..., None])[..., 0]


def is_world(axes: Axes) -> bool:
    """True for "world", False for "body"; anything else is refused."""
    if axes not in ("world", "body"):
        raise UnknownName("axes", str(axes), ("world", "body"))
    return axes == "world"


def inverse(E: Array, where: str, smallest_gain: float = SMALLEST_GAIN) -> Array:
    """Inverse (smallest-norm right inverse if E is wide) of a map from rates to velocity.

    Raises:
        Singular: if the smallest singular value of E is below `smallest_gain`.
    """
    U, gains, Vt = np.linalg.svd(E, full_matrices=False)
    if k := _first_true(gains[..., -1] < smallest_gain):
        raise Singular(f"{where}{_index(k)}: no rates give every velocity there", float(gains[k[0]][-1]), smallest_gain)
    return (transposed(Vt) / gains[..., None, :]) @ transposed(U)


def _checked_unit(value: Array, name: str, kind: str) -> Array:
    norm: Any = np.linalg.norm(value) if value.ndim == 1 else np.linalg.norm(value, axis=-1)
    if value.ndim == 1 and abs(norm - 1.0) < _ROUNDING:
        return value
    if k := _first_true(norm == 0.0):
        raise BadRotation(f"{name}{_index(k)} must be a unit {kind}, got norm 0: it has no direction")
    if k := _first_true(~(np.abs(norm - 1.0) <= TOLERANCE)):
        raise BadRotation(
            f"{name}{_index(k)} must be a unit {kind} to {TOLERANCE:g}, got norm {norm[k[0]]:.9g} from {value[k[0]]}",
            hint="divide it by its norm first, if its direction is what you mean",
        )
    # An already unit value keeps its bits; dividing by a norm one ulp off would change them.
    exact = np.abs(norm - 1.0) < _ROUNDING
    return value if exact.all() else np.where(exact[..., None], value, value / norm[..., None])


def _first_true(wrong: Any) -> tuple[tuple[int, ...]] | None:
    """Where a flag is first on, in a tuple of its own; None where it is nowhere."""
    if not (wrong if wrong.ndim == 0 else wrong.any()):
        return None
    return (tuple(int(i) for i in np.argwhere(wrong)[0]),)


def _index(indices: tuple[tuple[int, ...]]) -> str:
    """The place in a batch; nothing for a single one."""
    return f"[{', '.join(map(str, indices[0]))}]" if indices[0] else ""


def _defect(R: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(transposed(R) @ R - np.eye(3)).max(axis=(-1, -2))
