"""Random loops around elastic joints, what was foretold of them, and what happened: ten arms under five laws.

    python tests/elastic_forecast_table.py --rounds 4 --seed 7

Every arm holds its home posture under every law, once in each round: with other gains, sides and filters of its
encoders, delays, torque loops and friction. Arms whose gears are in the catalogue have them, at a random place in their
ranges; others get gears and rotors of the size of their torques. Judged as in `forecast_table`; what goes on there is
followed for 48 s after the push and a tenth of it, as modes of undamped gears may decay for minutes: it decays where
both answers fall by a tenth from the first half to the second, the smaller push has less than half the answer, and
nothing moves without a push.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np

import palpate as pp
from forecast_table import AFTER, SHAKES, Drawn, Row, is_wrong, push_of, row_of, table, take_friction_away
from palpate.checks import Array
from palpate.errors import PalpateError
from palpate.robot import catalogue
from palpate.robot.catalogue.joint_facts import ranges
from palpate.run.assemble.assemble import assemble
from palpate.run.build import build
from palpate.run.simulate import execute_bare
from palpate.scenario.model import Scenario
from palpate.world.plants.plant import dry_friction

ARMS = ("panda", "fr3", "iiwa14", "ur5e", "ur10e", "ur3e", "gen3", "sawyer", "xarm7", "puma560")
LAWS = ("joint-impedance", "computed-torque", "cartesian-impedance", "shaped-impedance", "operational-space")
END = 0.5  # s of standing before the push
LONG, PIECES = 48.0, 8  # s after it, and pieces of them, where a loop goes on


def laws_of(robot: pp.Robot, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Five laws with gains around those of their scenarios."""
    stiffer, damper = float(10 ** rng.uniform(-0.5, 1.3)), float(10 ** rng.uniform(-0.3, 0.4))
    K = np.array([400.0] * 3 + [20.0] * 3) * stiffer
    joints = 3.0 * robot.limits.torque * stiffer
    frequency = 15.0 * stiffer**0.5
    return {
        "joint-impedance": {"stiffness": joints.tolist(), "damping_ratio": 0.7 * damper},
        "computed-torque": {"frequency": frequency, "damping_ratio": damper},
        "cartesian-impedance": {"stiffness": K.tolist(), "damping": (2.0 * damper * np.sqrt(K)).tolist()},
        "shaped-impedance": {
            "mass": [4.0] * 3 + [0.3] * 3, "stiffness": (0.5 * K).tolist(), "damping_ratio": 0.7 * damper,
        },
        "operational-space": {"frequency": frequency, "damping_ratio": damper},
    }  # fmt: skip


def gears_of(name: str, robot: pp.Robot, rng: np.random.Generator) -> dict[str, Any]:
    """Stiffness of the gears, their damping, and rotors beyond those that the arm has."""
    facts, have = catalogue.facts(name), robot.model.dof_armature[: robot.nv]
    gears, rotors = (ranges(facts, kind, robot.dof_names) for kind in ("joint_stiffness", "rotor_inertia"))
    if gears is not None and rotors is not None:
        share = rng.uniform(0.0, 1.0, 2)
        K, B = (end[0] ** (1.0 - s) * end[2] ** s for end, s in zip((gears, rotors), share))
    else:
        K = robot.limits.torque * 10 ** rng.uniform(1.9, 2.6)
        B = np.maximum(robot.limits.torque * 10 ** rng.uniform(-2.7, -1.9), have)
    damping = 2.0 * rng.uniform(0.01, 0.05) * np.sqrt(K * B)
    return {
        "joint_stiffness": K.tolist(),
        "gear_damping": damping.tolist(),
        "rotor_inertia": np.maximum(B - have, 0.0).tolist(),
    }


