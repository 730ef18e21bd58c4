"""The exported library as kernels: every entry of C is `entry(state, plan, a, b)` and returns a `Code`."""

from __future__ import annotations

import math

from palpate.control.commands import COMMANDS
from palpate.control.friction import KNEE
from palpate.control.guards import guard_set_points, guard_torque, watch_measurement
from palpate.engine.arithmetic.bits import from_bits
from palpate.engine.kernels import address_of_record, kernel, put
from palpate.engine.records import Vector
from palpate.spatial.kernels import quat_from_matrix
from palpate.tools.exporting.code.memory import call_c, numbers_at, setup_at, station_at, words_at
from palpate.tools.exporting.code.protection import (
    MOTION,
    NOTHING,
    POSTURE,
    begin_output,
    begin_torque,
    end_set_points,
    end_torque,
    jumps,
    limit_set_points,
    limit_torque,
    out_of_range,
    too_fast,
    turn_between,
)
from palpate.tools.exporting.code.records import INPUT_HEAD, MAGIC, OUTPUT_HEAD, STATE_HEAD, PlanHead, Station
from palpate.tools.exporting.code.requests import ease_gains, put_gains
from palpate.tools.exporting.code.state import (
    BLIND,
    EARLY,
    INTERVAL,
    JOINT_JUMP,
    JOINT_RANGE,
    JOINT_SPEED,
    LATE,
    LAW,
    NO_ANSWER,
    NO_POSTURE,
    NOT_FINITE,
    NULL,
    OK,
    QUATERNION,
    SIZE,
    STOPPED,
    TARGET_JUMP,
    TIME,
    VERSION,
    check_state,
    copy_image,
)  # fmt: skip
from palpate.tools.exporting.code.tuning import (
    EASING,
    FOLLOWING,
    HOLD_NEXT,
    HOLDING,
    add_friction,
    ease_setup,
    min_jerk,
)

ACCELERATION, VELOCITY, POSITION = (COMMANDS.index(kind) for kind in ("acceleration", "velocity", "position"))
_MEAN_OVER = 50.0  # ticks, of the mean interval


@kernel
def initialise(state: int, plan: PlanHead, size: int, version: int) -> int:
    """Make a state out of memory."""
    if state == 0:
        return NULL
    if size != plan.state_bytes or state % 8 != 0:
        return SIZE
    if version != plan.version:
        return VERSION
    copy_image(state, plan, 0, 0)
    head = words_at(state, 0, STATE_HEAD)
    head[0], head[1] = MAGIC + plan.version, plan.state_bytes
    return OK


@kernel
def reset(state: int, plan: PlanHead, a: int, b: int) -> int:
    """Memory, guards and clock as at the start; gains stay."""
    code = check_state(state, plan)
    if code == OK:
        copy_image(state, plan, plan.kept_first, plan.kept_last)
        S = station_at(state, plan.station)
        put_gains(state, plan, S)
        if S.setup != 0:
            s = setup_at(S.setup, 0)
            s.start = -1.0
            ease_setup(s, 0.0, 0.0)
    return code


@kernel
def stop(state: int, plan: PlanHead, a: int, b: int) -> int:
    """End the law at the next tick, as a refused tick does."""
    code = check_state(state, plan)
    if code == OK:
        S = station_at(state, plan.station)
        if S.ending.code == OK:
            S.ending.code = STOPPED
    return code


@kernel
def blend(state: int, plan: PlanHead, bits: int, b: int) -> int:
    """From the next tick on, go over from the measured torques to the law's within some seconds; 0 ends it."""
    code = check_state(state, plan)
    if code != OK:
        return code
    seconds = from_bits(bits)
    if not (math.isfinite(seconds) and seconds >= 0.0):
        return NOT_FINITE
    S = station_at(state, plan.station)
    S.blend, S.blend_start = seconds, -1.0
    return OK


