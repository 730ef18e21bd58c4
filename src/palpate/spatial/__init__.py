"""Positions, rotations, poses, twists and wrenches: checked functions over compiled kernels.

Conventions are in docs/notation.md. Every function takes one rotation, vector or pose, or a batch of them: arrays with
further axes in front. Laws and loops call `kernels`, `vector_kernels` and `euler_kernels` directly.
"""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.spatial.euler import (
        SEQUENCES as SEQUENCES,
        euler_from_matrix as euler_from_matrix,
        euler_from_quat as euler_from_quat,
        matrix_from_euler as matrix_from_euler,
        quat_from_euler as quat_from_euler,
    )
    from palpate.spatial.pose import Pose as Pose
    from palpate.spatial.position import (
        cartesian_from_cylindrical as cartesian_from_cylindrical,
        cartesian_from_spherical as cartesian_from_spherical,
        cylindrical_from_cartesian as cylindrical_from_cartesian,
        cylindrical_rate_from_velocity as cylindrical_rate_from_velocity,
        cylindrical_rate_matrix as cylindrical_rate_matrix,
        spherical_from_cartesian as spherical_from_cartesian,
        spherical_rate_from_velocity as spherical_rate_from_velocity,
        spherical_rate_matrix as spherical_rate_matrix,
        velocity_from_cylindrical_rate as velocity_from_cylindrical_rate,
        velocity_from_spherical_rate as velocity_from_spherical_rate,
    )
    from palpate.spatial.rates import (
        angle_axis_rate_from_angular_velocity as angle_axis_rate_from_angular_velocity,
        angle_axis_rate_matrix as angle_axis_rate_matrix,
        angular_velocity_from_angle_axis_rate as angular_velocity_from_angle_axis_rate,
        angular_velocity_from_euler_rate as angular_velocity_from_euler_rate,
        angular_velocity_from_matrix_rate as angular_velocity_from_matrix_rate,
        angular_velocity_from_quat_rate as angular_velocity_from_quat_rate,
        angular_velocity_from_rotation_vector_rate as angular_velocity_from_rotation_vector_rate,
        euler_rate_from_angular_velocity as euler_rate_from_angular_velocity,
        euler_rate_matrix as euler_rate_matrix,
        matrix_rate_from_angular_velocity as matrix_rate_from_angular_velocity,
        quat_rate_from_angular_velocity as quat_rate_from_angular_velocity,
        quat_rate_matrix as quat_rate_matrix,
        rotation_vector_rate_from_angular_velocity as rotation_vector_rate_from_angular_velocity,
        rotation_vector_rate_matrix as rotation_vector_rate_matrix,
    )
    from palpate.spatial.rotation import (
        angle_axis_from_matrix as angle_axis_from_matrix,
        angle_axis_from_quat as angle_axis_from_quat,
        angle_axis_from_rotation_vector as angle_axis_from_rotation_vector,
        interpolate_quat as interpolate_quat,
        interpolate_rotation as interpolate_rotation,
        matrix_from_angle_axis as matrix_from_angle_axis,
        matrix_from_quat as matrix_from_quat,
        matrix_from_rotation_vector as matrix_from_rotation_vector,
        quat_conjugate as quat_conjugate,
        quat_from_angle_axis as quat_from_angle_axis,
        quat_from_matrix as quat_from_matrix,
        quat_from_rotation_vector as quat_from_rotation_vector,
        quat_multiply as quat_multiply,
        rotate as rotate,
        rotation_error as rotation_error,
        rotation_vector_from_angle_axis as rotation_vector_from_angle_axis,
        rotation_vector_from_matrix as rotation_vector_from_matrix,
        rotation_vector_from_quat as rotation_vector_from_quat,
        skew as skew,
    )
    from palpate.spatial.twists import (
        adjoint_twist as adjoint_twist,
        adjoint_wrench as adjoint_wrench,
        rotate_axes as rotate_axes,
        shift_twist as shift_twist,
        shift_wrench as shift_wrench,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)
