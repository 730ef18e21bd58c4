"""Identification of an arm from a recording: parity with the model, load, friction, rotors, each with an interval.

An interval has two parts. The first is chance: blocks of rows, see `balance`. The second is what the model leaves out:
the same parameter is estimated in other ways (half the filter's cutoff, another friction curve, short rollouts), and
what these differ by, beyond chance, is added. Where the second part is larger than the value, there is no answer.
Joints that disagree and joints that yield widen an interval besides, see `spread`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.balance import Fit, Rows, fit, thinned_rows, with_speed
from palpate.tools.logs.cleaning import Filter, Motion, Run, cleaned, repeats
from palpate.tools.logs.columns import Log
from palpate.tools.logs.model import BODY, SPEEDS, Arm, nearest_possible, pseudo_inertia
from palpate.tools.logs.parity import Parity, parity_of
from palpate.tools.logs.rollout import Judgement, compare_models, moved_torque, refined, residual_floor
from palpate.tools.logs.spread import (
    SAFETY,
    beyond_chance,
    leave_one_out,
    lightest,
    room_for_the_lightest,
    yielding_joints,
)
from palpate.tools.logs.stribeck import Curve, best_curve

KINDS = ("load", "viscous", "coulomb", "offset", "rotor")
SEEN = 0.7  # share of each run that fits may see; the rest judges them
CHANCE = 1.0  # deviations that two estimates may differ by, by chance
PAIRING = 0.3  # rows of time shift from which on another pairing of rows is tried


@dataclass(frozen=True)
class Quantity:
    """One number with its 95 % interval, or the reason why there is none.

    Attributes:
        name: such as "mass" or "coulomb joint4".
        unit: SI.
        value, low, high: NaN where refused.
        chance: half width that chance alone gives.
        reason: why it is refused, "" where it is not.
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    chance: float
    reason: str = ""

    @property
    def half(self) -> float:
        """Half of the interval."""
        return 0.5 * (self.high - self.low)


@dataclass(frozen=True)
class Identification:
    """Everything that was told by one recording.

    Attributes:
        arm: the robot with ideal joints, its nominal parameters and the load's frame.
        motion: the cleaned recording.
        parity: residuals and what explains them.
        quantities: by name.
        classical: parameters of the torque balance.
        identified: parameters after short rollouts, physically possible.
        stribeck: v_s, rad/s; None where no Stribeck effect is seen.
        shift: s, by which torques come late.
        judgement: held-out rollouts of nominal, classical and identified; None where the runs are too short.
        remarks: sentences for people.
        residual: of the full fit, (rows, joints), N·m.
        without_joint: estimates and deviations without each joint, see `spread`.
    """

    arm: Arm
    motion: Motion
    parity: Parity
    quantities: dict[str, Quantity]
    classical: Array
    identified: Array
    stribeck: float | None
    shift: Quantity
    judgement: Judgement | None
    remarks: tuple[str, ...]
    residual: Array
    without_joint: tuple[Array, Array]

    @property
    def beats_nominal(self) -> bool:
        """Whether the identified model beats the nominal one in every held-out rollout."""
        return self.judgement is not None and self.judgement.better("identified", "nominal")