@kernel
def step(state: int, plan: PlanHead, source: int, target: int) -> int:
    """One control tick; whatever is wrong gives a code, and the safe command in place of the law's."""
    if target == 0:
        return NULL
    code = check_state(state, plan)
    ready = code == OK
    if ready:
        code = _run_or_end(state, plan, source)
    answer = words_at(target, 0, OUTPUT_HEAD)
    numbers = numbers_at(target, OUTPUT_HEAD, plan.output_bytes // 8 - OUTPUT_HEAD)
    answer[0], answer[1], answer[2] = code, 0, 0
    if not ready:
        for k in range(numbers.size):
            numbers[k] = 0.0
        return code
    S = station_at(state, plan.station)
    answer[1], answer[2] = S.guard_memory.bits | S.limited, S.missed
    if code == OK:
        _write_answer(S, numbers)
    elif S.protection.ramp and S.ending.known:
        _write_ramp(S, numbers)
    else:
        _write_safe_command(S, numbers)
    return code


@kernel
def _run_or_end(state: int, plan: PlanHead, source: int) -> int:
    """The law's tick; or, from the first refused one on, a tick of the ramp in which it ends."""
    S = station_at(state, plan.station)
    m, p = S.ending, S.protection
    if m.code == OK:
        code = _run_tick(state, plan, source)
        if code == OK or not p.ramp:
            return code
        m.code = code
    elif not p.ramp:
        return m.code
    seen = _measure(S, plan, source)
    if not m.known and seen != NOTHING:
        _begin_ramp(S)
    if not m.known:
        m.limp = True
        return NO_POSTURE if m.code > VERSION else m.code  # a call that is no tick keeps its own code
    if S.kind <= ACCELERATION:
        end_torque(p, m, S.tick.v, seen, S.period)
    else:
        end_set_points(p, m, S.set_q, S.set_v, S.period, S.kind == POSITION)
    return m.code


@kernel
def _begin_ramp(S: Station) -> None:
    """A ramp without a good tick before it begins where the arm stands."""
    m = S.ending
    m.known = True
    if S.kind <= ACCELERATION:
        begin_torque(S.protection, m, S.tick.tau)
        return
    for j in range(S.set_q.size):
        S.set_q[j], S.set_v[j] = S.tick.q[j], 0.0
    begin_output(m, S.set_q if S.kind == POSITION else S.set_v)


@kernel
def _measure(S: Station, plan: PlanHead, source: int) -> int:
    """Take q, v and what the model says of them from a tick of the ramp, as far as they can be used."""
    if source == 0:
        return NOTHING
    head, given = words_at(source, 0, INPUT_HEAD), numbers_at(source, 0, plan.input_bytes // 8)
    if head[0] & 0xFFFFFFFF != plan.input_bytes or (head[0] >> 32) & 0xFFFFFFFF != plan.version:
        return NOTHING
    m, n, joints = S.ending, S.command.size, S.tick.q.size
    for k in range(joints):
        if not math.isfinite(given[INPUT_HEAD + k]):
            return NOTHING
    gap = (given[1] - S.last) / S.period if math.isfinite(given[1]) else 1.0
    if m.known and jumps(given, INPUT_HEAD, S.tick.q, S.protection.q_step, min(gap, 1e4)):
        return NOTHING
    # Joints, and what the caller's model says of them; neither wrench nor target is needed to end.
    seen, rest = MOTION, max(S.target_last, joints + 2 * n + 6)
    for k in range(joints, joints + n):
        if not math.isfinite(given[INPUT_HEAD + k]):
            seen = POSTURE
    for k in range(S.input.size):
        if k < joints or (k < joints + n and seen == MOTION) or joints + n <= k < joints + 2 * n or k >= rest:
            S.input[k] = given[INPUT_HEAD + k]
    S.last += max(gap, 0.0) * S.period
    if S.model != 0:
        if seen == POSTURE:  # no speed was taken over: bias is not read, and what it was made of must be a number
            for j in range(n):
                S.tick.v[j] = 0.0
        if call_c(S.model, S.own, 0, 0, 0) != 0:
            return NOTHING
    for j in range(n):
        if not math.isfinite(S.tick.gravity[j]):
            return NOTHING
    put(m.gravity, 0, S.tick.gravity)
    return seen


@kernel
def _write_ramp(S: Station, out: Vector) -> None:
    """The ramp's torque and gravity, or its set points; no terms."""
    n = S.command.size
    for k in range(out.size):
        out[k] = 0.0
    if S.kind <= ACCELERATION:
        put(out, 0, S.ending.output)
        put(out, n, S.ending.output)
        if S.shows_gravity:
            put(out, out.size - S.rows.size - n, S.ending.gravity)
    else:
        put(out, 0, S.set_q if S.kind == POSITION else S.set_v)
        put(out, n, S.set_q)
        put(out, 2 * n, S.set_v)


@kernel
def _write_answer(S: Station, out: Vector) -> None:
    """Command; torque, or set points; gravity; terms."""
    n = S.command.size
    put(out, 0, S.command)
    if S.kind <= ACCELERATION:
        put(out, n, S.torque)
    else:
        put(out, n, S.set_q)
        put(out, 2 * n, S.set_v)
    at = out.size - S.rows.size
    if S.shows_gravity:
        put(out, at - n, S.tick.gravity)
    for k in range(S.rows.shape[0]):
        put(out, at + k * n, S.rows[k])


@kernel
def _write_safe_command(S: Station, out: Vector) -> None:
    """No torque, no velocity; a position stays where it was set last, and is NaN before there was one."""
    for k in range(out.size):
        out[k] = 0.0
    if S.kind == POSITION:
        for j in range(S.set_q.size):
            out[j] = out[S.set_q.size + j] = S.set_q[j] if S.count > 0 else math.nan


@kernel
def _run_tick(state: int, plan: PlanHead, source: int) -> int:
    if source == 0:
        return NULL
    head = words_at(source, 0, INPUT_HEAD)
    if head[0] & 0xFFFFFFFF != plan.input_bytes:
        return SIZE
    if (head[0] >> 32) & 0xFFFFFFFF != plan.version:
        return VERSION
    S, given = station_at(state, plan.station), numbers_at(source, 0, plan.input_bytes // 8)
    code = _read_input(S, given)
    if code == OK:
        ease_gains(state, plan, S)
        if S.setup != 0:
            ease_setup(setup_at(S.setup, 0), S.tick.t, S.ease.seconds)
        code = _compute_command(S)
    if code == OK:
        S.count += 1
        S.ending.known = True
        put(S.ending.gravity, 0, S.tick.gravity)
    return code


@kernel
def _look_at_time(S: Station, t: float) -> tuple[int, float]:
    """Whether a tick comes in its time, and how many periods after the last one."""
    if S.count == 0:
        return OK, 1.0
    p, gap = S.protection, (t - S.last) / S.period
    if gap <= 0.0:
        return TIME, gap
    if gap > S.latest:
        return LATE, gap
    if gap < p.earliest:
        return EARLY, gap
    mean = S.ending.mean_gap + (gap - S.ending.mean_gap) / _MEAN_OVER
    if abs(mean - 1.0) > p.slack:
        return INTERVAL, gap
    return OK, gap


@kernel
def _look_at_joints(S: Station, given: Vector, gap: float) -> int:
    """Whether q and v are such as this arm can have."""
    p, n = S.protection, S.command.size
    if S.count > 0 and jumps(given, INPUT_HEAD, S.tick.q, p.q_step, gap):
        return JOINT_JUMP
    if too_fast(p, given, INPUT_HEAD + S.tick.q.size):
        return JOINT_SPEED
    if out_of_range(p, given, INPUT_HEAD, given, INPUT_HEAD + n):
        return JOINT_RANGE
    return OK


@kernel
def _look_at_target(S: Station, given: Vector, gap: float) -> int:
    """Whether the target is near that of the last tick."""
    p, at = S.protection, INPUT_HEAD
    anew = S.taking == EASING and S.follow_start < 0.0
    if S.count == 0 or anew or S.taking == HOLD_NEXT or S.taking == HOLDING:
        return OK
    if S.target_q >= 0:
        for j in range(S.command.size):
            k = S.target_q + j
            if abs(given[at + k] - S.told[k]) > max(p.target_q_step[j] * gap, p.target_q_jump):
                return TARGET_JUMP
    if S.target_position >= 0:
        distance = 0.0
        for i in range(3):
            distance += (given[at + S.target_position + i] - S.told[S.target_position + i]) ** 2
        if math.sqrt(distance) > max(p.target_position_step * gap, p.target_position_jump):
            return TARGET_JUMP
    if S.quaternion >= 0:
        turn = turn_between(given, at + S.quaternion, S.told, S.quaternion)
        if turn > max(p.target_turn_step * gap, p.target_turn_jump):
            return TARGET_JUMP
    return OK


@kernel
def _read_input(S: Station, given: Vector) -> int:
    """Look at a tick's numbers, and take them over if they are sound."""
    for k in range(1, given.size):
        if not math.isfinite(given[k]):
            return NOT_FINITE
    t = given[1]
    if S.quaternion >= 0 and S.taking != HOLD_NEXT and S.taking != HOLDING:
        norm = 0.0
        for k in range(4):
            norm += given[INPUT_HEAD + S.quaternion + k] ** 2
        if abs(norm - 1.0) > 2e-6:
            return QUATERNION
    code, gap = _look_at_time(S, t)
    if code == OK:
        code = _look_at_joints(S, given, gap)
    if code == OK:
        code = _look_at_target(S, given, gap)
    if code != OK:
        return code
    if S.count > 0:
        S.missed += max(int(gap + 0.5) - 1, 0)
        S.ending.mean_gap += (gap - S.ending.mean_gap) / _MEAN_OVER
    for k in range(S.input.size):
        S.input[k] = S.told[k] = given[INPUT_HEAD + k]
    S.tick.t, S.tick.dt, S.last = t, S.period, t
    if S.pole >= 0:
        view = S.tick.seen.pole
        view.rated, view.fresh, view.age = S.input[S.pole] != 0.0, S.input[S.pole + 1] != 0.0, S.input[S.pole + 2]
    return OK


@kernel
def _compute_command(S: Station) -> int:
    """Model, law, sum of its terms, guards."""
    if S.model != 0 and call_c(S.model, S.own, 0, 0, 0) != 0:
        return LAW
    if S.taking != FOLLOWING:
        _take_target(S)
    if not watch_measurement(S.guard, S.guard_memory, S.tick, S.count):
        return BLIND
    tick = address_of_record(S.tick)  # pyright: ignore[reportCallIssue]
    if call_c(S.law, tick, S.gains, S.memory, S.terms) != 0:
        return LAW
    for j in range(S.command.size):
        S.command[j] = 0.0
        for k in range(S.rows.shape[0]):
            if not math.isfinite(S.rows[k, j]):
                return NO_ANSWER
            S.command[j] += S.rows[k, j]
    if S.kind > ACCELERATION:
        _compute_set_points(S)
        return OK
    return _compute_torque(S)


@kernel
def _take_target(S: Station) -> None:
    """The target that is held, or on the way from it to the input's: (1 − s) held + s given."""
    first, last = S.target_first, S.target_last
    if S.taking == HOLD_NEXT:
        for k in range(first, last):
            S.held[k] = 0.0
        for j in range(S.tick.q.size if S.target_q >= 0 else 0):
            S.held[S.target_q + j] = S.tick.q[j]
        for i in range(3 if S.target_position >= 0 else 0):
            S.held[S.target_position + i] = S.tick.position[i]
        if S.quaternion >= 0:
            quat_from_matrix(S.tick.rotation, S.held[S.quaternion : S.quaternion + 4])
        S.taking = HOLDING
    share = 0.0
    if S.taking == EASING:
        if S.follow_start < 0.0:
            S.follow_start = S.tick.t
        share = min_jerk((S.tick.t - S.follow_start) / S.follow)
        if share == 1.0:
            S.taking = FOLLOWING
            return
    dot, norm = 1.0, 0.0
    if S.quaternion >= 0 and share > 0.0:
        dot = 0.0
        for k in range(S.quaternion, S.quaternion + 4):
            dot += S.held[k] * S.input[k]
    for k in range(first, last):
        turns = 0 <= k - S.quaternion < 4 and S.quaternion >= 0
        given = -S.input[k] if turns and dot < 0.0 else S.input[k]
        S.input[k] = S.held[k] + share * (given - S.held[k]) if share > 0.0 else S.held[k]
        norm += S.input[k] ** 2 if turns else 0.0
    for k in range(S.quaternion, S.quaternion + 4 if S.quaternion >= 0 and share > 0.0 else S.quaternion):
        S.input[k] /= math.sqrt(norm)


@kernel
def _compute_torque(S: Station) -> int:
    x, torque = S.tick, S.torque
    for j in range(torque.size):
        torque[j] = S.command[j]
        if S.kind == ACCELERATION:
            torque[j] = x.bias[j]
            for k in range(torque.size):
                torque[j] += x.M[j, k] * S.command[k]
    if S.setup != 0:
        add_friction(setup_at(S.setup, 0), x.v, KNEE, torque)
    S.guard_memory.bits = guard_torque(S.guard, S.guard_memory, x, torque)
    if S.blend > 0.0:
        _blend_torque(S)
    for j in range(torque.size):
        if not math.isfinite(torque[j]):
            return NO_ANSWER
    S.limited = limit_torque(S.protection, S.ending, torque, S.period, S.count == 0)
    return OK


@kernel
def _blend_torque(S: Station) -> None:
    """τ = τ₀ + s (τ − τ₀), s from 0 to 1 in the time of the blend."""
    if S.blend_start < 0.0:
        S.blend_start = S.tick.t
        put(S.tau_start, 0, S.tick.tau)
    share = (S.tick.t - S.blend_start) / S.blend
    if share >= 1.0:
        S.blend = 0.0
        return
    for j in range(S.torque.size):
        S.torque[j] = S.tau_start[j] + share * (S.torque[j] - S.tau_start[j])


@kernel
def _compute_set_points(S: Station) -> None:
    """Set points of a joint servo: a velocity, or a position and the velocity that leads there in a period."""
    first = S.count == 0
    for j in range(S.set_q.size):
        if S.kind == VELOCITY:
            if first:
                S.set_q[j] = S.tick.q[j]
            for _ in range(0 if first else S.ratio):
                S.set_q[j] += S.set_v[j] * S.dt
            S.set_v[j] = S.command[j]
        else:
            S.set_v[j] = 0.0 if first else (S.command[j] - S.set_q[j]) / S.period
            S.set_q[j] = S.command[j]
    S.guard_memory.bits = guard_set_points(S.guard, S.guard_memory, S.tick, S.set_q, S.set_v, S.kind == POSITION)
    if first:
        begin_output(S.ending, S.tick.q if S.kind == POSITION else S.set_v)
    p, m, position = S.protection, S.ending, S.kind == POSITION
    S.limited = limit_set_points(p, m, S.set_q, S.set_v, S.period, position)
