"""Several frames of a robot at one state by its compiled equations, for kernels that go on with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palpate.engine.kernels import kernel
from palpate.engine.records import ReadVector, Record
from palpate.equations.code.tree_program import FrameTerms, TreeCode, TreePlace, TreeTerms, compute_frame, compute_terms
from palpate.robot.mechanics.kernels import OK
from palpate.robot.mechanics.tree_kernels import BAD_SHAPE, check_state

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


class RobotFrames(Record):
    """Frames of a robot, and what a state makes of them: M, bias, gravity, poses, Jacobians and drifts."""

    nq: int
    nv: int
    code: TreeCode
    terms: TreeTerms
    places: list[TreePlace]
    frames: list[FrameTerms]


@kernel
def update_robot_frames(q: ReadVector, v: ReadVector, w: RobotFrames) -> int:
    """The terms and every frame at a state, or why there are none (a status of `tree_kernels`)."""
    if q.size != w.nq or v.size != w.nv:
        return BAD_SHAPE
    status = check_state(q, v, 7 if q.size > v.size else 0)
    if status == OK:
        compute_terms(w.code, q, v, w.terms)
        for k in range(len(w.frames)):
            compute_frame(w.code, w.terms, w.places[k], w.frames[k])
    return status


def robot_frames(robot: Robot, names: Sequence[str]) -> RobotFrames:
    """Frames of a robot by name, with scratch of its own."""
    program = robot.program
    sizes = {"nv": robot.nv, "links": program.sizes.links}
    return RobotFrames(
        nq=robot.nq,
        nv=robot.nv,
        code=program.code,
        terms=TreeTerms(sizes),
        places=[robot.equations.frame(name) for name in names],
        frames=[FrameTerms(sizes) for _ in names],
    )