def identify(
    log: Log,
    arm: Arm,
    *,
    cutoff: float | None = None,
    rollouts: bool = True,
    friction: str = "auto",
    kinds: tuple[str, ...] = KINDS,
) -> Identification:
    """Identify an arm from a recording.

    Args:
        log, arm: the recording, and the arm that it is said to be of.
        cutoff, rollouts: Hz of the filter, see `cleaned`; refine and judge by rollouts, which takes seconds.
        friction: "auto" lets the recording decide about a Stribeck effect; "coulomb" never takes one, and widens
            intervals by what it would change.
        kinds: what may be fitted: "load" and keys of `model.JOINT`.

    Raises:
        InvalidInput: the torques contradict the model's in sign, unit or gear, so that nothing can be fitted.
    """
    paired, moved, parity, attenuation = _compared(log, arm, cutoff, kinds)
    motion, late = _in_time(paired, arm, kinds)
    timed = thinned_rows(motion, arm)
    plain = fit(timed, arm, kinds)
    curve = best_curve(timed, motion, arm, kinds)
    speed = curve.speed if friction == "auto" and curve.seen else None
    main = plain if speed is None else curve.fit
    chosen = speed or SPEEDS[1]
    others = _other_estimates(motion, arm, main, chosen, curve)
    identified, judgement = main.values, None
    if rollouts and main.free.any():
        identified, judgement = _by_rollouts(paired, arm, main, chosen)
        others.append((identified, np.where(main.free, 2.0 * main.deviation, np.nan)))
    timed = with_speed(timed, motion, arm, chosen)
    left_out = leave_one_out(timed, arm, _kinds_of(main, arm))
    unused = curve.fit if curve.suspected and main is plain else None
    between = np.maximum(beyond_chance(main.values, main.deviation, *left_out), _union(plain, unused))
    moved_by, yielding = _yielding(motion, arm, main, chosen)
    of_rows = attenuation, _reversals(arm, main, motion, chosen)
    quantities = _quantities(arm, main, (others, np.maximum(between, yielding), moved_by), of_rows)
    quantities |= _not_lighter_than_nothing(arm, main, timed, quantities)
    identified = possible(arm, identified, main)
    shift = _interval("shift", "s", late + main.shift, SAFETY * main.t95 * main.shift_deviation, 0.0)
    parity = replace(parity, residual=parity.residual | {"with all that is fitted": main.rms})
    remarks = (
        *motion.remarks,
        *moved,
        *_unexplained(parity, main),
        *_remarks(arm, motion, main, quantities, speed, shift),
    )
    return Identification(
        arm, motion, parity, quantities, main.values, identified, speed,
        shift, judgement, remarks, main.residual, left_out,
    )  # fmt: skip


def _compared(
    log: Log, arm: Arm, cutoff: float | None, kinds: tuple[str, ...]
) -> tuple[Motion, list[str], Parity, Array]:
    """The cleaned motion in its best pairing, a sentence on that, its parity with the model, and its attenuation."""
    motion = with_contact(cleaned(log, cutoff), arm, log)
    rows = thinned_rows(motion, arm)
    parity = parity_of(rows, motion, arm)
    if parity.contradiction:
        raise InvalidInput(parity.contradiction, hint="say columns, unit and sign in the map: columns, unit, scale")
    return *_paired(log, motion, rows, arm, kinds), parity, _attenuation(rows)


def without_the_arms_errors(loaded: Identification, bare: Identification, source: str) -> Identification:
    """The load as the difference of two recordings of one arm, in which errors of its links, gears and scales cancel.

    Chance adds in squares; the spread between joints is that of the differences.
    """
    both = [one.without_joint for one in (loaded, bare)]
    value = loaded.classical[:10] - bare.classical[:10]
    chance = np.array([np.hypot(loaded.quantities[n].chance, bare.quantities[n].chance) for n in BODY])
    apart = (both[0][0] - both[1][0])[:, :10], np.hypot(both[0][1], both[1][1])[:, :10]
    more = beyond_chance(value, chance / 2.0, *apart)
    quantities = dict(loaded.quantities)
    for k, (name, unit) in enumerate(zip(BODY, loaded.arm.units)):
        refused = loaded.quantities[name].reason or bare.quantities[name].reason
        if not np.isfinite(chance[k]):
            quantities[name] = replace(loaded.quantities[name], value=np.nan, low=np.nan, high=np.nan, reason=refused)
            continue
        half = float(chance[k] + more[k])
        quantities[name] = Quantity(
            name, unit, float(value[k]), float(value[k]) - half, float(value[k]) + half, float(chance[k])
        )
    remarks = [text for text in loaded.remarks if text not in set(load_remarks(loaded.arm, loaded.quantities))]
    mass = quantities["mass"]
    span = mass.reason or f"{mass.value:.3f} kg ({mass.low:.3f} … {mass.high:.3f})"
    return replace(loaded, quantities=quantities, remarks=(f"load, as the difference to {source}: {span}", *remarks))


