"""Requests to an exported law between ticks: gains, memory, setup and target, as kernels."""

from __future__ import annotations

import math

from palpate.engine.arithmetic.bits import from_bits
from palpate.engine.kernels import address_of_record, kernel, put
from palpate.engine.records import Vector
from palpate.tools.exporting.code.memory import numbers_at, part_at, setup_at, station_at, words_at
from palpate.tools.exporting.code.records import PartPlan, PlanHead, Station
from palpate.tools.exporting.code.state import BOUND, NOT_FINITE, NULL, OK, READ_ONLY, SIZE, check_state
from palpate.tools.exporting.code.tuning import (
    DEFINITE,
    EASING,
    FOLLOWING,
    HOLD_NEXT,
    SCALED,
    SETUP,
    ease_setup,
    is_definite,
    is_scaled,
    min_jerk,
    setup_is_sound,
)  # fmt: skip

PART = PartPlan.words


@kernel
def _check_record(state: int, plan: PlanHead, expected: int, address: int, size: int) -> int:
    code = NULL if address == 0 else check_state(state, plan)
    return SIZE if code == OK and size != expected else code


@kernel
def _copy_parts(state: int, plan: PlanHead, first: int, count: int, address: int, out: bool) -> None:
    """The parts of a record, one after another at an address: written there, or taken from there."""
    at = 0
    for k in range(count):
        part = part_at(address_of_record(plan), first + PART * k)  # pyright: ignore[reportCallIssue]
        words, outside = words_at(state, part.word, part.count), words_at(address, at, part.count)
        for i in range(part.count):
            if out:
                outside[i] = words[i]
            else:
                words[i] = outside[i]
        at += part.count


@kernel
def get_gains(state: int, plan: PlanHead, target: int, size: int) -> int:
    """Hand out the gains as they were asked for."""
    code = _check_record(state, plan, plan.gains_bytes, target, size)
    if code == OK:
        wanted = station_at(state, plan.station).ease.wanted
        words = words_at(target, 0, wanted.size)
        for k in range(wanted.size):
            words[k] = wanted[k]
    return code


@kernel
def put_gains(state: int, plan: PlanHead, S: Station) -> None:
    """The gains asked for become the law's at once."""
    at = 0
    for k in range(plan.gains_count):
        part = part_at(address_of_record(plan), plan.gains + PART * k)  # pyright: ignore[reportCallIssue]
        words = words_at(state, part.word, part.count)
        for i in range(part.count):
            words[i] = S.ease.wanted[at + i]
        at += part.count
    S.ease.easing, S.ease.start = False, -1.0


@kernel
def ease_gains(state: int, plan: PlanHead, S: Station) -> None:
    """Go on with a change of gains: K = K₀ + s (K₁ − K₀), which stays definite."""
    e, at = S.ease, 0
    if not e.easing:
        return
    if e.start < 0.0:
        e.start = S.tick.t
    share = 1.0 if e.seconds == 0.0 else min_jerk((S.tick.t - e.start) / e.seconds)
    if share == 1.0:
        put_gains(state, plan, S)
        return
    for k in range(plan.gains_count):
        part = part_at(address_of_record(plan), plan.gains + PART * k)  # pyright: ignore[reportCallIssue]
        numbers = numbers_at(state, part.word, part.count)
        for i in range(part.count if part.free else 0):
            before, wanted = from_bits(e.before[at + i]), from_bits(e.wanted[at + i])
            numbers[i] = before + share * (wanted - before)
        at += part.count


@kernel
def _gain_is_sound(S: Station, plan: PlanHead, part: PartPlan, numbers: Vector) -> bool:
    """Whether a changed gain is within its bounds: number by number, as a definite matrix, or by one factor."""
    if part.free == SCALED:
        data = address_of_record(plan)  # pyright: ignore[reportCallIssue]
        return is_scaled(numbers, numbers_at(data, plan.image + part.word, part.count))
    if part.free == DEFINITE:
        return is_definite(S.ease.scratch, numbers, part.high)
    for i in range(numbers.size):
        if not part.low <= numbers[i] <= part.high:
            return False
    return True


@kernel
def get_memory(state: int, plan: PlanHead, target: int, size: int) -> int:
    """Hand out what the law remembers."""
    code = _check_record(state, plan, plan.memory_bytes, target, size)
    if code == OK:
        _copy_parts(state, plan, plan.memory, plan.memory_count, target, True)
    return code


