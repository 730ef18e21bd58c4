"""Compiled answers to one question at a state: each stages the state and reads a term of it."""

from __future__ import annotations

from palpate.engine.kernels import kernel, put
from palpate.engine.library import (
    mj_inverse,
)
from palpate.engine.physics import Physics
from palpate.engine.records import Matrix, ReadVector, Vector
from palpate.robot.mechanics.kernels import (
    BAD_INPUT,
    OK,
    FrameOnBody,
    all_finite,
    read_jacobian,
    read_pose,
    stage_position,
    stage_state,
)


@kernel
def pose_and_jacobian(
    p: Physics, q: ReadVector, frame: FrameOnBody, position: Vector, rotation: Matrix, J: Matrix
) -> int:
    """Pose and geometric Jacobian of a frame."""
    status = stage_position(p, q)
    if status == OK:
        read_pose(p, frame, position, rotation)
        read_jacobian(p, frame.body, position, J)
    return status


@kernel
def inverse_dynamics(p: Physics, q: ReadVector, v: ReadVector, a: ReadVector, out: Vector) -> int:
    """tau that gives q̈ = a, with the model's damping, springs, Coulomb friction and coupled joints."""
    status = stage_state(p, q, v)
    if status != OK:
        return status
    if not all_finite(a):
        return BAD_INPUT
    for i in range(p.nv):
        p.qacc[i] = a[i]
    mj_inverse(p.model, p.data)
    put(out, 0, p.qfrc_inverse)
    return OK