def with_contact(motion: Motion, arm: Arm, log: Log) -> Motion:
    """The motion with Jᵀ F of the recorded wrench among its torques: τ + Jᵀ F = M q̈ + …; as it is without one.

    What was measured alone stays under "tau".
    """
    if log.wrench is None or not any("wrench" in run.more for run in motion.runs):
        return motion
    robot, runs = arm.robot, []
    for run in motion.runs:
        place = robot.tool_frame if log.wrench_frame in ("", "world") else log.wrench_frame
        J, wrench = robot.jacobian_batch(run.q, place), run.more["wrench"]
        if log.wrench_frame not in ("", "world"):
            R = robot.pose_batch(run.q, place)[1]
            wrench = np.concatenate(
                [np.einsum("nij,nj->ni", R, part) for part in (wrench[:, :3], wrench[:, 3:])], axis=1
            )
        pushed = np.einsum("nij,ni->nj", J, wrench)
        runs.append(replace(run, torque=run.torque + pushed, more=run.more | {"tau": run.torque}))
    return replace(motion, runs=tuple(runs))


def _paired(log: Log, motion: Motion, rows: Rows, arm: Arm, kinds: tuple[str, ...]) -> tuple[Motion, list[str]]:
    """The motion with the pairing of torques and states that fits best, and a sentence if it is not the file's own."""
    first = fit(rows, arm, kinds)
    step = float(np.median(np.diff(log.time[np.isfinite(log.time)])))
    late = round(first.shift / max(step, motion.period / 2))
    certain = abs(first.shift) > 3 * first.shift_deviation and abs(first.shift) > PAIRING * step
    if not certain or late == 0 or abs(late) > 5:
        return motion, []
    moved = with_contact(cleaned(_torques_moved(log, late), motion.filter.cutoff), arm, log)
    moved = replace(moved, remarks=motion.remarks, counts=motion.counts)
    again = fit(thinned_rows(moved, arm), arm, kinds)

    def size(one):
        return float(np.nanmean(2 * np.log(one.rms)))

    if abs(again.shift) > 0.5 * abs(first.shift) or size(again) > size(first) + 0.2:
        return motion, []
    side = "followed" if late > 0 else "came before"
    moved_by = "one row" if abs(late) == 1 else f"{abs(late)} rows"
    text = f"torques are paired with the state that {side} ({1e3 * first.shift:+.3g} ms): moved by {moved_by}"
    return moved, [text]


def _in_time(motion: Motion, arm: Arm, kinds: tuple[str, ...]) -> tuple[Motion, float]:
    """The motion with its torques moved by the time that they come late, and that time, s; 0 where it is chance."""
    first = fit(thinned_rows(motion, arm), arm, kinds)
    if not abs(first.shift) > 3 * first.shift_deviation:
        return motion, 0.0
    runs = tuple(replace(run, torque=moved_torque(run, first.shift)) for run in motion.runs)
    return replace(motion, runs=runs), first.shift


def _torques_moved(log: Log, late: int) -> Log:
    """The log with its torques `late` rows up; rows without a partner, and those that repeat another, get NaN."""
    stale = repeats(log)
    q, torque = log.q.copy(), log.torque.copy()
    q[stale], torque[stale] = np.nan, np.nan
    empty = np.full((abs(late), torque.shape[1]), np.nan)
    tau = np.concatenate([torque[late:], empty]) if late > 0 else np.concatenate([empty, torque[:late]])
    return replace(log, q=q, tau=tau)


def _other_estimates(motion: Motion, arm: Arm, main: Fit, speed: float, curve: Curve) -> list[tuple[Array, Array]]:
    """The same parameters by other ways: half the cutoff, and the friction curve that was not chosen."""
    other = curve.freed if main is curve.fit else curve.fit
    others = [] if other is None else [(other.values, other.deviation)]
    slower = Filter(0.5 * motion.filter.cutoff, motion.period)
    try:
        half = fit(thinned_rows(motion, arm, speed, slower), arm, _kinds_of(main, arm))
    except InvalidInput:  # the runs are too short for the slower filter
        return others
    return [*others, (half.values, half.deviation)]


def _by_rollouts(motion: Motion, arm: Arm, main: Fit, speed: float) -> tuple[Array, Judgement | None]:
    """Parameters refined on the first part of each run, judged on the rest beside nominal and classical."""
    training = replace(motion, runs=tuple(_first_part(run) for run in motion.runs))
    try:
        seen = fit(thinned_rows(training, arm, speed), arm, _kinds_of(main, arm))
        deviation = np.where(seen.free, seen.deviation, np.nan)
        shifts = {0.0, seen.shift} if abs(seen.shift) > 0.1 * motion.period else {0.0}
        ways = [(refined(motion, arm, seen.values, deviation, (speed, s, (0.0, SEEN))), s) for s in sorted(shifts)]
        (better, _), shift = min(ways, key=lambda way: way[0][1])
        better = possible(arm, better, seen)
        models = {
            "nominal": (arm.nominal, speed, 0.0),
            "classical": (possible(arm, seen.values, seen), speed, seen.shift),
            "identified": (better, speed, shift),
        }
        judgement = compare_models(motion, arm, models, (SEEN, 1.0))
        floor = residual_floor(arm, motion, seen.rms, better[arm.columns("rotor")], judgement.horizons)
        return better, replace(judgement, floor=floor)
    except InvalidInput:  # runs too short to hold some out
        return main.values, None


