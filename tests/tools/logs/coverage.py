"""Counts how often intervals hold, quantity by quantity: one JSON line per recording, appended, and a table at the end.

    python -m tests.tools.logs.coverage --kind stribeck --seeds 5000:5100 --out build/log-coverage/stribeck.jsonl

A count that was cut short goes on where it stopped. Kinds: "right" (the arm is of the class that is fitted), "stribeck"
(a Stribeck truth, a Coulomb fit), "stribeck-auto" (the same truth, the fit chosen by the recording), "elastic" (elastic
joints, a rigid fit), "rendered" (stiffness, damping, delays and the wall of simulated runs).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tests.tools.logs import drawn_rendered
from tests.tools.logs.drawn import drawn

import palpate as pp
from palpate.tools.logs.identify import Quantity, identify
from palpate.tools.logs.model import Arm

KINDS = {  # the truth that is drawn, and the friction that is fitted
    "right": ("right", "coulomb"),
    "stribeck": ("stribeck truth", "coulomb"),
    "stribeck-auto": ("stribeck truth", "auto"),
    "elastic": ("elastic truth", "coulomb"),
    "rendered": ("", ""),
}
MODEL = "ur5e-3link"
STRUCTURAL = {"I_xx", "I_yy", "rotor joint1"}  # which no motion of this arm tells
T95 = 1.96  # deviations of a two-sided 95 % interval of a normal distribution


@dataclass(frozen=True)
class Interval:
    """What one recording said of one quantity.

    Attributes:
        name: of the quantity.
        true: its true value.
        low, high: the interval; NaN where it was refused.
        bound: Cramér–Rao bound of a standard deviation; NaN where there is none.
        reason: of the refusal, "" where there is an interval.
    """

    name: str
    true: float
    low: float
    high: float
    bound: float
    reason: str


@dataclass(frozen=True)
class Count:
    """The intervals of one quantity over all recordings.

    Attributes:
        inside, told, refused: how many hold the truth, were given, were refused.
        width: median half width over that of the Cramér–Rao bound; NaN where there is none.
    """

    inside: int
    told: int
    refused: int
    width: float

    @property
    def share(self) -> float:
        """Share of the given intervals that hold; 1 where none was given."""
        return self.inside / self.told if self.told else 1.0

    @property
    def refusals(self) -> float:
        """Share of the recordings that were refused."""
        return self.refused / max(self.told + self.refused, 1)


@cache
def arm() -> Arm:
    """The arm of all drawn recordings."""
    return Arm.of(pp.load_robot(MODEL))


def intervals(kind: str, seed: int) -> list[Interval]:
    """The intervals that the drawn recording of a seed gives."""
    return list(_rendered(seed) if kind == "rendered" else _identified(kind, seed))


def _identified(kind: str, seed: int) -> Iterator[Interval]:
    truth, friction = KINDS[kind]
    one = drawn(arm(), seed, truth)
    quantities = identify(one.log, arm(), rollouts=False, friction=friction).quantities
    for name, true, bound in zip(arm().names, one.theta, one.bound):
        if name in quantities:
            yield _interval(quantities[name], float(true), float(bound))


def _rendered(seed: int) -> Iterator[Interval]:
    for run in (drawn_rendered.pushed(seed), drawn_rendered.touched(seed)):
        quantities = drawn_rendered.quantities(run)
        for name, true in run.truth.items():
            absent = Quantity(name, "", np.nan, np.nan, np.nan, np.nan, "it is not told")
            yield _interval(quantities.get(name, absent), true, np.nan)


def _interval(q: Quantity, true: float, bound: float) -> Interval:
    return Interval(q.name, true, q.low, q.high, bound, q.reason)


def count(kind: str, seeds: Iterable[int], out: Path | None = None) -> dict[str, Count]:
    """Count the intervals of some seeds, by quantity.

    Args:
        kind: a key of `KINDS`.
        seeds: of the drawn recordings.
        out: a file of JSON lines that is gone on with; progress is told on stderr then.
    """
    wanted = list(seeds)
    known = {} if out is None else _read(out, kind)
    missing = [seed for seed in wanted if seed not in known]
    started = time.perf_counter()  # clock: says how long the rest takes
    for done, seed in enumerate(missing, 1):
        known[seed] = intervals(kind, seed)
        if out is not None:
            _append(out, kind, seed, known[seed])
            left = (time.perf_counter() - started) / done * (len(missing) - done)  # clock: as above
            print(f"\r{kind}: {done} of {len(missing)} recordings, {left:.0f} s left ", end="", file=sys.stderr)
    if out is not None and missing:
        print(file=sys.stderr)
    return counted(one for seed in wanted for one in known[seed])


def counted(given: Iterable[Interval]) -> dict[str, Count]:
    """Counts of many intervals, by quantity."""
    by_name: dict[str, list[Interval]] = {}
    for one in given:
        by_name.setdefault(one.name, []).append(one)
    return {name: _counted(ones) for name, ones in by_name.items()}


def _counted(ones: list[Interval]) -> Count:
    told = [one for one in ones if not one.reason]
    inside = sum(one.low <= one.true <= one.high for one in told)
    widths = [(one.high - one.low) / (2 * T95 * one.bound) for one in told if np.isfinite(one.bound)]
    return Count(inside, len(told), len(ones) - len(told), float(np.median(widths)) if widths else np.nan)


def table(counts: dict[str, Count]) -> str:
    """The counts as text, the quantity that holds least first."""
    lines = [f"{'quantity':<24} {'inside':>10} {'share':>6} {'refused':>8} {'width / Cramér–Rao':>19}"]
    for name, one in sorted(counts.items(), key=lambda pair: pair[1].share):
        width = f"{one.width:.2f}" if np.isfinite(one.width) else "–"
        share = f"{one.share:.0%}" if one.told else "–"
        lines.append(f"{name:<24} {f'{one.inside} of {one.told}':>10} {share:>6} {one.refusals:>8.0%} {width:>19}")
    return "\n".join(lines)


def _read(path: Path, kind: str) -> dict[int, list[Interval]]:
    """Seeds that the file has; the line that a kill cut short is left out."""
    known = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        if data["kind"] == kind:
            known[data["seed"]] = [Interval(**one) for one in data["intervals"]]
    return known


def _append(path: Path, kind: str, seed: int, given: list[Interval]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = not path.exists() or path.read_bytes()[-1:] in (b"", b"\n")
    line = json.dumps({"kind": kind, "seed": seed, "intervals": [asdict(one) for one in given]})
    with open(path, "a", encoding="utf-8") as file:
        file.write(("" if whole else "\n") + line + "\n")


def main(words: list[str] | None = None) -> None:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--seeds", metavar="FIRST:END", default="5000:5100", help="the end is not counted")
    parser.add_argument("--out", metavar="JSONL", type=Path, required=True, help="gone on with where it is there")
    args = parser.parse_args(words)
    first, end = map(int, args.seeds.split(":"))
    counts = count(args.kind, range(first, end), args.out)
    print(f"{args.kind}, seeds {first} to {end - 1}\n{table(counts)}")


if __name__ == "__main__":
    main()
