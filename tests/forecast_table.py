"""Random loops, what was foretold of them, and what happened: a table, from any seed.

    python tests/forecast_table.py --count 200 --seed 7 --out docs/forecast-table.md

Each scenario is a shipped one with other gains, walls, delays, drivers and friction, or a law of one's own. It is run
to where its motion ends, pushed with about twice what its dry friction holds, and run on. What happened is judged from
joint speeds alone: they grow or go on (moved), they end; where dry friction may have ended them, the same run without
it says whether friction held what was unstable. Beside it stand the poles of the loop itself.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

import palpate as pp
from palpate.control import PythonLaw
from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.build import build
from palpate.run.run import Run
from palpate.run.simulate import execute_bare
from palpate.run.tangent.along import moments_up_to
from palpate.run.tangent.loop_poles import LoopPoles, poles_here, run_until
from palpate.scenario.model import Scenario
from palpate.world.config import Push
from palpate.world.plants.plant import dry_friction

Happened = Literal["moved", "held", "stable", "edge"]
Foretold = Literal["unstable", "stable", "not known"]
AFTER = 3.0  # s that are run after the push,
SLOW = {"ur5e-admittance": 12.0}  # and more of what swings slowly
LONGEST = 10.0  # s, of a stretch in which the predictor looks whether joints come to rest, of six at most
QUIET = 1e-5  # rad/s or m/s
SHAKES = 0.02
CREEPS = 1e-4  # rad/s or m/s: what is faster at the end is looked at for longer,
SLIPS = 24.0  # s, in whose second half a contact that sticks and slips has slipped again
SLOPE = 0.15  # 1/s of the logarithm of speeds: less is on the edge


@dataclass
class Drawn:
    """A random run: what it is made of, when its motion ends, and how many joints rub."""

    run: Run
    words: str
    end: float
    after: float
    rubs: bool
    own: bool = False


@dataclass
class Row:
    """One line of the table."""

    drawn: Drawn
    happened: Happened
    foretold: Foretold
    largest: float
    why: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


HEAD = """# Foretold and happened

