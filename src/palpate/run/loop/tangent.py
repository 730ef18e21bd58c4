"""One control tick differentiated in place: every number of the state is moved a little both ways, and the tick run.

    A[:, j] = (x⁺(x + h eⱼ) − x⁺(x − h eⱼ)) / 2h

x are the coordinates of the state that `run.tangent.tick_map` chooses among the words that a run carries from tick to
tick; rotations are moved and compared in their tangent space. The same is done for a wrench held at the tool.
"""

from __future__ import annotations

from palpate.engine.carried import gather, put_real, put_word, real_at, scatter
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.maths import cos, sin
from palpate.engine.records import IntegerMatrix, Integers, Matrix, Record, Vector, sized
from palpate.run.loop.acting_forces import read_tool
from palpate.run.loop.loop import run_steps
from palpate.run.loop.physics import stage_plant
from palpate.run.loop.state import RUNNING, Loop
from palpate.spatial.kernels import quat_conjugate, quat_multiply

WRENCH = 6  # inputs of a wrench at the tool; after them as many that its sensor reads and that do not act, then torques
_SAME = 1e-6  # of a step: rounding of a number that was moved and left there


class Tangent(Record):
    """A tick's map and the work of finding it. Sizes: words carried, n coordinates of the state, columns moved."""

    addresses: Integers  # of the words
    real: Integers = sized("words")  # 1 where a word is a number with a fraction
    before: Integers = sized("words")  # the tick,
    after: Integers = sized("words")  # and after it, unmoved
    now: Integers = sized("words")
    word: Integers = sized("n")  # of a coordinate; of a rotation, the first of its four
    axis: Integers = sized("n")  # about which a rotation is moved; −1 for a plain number
    step: Vector = sized("n")  # h
    rest: Vector = sized("n")  # plain numbers after the unmoved tick
    group: Integers = sized("n")  # of coordinates that are tried together before each is moved; −1 for none
    read: Integers = sized("groups")  # whether the tick reads any of a group
    waits: Integers = sized("n")  # 1 where a coordinate that is not read is left as it is
    trial: Vector = sized("n")
    moved: Integers = sized("columns")  # coordinates that are moved, one for each column
    plus: Matrix = sized("columns", "n")  # x⁺(x + h eⱼ) − x⁺(x), a row for each column moved,
    minus: Matrix = sized("columns", "n")
    twist_plus: Matrix = sized("columns", 6)  # and the tool's twist before the tick
    twist_minus: Matrix = sized("columns", 6)
    changed: IntegerMatrix = sized("columns", 2)  # the first whole number that came out otherwise, −1 for none
    probing: int = 0  # inputs that are answered; the tool's twist is read where there are any
    probe_step: float = 0.0
    pushed_plus: Matrix = sized("inputs", "n")
    pushed_minus: Matrix = sized("inputs", "n")
    repeats: bool = True  # whether the unmoved tick, run again at the end, gave the same bits
    probed: bool = False  # before an input was set,
    bias: float = 0.0  # and what the sensor's was
    quat: Vector = sized(4)  # scratch
    quat_rest: Vector = sized(4)
    quat_move: Vector = sized(4)


@kernel
def _read_quat(T: Tangent, j: int, out: Vector) -> None:
    for i in range(4):
        out[i] = real_at(T.addresses[T.word[j] + i])  # pyright: ignore[reportCallIssue]


@kernel
def move(T: Tangent, j: int, side: float) -> None:
    """Move one coordinate by ± its step: a number, or a rotation about one of its own axes."""
    address, h = T.addresses[T.word[j]], side * T.step[j]
    if T.axis[j] < 0:
        put_real(address, real_at(address) + h)  # pyright: ignore[reportCallIssue]
        return
    _read_quat(T, j, T.quat)
    clear(T.quat_move)
    T.quat_move[0], T.quat_move[1 + T.axis[j]] = cos(0.5 * h), sin(0.5 * h)
    quat_multiply(T.quat, T.quat_move, T.quat_rest)
    for i in range(4):
        put_real(T.addresses[T.word[j] + i], T.quat_rest[i])  # pyright: ignore[reportCallIssue]


@kernel
def begin(T: Tangent) -> None:
    """Note the state before the tick."""
    gather(T.addresses, T.before)


@kernel
def note_rest(T: Tangent) -> None:
    """Note the state after the unmoved tick."""
    gather(T.addresses, T.after)
    for j in range(T.word.size):
        T.rest[j] = real_at(T.addresses[T.word[j]])  # pyright: ignore[reportCallIssue]


@kernel
def set_back(T: Tangent) -> None:
    """Let the state be that before the tick."""
    scatter(T.addresses, T.before)


@kernel
def read_difference(T: Tangent, out: Vector) -> None:
    """out = x⁺ − x⁺ of the unmoved tick; of a rotation 2 vec(q₀⁻¹ q), in its own axes."""
    gather(T.addresses, T.now)
    last = -1
    for j in range(T.word.size):
        if T.axis[j] < 0:
            out[j] = real_at(T.addresses[T.word[j]]) - T.rest[j]  # pyright: ignore[reportCallIssue]
            continue
        if T.word[j] != last:
            last = T.word[j]
            _relative_rotation(T, j)
        out[j] = 2.0 * T.quat[1 + T.axis[j]]