@kernel
def set_gains(state: int, plan: PlanHead, source: int, size: int) -> int:
    """Take gains over if each is one that may be changed, and within its bounds; else none of them."""
    code, at = _check_record(state, plan, plan.gains_bytes, source, size), 0
    if code != OK:
        return code
    S = station_at(state, plan.station)
    e, given = S.ease, words_at(source, 0, S.ease.wanted.size)
    for k in range(plan.gains_count):
        part = part_at(address_of_record(plan), plan.gains + PART * k)  # pyright: ignore[reportCallIssue]
        changed = False
        for i in range(part.count):
            changed = changed or given[at + i] != e.wanted[at + i]
        if changed and part.free == 0:
            return READ_ONLY
        if changed and not _gain_is_sound(S, plan, part, numbers_at(source, at, part.count)):
            return BOUND
        at += part.count
    _note_gains(state, plan, S)
    for k in range(given.size):
        e.wanted[k] = given[k]
    e.easing, e.start = True, -1.0
    if S.count == 0:
        put_gains(state, plan, S)
    return OK


@kernel
def _note_gains(state: int, plan: PlanHead, S: Station) -> None:
    """The law's gains of now are those that a change begins with."""
    at = 0
    for k in range(plan.gains_count):
        part = part_at(address_of_record(plan), plan.gains + PART * k)  # pyright: ignore[reportCallIssue]
        words = words_at(state, part.word, part.count)
        for i in range(part.count):
            S.ease.before[at + i] = words[i]
        at += part.count


@kernel
def _check_seconds(state: int, plan: PlanHead, seconds: float) -> int:
    code = check_state(state, plan)
    return NOT_FINITE if code == OK and not (math.isfinite(seconds) and seconds >= 0.0) else code


@kernel
def ease(state: int, plan: PlanHead, bits: int, b: int) -> int:
    """Seconds in which later changes of gains and setup are eased in; 0 for at once."""
    seconds = from_bits(bits)
    code = _check_seconds(state, plan, seconds)
    if code == OK:
        station_at(state, plan.station).ease.seconds = seconds
    return code


@kernel
def _check_setup(state: int, plan: PlanHead, address: int, size: int) -> int:
    code = _check_record(state, plan, 8 * SETUP, address, size)
    return READ_ONLY if code == OK and station_at(state, plan.station).setup == 0 else code


@kernel
def get_setup(state: int, plan: PlanHead, target: int, size: int) -> int:
    """Hand out payload, tool, gravity and friction compensation as they were asked for."""
    code = _check_setup(state, plan, target, size)
    if code != OK:
        return code
    S = station_at(state, plan.station)
    put(numbers_at(target, 0, SETUP), 0, setup_at(S.setup, 0).wanted)
    return OK


@kernel
def set_setup(state: int, plan: PlanHead, source: int, size: int) -> int:
    """Take payload, tool, gravity and friction compensation over if all are within their bounds; else none."""
    code = _check_setup(state, plan, source, size)
    if code != OK:
        return code
    S = station_at(state, plan.station)
    s, given = setup_at(S.setup, 0), numbers_at(source, 0, SETUP)
    if not setup_is_sound(s, given):
        return BOUND
    put(s.before, 0, s.now)
    put(s.wanted, 0, given)
    s.easing, s.start = True, -1.0
    if S.count == 0:
        ease_setup(s, 0.0, 0.0)
    return OK


@kernel
def hold(state: int, plan: PlanHead, a: int, b: int) -> int:
    """From the next tick on the target is where the arm is then, whatever the input says, until follow is called."""
    code = check_state(state, plan)
    if code == OK:
        station_at(state, plan.station).taking = HOLD_NEXT
    return code


@kernel
def follow(state: int, plan: PlanHead, bits: int, b: int) -> int:
    """From the next tick on go over from the target of now to the input's within some seconds; 0 for at once."""
    seconds = from_bits(bits)
    code = _check_seconds(state, plan, seconds)
    if code == OK:
        S = station_at(state, plan.station)
        S.follow, S.follow_start = seconds, -1.0
        S.taking = EASING if S.count > 0 and seconds > 0.0 else FOLLOWING
        for k in range(S.target_first, S.target_last):
            S.held[k] = S.input[k]
    return code
