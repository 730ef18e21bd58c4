"""Seeded fuzzing: python tests/fuzz.py --seconds 60 --seed 0 --targets scenarios tables, or --tries 100 of each.

Targets: models, every shipped scenario, traces, tables of sweeps, the API, kept kernels, folders. Each try is one
mutated input. Counted are tries, acceptances, refusals (errors of palpate's own tree), and the faults there must be
none of: exceptions outside the tree, tries longer than --longest, accepted models whose mass matrix is not positive
definite, numbers that are not finite or not those of undamaged kernels, files outside a folder that were written.
A crash ends the process and shows in its exit code; the last try stands in the log then.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import palpate as pp
from in_folder import run_command
from moments import ENDLESS
from palpate.cli.main import UNEXPECTED
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.errors import PalpateError
from palpate.parquet import read_columns, read_footer
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.file.sources import read_data
from palpate.spatial import Pose

LONGEST = 10.0  # s of one try, if nothing else is asked for
NASTY = [
    "nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "0", "-0", "-1", "1e15", "1e-15", "1,5", "0x10", "", " ", "٣",
    "9" * 400, "true", "null", "é", "\x7f", "a" * 3000, "../../etc/passwd", "1 2", "1 2 3 4 5 6 7", "%s", "${x}",
]  # fmt: skip
ARM = """<mujoco model="arm"><compiler angle="radian"/><option timestep="0.001"/><worldbody>
<body name="one" pos="0 0 0.1"><joint name="j1" type="hinge" axis="0 0 1" range="-3 3" damping="0.1" armature="0.01"/>
<inertial pos="0.1 0 0" mass="2" diaginertia="0.02 0.03 0.03"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
<body name="two" pos="0.3 0 0" quat="1 0 0 0"><joint name="j2" type="slide" axis="1 0 0" range="0 0.5" stiffness="1"/>
<inertial pos="0 0 0.05" mass="1" fullinertia="0.01 0.01 0.01 0 0 0"/><site name="tool" pos="0.2 0 0"/></body></body>
</worldbody></mujoco>"""
URDF = """<robot name="arm"><link name="base"/><link name="one"><inertial><origin xyz="0.1 0 0" rpy="0 0 0"/>
<mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="one"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="50" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<link name="two"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
</inertial></link><joint name="j2" type="prismatic"><parent link="one"/><child link="two"/><axis xyz="1 0 0"/>
<limit lower="0" upper="0.5" effort="50" velocity="1"/></joint></robot>"""
TICKS = 20  # control periods of a scenario that is accepted
MOST_STEPS = 2000


class TooLong(BaseException):
    """A try that took longer than it may; outside Exception, so that nobody's net catches it."""


