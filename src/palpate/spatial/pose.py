"""Poses, with the exponential, logarithm and interpolation of SE(3).

Everything takes batches: positions (…, 3), rotations (…, 3, 3), twists (…, 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.spatial import inputs, kernels, rotation as rotations
from palpate.spatial.inputs import TOLERANCE, common_batch, product, result_of, times, transposed


@dataclass(frozen=True, eq=False)
class Pose:
    """Where a frame is: X_AB is the pose of B in A, and p_A = rotation · p_B + position.

    Neighbouring letters meet and vanish: X_AB @ X_BC is X_AC. The arrays are read-only copies. Many poses at once are
    one `Pose` whose arrays have further axes in front; a single one beside them is taken for each.

    Attributes:
        position: origin of B in A, m, (…, 3).
        rotation: R_AB, (…, 3, 3); its columns are the axes of B in A.
    """

    position: Array
    rotation: Array

    __array_ufunc__ = None  # numpy shall not take X @ array for a product of its own

    def __init__(self, position: ArrayLike, rotation: ArrayLike) -> None:
        p, R = inputs.vector(position, "position"), inputs.rotation(rotation, "rotation")
        if p.ndim > 1 or R.ndim > 2:
            batch = common_batch(p.shape[:-1], R.shape[:-2])
            p, R = np.broadcast_to(p, (*batch, 3)), np.broadcast_to(R, (*batch, 3, 3))
        object.__setattr__(self, "position", _frozen(p))
        object.__setattr__(self, "rotation", _frozen(R))

    @classmethod
    def identity(cls) -> Pose:
        """The pose of a frame in itself."""
        return cls(np.zeros(3), np.eye(3))

    @classmethod
    def from_quat(cls, position: ArrayLike, quat_wxyz: ArrayLike) -> Pose:
        """From a position and a unit quaternion wxyz."""
        return cls(position, rotations.matrix_from_quat(quat_wxyz))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """From a homogeneous matrix [R p; 0 1]."""
        matrix = inputs.numbers(matrix, "matrix", (4, 4))
        if np.abs(matrix[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0) > TOLERANCE:
            raise InvalidInput(
                f"the last row of a homogeneous matrix must be 0 0 0 1, got {matrix[..., 3, :]}",
                hint="is it transposed?",
            )
        return cls(matrix[..., :3, 3], matrix[..., :3, :3])

    @classmethod
    def exp(cls, twist: ArrayLike) -> Pose:
        """Exponential of SE(3): where moving with the constant body twist [v; ω] leads in unit time.

        exp [S(ω) v; 0 0] = [exp S(ω), J(ω) v; 0 1], with J the left Jacobian of SO(3).
        """
        twist = inputs.numbers(twist, "twist", (6,))
        omega = inputs.rotation_vector(twist[..., 3:], "angular part of twist")
        position = times(result_of(kernels.left_jacobian, (3, 3), omega), twist[..., :3])
        return cls(position, rotations.matrix_from_rotation_vector(omega))

    @property
    def quat_wxyz(self) -> Array:
        """The rotation as a unit quaternion wxyz, w ≥ 0."""
        return rotations.quat_from_matrix(self.rotation)

    @property
    def matrix(self) -> Array:
        """The homogeneous matrix [R p; 0 1]."""
        matrix = np.zeros((*self.position.shape[:-1], 4, 4))
        matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = self.rotation, self.position, 1.0
        return matrix

    def __matmul__(self, other: Pose) -> Pose:
        """X_AB @ X_BC = X_AC."""
        other = checked_pose(other, "the right side of X @ Y")
        return Pose(times(self.rotation, other.position) + self.position, product(self.rotation, other.rotation))

    def inverse(self) -> Pose:
        """X_BA of X_AB."""
        return Pose(times(-transposed(self.rotation), self.position), transposed(self.rotation))

    def apply(self, points: ArrayLike) -> Array:
        """p_A = R_AB p_B + position, m, for points (…, 3); of many poses each takes its own point."""
        return rotations.rotate_vectors(self.rotation, inputs.vector(points, "points")) + self.position

    def log(self) -> Array:
        """The twist [v; ω] with `Pose.exp(twist)` equal to this pose and |ω| ≤ π."""
        omega = rotations.rotation_vector_from_matrix(self.rotation)
        J_inverse = result_of(kernels.left_jacobian_inverse, (3, 3), omega)
        return np.concatenate([times(J_inverse, self.position), omega], axis=-1)

    def interpolate(self, other: Pose, s: ArrayLike) -> Pose:
        """X exp(s log(X⁻¹ Y)): one screw motion, this pose at s = 0 and `other` at s = 1."""
        other = checked_pose(other, "other")
        return self @ Pose.exp(np.asarray(inputs.number(s, "s"))[..., None] * (self.inverse() @ other).log())

    def error_to(self, desired: Pose) -> Array:
        """Desired − measured, in the axes both poses are given in: [p_d − p; log(R_d Rᵀ)], m and rad."""
        desired = checked_pose(desired, "desired")
        orientation_error = rotations.rotation_error(desired.rotation, self.rotation)
        return np.concatenate([desired.position - self.position, orientation_error], axis=-1)

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