def _kinds_of(main: Fit, arm: Arm) -> tuple[str, ...]:
    return tuple(kind for kind in (*KINDS, "stribeck") if main.free[arm.columns(kind)].any())


def _first_part(run: Run) -> Run:
    end = int(SEEN * len(run.time))
    return Run(run.time[:end], run.q[:end], run.v[:end], run.torque[:end], {})


def _quantities(
    arm: Arm,
    main: Fit,
    spread: tuple[list[tuple[Array, Array]], Array, Array],
    of_rows: tuple[Array, dict[str, Array]],
) -> dict[str, Quantity]:
    (others, between, moved_by), (attenuation, reversals) = spread, of_rows
    quantities = {}
    for k, (name, unit) in enumerate(zip(arm.names, arm.units)):
        if name in main.refused:
            quantities[name] = Quantity(name, unit, np.nan, np.nan, np.nan, np.nan, main.refused[name])
        elif main.free[k]:
            chance, value = SAFETY * main.t95 * main.deviation[k], main.values[k]
            more = max((_beyond_chance(value, main.deviation[k], *one, k) for one in others), default=0.0)
            joint = (k - 10) % arm.robot.nv if k >= 10 else None
            more += attenuation[joint] * abs(value) if joint is not None and not name.startswith("offset") else 0.0
            kind = name.split(" ")[0]
            more += reversals[kind][joint] if joint is not None and kind in reversals else 0.0
            wide = max(0.0, float(between[k]) - more)
            told = _moved(_wider(_interval(name, unit, value, chance, more), wide), float(moved_by[k]))
            quantities[name] = _not_negative(told)
    return quantities


def _yielding(motion: Motion, arm: Arm, main: Fit, speed: float) -> tuple[Array, Array]:
    if any("q_motor" in run.more for run in motion.runs):  # positions are the links', beyond the gears
        return np.zeros_like(main.values), np.zeros_like(main.values)
    rows = thinned_rows(motion, arm, speed, carrying=main.values[:10])
    return yielding_joints(rows, arm, main, _kinds_of(main, arm))


def _not_lighter_than_nothing(arm: Arm, main: Fit, rows: Rows, quantities: dict[str, Quantity]) -> dict[str, Quantity]:
    """The load's quantities, with room for the error of a model that makes it lighter than nothing."""
    mass = quantities.get("mass")
    if mass is None or mass.reason:
        return {}
    room = room_for_the_lightest(rows, arm, main, _kinds_of(main, arm), mass.value)
    load = {name: (quantities[name], float(more)) for name, more in zip(BODY, room) if name in quantities}
    return {name: _wider(q, max(0.0, q.chance + more - q.half)) for name, (q, more) in load.items() if more > 0}


def _union(main: Fit, better: Fit | None) -> Array:
    """Half widths that an interval grows by to hold that of a model with more in it, which was not taken."""
    if better is None:
        return np.zeros_like(main.values)
    chance, other = (SAFETY * one.t95 * one.deviation for one in (main, better))
    return np.maximum(np.nan_to_num(np.abs(better.values - main.values) + other - chance, nan=0.0), 0.0)


def _wider(q: Quantity, by: float) -> Quantity:
    """An interval with the spread between joints; it widens and never refuses, for 0 may well be the value."""
    return replace(q, low=float(q.low - by), high=float(q.high + by))


def _moved(q: Quantity, by: float) -> Quantity:
    """An estimate with its interval, corrected for what joints that yield feign."""
    return replace(q, value=float(q.value + by), low=float(q.low + by), high=float(q.high + by))