class Tally:
    """Counts of one target."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.seed = 0  # of the try under way

    @property
    def faults(self) -> list[str]:
        """The first fault of each place."""
        return list(self.first.values())

    def fault(self, kind: str, what: str, place: str = "") -> None:
        """Count a fault and keep the first of its place."""
        self.counts[kind] += 1
        self.first.setdefault(f"{kind} {place}", f"{kind}: seed {self.seed}: {what}")


# ------------------------------------------------------------------------------------------------ mutations


def mutated_text(rng: random.Random, text: str) -> str:
    """One to four of: a number replaced, a piece deleted, doubled or moved, a character changed, the end cut off."""
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(6)
        numbers = list(re.finditer(r"-?\d+\.?\d*", text))
        elements = list(re.finditer(r"<[^<>]*>", text))
        if kind <= 2 and numbers:
            at = rng.choice(numbers)
            text = text[: at.start()] + rng.choice(NASTY) + text[at.end() :]
        elif kind == 3 and elements:
            at, to = rng.choice(elements), rng.choice(elements)
            piece = at.group() if rng.random() < 0.7 else ""
            text = text[: to.start()] + piece + text[to.start() :] if piece else text[: at.start()] + text[at.end() :]
        elif kind == 4 and text:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["<", ">", '"', "&", "\0", "é", "", "/"]) + text[at + 1 :]
        elif rng.random() < 0.1:
            text = text[: rng.randrange(len(text) + 1)]
    return text


def nasty_value(rng: random.Random) -> Any:
    """A value nobody expects, as TOML can hold it."""
    return rng.choice(
        [
            float("nan"), float("inf"), 1e308, -1e308, 1e-308, 0, -1, 10**30, 10**400, True, "", "x", "é\x1b[2J", [],
            {}, [[]], [1, "a"], "a" * 3000, [0.0] * 100, {"x": {"y": {}}}, "panda", "rigid", 1e-9, 7, [1e9] * 3,
        ]
    )  # fmt: skip


def another_value(rng: random.Random, value: Any) -> Any:
    """A number some powers of ten off, or a value nobody expects."""
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.8:
        factor = rng.choice([-1, 0.1, 10, 1e-3, 1e3, 1e-6, 1e6, 1e-12, 1e12, 1e30])
        return value * int(factor) if isinstance(value, int) else value * factor or factor
    return nasty_value(rng)


def mutated_data(rng: random.Random, data: Any) -> Any:
    """Plain data with one to three values, keys or tables replaced, added or taken away."""
    result = copy.deepcopy(data)
    for _ in range(rng.randint(1, 3)):
        here = result
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(here[key], dict | list) and rng.random() < 0.7:
                here = here[key]
                continue
            kind = rng.random()
            if kind < 0.75:
                here[key] = another_value(rng, here[key])
            elif kind < 0.85:
                del here[key]
            elif isinstance(here, dict):
                here[rng.choice(["x", str(key) + "s", "law", "name", "delay", "mass"])] = here[key]
            else:
                here.append(here[key])
            break
    return result


def mutated_bytes(rng: random.Random, content: bytes) -> bytes:
    """Bytes changed, cut, doubled or swapped."""
    out = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(out)) if out else 0
        kind = rng.randrange(5)
        if kind <= 1 and out:
            out[at] = rng.randrange(256)
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at : at + rng.randrange(1, 50)]
        else:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 20)))
    return bytes(out)


# ------------------------------------------------------------------------------------------------ targets


def positive_definite(robot: pp.Robot) -> bool:
    """Whether M is positive definite at home and at random postures, by its eigenvalues in its own scale."""
    rng = np.random.default_rng(1)
    for k in range(5):
        q = robot.home
        if robot.nq == robot.nv and k:
            lower, upper = np.maximum(robot.limits.lower, -3.0), np.minimum(robot.limits.upper, 3.0)
            q = lower + (upper - lower) * rng.random(robot.nq)
        M = robot.mass_matrix(q)
        scale = 1 / np.sqrt(np.diag(M))
        if not np.linalg.eigvalsh(scale[:, None] * M * scale)[0] > 0:
            return False
    return True


def try_model(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A mutated URDF file or MJCF text."""
    if rng.random() < 0.5:
        robot = pp.Robot.from_mjcf_text(mutated_text(rng, ARM))
    else:
        (folder / "arm.urdf").write_text(mutated_text(rng, URDF), encoding="utf-8")
        robot = pp.load_robot(folder / "arm.urdf")
    if not robot.unresisted and not positive_definite(robot):
        tally.fault("not positive definite", repr(robot))


def brief(scenario: pp.Scenario) -> pp.Scenario:
    """The scenario over some ticks of its clock."""
    run = scenario.run
    period = max(run.timestep, 1.0 / run.rate if run.rate else 0.0)
    return scenario.replace(run__duration=min(run.duration, TICKS * period))


def run_briefly(scenario: pp.Scenario) -> pp.Trace | None:
    """Its first ticks; nothing where even these are many steps."""
    short = brief(scenario)
    return pp.simulate(short) if short.run.steps <= MOST_STEPS else None


@cache
def _compile_for(name: str) -> None:
    """Run a scenario as it is once, so that its kernels are there; the time is not counted."""
    timers = (signal.ITIMER_PROF, signal.ITIMER_REAL)
    left = {timer: signal.setitimer(timer, 0)[0] for timer in timers}  # clock: of time_limit
    run_briefly(pp.load_scenario(name))
    for timer, span in left.items():
        signal.setitimer(timer, span)  # clock: of time_limit


