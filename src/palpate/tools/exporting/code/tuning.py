"""Changes while an exported law runs, as kernels: its gains, what it carries, and how it takes a target.

Every change is eased in along a minimum-jerk curve, s³ (10 − 15 s + 6 s²), so that neither the torque nor its rate
jumps by it.
"""

from __future__ import annotations

from palpate.control.friction import Compensation
from palpate.control.steps.linear_algebra import cholesky
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Integers, Matrix, Record, Vector, sized
from palpate.equations.code.tree_program import update_constants
from palpate.equations.model.symbols import INERTIAL
from palpate.spatial.kernels import matrix_from_quat, quat_normalize
from palpate.tools.exporting.code.own_model import OwnModel

EASE = 0.5  # s, in which a change is eased in unless ease is called
FREE, DEFINITE, SCALED = 1, 2, 3  # how a gain may be changed: each number, a 6×6 as a whole, by one factor
FOLLOWING, HOLD_NEXT, HOLDING, EASING = 0, 1, 2, 3  # how the target is taken
# Numbers of a setup, in the order of its struct.
MASS, CENTRE, POSITION, TURN, GRAVITY, SHARE, SETUP = 0, 1, 4, 7, 11, 14, 15
_SYMMETRIC = 1e-9


class GainEase(Record):
    """Gains as words in the struct's order: those asked for, those before; and how far the change is."""

    seconds: float = EASE
    start: float = -1.0  # s, −1 until the next tick
    easing: bool = False
    wanted: Integers = sized("words")
    before: Integers = sized("words")
    scratch: Matrix = sized(6, 6)


class Setup(Record):
    """Payload, tool, gravity and friction: asked for, before, and now; and what the arm was exported with."""

    start: float = -1.0
    easing: bool = False
    wanted: Vector = sized(SETUP)
    before: Vector = sized(SETUP)
    now: Vector = sized(SETUP)
    low: Vector = sized(SETUP)
    high: Vector = sized(SETUP)
    own: OwnModel
    link: int  # that the tool is fixed on
    links: int
    inertial: Vector = sized(10)  # of that link
    tool_position: Vector = sized(3)  # on that link
    tool_rotation: Matrix = sized(3, 3)
    pose: Vector = sized(12)  # of the tool, as the model has it
    friction: Compensation
    R: Matrix = sized(3, 3)  # scratch
    c: Vector = sized(3)


@kernel
def min_jerk(s: float) -> float:
    """s³ (10 − 15 s + 6 s²), 0 before and 1 after."""
    s = min(max(s, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@kernel
def is_definite(A: Matrix, numbers: Vector, most: float) -> bool:
    """Whether 36 numbers are a symmetric, positive semidefinite 6×6 whose diagonal is at most `most`; A is scratch."""
    largest = 0.0
    for i in range(6):
        largest = max(largest, abs(numbers[7 * i]))
        if not numbers[7 * i] <= most:
            return False
    for i in range(6):
        for j in range(6):
            if not abs(numbers[6 * i + j] - numbers[6 * j + i]) <= _SYMMETRIC * largest:
                return False
            A[i, j] = numbers[6 * i + j] + (_SYMMETRIC * largest + 1e-300 if i == j else 0.0)
    return largest == 0.0 or cholesky(A, 6)


@kernel
def is_scaled(numbers: Vector, exported: Vector) -> bool:
    """Whether numbers are the exported ones times one factor between 0 and 1."""
    at = 0
    for i in range(exported.size):
        if abs(exported[i]) > abs(exported[at]):
            at = i
    factor = numbers[at] / exported[at] if exported[at] != 0.0 else 0.0
    if not 0.0 <= factor <= 1.0:
        return False
    for i in range(exported.size):
        if not abs(numbers[i] - factor * exported[i]) <= _SYMMETRIC * abs(exported[at]):
            return False
    return True


@kernel
def setup_is_sound(s: Setup, given: Vector) -> bool:
    """Whether numbers of a setup are within their bounds, and its quaternion of norm 1."""
    norm = 0.0
    for k in range(SETUP):
        if not s.low[k] <= given[k] <= s.high[k]:
            return False
    for k in range(4):
        norm += given[TURN + k] ** 2
    return abs(norm - 1.0) <= 2e-6


@kernel
def ease_setup(s: Setup, t: float, seconds: float) -> None:
    """Go on with a change of the setup: the model's parameters follow."""
    if not s.easing:
        return
    if s.start < 0.0:
        s.start = t
    share = 1.0 if seconds == 0.0 else min_jerk((t - s.start) / seconds)
    dot = 0.0
    for k in range(4):
        dot += s.before[TURN + k] * s.wanted[TURN + k]
    for k in range(SETUP):
        flips = -1.0 if dot < 0.0 and TURN <= k < GRAVITY else 1.0
        s.now[k] = s.before[k] + share * (flips * s.wanted[k] - s.before[k])
    quat_normalize(s.now[TURN:GRAVITY])
    if share == 1.0:
        put(s.now, 0, s.wanted)
        s.easing = False
    _carry(s)
    _move_tool(s)


@kernel
def _carry(s: Setup) -> None:
    """The payload as a point mass on the tool's link, and gravity, in the model's parameters."""
    p, at, m, c = s.own.code.p, INERTIAL * s.link, s.now[MASS], s.c
    for i in range(3):
        p[INERTIAL * s.links + i] = s.now[GRAVITY + i]
        c[i] = s.tool_position[i]
        for j in range(3):
            c[i] += s.tool_rotation[i, j] * s.now[CENTRE + j]
    own, total = s.inertial[0], s.inertial[0] + m
    p[at] = total
    squares = 0.0
    reduced = own * m / total if total > 0.0 else 0.0  # of the two masses about their common centre
    for i in range(3):
        if total > 0.0:
            p[at + 1 + i] = s.inertial[1 + i] + m / total * (c[i] - s.inertial[1 + i])
        squares += (c[i] - s.inertial[1 + i]) ** 2
    for k in range(6):  # xx yy zz xy xz yz
        i, j = (k, k) if k < 3 else ((0, 1) if k == 3 else (0, 2) if k == 4 else (1, 2))
        product = (c[i] - s.inertial[1 + i]) * (c[j] - s.inertial[1 + j])
        p[at + 4 + k] = s.inertial[4 + k] + reduced * ((squares if k < 3 else 0.0) - product)
    update_constants(s.own.code)


@kernel
def _move_tool(s: Setup) -> None:
    """The tool's pose on its link: the exported one, then `position` and `quat_wxyz` in its axes."""
    pose, frame, R = s.own.tool.pose, s.pose, s.R
    matrix_from_quat(s.now[TURN:GRAVITY], R)
    for i in range(3):
        pose[i] = frame[i]
        for j in range(3):
            pose[i] += frame[3 + 3 * i + j] * s.now[POSITION + j]
            pose[3 + 3 * i + j] = 0.0
            for k in range(3):
                pose[3 + 3 * i + j] += frame[3 + 3 * i + k] * R[k, j]


@kernel
def add_friction(s: Setup, v: Vector, knee: float, torque: Vector) -> None:
    """torque += share (D̂ v + F̂ sat(v / v₀))."""
    share, c = s.now[SHARE], s.friction
    if share > 0.0:
        for j in range(torque.size):
            torque[j] += share * (c.viscous[j] * v[j] + c.coulomb[j] * min(max(v[j] / knee, -1.0), 1.0))
