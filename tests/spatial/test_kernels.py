"""The compiled kernels: equations against scipy, and the rules of the file (no allocation, no exceptions, NaN)."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit
from numba.core.runtime.nrt import _nrt, rtsys  # pyright: ignore[reportAttributeAccessIssue]
from scipy.spatial.transform import Rotation

from palpate.spatial import batches, euler_kernels, kernels as k, vector_kernels

KERNELS = {
    name: value
    for module in (k, vector_kernels, euler_kernels, batches)
    for name, value in vars(module).items()
    if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__
}
quick = settings(deadline=None, max_examples=60)
vectors = arrays(float, 3, elements=st.floats(-3.0, 3.0))
EPS = np.finfo(float).eps

# Kernel name -> shapes of its array inputs, other inputs, shape of its output.
TABLE: dict[str, tuple[list[tuple[int, ...]], list[Any], tuple[int, ...]]] = {
    "cross": ([(3,), (3,)], [], (3,)),
    "skew": ([(3,)], [], (3, 3)),
    "shift_twist": ([(6,), (3,)], [], (6,)),
    "shift_wrench": ([(6,), (3,)], [], (6,)),
    "quat_multiply": ([(4,), (4,)], [], (4,)),
    "quat_conjugate": ([(4,)], [], (4,)),
    "rotate": ([(4,), (3,)], [], (3,)),
    "quat_from_rotation_vector": ([(3,)], [], (4,)),
    "rotation_vector_from_quat": ([(4,)], [], (3,)),
    "quat_error_world": ([(4,), (4,)], [], (3,)),
    "quat_interpolate": ([(4,), (4,)], [0.3], (4,)),
    "quat_rate_world": ([(4,), (3,)], [], (4,)),
    "quat_rate_body": ([(4,), (3,)], [], (4,)),
    "quat_from_matrix": ([(3, 3)], [], (4,)),
    "matrix_from_quat": ([(4,)], [], (3, 3)),
    "rotation_vector_from_matrix": ([(3, 3)], [], (3,)),
    "matrix_from_rotation_vector": ([(3,)], [], (3, 3)),
    "left_jacobian": ([(3,)], [], (3, 3)),
    "left_jacobian_inverse": ([(3,)], [], (3, 3)),
    "euler_from_matrix": ([(3, 3)], [2, 1, 2, False], (3,)),
    "euler_xyz_from_matrix": ([(3, 3)], [], (3,)),
    "matrix_from_euler_xyz": ([(3,)], [], (3, 3)),
    "euler_xyz_rate_matrix": ([(3,)], [], (3, 3)),
}


def value(name: str, *inputs: Any) -> np.ndarray:
    out = np.full(TABLE[name][2], np.nan)
    KERNELS[name](*inputs, out)
    return out


def sample(name: str) -> list[Any]:
    """Valid inputs for a kernel: rotations where it wants rotations."""
    rng = np.random.default_rng(7)
    by_shape = {
        (3,): lambda: rng.uniform(-1, 1, 3),
        (6,): lambda: rng.uniform(-1, 1, 6),
        (4,): lambda: wxyz(Rotation.random(rng=rng)),
        (3, 3): lambda: Rotation.random(rng=rng).as_matrix(),
    }
    shapes, others, _ = TABLE[name]
    return [by_shape[shape]() for shape in shapes] + others


def wxyz(rotation: Rotation) -> np.ndarray:
    return np.ascontiguousarray(rotation.as_quat(scalar_first=True))


def test_every_public_kernel_is_in_the_table_of_these_tests():
    public = {name for name in KERNELS if not name.startswith("_")}
    assert public == set(TABLE) | {"quat_normalize", "euler_from_each"}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_kernel_states_its_equation_in_one_line(name: str):
    doc = inspect.getdoc(KERNELS[name]) or ""
    assert len(doc.splitlines()) == 1


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_kernel_is_compiled_once_for_its_signature_and_releases_the_lock(name: str):
    kernel = KERNELS[name]
    value(name, *sample(name))
    assert len(kernel.signatures) == 1
    assert kernel.targetoptions["nogil"]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_kernel_takes_read_only_arrays(name: str):
    inputs = sample(name)
    expected = value(name, *inputs)
    for item in inputs:
        if isinstance(item, np.ndarray):
            item.flags.writeable = False
    assert np.array_equal(value(name, *inputs), expected)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_kernel_may_write_over_an_input_of_the_same_shape(name: str):
    shapes, _, out_shape = TABLE[name]
    expected = value(name, *sample(name))
    for position, shape in enumerate(shapes):
        if shape == out_shape:
            inputs = sample(name)
            KERNELS[name](*inputs, inputs[position])
            assert np.array_equal(inputs[position], expected)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_nan_in_an_input_comes_out_as_nan(name: str):
    for position in range(len(TABLE[name][0])):
        inputs = sample(name)
        inputs[position][...] = np.nan
        assert np.isnan(value(name, *inputs)).any()


@pytest.mark.parametrize("name", ["quat_from_matrix", "rotation_vector_from_matrix"])
@pytest.mark.parametrize("entry", range(9))
def test_nan_in_one_entry_of_a_matrix_is_not_lost(name: str, entry: int):
    for turn in (np.zeros(3), [3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0]):
        R = Rotation.from_rotvec(turn).as_matrix()
        R.flat[entry] = np.nan
        assert np.isnan(value(name, R)).all()


@pytest.mark.parametrize("name", ["matrix_from_quat", "rotation_vector_from_quat"])
def test_the_zero_quaternion_gives_nan_and_not_the_identity(name: str):
    assert np.isnan(value(name, np.zeros(4))).any()
    zero = np.zeros(4)
    assert k.quat_normalize(zero) == 0.0
    assert np.isnan(zero).all()


@njit
def call_every_kernel(times, q, p, u, v, V, R, three, four, six, square):
    for _ in range(times):
        vector_kernels.cross(u, v, three)
        vector_kernels.skew(u, square)
        vector_kernels.shift_twist(V, u, six)
        vector_kernels.shift_wrench(V, u, six)
        k.quat_multiply(q, p, four)
        k.quat_conjugate(q, four)
        k.quat_normalize(four)
        k.rotate(q, u, three)
        k.quat_from_rotation_vector(u, four)
        k.rotation_vector_from_quat(q, three)
        k.quat_error_world(q, p, three)
        k.quat_interpolate(q, p, 0.3, four)
        k.quat_rate_world(q, u, four)
        k.quat_rate_body(q, u, four)
        k.quat_from_matrix(R, four)
        k.matrix_from_quat(q, square)
        k.rotation_vector_from_matrix(R, three)
        k.matrix_from_rotation_vector(u, square)
        k.left_jacobian(u, square)
        k.left_jacobian_inverse(u, square)
        euler_kernels.euler_from_matrix(R, 2, 1, 2, False, three)
        euler_kernels.euler_xyz_from_matrix(R, three)
        euler_kernels.matrix_from_euler_xyz(u, square)
        euler_kernels.euler_xyz_rate_matrix(u, square)


@njit
def allocate(times):
    total = 0.0
    for index in range(times):
        total += np.full(3, float(index))[index % 3]
    return total


@pytest.fixture
def allocations():
    """Counts what a compiled call allocates."""
    _nrt.memsys_enable_stats()

    def count(function: Any, *arguments: Any) -> int:
        function(*arguments)  # compile first
        before = rtsys.get_allocation_stats().mi_alloc
        function(*arguments)
        return rtsys.get_allocation_stats().mi_alloc - before

    yield count
    _nrt.memsys_disable_stats()


def test_kernels_called_from_compiled_code_allocate_nothing(allocations: Any):
    source = inspect.getsource(call_every_kernel.py_func)
    assert all(f".{name}(" in source for name in TABLE)
    q, p = wxyz(Rotation.from_rotvec([0.1, 0.2, 0.3])), wxyz(Rotation.from_rotvec([1.0, -0.2, 0.3]))
    inputs = (q, p, np.ones(3), np.arange(3.0), np.ones(6), np.eye(3))
    outputs = (np.empty(3), np.empty(4), np.empty(6), np.empty((3, 3)))
    once = allocations(call_every_kernel, 1, *inputs, *outputs)  # the wrappers of the arguments
    assert allocations(call_every_kernel, 1000, *inputs, *outputs) == once
    assert allocations(allocate, 1000) >= 1000  # the meter does count


@quick
@given(vectors, vectors)
def test_products_of_vectors_are_those_of_numpy(a: np.ndarray, b: np.ndarray):
    assert np.allclose(value("cross", a, b), np.cross(a, b), atol=1e-15)
    assert np.allclose(value("skew", a) @ b, np.cross(a, b), atol=1e-14)


@quick
@given(vectors, vectors, vectors)
def test_quaternion_kernels_agree_with_scipy(r: np.ndarray, s: np.ndarray, v: np.ndarray):
    A, B = Rotation.from_rotvec(r), Rotation.from_rotvec(s)
    a, b = wxyz(A), wxyz(B)
    product = value("quat_multiply", a, b)
    assert abs(product @ wxyz(A * B)) == pytest.approx(1.0, abs=4 * EPS)
    assert np.allclose(value("matrix_from_quat", product), (A * B).as_matrix(), atol=1e-14)
    assert np.allclose(value("rotate", a, v), A.apply(v), atol=1e-14)
    assert np.allclose(value("rotate", 3.0 * a, v), A.apply(v), atol=1e-14)
    assert np.allclose(value("matrix_from_quat", 3.0 * a), A.as_matrix(), atol=1e-14)
    relative = Rotation.from_quat(value("quat_multiply", value("quat_conjugate", a), b), scalar_first=True)
    assert (relative.inv() * A.inv() * B).magnitude() < 1e-14


def test_normalising_returns_the_old_norm():
    q = np.array([1.0, -2.0, 2.0, 4.0])
    assert k.quat_normalize(q) == 5.0
    assert np.array_equal(q, [0.2, -0.4, 0.4, 0.8])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.6, 0.64, -0.48]])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 1.5, 2.0, 2.2, 3.0, math.pi - 1e-9, math.pi])
def test_a_quaternion_comes_back_from_its_matrix_in_all_four_branches(sign: float, axis: list[float], angle: float):
    q = np.array([math.cos(angle / 2), *(sign * math.sin(angle / 2) * np.array(axis))])
    found = value("quat_from_matrix", value("matrix_from_quat", q))
    assert min(np.abs(found - q).max(), np.abs(found + q).max()) < 4 * EPS
    assert found[0] >= 0.0


def test_the_quaternion_of_a_matrix_with_rounding_defects_is_still_unit():
    R = Rotation.from_rotvec([0.3, -2.0, 1.0]).as_matrix() * (1 + 1e-7)
    assert np.linalg.norm(value("quat_from_matrix", R)) == pytest.approx(1.0, abs=2 * EPS)


@pytest.mark.parametrize("size", [*(10.0**n for n in range(-320, 1, 8)), 0.9e-4, 1.1e-4, 1.9e-4, 2.1e-4, 0.099, 0.11])
def test_small_rotations_keep_all_their_digits(size: float):
    r = size * np.array([0.6, -0.64, 0.48])
    q = value("quat_from_rotation_vector", r)
    R = value("matrix_from_rotation_vector", r)
    # Denormal numbers carry fewer digits: allow a few of the smallest steps there.
    tolerance = {"rtol": 8 * EPS, "atol": 8 * 5e-324}
    assert np.allclose(value("rotation_vector_from_quat", q), r, **tolerance)
    assert np.allclose(value("rotation_vector_from_matrix", R), r, **tolerance)


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-15, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("axis", [[1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0], [0.6, 0.64, -0.48], [-0.8, 0.6, 0]])
def test_rotations_near_half_a_turn_keep_their_angle_and_axis(gap: float, axis: list[float]):
    r = (math.pi - gap) * np.array(axis)
    for found in (
        value("rotation_vector_from_matrix", value("matrix_from_rotation_vector", r)),
        value("rotation_vector_from_quat", value("quat_from_rotation_vector", r)),
    ):
        flipped = gap < 1e-14  # π itself is rounded: the sign of the axis is no longer in the number
        distance = np.abs(found - r).max()
        assert min(distance, np.abs(found + r).max()) < 1e-12 if flipped else distance < 1e-12


@pytest.mark.parametrize(
    ("q", "axis"),
    [
        ([0, 1, 0, 0], [1, 0, 0]),
        ([0, 0, -1, 0], [0, 1, 0]),
        ([0, 0, 0, -1], [0, 0, 1]),
        ([0, 0, -0.6, 0.8], [0, 0.6, -0.8]),
    ],
)
def test_at_exactly_half_a_turn_both_signs_of_a_quaternion_give_one_vector(q: list[float], axis: list[float]):
    for sign in (1.0, -1.0):
        assert np.allclose(value("rotation_vector_from_quat", sign * np.array(q)), np.pi * np.array(axis))


@quick
@given(vectors, vectors)
def test_the_orientation_error_turns_measured_into_desired_by_the_shorter_way(r: np.ndarray, s: np.ndarray):
    D, M = Rotation.from_rotvec(r), Rotation.from_rotvec(s)
    for sign in (1.0, -1.0):
        error = value("quat_error_world", sign * wxyz(D), wxyz(M))
        assert np.linalg.norm(error) <= math.pi + 4 * EPS
        assert (Rotation.from_rotvec(error) * M * D.inv()).magnitude() < 1e-14


@quick
@given(vectors, vectors, st.floats(0.0, 1.0))
def test_interpolation_covers_its_share_of_the_angle(r: np.ndarray, s: np.ndarray, share: float):
    a, b = wxyz(Rotation.from_rotvec(r)), wxyz(Rotation.from_rotvec(s))
    middle = value("quat_interpolate", a, b, share)
    whole = value("quat_error_world", b, a)
    assert np.allclose(value("quat_error_world", middle, a), share * whole, atol=1e-14)


def test_left_jacobian_and_its_inverse_are_accurate_across_the_change_of_formula():
    axis = np.array([0.6, -0.64, 0.48])
    S = value("skew", axis)
    for angle in [0.0, 1e-300, 1e-12, 1e-6, 1e-3, 0.099999, 0.100001, 0.5, 2.0, math.pi, 6.0]:
        # ∫₀¹ exp(t S) dt by Gauss-Legendre, which is the definition and shares no formula with the kernel.
        nodes, weights = np.polynomial.legendre.leggauss(30)
        parts = [w / 2 * Rotation.from_rotvec((x + 1) / 2 * angle * axis).as_matrix() for x, w in zip(nodes, weights)]
        J = value("left_jacobian", angle * axis)
        assert np.allclose(J, sum(parts), atol=4e-15)
        assert np.allclose(value("left_jacobian_inverse", angle * axis) @ J, np.eye(3), atol=1e-14)
    assert np.allclose(S @ axis, 0.0)


def test_series_and_closed_forms_meet_where_they_hand_over():
    below, above = np.array([0.1 * (1 - 1e-12), 0, 0]), np.array([0.1 * (1 + 1e-12), 0, 0])
    for name in ("matrix_from_rotation_vector", "left_jacobian", "left_jacobian_inverse"):
        assert np.allclose(value(name, below), value(name, above), atol=2e-13, rtol=0)


@quick
@given(vectors)
def test_intrinsic_xyz_kernels_agree_with_scipy(phi: np.ndarray):
    R = Rotation.from_euler("XYZ", phi).as_matrix()
    assert np.allclose(value("matrix_from_euler_xyz", phi), R, atol=1e-15)
    found = value("euler_xyz_from_matrix", R)
    assert abs(found[1]) <= math.pi / 2
    assert np.allclose(value("matrix_from_euler_xyz", found), R, atol=1e-14)


def test_the_euler_rate_matrix_of_document_004_has_minus_cos_theta_sin_phi():
    phi, rate = np.array([0.4, -0.6, 0.9]), np.array([0.3, -0.5, 0.8])
    T = value("euler_xyz_rate_matrix", phi)
    assert T[1, 2] == pytest.approx(-math.cos(-0.6) * math.sin(0.4), abs=1e-16)
    assert (T @ rate)[1] == pytest.approx(-0.7176511586, abs=5e-11)
    printed = T.copy()
    printed[1, 2] = -math.cos(0.4) * math.sin(0.4)
    assert (printed @ rate)[1] == pytest.approx(-0.7474729334, abs=5e-11)
    step = 1e-6
    ahead, behind = (value("matrix_from_euler_xyz", phi + sign * step * rate) for sign in (1, -1))
    S = (ahead - behind) / (2 * step) @ value("matrix_from_euler_xyz", phi).T
    assert np.allclose(T @ rate, [S[2, 1], S[0, 2], S[1, 0]], atol=1e-9)


def test_the_quaternion_example_of_document_003_turns_y_into_minus_x():
    q, v = np.array([math.sqrt(0.5), 0, 0, math.sqrt(0.5)]), np.array([0.0, 1.0, 0.0])
    assert np.allclose(value("rotate", q, v), [-1, 0, 0], atol=2 * EPS)
    assert np.allclose(value("rotate", value("quat_conjugate", q), v), [1, 0, 0], atol=2 * EPS)


@quick
@given(vectors, vectors)
def test_the_quaternion_error_of_document_004_has_a_plus_sign_in_the_desired_frame(r: np.ndarray, s: np.ndarray):
    C, D = Rotation.from_rotvec(r), Rotation.from_rotvec(s)
    c, d = wxyz(C), wxyz(D)
    common = d[0] * c[1:] - c[0] * d[1:]
    in_desired = common + np.cross(c[1:], d[1:])
    in_base = common - np.cross(c[1:], d[1:])
    relative = value("quat_multiply", value("quat_conjugate", d), c)
    assert np.allclose(relative[1:], in_desired, atol=1e-15)
    assert np.allclose(D.apply(in_desired), in_base, atol=1e-14)
    assert np.allclose(value("quat_multiply", d, relative), c, atol=1e-15)


@quick
@given(vectors, vectors, vectors)
def test_the_vector_part_of_a_quaternion_moves_as_half_e_omega(r: np.ndarray, omega: np.ndarray, gain: np.ndarray):
    q = wxyz(Rotation.from_rotvec(r))
    E, rate = q[0] * np.eye(3) - value("skew", q[1:].copy()), value("quat_rate_world", q, omega)
    assert np.allclose(rate[1:], 0.5 * E @ omega, atol=1e-15)
    # The energy 2 εᵀKε loses exactly the power of the moment 2 EᵀKε (stiffness of document 004).
    K = np.diag(gain**2)
    assert 4 * q[1:] @ K @ rate[1:] == pytest.approx(omega @ (2 * E.T @ K @ q[1:]), abs=1e-12)