@kernel
def _relative_rotation(T: Tangent, j: int) -> None:
    """T.quat = q₀⁻¹ q, its w positive; q₀ is read from where it is written for that."""
    first = T.word[j]
    for i in range(4):
        T.quat[i] = real_at(T.addresses[first + i])  # pyright: ignore[reportCallIssue]
        put_word(T.addresses[first + i], T.after[first + i])  # pyright: ignore[reportCallIssue]
        T.quat_rest[i] = real_at(T.addresses[first + i])  # pyright: ignore[reportCallIssue]
        put_word(T.addresses[first + i], T.now[first + i])  # pyright: ignore[reportCallIssue]
    quat_conjugate(T.quat_rest, T.quat_rest)
    quat_multiply(T.quat_rest, T.quat, T.quat_move)
    for i in range(4):
        T.quat[i] = -T.quat_move[i] if T.quat_move[0] < 0.0 else T.quat_move[i]


@kernel
def first_change(T: Tangent) -> int:
    """The first whole number among the words that is another than after the unmoved tick; −1 for none."""
    for k in range(T.after.size):
        if T.real[k] == 0 and T.now[k] != T.after[k]:
            return k
    return -1


@kernel
def _tick(L: Loop) -> int:
    return run_steps(L, L.ratio)


@kernel
def read_twist(L: Loop, T: Tangent, twist: Vector) -> None:
    """The tool's twist where the state has been moved to."""
    stage_plant(L)
    read_tool(L)
    put(twist, 0, L.row.tool_twist)


@kernel
def _column(L: Loop, T: Tangent, c: int, side: float, difference: Vector, twist: Vector) -> int:
    """Run the tick with one coordinate moved."""
    set_back(T)
    move(T, T.moved[c], side)
    if T.probing > 0:
        read_twist(L, T, twist)
    status = _tick(L)
    read_difference(T, difference)
    T.changed[c, 0 if side > 0.0 else 1] = first_change(T)
    return status


@kernel
def _try_group(L: Loop, T: Tangent, g: int) -> int:
    """Move all of a group at once: whether anything else comes out otherwise, and which of it stays as it is."""
    set_back(T)
    for c in range(T.moved.size):
        if T.group[T.moved[c]] == g:
            move(T, T.moved[c], 1.0)
    status = _tick(L)
    read_difference(T, T.trial)
    T.read[g] = 1 if first_change(T) >= 0 else 0
    for j in range(T.trial.size):
        difference, h = T.trial[j], T.step[j]
        stays = T.group[j] == g and T.axis[j] < 0 and abs(difference - h) < _SAME * h
        if stays:
            T.waits[j] = 1
        elif difference != 0.0:
            T.read[g] = 1
    return status


@kernel
def try_groups(L: Loop, T: Tangent) -> int:
    """Find the groups that the tick reads; how the ticks went."""
    for j in range(T.waits.size):
        T.waits[j] = 0
    for g in range(T.read.size):
        status = _try_group(L, T, g)
        if status != RUNNING:
            return status
    return RUNNING


@kernel
def is_read(T: Tangent, c: int) -> bool:
    """Whether the tick may read the coordinate of a column."""
    group = T.group[T.moved[c]]
    return bool(group < 0 or T.read[group] != 0)


@kernel
def set_input(L: Loop, T: Tangent, i: int, side: float) -> None:
    """Let one input be there: a wrench at the tool, one that is read and does not act, or a torque."""
    h = side * T.probe_step
    T.probed = L.probe.on
    L.probe.on = True
    if i < WRENCH:
        L.probe.wrench[i] += h
    elif i < 2 * WRENCH:
        T.bias = L.wrist.bias[i - WRENCH]
        L.wrist.bias[i - WRENCH] += h
    else:
        L.probe.torque[i - 2 * WRENCH] = h


@kernel
def take_input(L: Loop, T: Tangent, i: int) -> None:
    """Take an input away again."""
    L.probe.on = T.probed
    put(L.probe.wrench, 0, L.probe.base)
    clear(L.probe.torque)
    if WRENCH <= i < 2 * WRENCH:
        L.wrist.bias[i - WRENCH] = T.bias


@kernel
def _pushed(L: Loop, T: Tangent, i: int, side: float, difference: Vector) -> int:
    """Run the tick with one input."""
    set_back(T)
    set_input(L, T, i, side)
    status = _tick(L)
    take_input(L, T, i)
    read_difference(T, difference)
    return status


@kernel
def differentiate(L: Loop, T: Tangent) -> int:
    """The tick's map at the state of the loop, which then stands after the tick; RUNNING, or how a tick ended."""
    begin(T)
    status = _tick(L)
    if status != RUNNING:
        return status
    note_rest(T)
    status = try_groups(L, T)
    if status != RUNNING:
        return status
    for c in range(T.moved.size):
        T.changed[c, 0] = T.changed[c, 1] = -1
        if not is_read(T, c):  # its rows of differences are not looked at
            clear(T.twist_plus[c])
            clear(T.twist_minus[c])
            continue
        status = _column(L, T, c, 1.0, T.plus[c], T.twist_plus[c])
        if status == RUNNING:
            status = _column(L, T, c, -1.0, T.minus[c], T.twist_minus[c])
        if status != RUNNING:
            return status
    for i in range(T.probing):
        status = _pushed(L, T, i, 1.0, T.pushed_plus[i])
        if status == RUNNING:
            status = _pushed(L, T, i, -1.0, T.pushed_minus[i])
        if status != RUNNING:
            return status
    set_back(T)
    status = _tick(L)
    check_repeated(T)
    return status


@kernel
def check_repeated(T: Tangent) -> None:
    """Whether the state is, bit for bit, that after the unmoved tick."""
    gather(T.addresses, T.now)
    T.repeats = True
    for k in range(T.now.size):
        if T.now[k] != T.after[k]:
            T.repeats = False
