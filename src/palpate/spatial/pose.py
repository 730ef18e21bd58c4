"""Poses: a position and a rotation, with the exponential, logarithm and interpolation of SE(3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput
from palpate.spatial import kernels
from palpate.spatial.inputs import TOLERANCE, checked_rotation, checked_rotation_vector, checked_vector, filled
from palpate.spatial.rotation import (
    checked_points,
    matrix_from_quat,
    matrix_from_rotation_vector,
    quat_from_matrix,
    rotation_error,
    rotation_vector_from_matrix,
)


@dataclass(frozen=True, eq=False)
class Pose:
    """Where a frame is: X_AB is the pose of B in A, and p_A = rotation · p_B + position.

    Neighbouring letters meet and vanish: X_AB @ X_BC is X_AC. The arrays are read-only copies.

    Attributes:
        position: origin of B in A, m, (3,).
        rotation: R_AB, (3, 3); its columns are the axes of B in A.
    """

    position: Array
    rotation: Array

    __array_ufunc__ = None  # numpy shall not take X @ array for a product of its own

    def __init__(self, position: ArrayLike, rotation: ArrayLike) -> None:
        object.__setattr__(self, "position", _frozen(checked_vector(position, "position")))
        object.__setattr__(self, "rotation", _frozen(checked_rotation(rotation, "rotation")))

    @classmethod
    def identity(cls) -> Pose:
        """The pose of a frame in itself."""
        return cls(np.zeros(3), np.eye(3))

    @classmethod
    def from_quat(cls, position: ArrayLike, quat_wxyz: ArrayLike) -> Pose:
        """From a position and a unit quaternion wxyz."""
        return cls(position, matrix_from_quat(quat_wxyz))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """From a homogeneous matrix [R p; 0 1]."""
        matrix = finite_array(matrix, "matrix", (4, 4))
        if np.abs(matrix[3] - [0.0, 0.0, 0.0, 1.0]).max() > TOLERANCE:
            raise InvalidInput(
                f"the last row of a homogeneous matrix must be 0 0 0 1, got {matrix[3]}",
                hint="is it transposed?",
            )
        return cls(matrix[:3, 3], matrix[:3, :3])

    @classmethod
    def exp(cls, twist: ArrayLike) -> Pose:
        """Exponential of SE(3): where moving with the constant body twist [v; ω] leads in unit time.

        exp [S(ω) v; 0 0] = [exp S(ω), J(ω) v; 0 1], with J the left Jacobian of SO(3).
        """
        twist = finite_array(twist, "twist", (6,))
        omega = checked_rotation_vector(twist[3:], "angular part of twist")
        return cls(filled(kernels.left_jacobian, (3, 3), omega) @ twist[:3], matrix_from_rotation_vector(omega))

    @property
    def quat_wxyz(self) -> Array:
        """The rotation as a unit quaternion wxyz, w ≥ 0."""
        return quat_from_matrix(self.rotation)

    @property
    def matrix(self) -> Array:
        """The homogeneous matrix [R p; 0 1]."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self.rotation, self.position
        return matrix

    def __matmul__(self, other: Pose) -> Pose:
        """X_AB @ X_BC = X_AC."""
        other = checked_pose(other, "the right side of X @ Y")
        return Pose(self.rotation @ other.position + self.position, self.rotation @ other.rotation)

    def inverse(self) -> Pose:
        """X_BA of X_AB."""
        return Pose(-self.rotation.T @ self.position, self.rotation.T)

    def apply(self, points: ArrayLike) -> Array:
        """p_A = R_AB p_B + position, for one point (3,) or many (N, 3), m."""
        return checked_points(points, "points") @ self.rotation.T + self.position

    def log(self) -> Array:
        """The twist [v; ω] with `Pose.exp(twist)` equal to this pose and |ω| ≤ π."""
        omega = rotation_vector_from_matrix(self.rotation)
        J_inverse = filled(kernels.left_jacobian_inverse, (3, 3), omega)
        return np.concatenate([J_inverse @ self.position, omega])

    def interpolate(self, other: Pose, s: float) -> Pose:
        """X exp(s log(X⁻¹ Y)): one screw motion, this pose at s = 0 and `other` at s = 1."""
        other = checked_pose(other, "other")
        return self @ Pose.exp(finite_number(s, "s") * (self.inverse() @ other).log())

    def error_to(self, desired: Pose) -> Array:
        """Desired − measured, in the axes both poses are given in: [p_d − p; log(R_d Rᵀ)], m and rad."""
        desired = checked_pose(desired, "desired")
        orientation_error = rotation_error(desired.rotation, self.rotation)
        return np.concatenate([desired.position - self.position, orientation_error])

    def __reduce__(self) -> tuple[type[Pose], tuple[Array, Array]]:
        # Going through the constructor keeps the copies of a pickled pose read-only.
        return Pose, (self.position, self.rotation)


def checked_pose(value: Pose, name: str) -> Pose:
    """`value`, refused unless it is a Pose."""
    if not isinstance(value, Pose):
        raise InvalidInput(
            f"{name} must be a Pose, got {type(value).__name__}",
            hint="Pose.from_matrix makes one of a 4×4 matrix; X.apply(points) moves points",
        )
    return value


def _frozen(array: Array) -> Array:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
