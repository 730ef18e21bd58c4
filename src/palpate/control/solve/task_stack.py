"""A stack of tasks in compiled code: rows of frames and joints, then `solve_stack` within torque limits.

Entry k wants J_k v̇ + J̇_k v = a_k with a_k = kp e + kd (ẋ_d − J_k v) + a_d, over the directions S it names: of a frame,
J_k = S J and e = S [p_d − p; log(R_d Rᵀ)]; of the joints, J_k = S and e = S (q_d − q). The tool's goal is the tick's
target; another frame's is where the wanted posture q_d puts it.
"""

from __future__ import annotations

import math

from palpate.control.solve.hierarchy import solve_stack
from palpate.control.solve.stack import Stack
from palpate.control.steps.frames import BodyMotions, BodyTree, frame_pose, move_tree, point_drift, point_jacobian
from palpate.control.tick import Tick
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Matrix, Record, Vector, sized
from palpate.engine.views import part
from palpate.robot.mechanics.kernels import FrameOnBody
from palpate.spatial.kernels import matrix_from_quat, rotation_vector_from_matrix

_MET = 1e-9  # of a task's scale


class StackEntry(Record):
    """One task: its gains, and S over a frame's six directions or over the joints."""

    frame: int  # its index among the frames, −1 for the joints
    first: int  # its first row in the stack
    kp: float
    kd: float
    root_weight: float
    S: Matrix = sized("rows", "width")


class FrameNow(Record):
    """A frame of the stack: where it is and how joints move it, and where it should be; world axes."""

    frame: FrameOnBody
    tool: bool
    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    J: Matrix = sized(6, "nv")
    drift: Vector = sized(6)
    goal_position: Vector = sized(3)
    goal_rotation: Matrix = sized(3, 3)
    goal_twist: Vector = sized(6)
    goal_acceleration: Vector = sized(6)
    R_error: Matrix = sized(3, 3)
    error: Vector = sized(6)
    twist: Vector = sized(6)


class TaskStack(Record):
    """Everything a tick writes: the frames, the rows of the stack, and what the answer misses."""

    entries: list[StackEntry]
    starts: Integers  # the first row of each level, and how many rows there are
    frames: list[FrameNow]
    tree: BodyTree  # of the frames that are not the tool
    now: BodyMotions  # at the measured state,
    wanted: BodyMotions  # and at the wanted one
    J: Matrix = sized("rows", "nv")  # of every entry, before weights
    a: Vector = sized("rows")  # what J v̇ should be
    stack: Stack
    most: Vector = sized("nv")


@kernel
def _update_tool(x: Tick, f: FrameNow) -> None:
    put(f.position, 0, x.position)
    put(f.drift, 0, x.drift)
    for i in range(6):
        put(f.J[i], 0, x.J[i])
    for i in range(3):
        put(f.rotation[i], 0, x.rotation[i])
    put(f.goal_position, 0, x.target.position)
    put(f.goal_twist, 0, x.target.twist)
    put(f.goal_acceleration, 0, x.target.acceleration)
    matrix_from_quat(x.target.quat_wxyz, f.goal_rotation)


@kernel
def _update_frame(x: Tick, t: TaskStack, f: FrameNow) -> None:
    """A frame that is not the tool; its goal is where the wanted posture puts it."""
    target, body = x.target, f.frame.body
    frame_pose(t.wanted, f.frame, f.goal_position, f.goal_rotation)
    point_jacobian(t.tree, t.wanted, body, f.goal_position, f.J)
    point_drift(t.wanted, body, f.goal_position, f.drift)
    for i in range(6):
        f.goal_twist[i], f.goal_acceleration[i] = 0.0, f.drift[i]
        for j in range(target.v.size):
            f.goal_twist[i] += f.J[i, j] * target.v[j]
            f.goal_acceleration[i] += f.J[i, j] * target.a[j]
    frame_pose(t.now, f.frame, f.position, f.rotation)
    point_jacobian(t.tree, t.now, body, f.position, f.J)
    point_drift(t.now, body, f.position, f.drift)


@kernel
def _find_errors(x: Tick, f: FrameNow) -> None:
    """e = [p_d − p; log(R_d Rᵀ)], and V = J v."""
    for i in range(3):
        f.error[i] = f.goal_position[i] - f.position[i]
        for j in range(3):
            f.R_error[i, j] = dot(f.goal_rotation[i], f.rotation[j], 3)
    rotation_vector_from_matrix(f.R_error, part(f.error, 3, 3))
    for i in range(6):
        f.twist[i] = dot(f.J[i], x.v, x.v.size)