def _not_negative(q: Quantity) -> Quantity:
    """Friction and rotor inertia are not negative: intervals are cut at 0, and refused where nothing is left."""
    if q.reason or q.name.split(" ")[0] not in ("viscous", "coulomb", "rotor") or q.low >= 0:
        return q
    if q.high < 0:
        reason = (
            f"it comes out negative ({q.low:.2g} … {q.high:.2g} {q.unit}): the model of links or friction is wrong here"
        )
        return Quantity(q.name, q.unit, np.nan, np.nan, np.nan, q.chance, reason)
    return replace(q, value=max(q.value, 0.0), low=0.0)


def _reversals(arm: Arm, main: Fit, motion: Motion, stribeck: float) -> dict[str, Array]:
    """Uncertainty of friction from instants of reversals, known to half a row: F × reversals per s × half a row.

    A Stribeck torque acts near the reversals alone: of its time the half rows are a larger share.
    """
    duration = sum(run.time[-1] - run.time[0] for run in motion.runs)
    V = [motion.filter(run.v) for run in motion.runs]
    turns = sum(np.sum(np.diff(np.sign(v), axis=0) != 0, axis=0) for v in V)
    step = duration / max(motion.counts["rows"] - motion.counts.get("repeated", 0), 1)
    wrong, everywhere = turns / duration * 0.5 * step, np.concatenate(V)
    coulomb, more = (np.abs(main.values[arm.columns(kind)]) for kind in ("coulomb", "stribeck"))
    speed = np.sqrt(np.mean(everywhere**2, axis=0))
    near = np.mean(np.exp(-((everywhere / stribeck) ** 2)), axis=0)
    viscous = coulomb * wrong / np.maximum(speed, 1e-3)
    return {
        "coulomb": coulomb * wrong,
        "viscous": viscous,
        "stribeck": (coulomb + more) * wrong / np.maximum(near, 1e-3),
    }


def _beyond_chance(value: float, deviation: float, values: Array, deviations: Array, k: int) -> float:
    if not np.isfinite(deviations[k]):
        return 0.0
    return max(0.0, abs(values[k] - value) - CHANCE * float(np.hypot(deviation, deviations[k])))


def _attenuation(rows: Rows) -> Array:
    """The share that noise of the filtered speeds takes off a slope: its variance over that of the speed, per joint.

    The noise is what a cubic through five neighbours at the filter's own spacing does not explain.
    """
    v = rows.speed
    third = v[4:] - 4 * v[3:-1] + 6 * v[2:-2] - 4 * v[1:-3] + v[:-4]
    noise = np.median(np.abs(third), axis=0) ** 2 / (0.6745**2 * 70.0)
    return np.minimum(noise / np.maximum(np.var(v, axis=0), 1e-12), 1.0)


def _interval(name: str, unit: str, value: float, chance: float, more: float) -> Quantity:
    half = chance + more
    if more > abs(value) + 2 * chance and more > 0:
        reason = (
            f"two ways to estimate it differ by more than its value ({more:.2g} {unit}): the model leaves something out"
        )
        return Quantity(name, unit, np.nan, np.nan, np.nan, chance, reason)
    return Quantity(name, unit, float(value), float(value - half), float(value + half), float(chance))


def possible(arm: Arm, values: Array, main: Fit) -> Array:
    """Parameters that a real arm can have: a load that is a body, friction and rotors not negative.

    A load of negative mass stands for a welded body of the model that is not there, or not whole: it becomes that share
    of the body's own inertia; nothing where the model has no such body.
    """
    out = values.copy()
    for kind in ("viscous", "coulomb", "rotor"):
        out[arm.columns(kind)] = np.maximum(out[arm.columns(kind)], 0.0)
    load = out[:10]
    if load[0] < 0:
        heaviest = max(arm.welded.values(), key=lambda body: body[0], default=np.zeros(10))
        out[:10] = heaviest * max(load[0] / heaviest[0], -0.999) if heaviest[0] > 0 else 0.0
    elif np.any(load) and np.linalg.eigvalsh(pseudo_inertia(load))[0] < 0:
        information = np.diag(1.0 / np.maximum(np.where(main.free[:10], main.deviation[:10], 1e-3), 1e-9) ** 2)
        out[:10] = nearest_possible(load, information)
    return out


def centre(quantities: dict[str, Quantity]) -> Array | None:
    """The load's centre of mass, m, in its frame; None where it is not known or the mass is not positive."""
    parts = [quantities.get(name) for name in ("mass", "mass_x", "mass_y", "mass_z")]
    if any(part is None or part.reason for part in parts):
        return None
    mass, *moments = [part.value for part in parts if part is not None]
    return np.array(moments) / mass if mass > 0 else None


