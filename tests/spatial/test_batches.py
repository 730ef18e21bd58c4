"""Batches: what every function gives for many is what it gives for each, and what SciPy gives for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from palpate import spatial as sp
from palpate.errors import BadRotation, BadShape, NotFinite, Singular

SHAPE = (2, 3)
RNG = np.random.default_rng(11)
COUNT = SHAPE[0] * SHAPE[1]


def rotations(seed: int) -> Rotation:
    return Rotation.random(COUNT, rng=np.random.default_rng(seed))


def batch(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.reshape(*SHAPE, *values.shape[1:]))


QUAT, OTHER_QUAT = (batch(rotations(k).as_quat(scalar_first=True)) for k in (1, 2))
R, OTHER_R = (batch(rotations(k).as_matrix()) for k in (1, 2))
VECTOR, OTHER, RATE = RNG.uniform(-1.5, 1.5, (3, *SHAPE, 3))
AXIS = VECTOR / np.linalg.norm(VECTOR, axis=-1, keepdims=True)
ACROSS = np.cross(AXIS, OTHER)
NUMBER = RNG.uniform(0.2, 0.9, SHAPE)
SIX = RNG.uniform(-1.0, 1.0, (*SHAPE, 6))
POLAR = np.stack([NUMBER, VECTOR[..., 0], np.abs(OTHER[..., 1]) + 0.1], axis=-1)
QUAT_RATE = sp.quat_rate_from_angular_velocity(QUAT, RATE)
R_RATE = sp.matrix_rate_from_angular_velocity(R, RATE)

# Functions with a batch for each of their arguments.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{f.__name__: (f, (QUAT,)) for f in (
        sp.matrix_from_quat, sp.rotation_vector_from_quat, sp.angle_axis_from_quat, sp.quat_conjugate,
        sp.quat_rate_matrix)},
    **{f.__name__: (f, (R,)) for f in (sp.quat_from_matrix, sp.rotation_vector_from_matrix, sp.angle_axis_from_matrix)},
    **{f.__name__: (f, (VECTOR,)) for f in (
        sp.skew, sp.matrix_from_rotation_vector, sp.quat_from_rotation_vector, sp.angle_axis_from_rotation_vector,
        sp.rotation_vector_rate_matrix, sp.cylindrical_from_cartesian, sp.spherical_from_cartesian)},
    **{f.__name__: (f, (POLAR,)) for f in (
        sp.cartesian_from_cylindrical, sp.cartesian_from_spherical, sp.cylindrical_rate_matrix,
        sp.spherical_rate_matrix)},
    **{f.__name__: (f, (POLAR, RATE)) for f in (
        sp.velocity_from_cylindrical_rate, sp.cylindrical_rate_from_velocity, sp.velocity_from_spherical_rate,
        sp.spherical_rate_from_velocity)},
    **{f.__name__: (f, (NUMBER, AXIS)) for f in (
        sp.rotation_vector_from_angle_axis, sp.matrix_from_angle_axis, sp.quat_from_angle_axis,
        sp.angle_axis_rate_matrix)},
    **{f.__name__: (f, (VECTOR, RATE)) for f in (
        sp.angular_velocity_from_rotation_vector_rate, sp.rotation_vector_rate_from_angular_velocity)},
    **{f.__name__: (f, (SIX, VECTOR)) for f in (sp.shift_twist, sp.shift_wrench)},
    "quat_multiply": (sp.quat_multiply, (QUAT, OTHER_QUAT)),
    "rotate": (sp.rotate, (QUAT, VECTOR)),
    "rotation_error": (sp.rotation_error, (R, OTHER_R)),
    "interpolate_rotation": (sp.interpolate_rotation, (R, OTHER_R, NUMBER)),
    "interpolate_quat": (sp.interpolate_quat, (QUAT, OTHER_QUAT, NUMBER)),
    "matrix_from_euler": (lambda a: sp.matrix_from_euler(a, "xzy"), (VECTOR,)),
    "quat_from_euler": (lambda a: sp.quat_from_euler(a, "ZYZ"), (VECTOR,)),
    "euler_from_matrix": (lambda a: sp.euler_from_matrix(a, "zyx"), (R,)),
    "euler_from_quat": (lambda a: sp.euler_from_quat(a, "ZXZ"), (QUAT,)),
    "euler_rate_matrix": (lambda a: sp.euler_rate_matrix(a, "yzx", "body"), (VECTOR,)),
    "angular_velocity_from_euler_rate": (
        lambda a, r: sp.angular_velocity_from_euler_rate(a, r, "XYZ"), (VECTOR, RATE)),
    "euler_rate_from_angular_velocity": (
        lambda a, w: sp.euler_rate_from_angular_velocity(a, w, "XYZ"), (0.5 * VECTOR, RATE)),
    "angular_velocity_from_matrix_rate": (sp.angular_velocity_from_matrix_rate, (R, R_RATE)),
    "matrix_rate_from_angular_velocity": (
        lambda a, w: sp.matrix_rate_from_angular_velocity(a, w, "body"), (R, RATE)),
    "angular_velocity_from_quat_rate": (sp.angular_velocity_from_quat_rate, (QUAT, QUAT_RATE)),
    "quat_rate_from_angular_velocity": (lambda q, w: sp.quat_rate_from_angular_velocity(q, w, "body"), (QUAT, RATE)),
    "angular_velocity_from_angle_axis_rate": (
        sp.angular_velocity_from_angle_axis_rate, (NUMBER, AXIS, 2.0 * NUMBER, ACROSS)),
    "angle_axis_rate_from_angular_velocity": (sp.angle_axis_rate_from_angular_velocity, (NUMBER, AXIS, RATE)),
    "rotate_axes": (sp.rotate_axes, (R, SIX)),
    "adjoint_twist": (lambda p, a: sp.adjoint_twist(sp.Pose(p, a)), (VECTOR, R)),
    "adjoint_wrench": (lambda p, a: sp.adjoint_wrench(sp.Pose(p, a)), (VECTOR, R)),
    "Pose.matrix": (lambda p, a: sp.Pose.from_quat(p, a).matrix, (VECTOR, QUAT)),
    "Pose.from_matrix": (lambda X: sp.Pose.from_matrix(X).quat_wxyz, (sp.Pose(VECTOR, R).matrix,)),
    "Pose.exp": (lambda V: sp.Pose.exp(V).matrix, (SIX,)),
    "Pose.log": (lambda p, a: sp.Pose(p, a).log(), (VECTOR, R)),
    "Pose.inverse": (lambda p, a: sp.Pose(p, a).inverse().matrix, (VECTOR, R)),
    "Pose.apply": (lambda p, a, x: sp.Pose(p, a).apply(x), (VECTOR, R, OTHER)),
    "Pose.product": (lambda p, a, x, b: (sp.Pose(p, a) @ sp.Pose(x, b)).matrix, (VECTOR, R, OTHER, OTHER_R)),
    "Pose.error_to": (lambda p, a, x, b: sp.Pose(p, a).error_to(sp.Pose(x, b)), (VECTOR, R, OTHER, OTHER_R)),
    "Pose.interpolate": (
        lambda p, a, x, b, s: sp.Pose(p, a).interpolate(sp.Pose(x, b), s).matrix, (VECTOR, R, OTHER, OTHER_R, NUMBER)),
}  # fmt: skip


def parts(result: Any) -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, result)) if isinstance(result, tuple) else (np.asarray(result),)


def test_every_public_function_is_in_the_table_of_these_tests() -> None:
    names = {name for name in sp.__all__ if name not in ("Pose", "SEQUENCES")}
    assert names <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_what_each_of_it_gives(name: str) -> None:
    function, inputs = CASES[name]
    many = parts(function(*inputs))
    for index in np.ndindex(*SHAPE):
        single = [float(x[index]) if x[index].ndim == 0 else x[index] for x in inputs]
        for whole, one in zip(many, parts(function(*single)), strict=True):
            np.testing.assert_allclose(whole[index], one, rtol=1e-14, atol=1e-15)
    assert all(whole.shape[:2] == SHAPE for whole in many)


@pytest.mark.parametrize("name", CASES)
def test_a_single_one_is_taken_for_each_of_a_batch(name: str) -> None:
    function, inputs = CASES[name]
    if len(inputs) < 2 or name.startswith("angular_velocity_from_"):  # whose rates belong to one rotation
        return
    mixed = parts(function(inputs[0], *(x[0, 0] for x in inputs[1:])))
    spread = [np.broadcast_to(x[0, 0], x.shape) for x in inputs[1:]]
    for one, wanted in zip(mixed, parts(function(inputs[0], *spread)), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_a_batch_of_none_has_its_shape(name: str) -> None:
    function, inputs = CASES[name]
    none = parts(function(*(x.reshape(COUNT, *x.shape[2:])[:0] for x in inputs)))
    full = parts(function(*inputs))
    assert [x.shape for x in none] == [(0, *x.shape[2:]) for x in full]


def test_batches_agree_with_scipy() -> None:
    A, B, flat = rotations(1), rotations(2), VECTOR.reshape(-1, 3)
    same = np.testing.assert_allclose
    same(sp.matrix_from_quat(QUAT).reshape(-1, 3, 3), A.as_matrix(), atol=1e-14)
    same(sp.rotation_vector_from_matrix(R).reshape(-1, 3), A.as_rotvec(), atol=1e-13)
    same(sp.matrix_from_rotation_vector(VECTOR).reshape(-1, 3, 3), Rotation.from_rotvec(flat).as_matrix(), atol=1e-14)
    same(sp.euler_from_quat(QUAT, "ZYX").reshape(-1, 3), A.as_euler("ZYX"), atol=1e-13)
    from_euler = sp.matrix_from_quat(sp.quat_from_euler(VECTOR, "xyz")).reshape(-1, 3, 3)
    same(from_euler, Rotation.from_euler("xyz", flat).as_matrix(), atol=1e-14)
    same(sp.rotate(QUAT, VECTOR).reshape(-1, 3), A.apply(flat), atol=1e-14)
    same(sp.matrix_from_quat(sp.quat_multiply(QUAT, OTHER_QUAT)).reshape(-1, 3, 3), (A * B).as_matrix(), atol=1e-14)
    same(sp.rotation_error(R, OTHER_R).reshape(-1, 3), (A * B.inv()).as_rotvec(), atol=1e-13)
    shares = np.linspace(0.0, 1.0, 5)
    way = Slerp([0, 1], Rotation.concatenate([A[0], B[0]]))(shares).as_matrix()
    same(sp.matrix_from_quat(sp.interpolate_quat(QUAT[0, 0], OTHER_QUAT[0, 0], shares)), way, atol=1e-14)


def test_what_is_wrong_is_told_with_its_place_in_the_batch() -> None:
    bad = QUAT.copy()
    bad[1, 2] *= 2.0
    with pytest.raises(BadRotation, match=r"quat_wxyz\[1, 2\].*unit quaternion \(wxyz\) to 1e-06, got norm 2"):
        sp.matrix_from_quat(bad)
    mirrored = R.copy()
    mirrored[0, 1] *= -1.0
    with pytest.raises(BadRotation, match=r"R\[0, 1\].*determinant \+1, got -1"):
        sp.quat_from_matrix(mirrored)
    with pytest.raises(NotFinite, match=r"r.*nan.*index \(1, 2\)"):
        sp.matrix_from_rotation_vector([[0.0, 0.0, 0.0], [0.0, 0.0, np.nan]])
    with pytest.raises(BadShape, match=r"R.*shape \(3, 3\), or \(…, 3, 3\).*batch.*\(2, 3, 4\)"):
        sp.quat_from_matrix(np.zeros((2, 3, 4)))
    with pytest.raises(Singular, match=r"\[1\]: no rates.*velocity"):
        sp.euler_rate_from_angular_velocity([[0.0, 0.1, 0.0], [0.0, np.pi / 2, 0.0]], [1.0, 0.0, 0.0], "XYZ")


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(BadShape, match=r"batches.*\(2,\) and \(3,\).*not fit"):
        sp.quat_multiply(np.tile([1.0, 0, 0, 0], (2, 1)), np.tile([1.0, 0, 0, 0], (3, 1)))
    two, three = np.tile(np.eye(3), (2, 1, 1)), np.tile(np.eye(3), (3, 1, 1))
    for refused in (
        lambda: sp.rotation_error(two, three),
        lambda: sp.rotate_axes(two, np.zeros((3, 6))),
        lambda: sp.Pose(np.zeros((2, 3)), three),
        lambda: sp.Pose(np.zeros(3), two) @ sp.Pose(np.zeros(3), three),
        lambda: sp.angular_velocity_from_euler_rate(np.zeros((2, 3)), np.zeros((3, 3)), "XYZ"),
    ):
        with pytest.raises(BadShape, match="do not fit together"):
            refused()