@kernel
def _update_frames(x: Tick, t: TaskStack) -> None:
    """Every frame of the stack, and its goal."""
    move_tree(t.tree, x.q, x.v, t.now)
    move_tree(t.tree, x.target.q, x.target.v, t.wanted)
    for k in range(len(t.frames)):
        f = t.frames[k]
        if f.tool:
            _update_tool(x, f)
        else:
            _update_frame(x, t, f)
        _find_errors(x, f)


@kernel
def _frame_rows(e: StackEntry, f: FrameNow, J: Matrix, a: Vector) -> None:
    """J_k = S J, a_k = kp S e + kd S (V_d − V) + S (A_d − J̇ v)."""
    for i in range(e.S.shape[0]):
        row = e.first + i
        a[row] = 0.0
        clear(J[row])
        for k in range(6):
            s = e.S[i, k]
            if s != 0.0:
                rate = f.goal_twist[k] - f.twist[k]
                a[row] += s * (e.kp * f.error[k] + e.kd * rate + f.goal_acceleration[k] - f.drift[k])
                for j in range(J.shape[1]):
                    J[row, j] += s * f.J[k, j]


@kernel
def _joint_rows(x: Tick, e: StackEntry, J: Matrix, a: Vector) -> None:
    """J_k = S, a_k = S (kp (q_d − q) + kd (v_d − v) + a_d)."""
    for i in range(e.S.shape[0]):
        row = e.first + i
        a[row] = 0.0
        for j in range(J.shape[1]):
            s = J[row, j] = e.S[i, j]
            if s != 0.0:
                wish = e.kp * (x.target.q[j] - x.q[j]) + e.kd * (x.target.v[j] - x.v[j]) + x.target.a[j]
                a[row] += s * wish


@kernel
def _fill(x: Tick, t: TaskStack) -> bool:
    """The rows of all entries, weighted, in the stack; False where one is no number."""
    level = t.stack.level
    for k in range(len(t.entries)):
        e = t.entries[k]
        if e.frame < 0:
            _joint_rows(x, e, t.J, t.a)
        else:
            _frame_rows(e, t.frames[e.frame], t.J, t.a)
        for i in range(e.first, e.first + e.S.shape[0]):
            level.b[i] = e.root_weight * t.a[i]
            if not math.isfinite(level.b[i]):
                return False
            for j in range(t.J.shape[1]):
                level.A[i, j] = e.root_weight * t.J[i, j]
                if not math.isfinite(level.A[i, j]):
                    return False
    return True


@kernel
def _limit(x: Tick, t: TaskStack) -> None:
    """−τ_max − b ≤ M v̇ ≤ τ_max − b."""
    s = t.stack.search
    for i in range(t.most.size):
        s.lower[i], s.upper[i] = -t.most[i] - x.bias[i], t.most[i] - x.bias[i]
        s.x[i] = 0.0
        put(s.C[i], 0, x.M[i])


@kernel
def update_tasks(x: Tick, t: TaskStack) -> bool:
    """Every frame and the rows of every entry at a tick; False where one is no number."""
    _update_frames(x, t)
    return _fill(x, t)


@kernel
def solve_levels(x: Tick, t: TaskStack, count: int, torque: Vector) -> tuple[float, bool]:
    """τ = M v̇ + b of the first levels within |τ| ≤ most: (by how many widths limits were relaxed, whether solved)."""
    _limit(x, t)
    for k in range(t.starts.size):  # levels below have no rows
        t.stack.starts[k] = min(t.starts[k], t.starts[count])
    relaxed, failed = solve_stack(t.stack)
    v_dot = t.stack.search.x
    for i in range(torque.size):
        torque[i] = x.bias[i]
        for j in range(torque.size):
            torque[i] += x.M[i, j] * v_dot[j]
        if not math.isfinite(torque[i]):
            return relaxed, False
        torque[i] = min(max(torque[i], -t.most[i]), t.most[i])
    return relaxed, failed == 0


@kernel
def entry_residual(e: StackEntry, t: TaskStack) -> float:
    """|J_k v̇ − a_k| of an entry, 0 where it is met to 1e-9 of its scale."""
    worst, scale, size, v_dot = 0.0, 1.0, 0.0, t.stack.search.x
    for i in range(e.first, e.first + e.S.shape[0]):
        miss = -t.a[i]
        for j in range(v_dot.size):
            miss += t.J[i, j] * v_dot[j]
        worst, scale, size = max(worst, abs(miss)), max(scale, 1.0 + abs(t.a[i])), size + miss * miss
    return math.sqrt(size) if worst > _MET * scale else 0.0