def try_scenario(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A shipped scenario with other settings, those of its file or every one there is; an accepted one is run."""
    name = rng.choice(shipped())
    _compile_for(name)
    whole = rng.random() < 0.5
    data = mutated_data(rng, pp.load_scenario(name).as_data() if whole else read_data(name)[0])
    trace = run_briefly(scenario_from_data(data))
    if trace is not None and any(not np.isfinite(trace[channel]).all() for channel in trace):
        tally.fault("not finite", f"{name}: {trace!r}")


def try_trace(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A damaged trace."""
    source = rng.choice(sorted((folder / "whole").iterdir()))
    damaged = folder / f"damaged{source.suffix}"
    damaged.write_bytes(mutated_bytes(rng, source.read_bytes()))
    pp.load_trace(damaged)


def try_table(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A damaged table of a sweep, read column by column."""
    damaged = folder / "damaged-table.parquet"
    damaged.write_bytes(mutated_bytes(rng, (folder / "sweep" / "table.parquet").read_bytes()))
    read_columns(damaged, read_footer(damaged).columns)


# ------------------------------------------------------------------------------------------------ kept kernels

_CHILD = """
import hashlib, palpate as pp
robot = pp.load_robot("planar3")
q, v = [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]
terms = robot.mass_matrix(q), robot.bias(q, v), robot.gravity(q), robot.jacobian(q), robot.jacobian_drift(q, v)
print(hashlib.sha256(b"".join(array.tobytes() for array in terms)).hexdigest())
"""  # few kernels, compiled anew in seconds


def fingerprint(cache: Path) -> str:
    """Of a short run in another process with kernels from a folder; the end of its errors where it fails."""
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], capture_output=True, text=True, env=environment, timeout=ENDLESS
    )
    return done.stdout.strip() if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-300:]}"


def try_kernel(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A bit flipped in a kept kernel or its index: the numbers stay those of the undamaged folder."""
    kept = folder / "kernels"
    if not kept.exists():
        (folder / "undamaged").write_text(fingerprint(kept))
    damaged = folder / "damaged-kernels"
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(kept, damaged)
    file = rng.choice(sorted(path for path in damaged.rglob("*") if path.is_file() and path.stat().st_size))
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(bytes(content))
    result = fingerprint(damaged)
    if result != (folder / "undamaged").read_text():
        tally.fault("damaged kernel used", f"{file.name}: {result}")


# ------------------------------------------------------------------------------------------------ folders


def plant(rng: random.Random, path: Path, victim: Path) -> None:
    """Something that is not palpate's in the place of one of its files."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    kind = rng.randrange(6)
    if kind <= 1:
        path.symlink_to(victim if kind else victim.with_name("dangling"))
    elif kind == 2:
        os.mkfifo(path)
    elif kind == 3:
        path.mkdir()
    else:
        path.write_bytes(b"mine" if kind == 4 else b"")
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)


def try_folder(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A command on a folder where links, FIFOs, folders and files of others stand in for palpate's own."""
    at = folder / "folders"
    shutil.rmtree(at, ignore_errors=True)
    at.mkdir()
    victim = at / "victim"
    victim.write_bytes(b"precious")
    shutil.copytree(folder / "run", at / "runs" / "x")
    shutil.copytree(folder / "sweep", at / "sweep")
    run = ["run", "pendulum", "--set", "run.duration=0.01", "--out"]
    words, target = rng.choice(
        [
            ([*run, "runs/x"], "runs/x"), ([*run, "fresh"], "fresh"), (["report", "runs/x"], "runs/x"),
            (["list", "runs"], "runs/x"), (["report", "runs/x", "--replay"], "runs/x"), (["report", "sweep"], "sweep"),
            (["compare", "runs/x", "runs/x"], "runs/x"), (["sweep", "--resume", "sweep", "--workers", "0"], "sweep"),
        ]
    )  # fmt: skip
    place = at / target
    names = sorted(path.name for path in (place if place.exists() else at / "runs" / "x").iterdir())
    place.mkdir(exist_ok=True)
    for name in rng.sample([*names, ".palpate-run.json", "report.html", "compare.html"], rng.randint(1, 2)):
        plant(rng, place / name, victim)
    code, said = run_command(words, at)
    if code == UNEXPECTED or code not in (0, 1, 2, 3):
        tally.fault("unexpected exit", f"{' '.join(words)}: {code}: {said[-300:]}", said[-60:])
    if victim.read_bytes() != b"precious" or (at / "dangling").exists():
        tally.fault("written outside", " ".join(words), words[0])


# ------------------------------------------------------------------------------------------------ the API


def nasty_argument(rng: random.Random) -> Any:
    """An argument nobody expects."""
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    return rng.choice(
        [
            None, "x", b"x", float("nan"), np.nan, [np.nan, 0.0], [1e308, 1e308], [], {}, object(), 1 + 2j, [1, 2, 3],
            np.zeros((2, 2)), np.zeros(2, dtype="U3"), np.zeros(2, dtype=complex),
            np.ma.array([0.0, 1.0], mask=[True, False]),
            np.zeros(2, dtype="datetime64[s]"), frozen, np.zeros(2, dtype=object), [[0.0], [1.0, 2.0]], 10**400, True,
            np.zeros(0), "tool", Path("."), lambda x: x, np.float32(1), np.zeros(4)[::2], [0.1, 0.2], -1, 0.5, 1e-300,
        ]
    )  # fmt: skip


def _calls(robot: pp.Robot, trace: pp.Trace) -> list[Callable[..., Any]]:
    law = GravityCompensation().bind(robot)
    one_argument: list[Callable[..., Any]] = [
        robot.mass_matrix, robot.gravity, robot.pose, robot.jacobian, robot.text, robot.with_payload, robot.frame,
        robot.with_gravity, robot.with_tool_frame, robot.with_locked, trace.at, trace.slice, trace.save,
        lambda x: trace[x], lambda x: pp.load_robot(x), lambda x: pp.load_trace(x), lambda x: pp.load_scenario(x),
        lambda x: pp.world.Clock(duration=x), lambda x: pp.world.Clock(seed=x), lambda x: pp.world.Surface(position=x),
        pp.trace.Recording, lambda x: pp.trace.Recording(stride=x), lambda x: pp.trace.StopWhen("q", above=x),
        lambda x: pp.World(gravity=x), lambda x: pp.world.Push(force=x), lambda x: pp.robot.DHLink(a=x),
        pp.Robot.from_dh, pp.Robot.from_mjcf_text, lambda x: pp.Run(robot, x),
        lambda x: pp.Run(robot, GravityCompensation(), q_start=x),
        pp.simulate, lambda x: law.tick(robot, x, np.zeros(2)), lambda x: law.tick(robot, np.zeros(2), x),
        lambda x: law.tick(robot, np.zeros(2), np.zeros(2), dt=x), lambda x: Pose.from_quat(x, (1, 0, 0, 0)),
        lambda x: Pose.from_quat((0, 0, 0), x), lambda x: pp.run.simulate_many([x]),
    ]  # fmt: skip
    two: list[Callable[..., Any]] = [robot.bias, robot.coriolis_matrix, robot.task_inertia, robot.jacobian_drift]
    three: list[Callable[..., Any]] = [robot.inverse_dynamics, robot.forward_dynamics]
    return [*one_argument, *(lambda x, f=f: f([0.1, 0.2], x) for f in two), *(lambda x, f=f: f(x, x) for f in two),
            *(lambda x, f=f: f([0.1, 0.2], x, [0.0, 0.0]) for f in three)]  # fmt: skip


def try_api(rng: random.Random, folder: Path, tally: Tally) -> None:
    """A call of the API with an argument nobody expects; what is called is put into the log first."""
    if not hasattr(try_api, "calls"):
        robot = pp.load_robot("planar2")
        trace = pp.simulate(pp.Run(robot, GravityCompensation(), clock=pp.world.Clock(duration=0.01)))
        try_api.calls = _calls(robot, trace)  # pyright: ignore[reportFunctionMemberAccess]
    rng.choice(try_api.calls)(nasty_argument(rng))  # pyright: ignore[reportFunctionMemberAccess]


TARGETS = {
    "models": try_model, "scenarios": try_scenario, "traces": try_trace, "tables": try_table, "api": try_api,
    "kernels": try_kernel, "folders": try_folder,
}  # fmt: skip
LONG_TRIES = {"kernels": 120.0}  # s that one of them may take: another process, which may compile


# ------------------------------------------------------------------------------------------------ driving


def prepare(folder: Path) -> None:
    """Whole traces of every format, a folder of a run and one of a sweep."""
    from palpate.run.after import keep

    keep.EVERY = 0.0
    (folder / "whole").mkdir()
    run = pp.Run(pp.load_robot("pendulum"), GravityCompensation(), clock=pp.world.Clock(duration=0.05))
    trace = pp.simulate(run, partial=folder / "whole" / "run.parts")
    trace.save(folder / "whole" / "run.parquet")
    trace.save(folder / "whole" / "run.npz")
    short = ["pendulum", "--set", "run.duration=0.01", "--quiet"]
    for words in (
        ["run", *short, "--out", "run"],
        [
            "sweep",
            *short,
            "--vary",
            "world.plant.mass_scale=0.9:1.1",
            "--runs",
            "2",
            "--workers",
            "0",
            "--out",
            "sweep",
        ],
    ):
        code, said = run_command(words, folder)
        assert code == 0, said


def one_try(name: str, seed: int, folder: Path, tally: Tally, longest: float = LONGEST) -> None:
    """One seeded try of a target, timed and counted; one that took too long has a second go, without compiling."""
    tally.counts["tries"] += 1
    tally.seed = seed
    for last in (False, True):
        try:
            with time_limit(max(longest, LONG_TRIES.get(name, 0.0))):
                TARGETS[name](random.Random(f"{name}-{seed}"), folder, tally)
            tally.counts["accepted"] += 1
        except PalpateError:
            tally.counts["refused"] += 1
        except TooLong:
            if not last:
                continue
            tally.fault("hangs", "and again when tried once more")
        except BaseException as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "palpate/" in f.filename]
            where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "fuzz.py"
            said = f"{type(error).__name__}: {str(error)[:120]} ({where})"
            tally.fault("outside the tree", said, f"{type(error).__name__} {where}")
        return


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLong after some seconds of computing, or six times as many of waiting.

    The tests allow 300 s, a hundred times as long as any of their tries takes: what ends there is endless.
    """

    def too_long(*_: object) -> None:
        raise TooLong

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, 6 * seconds)}
    before = {number: signal.signal(number, too_long) for number in timers}
    for timer, span in timers.values():
        signal.setitimer(timer, span)  # clock: as said above
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)  # clock: ends it
            signal.signal(number, before[number])


def seeds(first: int, seconds: float | None, tries: int) -> Iterator[int]:
    """One seed after the other: as many as there are tries, or for some seconds."""
    if seconds is None:
        yield from range(first, first + tries)
        return
    end, numbers = time.monotonic() + seconds, count(first)  # clock: make fuzz is given a time
    while time.monotonic() < end:  # clock: as above
        yield next(numbers)


def fuzz(
    targets: list[str],
    first_seed: int,
    *,
    seconds: float | None = None,
    tries: int = 0,
    longest: float = LONGEST,
    log: Path | None = None,
) -> dict[str, Any]:
    """Every target in turn, so many tries of each or for its share of the time; counts and faults by target."""
    warnings.simplefilter("ignore")
    tallies = {name: Tally() for name in targets}
    with tempfile.TemporaryDirectory(prefix="palpate-fuzz-") as place:
        prepare(Path(place))
        for name, tally in tallies.items():
            for seed in seeds(first_seed, None if seconds is None else seconds / len(targets), tries):
                if log is not None:
                    log.write_text(f"{name} {seed}")
                one_try(name, seed, Path(place), tally, longest)
    return {name: {**tally.counts, "faults": tally.faults} for name, tally in tallies.items()}


def main() -> int:
    """The command; 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of all targets together (60)")
    parser.add_argument("--tries", type=int, help="of each target, however long they take, instead of --seconds")
    parser.add_argument("--seed", type=int, help="of the first try; a fresh one, which is printed, if not given")
    parser.add_argument("--targets", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--longest", type=float, default=LONGEST, help="s of computing that one try may take (10)")
    parser.add_argument("--log", type=Path, help="file that holds the try under way")
    args = parser.parse_args()
    seed = int(time.time()) if args.seed is None else args.seed  # clock: a number that is new
    print(f"seed {seed}", file=sys.stderr)
    amount = {"seconds": args.seconds} if args.tries is None else {"tries": args.tries}
    found = fuzz(args.targets, seed, longest=args.longest, log=args.log, **amount)
    print(json.dumps(found, indent=1))
    return int(any(tally["faults"] for tally in found.values()))


if __name__ == "__main__":
    sys.exit(main())
