"""Orientation errors against scipy, and what each does at 90° and 180°."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.transform import Rotation

from palpate.control.steps.orientation import KINDS, orientation_error
from palpate.errors import BadRotation, NotFinite, UnknownName

quats = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)
START = Rotation.from_rotvec([0.3, -0.8, 0.5])


def wxyz(rotation: Rotation) -> np.ndarray:
    return rotation.as_quat(scalar_first=True)


def turned(angle: float, axis: np.ndarray) -> np.ndarray:
    """Desired orientation, `angle` about the world's `axis` away from START."""
    return wxyz(Rotation.from_rotvec(angle * axis) * START)


@given(quats, quats)
def test_errors_are_what_their_names_say(desired, measured) -> None:
    relative = Rotation.from_quat(desired, scalar_first=True) * Rotation.from_quat(measured, scalar_first=True).inv()
    vector, matrix = relative.as_rotvec(), relative.as_matrix()
    angle = np.linalg.norm(vector)
    if angle > np.pi - 1e-6:
        return  # both ways are right there
    quat = relative.as_quat(canonical=True, scalar_first=True)
    twist = 0.5 * np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    assert orientation_error("rotation-vector", desired, measured) == pytest.approx(vector, abs=1e-9)
    assert orientation_error("quaternion", desired, measured) == pytest.approx(2 * quat[1:], abs=1e-9)
    assert orientation_error("matrix", desired, measured) == pytest.approx(twist, abs=1e-9)


def test_euler_error_is_the_rate_matrix_times_the_angles() -> None:
    desired = turned(1.1, np.array([0.6, 0.0, 0.8]))
    a, b, c = (Rotation.from_quat(desired, scalar_first=True) * START.inv()).as_euler("XYZ")
    about_x, about_y = Rotation.from_euler("X", a), Rotation.from_euler("XY", [a, b])
    wanted = a * np.array([1, 0, 0]) + b * about_x.apply([0, 1, 0]) + c * about_y.apply([0, 0, 1])
    assert orientation_error("euler", desired, wxyz(START)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_small_errors_have_slope_one(kind) -> None:
    axis = np.array([0.36, 0.48, 0.8])
    assert orientation_error(kind, turned(1e-5, axis), wxyz(START)) == pytest.approx(1e-5 * axis, abs=1e-9)
    assert orientation_error(kind, turned(1e-7, axis), wxyz(START)) == pytest.approx(1e-7 * axis, abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@given(quats, quats)
def test_the_sign_of_a_quaternion_never_matters(kind, desired, measured) -> None:
    error = orientation_error(kind, desired, measured)
    assert np.isfinite(error).all()
    flipped = orientation_error(kind, -np.array(desired), measured)
    if np.linalg.norm(orientation_error("rotation-vector", desired, measured)) < np.pi - 1e-9:
        assert flipped == pytest.approx(error, abs=1e-12)
        assert orientation_error(kind, desired, -np.array(measured)) == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "size"), [("rotation-vector", np.pi), ("quaternion", 2.0), ("matrix", 0.0), ("euler", np.pi)]
)
def test_at_180_degrees(kind, size) -> None:
    half_turn = orientation_error(kind, [0, 1, 0, 0], [1, 0, 0, 0])
    assert np.linalg.norm(half_turn) == pytest.approx(size, abs=1e-12)


def test_the_shorter_way_is_taken_on_both_sides_of_180_degrees() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    for kind in ("rotation-vector", "quaternion", "matrix"):
        assert orientation_error(kind, turned(3.0, axis), wxyz(START)) @ axis > 0
        assert orientation_error(kind, turned(3.3, axis), wxyz(START)) @ axis < 0


def test_the_matrix_error_is_largest_at_90_degrees_and_the_quaternion_error_keeps_growing() -> None:
    axis, angles = np.array([0.0, 1.0, 0.0]), np.linspace(0.1, 3.1, 31)
    sizes = {k: [np.linalg.norm(orientation_error(k, turned(a, axis), wxyz(START))) for a in angles] for k in KINDS}
    assert angles[np.argmax(sizes["matrix"])] == pytest.approx(np.pi / 2, abs=0.1)
    assert (np.diff(sizes["quaternion"]) > 0).all()
    assert sizes["quaternion"] == pytest.approx(2 * np.sin(angles / 2), abs=1e-9)


def test_the_euler_error_jumps_where_its_middle_angle_is_90_degrees() -> None:
    nudge = Rotation.from_rotvec([0, np.pi / 2, 0])
    near = [wxyz(Rotation.from_rotvec([s * 1e-6, 0, s * 1e-6]) * nudge) for s in (-1, 1)]
    one, other = (orientation_error("euler", quat, [1, 0, 0, 0]) for quat in near)
    assert np.linalg.norm(one - other) > 0.1
    smooth = [orientation_error("rotation-vector", quat, [1, 0, 0, 0]) for quat in near]
    assert np.linalg.norm(smooth[0] - smooth[1]) < 1e-5


def test_bad_input_is_refused() -> None:
    with pytest.raises(UnknownName, match="rotation-vector"):
        orientation_error("rotation", [1, 0, 0, 0], [1, 0, 0, 0])  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFinite, match="nan"):
        orientation_error("matrix", [np.nan, 0, 0, 0], [1, 0, 0, 0])
    with pytest.raises(BadRotation):
        orientation_error("matrix", [0, 0, 0, 0], [1, 0, 0, 0])