Random loops: a shipped scenario with other gains, walls, delays, drivers and friction, or a law of one's own. Each was
run to where its motion ends, pushed with about twice what its dry friction holds, and run on. *Moved*: joint speeds
grew or went on. *Held*: they ended, and do not without dry friction of the joints. *Stable*: they ended. *Edge*:
neither within the time of the run. Beside it stands what [the poles of the loop](loop-poles.md) say, of the run without
the push and, where joints rub, of the same without their dry friction. Written by `make forecast`.
"""


def _scaled(value: Any, factor: float) -> Any:
    if value is None:
        return None
    return [_scaled(x, factor) for x in value] if isinstance(value, tuple | list) else factor * value


def _changed(scenario: Scenario, rng: np.random.Generator) -> tuple[Scenario, str]:
    """Other gains, delays, driver, friction and walls."""
    control, changes, words = scenario.control.model_dump(), {}, []
    stiffer, damper = float(10 ** rng.uniform(-0.3, 1.2)), float(10 ** rng.uniform(-0.5, 0.9))
    for key, factor in (
        ("stiffness", stiffer),
        ("kp", stiffer),
        ("integral", stiffer),
        ("damping", damper),
        ("kd", damper),
    ):
        if isinstance(control.get(key), int | float | tuple | list):
            changes[f"control__{key}"] = _scaled(control[key], factor)
    words.append(f"gains × {stiffer:.2g}, damping × {damper:.2g}")
    delay = int(rng.choice([0, 0, 1, 2, 4, 8, 14, 20, 26]))
    if delay:
        changes["world__driver__delay"] = delay
        words.append(f"{delay} ticks late")
    if rng.random() < 0.3:
        changes["world__sensors__delay"] = int(rng.integers(1, 4))
        words.append(f"sensors {changes['world__sensors__delay']} late")
    if rng.random() < 0.3:
        changes["world__driver__cutoff"] = float(rng.choice([20.0, 60.0, 150.0]))
        words.append(f"filter {changes['world__driver__cutoff']:g} Hz")
    if rng.random() < 0.3:
        changes["world__plant__joint_friction"] = float(rng.choice([0.1, 0.4, 1.0]))
        words.append(f"friction + {changes['world__plant__joint_friction']:g}")
    elif rng.random() < 0.4 and scenario.robot.model in ("panda", "fr3"):
        changes["robot__joints"] = "ideal"
        words.append("ideal joints")
    for surface in scenario.world.surfaces:
        factor = float(10 ** rng.uniform(-0.5, 1.3))
        changes[f"world__surfaces__{surface.name}__stiffness"] = factor * surface.stiffness
        words.append(f"{surface.name} × {factor:.2g}")
    changes["world__sensors__wrench__noise_force"] = changes["world__sensors__wrench__noise_torque"] = 0.0
    return scenario.replace(**changes), ", ".join(words)


# Scenarios that are varied, and when their motion has ended, s.
BASES = {
    "panda-wall": 2.5,
    "fr3-wall": 3.0,
    "panda-joint-impedance": 2.2,
    "iiwa14-computed-torque": 2.8,
    "panda-shaped-mass": 1.0,
    "panda-slide": 6.5,
    "iiwa14-wipe": 6.6,
    "cartesian2-press": 2.5,
    "cartesian2-parallel": 2.5,
    "ur5e-admittance": 1.0,
}


def _own_law(rng: np.random.Generator) -> Callable[..., Any]:
    """A law in plain Python with a filter of its own: τ = K (q_d − q) − D v̄ + b, v̄ ← v̄ + g (v − v̄)."""
    K, D, g = (
        60.0 * 10 ** rng.uniform(-0.5, 1.0),
        12.0 * 10 ** rng.uniform(-0.8, 0.6),
        float(rng.choice([0.05, 0.2, 1.0])),
    )

    def law(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        memory["v"] += g * (tick.v - memory["v"])
        return {"torque": K * (tick.target.q - tick.q) - D * memory["v"] + tick.bias}

    return law


def draw(rng: np.random.Generator) -> Drawn:
    """A random run."""
    own = rng.random() < 0.12
    name = "panda-joint-impedance" if own else str(rng.choice(list(BASES)))
    scenario, words = _changed(pp.load_scenario(name), rng)
    end, after = BASES[name], SLOW.get(name, AFTER)
    run = build(scenario.replace(run__duration=end + after))
    if own:
        run = replace(run, law=PythonLaw(_own_law(rng), memory={"v": np.zeros(run.robot.nv)}))
        name = "own law"
    friction = dry_friction(run.robot, run.world)
    run = push_of(run, friction, end)
    return Drawn(run, f"{name}: {words}", end, after, bool(friction.any()), own)


def push_of(run: Run, friction: Any, at: float) -> Run:
    """The run with a push from a time on."""
    return replace(run, world=run.world.model_copy(update={"pushes": (_push(run, friction, at),)}))


def _push(run: Run, friction: Any, at: float) -> Push:
    """A wrench at the tool for 50 ms whose joint torques are about twice the dry friction, at least 1 N·m."""
    J = run.robot.jacobian(run.start()[0])
    wrench = np.linalg.pinv(J.T) @ np.maximum(2.0 * friction, 1.0)
    wrench *= min(1.0, 60.0 / np.linalg.norm(wrench[:3])) if wrench[:3].any() else 1.0
    return Push(name="push", force=tuple(wrench[:3]), torque=tuple(wrench[3:]), start=at, duration=0.05)


def take_friction_away(assembly: Assembly) -> None:
    """Let joints, and motors behind elastic gears, run without dry friction."""
    assembly.loop.friction.coulomb[:] = 0.0
    assembly.loop.elastic.coulomb[:] = assembly.loop.elastic.breakaway[:] = 0.0


def _speeds(run: Run, *, rubs: bool = True) -> tuple[Any, Any, bool]:
    """Instants, largest joint speeds, and whether the run came to its end."""
    assembly = assemble(run)
    if not rubs:
        take_friction_away(assembly)
    trace = execute_bare(assembly, singular=False)
    return np.asarray(trace.time), np.abs(np.asarray(trace["v"])).max(axis=1), trace.outcome.kind == "completed"


def _course(t: Any, speed: Any, completed: bool, drawn: Drawn) -> Literal["grows", "goes on", "decays", "edge"]:
    """How speeds go on after a push: the largest of the last quarter over that of the quarter before it."""
    if not completed:
        return "grows"
    edges = drawn.end + drawn.after * np.array([0.5, 0.75, 1.0])
    before, last = (float(speed[(t >= a) & (t <= b)].max()) for a, b in pairwise(edges))
    if last < QUIET:
        return "decays"
    slope = np.log(last / max(before, 1e-12)) / (0.25 * drawn.after)
    if slope > SLOPE:  # a joint that gives way by microradians does not grow
        return "grows" if last > CREEPS else "edge"
    if last > SHAKES:
        return "goes on" if last > 0.5 * before else "decays"
    return "decays" if slope < -SLOPE else "edge"


def _followed(drawn: Drawn, *, rubs: bool = True) -> Literal["grows", "goes on", "decays", "edge"]:
    """The course of a run after its push; of one that goes on, over four times as long.

    One that decays but still moves is followed for longer: a contact may stick for seconds, and slip again.
    """
    t, speed, completed = _speeds(drawn.run, rubs=rubs)
    course = _course(t, speed, completed, drawn)
    if course in ("goes on", "edge"):
        return _course(*_longer(drawn, 4.0, rubs=rubs), replace(drawn, after=4.0 * drawn.after))
    if course == "decays" and float(speed[t >= drawn.end + 0.75 * drawn.after].max()) > CREEPS:
        t, speed, completed = _longer(drawn, SLIPS / drawn.after, rubs=rubs)
        slips = float(speed[t >= drawn.end + 0.5 * SLIPS].max()) > SHAKES if completed else True
        return "goes on" if slips else "decays"
    return course


def _longer(drawn: Drawn, times: float, *, rubs: bool) -> tuple[Any, Any, bool]:
    """The speeds of a run that goes on for so many times as long after its push."""
    clock = drawn.run.clock.model_copy(update={"duration": drawn.end + times * drawn.after})
    return _speeds(replace(drawn.run, clock=clock), rubs=rubs)


def judge(drawn: Drawn) -> Happened:
    """What happened, from the run, and from the run without dry friction."""
    course = _followed(drawn)
    if course in ("grows", "goes on"):
        return "moved"
    if not drawn.rubs:
        return "stable" if course == "decays" else "edge"
    free = _followed(drawn, rubs=False)
    return {"grows": "held", "goes on": "held", "decays": "stable", "edge": "edge"}[free]  # pyright: ignore[reportReturnType]


def by_loop(run: Run, end: float) -> tuple[Foretold, LoopPoles]:
    """The loop's own poles in the states of contact that it shows where its motion has ended; else at its start.

    A run that has not come to rest there, and goes on without a push, is unstable whatever its poles: it bounces. Where
    joints rub the same is asked of the loop without their friction, which may stand otherwise.
    """
    told = _by_loop(run, end, rubs=True)
    if told[0] != "unstable" and dry_friction(run.robot, run.world).any():
        free = _by_loop(run, end, rubs=False)
        return free if free[0] == "unstable" else told
    return told


def _by_loop(run: Run, end: float, *, rubs: bool) -> tuple[Foretold, LoopPoles]:
    clock = run.clock.model_copy(update={"duration": end + 6.1 * LONGEST})
    assembly = assemble(replace(run, clock=clock, world=run.world.model_copy(update={"pushes": ()})))
    if not rubs:
        take_friction_away(assembly)
    start = poles_here(assembly, finer=False, probing=False)
    period = assembly.loop.period
    there = [moment.poles for moment in moments_up_to(assembly, round(end / period), "end", finer=False)]
    known = [found for found in there if found.stable is not None] or [start]
    worst = max(known, key=lambda found: found.largest)
    if worst.stable is not False and _goes_on(assembly, worst):
        return "unstable", replace(worst, not_differentiable="it does not come to rest")
    if worst.stable is None:
        return "not known", there[-1]
    return "stable" if worst.stable else "unstable", worst


def _goes_on(assembly: Assembly, poles: LoopPoles) -> bool:
    """Whether joints move on, over two stretches of time; over longer ones as long as these do not tell.

    A slow pole may carry a contact that sticks to where it slips, again and again: a stretch lasts two of its time
    constants, within bounds.
    """
    slow = poles.period / max(-math.log(poles.largest), 1e-9) if 0.0 < poles.largest < 1.0 else 0.0
    shortest = float(np.clip(2.0 * slow, 0.5, LONGEST))
    for span in (shortest, 2.0 * shortest, 4.0 * shortest):
        first, last = (_largest_speed(assembly, min(span, LONGEST)) for _ in range(2))
        if last > SHAKES and last > 0.9 * first:
            return True
        if last <= SHAKES or last < 0.3 * first:
            return False
    return False


def _largest_speed(assembly: Assembly, span: float) -> float:
    """Of the joints over the next seconds; infinite where the run ends before."""
    L, speed = assembly.loop, 0.0
    ticks = round(span / L.period)
    last = L.tick_count + ticks
    while L.tick_count < last:
        if not run_until(assembly, L.tick_count + max(1, round(0.01 / L.period))):
            return math.inf
        speed = max(speed, float(np.abs(L.plant.qvel).max()))
    return speed


def row_of(drawn: Drawn) -> Row:
    """Everything about one run."""
    clock = [time.process_time()]  # clock: the cost is a column of the table
    happened = judge(drawn)
    clock.append(time.process_time())  # clock: as above
    foretold, found = by_loop(drawn.run, drawn.end)
    clock.append(time.process_time())  # clock: as above
    seconds = {name: float(spent) for name, spent in zip(("runs", "poles"), np.diff(clock))}
    why = found.not_known or found.not_differentiable or ""
    return Row(drawn, happened, foretold, found.largest, why, seconds)


def is_wrong(happened: Happened, foretold: Foretold) -> bool:
    """Whether a prediction contradicts what happened."""
    unstable = happened in ("moved", "held")
    return happened != "edge" and foretold != "not known" and (foretold == "unstable") != unstable


def table(rows: list[Row]) -> str:
    """Counts by what happened and what was foretold."""
    lines = ["| what happened | foretold stable | unstable | not known |", "|---|---:|---:|---:|"]
    for happened in ("stable", "held", "moved", "edge"):
        count = Counter(r.foretold for r in rows if r.happened == happened)
        lines.append(f"| {happened} | {count['stable']} | {count['unstable']} | {count['not known']} |")
    return "\n".join(lines)


def page(rows: list[Row], seed: int) -> str:
    """The table with its totals."""
    wrong, unknown = (
        sum(is_wrong(r.happened, r.foretold) for r in rows),
        sum(r.foretold == "not known" for r in rows),
    )
    cost = {k: 1e3 * float(np.median([r.seconds[k] for r in rows])) for k in ("runs", "poles")}
    bad = sum(r.happened in ("moved", "held") for r in rows)
    return "\n".join([
        f"Seed {seed}, {len(rows)} runs: {bad} unstable, {sum(r.drawn.rubs for r in rows)} with dry friction,"
        f" {sum(r.drawn.own for r in rows)} laws of one's own. Wrong: {wrong}. Not known: {unknown}. Median CPU:"
        f" {cost['runs']:.0f} ms for the pushed runs, {cost['poles']:.0f} ms for what was foretold.",
        "",
        table(rows),
    ])  # fmt: skip


def main() -> None:
    """Draw, run, judge, foretell, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--out", default=None, help="write the table to a file, too")
    args = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    rng, rows = np.random.default_rng(seed), []
    while len(rows) < args.count:
        try:
            row = row_of(draw(rng))
        except KeyboardInterrupt:  # the table of those so far
            break
        except PalpateError as error:
            print(f"  refused: {str(error)[:110]}", flush=True)
            continue
        rows.append(row)
        wrong = " !" if is_wrong(row.happened, row.foretold) else ""
        told = f"{row.foretold}{wrong}"
        print(f"{len(rows):4d} {row.happened:7s} {told:12s} {row.largest:.6f} {row.drawn.words} {row.why}", flush=True)
    print(page(rows, seed))
    if args.out is not None:
        Path(args.out).write_text(f"{HEAD}\n{page(rows, seed)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