def after_two_pushes(drawn: Drawn) -> Literal["decays", "goes on", "edge"]:
    """What a loop without dry friction does after the push and a tenth of it."""
    found = np.array([answer(drawn, share, rubs=False) for share in (1.0, 0.1)])
    first, last = found[:, : PIECES // 2].max(axis=1), found[:, PIECES // 2 :].max(axis=1)
    if not np.isfinite(found).all() or not last[1] < 0.5 * last[0]:  # what goes on by itself has a size of its own
        return "goes on"
    if (last < 0.9 * first).all():
        return "decays"
    return "goes on" if (last > first).all() else "edge"


def answer(drawn: Drawn, share: float, *, rubs: bool) -> Array:
    """Largest joint speeds of a share of the push, beside the run without it, in eight pieces of the time after it."""
    run, speeds = drawn.run, []
    clock = run.clock.model_copy(update={"duration": drawn.end + LONG})
    push = run.world.pushes[0]
    small = push.model_copy(update={kind: tuple(share * np.array(getattr(push, kind))) for kind in ("force", "torque")})
    for pushes in ((small,), ()):
        assembly = assemble(replace(run, clock=clock, world=run.world.model_copy(update={"pushes": pushes})))
        if not rubs:
            take_friction_away(assembly)
        trace = execute_bare(assembly, singular=False)
        if trace.outcome.kind != "completed":
            return np.full(PIECES, np.inf)
        speeds.append(trace["v"][trace.time >= drawn.end + 1.0])
    if np.abs(speeds[1][len(speeds[1]) // 2 :]).max() > SHAKES:  # without a push, too
        return np.full(PIECES, np.inf)
    return np.array([piece.max() for piece in np.array_split(np.abs(speeds[0] - speeds[1]).max(axis=1), PIECES)])


def judged(row: Row) -> Row:
    """The row, with what goes on looked at again, first without dry friction, which holds what may not decay."""
    if row.happened not in ("moved", "held"):
        return row
    free = after_two_pushes(row.drawn)
    if free == "goes on":
        return row
    if free == "decays" and row.happened == "moved" and row.drawn.rubs:
        rubbing = answer(row.drawn, 1.0, rubs=True)
        if not rubbing[PIECES // 2 :].max() < 0.9 * rubbing[: PIECES // 2].max():
            return row
    return replace(row, happened="stable" if free == "decays" else "edge")


def draw(name: str, law: str, rng: np.random.Generator) -> Drawn:
    """A random loop of an arm and a law."""
    robot = pp.load_robot(name)
    plant = gears_of(name, robot, rng)
    plant["joint_friction"] = float(rng.choice([0.0, 0.0, 0.3]))
    driver: dict[str, Any] = {"delay": int(rng.choice([0, 0, 1, 2, 4, 8]))}
    if rng.random() < 0.3:
        driver["torque_feedback"] = float(rng.choice([0.5, 2.0]))
    if rng.random() < 0.3:
        driver["torque_bandwidth"] = float(rng.choice([60.0, 150.0]))
    if rng.random() < 0.5:
        driver["coulomb_compensation"] = 1.0
    sensors: dict[str, Any] = {"encoders": str(rng.choice(["motor", "motor", "link", "torque", "gravity"]))}
    if rng.random() < 0.6:
        sensors["velocity"] = "differentiated"
        if rng.random() < 0.5:
            sensors["velocity_cutoff"] = float(rng.choice([30.0, 100.0]))
    control = {"law": law, **laws_of(robot, rng)[law]}
    scenario = Scenario.model_validate(
        {
            "name": "hold", "robot": {"model": name}, "control": control, "reference": {"kind": "hold"},
            "world": {"plant": plant, "driver": driver, "sensors": sensors},
            "run": {"duration": END + AFTER, "rate": 1000.0, "timestep": 5e-4},
        }
    )  # fmt: skip
    run = build(scenario)
    friction = dry_friction(run.robot, run.world)
    run = push_of(run, friction, END)
    words = ", ".join(f"{k} {v}" for k, v in {**driver, **sensors}.items())
    return Drawn(run, f"{name} {law}: {words}", END, AFTER, bool(friction.any()))


def main() -> None:
    """Print every row, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, rows, refused = np.random.default_rng(args.seed), [], 0
    for name, law in [*product(ARMS, LAWS)] * args.rounds:
        try:
            row = judged(row_of(draw(name, law, rng)))
        except PalpateError as error:
            print(f"  refused: {name} {law}: {str(error)[:110]}", flush=True)
            refused += 1
            continue
        rows.append(row)
        wrong = " !" if is_wrong(row.happened, row.foretold) else ""
        told = f"{row.foretold}{wrong}"
        print(f"{len(rows):4d} {row.happened:7s} {told:12s} {row.largest:.6f} {row.drawn.words} {row.why}", flush=True)
    print(table(rows))
    wrong, unknown = sum(is_wrong(r.happened, r.foretold) for r in rows), sum(r.foretold == "not known" for r in rows)
    print(f"Seed {args.seed}, {len(rows)} runs, {refused} refused. Wrong: {wrong}. Not known: {unknown}.")


if __name__ == "__main__":
    main()
