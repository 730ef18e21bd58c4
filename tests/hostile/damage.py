"""Damaged folders: each file of the folder of a run, sweep, study or search, spoilt, and the commands that read it.

    PYTHONPATH=tests python tests/hostile/damage.py --tries 5000 --seed 0

A try copies one of the folders, spoils one of its files (a bit flipped, bytes inserted, cut, emptied, deleted, or a
folder, link, FIFO in its place) and gives it to a command, in this process. A fault is: an exit code other than 0 to 3;
a refusal that does not name the file or its folder; a refusal by a command that does not need the file; an answer that
differs from that of the undamaged folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from in_folder import run_command

Spoil = Callable[[random.Random, Path], object]
SHORT = ["pendulum", "--set", "run.duration=0.01", "--quiet"]
VARIED = ["--vary", "world.plant.mass_scale=0.9:1.1", "--workers", "0"]


# What a file may become. Those of BYTES leave a regular file of other bytes.


def _flip(rng: random.Random, file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def _insert(rng: random.Random, file: Path) -> None:
    content = file.read_bytes()
    at = rng.randrange(len(content) + 1)
    file.write_bytes(content[:at] + rng.choice([b"\xff", b"\0", b"{", b'"', b"[" * 5000, b"9" * 5000]) + content[at:])


def _cut(rng: random.Random, file: Path) -> None:
    file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])


def _replace_by(make: Callable[[Path], object]) -> Spoil:
    def spoil(rng: random.Random, file: Path) -> None:
        file.unlink()
        make(file)

    return spoil


BYTES: dict[str, Spoil] = {
    "flipped": _flip, "inserted": _insert, "cut": _cut, "emptied": lambda rng, file: file.write_bytes(b""),
    "garbage": lambda rng, file: file.write_bytes(rng.randbytes(rng.randrange(1, 3000))),
    "json": lambda rng, file: file.write_text(rng.choice(["null", "[]", "{}", "3", '"x"', '{"a": {}}'])),
}  # fmt: skip
KINDS: dict[str, Spoil] = {
    "deleted": _replace_by(lambda file: None), "folder": _replace_by(Path.mkdir), "fifo": _replace_by(os.mkfifo),
    "dangling": _replace_by(lambda file: file.symlink_to("nowhere")),
    "itself": _replace_by(lambda file: file.symlink_to(file.name)),
}  # fmt: skip


def _resealed(rng: random.Random, file: Path) -> None:
    """Other values in a JSON file, with the checksum that fits them: what a stranger may send."""
    from fuzz import mutated_data
    from palpate.sealed import sealed

    content = json.loads(file.read_text())
    content.pop("sha256", None)
    made = mutated_data(rng, content)
    if isinstance(made.get("runs"), int) and 1000 < made["runs"] < 10**7:  # a sweep that only takes longer is no fault
        made["runs"] = content["runs"]
    scenario = made.get("scenario")
    if isinstance(scenario, dict) and isinstance(scenario.get("run"), dict):
        scenario["run"] = content["scenario"]["run"]
    file.write_text(sealed(made))


SPOILS = {**BYTES, **KINDS, "resealed": _resealed}


@dataclass(frozen=True)
class Reading:
    """A command on a folder.

    Attributes:
        words: after palpate, with the folder as their working folder's `x`.
        reads: files without which it cannot do its work.
        writes: files that it replaces, which must be regular ones; their content does not matter.
    """

    words: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


_RUN = ("trace.parquet",)
_SWEEP = ("sweep.json", "table.parquet")
_PAGES = ("report.html", "summary.json")
_STUDY = (*_PAGES, "draws/summary.json")
READINGS: dict[str, tuple[Reading, ...]] = {
    "run": (
        Reading(("report", "x"), _RUN, ("report.html",)),
        Reading(("report", "x", "--replay"), _RUN, ("replay.html",)),
        Reading(("compare", "x", "whole", "--json"), _RUN),
        Reading(("list", "runs")),
        Reading(("show", "x/scenario.toml"), ("scenario.toml",)),
    ),
    "killed": (Reading(("report", "x"), ("trace.partial.parts",), ("report.html",)),),
    "sweep": (Reading(("sweep", "--resume", "x", "--workers", "0", "--quiet"), _SWEEP, _PAGES),),
    "unfinished": (
        Reading(
            ("sweep", "--resume", "x", "--workers", "0", "--quiet", "--no-report"), ("sweep.json", "chunks"), _PAGES,
        ),
    ),
    "study": (
        Reading(
            ("sweep", "--resume", "x", "--workers", "0", "--quiet", "--no-report"),
            ("study.json", "draws/sweep.json", "draws/table.parquet"), _STUDY,
        ),
    ),
    "tune": (Reading(("tune", "--resume", "x", "--workers", "0", "--quiet", "--no-report"), _SWEEP, _PAGES),),
}  # fmt: skip


def prepare(folder: Path) -> None:
    """One folder of each kind, as its command leaves it, and one of a killed run and of an interrupted sweep."""
    from palpate.run.after import keep

    calls = {
        "run": ["run", *SHORT],
        "sweep": ["sweep", *SHORT, *VARIED, "--runs", "3", "--traces", "all"],
        "study": ["sweep", "--uncertain", *SHORT, *VARIED, "--runs", "3", "--no-map"],
        "tune": ["tune", *SHORT, *("--over", "world.plant.mass_scale=0.9:1.1", "--minimise", "energy_residual"),
                 "--runs", "5", "--workers", "0"],
    }  # fmt: skip
    for name, words in calls.items():
        code, said = run_command([*words, "--out", name], folder)
        assert code == 0, f"{name}: {said}"
    _interrupted_sweep(folder)
    shutil.copytree(folder / "run", folder / "killed")
    (folder / "killed" / "trace.parquet").unlink()
    before, keep.EVERY = keep.EVERY, 0.0
    try:
        _partial_trace(folder / "killed" / "trace.partial.parts")
    finally:
        keep.EVERY = before


def _partial_trace(file: Path) -> None:
    import palpate as pp

    pp.simulate(pp.load_scenario("pendulum", ["run.duration=0.05"]), partial=file)


def _interrupted_sweep(folder: Path) -> None:
    """A sweep of which the first runs are made."""
    from palpate.scenario.file.load import load_scenario
    from palpate.tools.study import sweeps

    class Enough(Exception):
        pass

    def stop(made: int, *_: object) -> None:
        if made >= 3:
            raise Enough

    with contextlib.suppress(Enough):
        sweeps.sweep(
            load_scenario("pendulum", ["run.duration=0.01"]), {"world.plant.mass_scale": "0.9:1.1"}, runs=5, workers=0,
            out=folder / "unfinished", progress=stop,
        )  # fmt: skip
    assert len(list((folder / "unfinished" / "chunks").iterdir())) >= 2


def answer(reading: Reading, at: Path) -> tuple[int, str, bytes]:
    """Exit code of a command, what it printed, and the page that it wrote."""
    code, told = run_command(list(reading.words), at)
    pages = [at / "x" / name for name in reading.writes if name.endswith(".html")]
    return code, told, b"".join(page.read_bytes() for page in pages if code == 0 and page.is_file())


class Damage:
    """Tries on copies of prepared folders, and the faults they showed."""

    def __init__(self, prepared: Path) -> None:
        self.prepared, self.counts, self.faults = prepared, Counter(), {}
        self._whole: dict[tuple[str, ...], tuple[int, str, bytes]] = {}

    def _copy(self, kind: str) -> Path:
        at = self.prepared / "at"
        shutil.rmtree(at, ignore_errors=True)
        (at / "runs").mkdir(parents=True)
        shutil.copytree(self.prepared / kind, at / "x", symlinks=True)
        shutil.copytree(self.prepared / "run", at / "whole")
        (at / "runs" / "x").symlink_to(at / "x")
        return at

    def _undamaged(self, kind: str, reading: Reading) -> tuple[int, str, bytes]:
        key = (kind, *reading.words)
        if key not in self._whole:
            self._whole[key] = answer(reading, self._copy(kind))
            assert self._whole[key][0] == 0, f"{key}: {self._whole[key]}"
        return self._whole[key]

    def one_try(self, seed: int) -> None:
        """Spoil one file of one folder, and let one command read it."""
        rng = random.Random(seed)
        kind = rng.choice(list(READINGS))
        reading = rng.choice(READINGS[kind])
        whole = self._undamaged(kind, reading)
        at = self._copy(kind)
        files = sorted(path for path in (at / "x").rglob("*") if path.is_file() and path.stat().st_size)
        read = [file for file in files if file.relative_to(at / "x").as_posix().startswith(reading.reads or ("",))]
        file = rng.choice(read if rng.random() < 0.5 else files)
        sealed = file.name in ("sweep.json", "study.json")
        ways = [way for way in SPOILS if sealed or way != "resealed"]
        name, way = (
            file.relative_to(at / "x").as_posix(),
            "resealed" if sealed and rng.random() < 0.3 else rng.choice(ways),
        )
        SPOILS[way](rng, file)
        try:
            now = answer(reading, at)
        except BaseException as error:
            now = -1, f"{type(error).__name__}: {error}", b""
        self.counts["tries"] += 1
        self.counts[f"exit {now[0]}"] += 1
        if problem := self._problem(reading, name, way, whole, now):
            self.counts["faulty"] += 1
            where = f"{' '.join(reading.words)}: {name} {way}"
            self.faults.setdefault(f"{problem}: {where}", f"seed {seed}: exit {now[0]}: {now[1][-400:]}")

    @staticmethod
    def _problem(
        reading: Reading, name: str, way: str, whole: tuple[int, str, bytes], now: tuple[int, str, bytes]
    ) -> str | None:
        code, told, page = now
        if code not in (0, 1, 2, 3):
            return "unexpected exit"
        needed = name.startswith(reading.reads) if reading.reads else False
        in_the_way = way in KINDS and name.startswith(reading.writes) if reading.writes else False
        if code == 2 and not (needed or in_the_way):
            return "refused for a file that is not needed"
        # a file that is not there cannot be told from one that never was: the folder is named then
        named = Path(name).name in told or (way in KINDS and "x" in told) or way == "resealed"
        if code == 2 and not named:
            return "the damaged file is not named"
        same = whole[1] in told and whole[2] == page
        unsealed = way == "resealed" or name == "scenario.toml"
        if code == 0 and needed and not (unsealed or same or "damaged" in told or b"damaged or incomplete" in page):
            return "another answer, without a word"
        return None


def main() -> int:
    """The command; 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="palpate-damage-") as folder:
        prepare(Path(folder))
        damage = Damage(Path(folder))
        for seed in range(args.seed, args.seed + args.tries):
            damage.one_try(seed)
            if damage.counts["tries"] % 100 == 0:
                print(
                    f"{damage.counts['tries']} tries, {len(damage.faults)} kinds of faults", file=sys.stderr, flush=True
                )
    print(json.dumps({**damage.counts, "faults": damage.faults}, indent=1))
    return int(bool(damage.faults))


if __name__ == "__main__":
    sys.exit(main())