def _remarks(
    arm: Arm, motion: Motion, main: Fit, quantities: dict[str, Quantity], speed: float | None, shift: Quantity
) -> Iterator[str]:
    yield from _shift_remark(motion, shift)
    yield from load_remarks(arm, quantities)
    if not main.free.any():
        return
    slow, fast = (float(np.nanpercentile(np.abs(np.concatenate([r.v for r in motion.runs])), p)) for p in (5, 99))
    if speed is not None:
        yield f"friction falls with speed (Stribeck) around {speed:g} rad/s"
    else:
        yield f"no Stribeck effect is seen at speeds from {slow:.2g} to {fast:.2g} rad/s"
    yield from _side_remark(arm, quantities)
    yield f"intervals: {main.blocks} blocks of {main.block} rows, as long as the residual's autocorrelation asks for"


def _unexplained(parity: Parity, main: Fit) -> Iterator[str]:
    """Joints of whose torques all that is fitted leaves more than half."""
    bad = [f"{j} ({left:.3g} of {all_of:.3g} N·m are left)"
           for j, left, all_of in zip(parity.joints, main.rms, parity.torque) if left > 0.5 * all_of > 0.1]  # fmt: skip
    if bad:
        yield f"torques do not follow the model in {', '.join(bad)}: are columns, order, signs and units right?"


def _side_remark(arm: Arm, quantities: dict[str, Quantity]) -> Iterator[str]:
    """On which side of gear and compensation the torques were measured, as far as rotors tell."""
    nominal = arm.nominal[arm.columns("rotor")]
    told = [quantities.get(f"rotor {joint}") for joint in arm.robot.dof_names]
    known = [(q, r) for q, r in zip(told, nominal) if q is not None and not q.reason and r > 0]
    if not known:
        return
    absent = sum(q.low <= 0 and q.high < r for q, r in known)
    there = sum(q.low > 0 for q, _ in known)
    if absent > 2 * there:
        yield (
            f"rotors do not show in the torques: {absent} of {len(known)} joints exclude the catalogue's inertia,"
            f" {there} need one; the torques are of the link side, and friction is what the maker's torque loop leaves"
        )
    elif there > 2 * absent and 2 * there > len(known):
        yield f"rotors show in the torques of {there} of {len(known)} joints: these are of the motor side"


def _shift_remark(motion: Motion, shift: Quantity) -> Iterator[str]:
    rows = shift.value / motion.period
    if shift.reason or not shift.low * shift.high > 0:
        return
    side, span = "late" if shift.value > 0 else "early", f"{1e3 * shift.low:.3g} … {1e3 * shift.high:.3g} ms"
    told = f"torques come {1e3 * abs(shift.value):.3g} ms {side} ({span})"
    if abs(rows) > 0.4:
        told += f", {abs(rows):.2g} rows of the grid; corrected for"
    yield told


def load_remarks(arm: Arm, quantities: dict[str, Quantity]) -> Iterator[str]:
    """Sentences about the load on the flange."""
    mass = quantities.get("mass")
    if mass is None or mass.reason:
        yield f"what is on the {arm.frame} cannot be told: {mass.reason if mass else 'it was not asked'}"
        return
    for name, body in arm.welded.items():
        weight = float(body[0])
        if weight > 0.05 and mass.high < -0.5 * weight:
            left, low, high = (weight + x for x in (mass.value, mass.low, mass.high))
            yield (
                f"the model's {name} ({weight:.3g} kg) is not on the arm of the recording: {left:.2f} kg"
                f" ({low:.2f} … {high:.2f}) are there in its place"
            )
            return
    told, under = f"{mass.value:+.3f} kg ({mass.low:+.3f} … {mass.high:+.3f})", lightest(arm) - mass.value
    if under > 0:
        yield f"the load comes out {under:.2g} kg lighter than nothing, by an error of the model: its intervals hold it"
    if mass.low <= 0 <= mass.high:
        yield f"nothing more than the model has is on the {arm.frame}: {told}"
    elif mass.high < 0:
        yield f"nothing is on the {arm.frame}, and the model is too heavy there: {told}"
    else:
        yield f"on the {arm.frame} the recording has {told} more than the model"
