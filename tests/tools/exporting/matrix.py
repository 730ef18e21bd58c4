"""Every compiled law on every catalogue arm that it fits: the exported code beside the loop's, bit by bit.

`python tests/tools/exporting/matrix.py PAGE NOTES [LAW …]` writes the table; `make export-matrix` calls it. A cell is
kept in NOTES once it is done: a run that was cut short goes on where it was, unless a source has changed since.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import palpate
from palpate.control import LAWS
from palpate.control.law import Law
from palpate.control.plain_law import PlainLaw
from palpate.errors import PalpateError
from palpate.files import write_file
from palpate.robot.catalogue import names
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.file.pressing import pressing_scenarios
from palpate.scenario.model import Scenario
from palpate.tools.exporting.code.native import host
from palpate.tools.exporting.draft import draft
from palpate.tools.exporting.folder import verify_replay
from palpate.tools.exporting.library import Library
from palpate.tools.exporting.vectors import packed, record_run

TICKS = 20_000
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
POLE = {"length": 1.0, "mass": 0.1, "tilt": [0.0, 0.02]}
ITS_OWN = {"standing": "floating-stand"}  # laws of a machine that cannot press on a wall


@dataclass(frozen=True)
class Cell:
    """A law on an arm: ticks of the run and stack frame in bytes, or why there is none."""

    law: str
    arm: str
    ticks: int = 0
    frame: int = 0
    ending: str = ""
    reason: str = ""


def kind_of(law: str) -> type[Law]:
    """The class of a law by its name."""
    entry = LAWS[law]
    return getattr(importlib.import_module(entry[0]), entry[1]) if isinstance(entry, tuple) else entry


def compiled_laws() -> list[str]:
    """Names of the laws that are kernels."""
    return [name for name in LAWS if not issubclass(kind_of(name), PlainLaw)]


@cache
def pressing(arm: str) -> dict[str, Any]:
    """The scenario that `palpate new --robot` begins with: the arm presses on a wall."""
    return next(pressing_scenarios({"model": arm}))


def _open_settings(kind: type[Law], data: dict[str, Any]) -> dict[str, Any]:
    """Settings without a default that fits every arm: the directions that it can press and move along, and a rate."""
    served, settings = data["control"].get("directions"), {}
    if served is not None and "directions" in kind.model_fields:
        settings["directions"] = served
    if "force" in kind.model_fields:
        pressed = DIRECTIONS[int(np.argmax(np.abs(data["reference"]["wrench"])))]
        settings["force"] = [pressed]
        settings["motion"] = [direction for direction in served or DIRECTIONS if direction != pressed]
    if "acceleration" in kind.model_fields:
        settings["acceleration"] = 10.0
    return settings


def scenario_of(law: str, arm: str) -> Scenario:
    """20 s of a law with its default settings on an arm that presses on a wall, balances, stands or stops."""
    if law in ITS_OWN:
        data = load_scenario(ITS_OWN[law]).as_data()
        data["robot"]["model"] = arm
    else:
        data = dict(pressing(arm))
        data["control"] = {"law": law, **_open_settings(kind_of(law), data)}
        if law == "pole-balance":
            data["world"], data["reference"] = {"pole": POLE}, {"kind": "hold"}
    data["run"] = {**data["run"], "duration": 20.0}
    return scenario_from_data({**data, "name": f"{law}-{arm}", "metrics": {}})


def cell(law: str, arm: str) -> Cell:
    """Export in memory, run, compare; a difference of one bit is an error."""
    try:
        made = draft(scenario_of(law, arm), "given")
        library = Library(made)
        code = library.object_for(host())
        recorded = record_run(made, TICKS)
    except (PalpateError, StopIteration) as error:
        return Cell(law, arm, reason=" ".join(str(error).split()) or "it cannot press on a wall")
    answers, apart = verify_replay(made, code, recorded, packed(made, recorded))
    refused = np.count_nonzero(answers[:, 0].view(np.int64))
    if apart or refused:
        raise AssertionError(f"{law} on {arm}: exported code and loop differ by {apart}; {refused} ticks were refused")
    ending = "" if recorded.trace.outcome.kind == "completed" else str(recorded.trace.outcome)
    return Cell(law, arm, len(recorded.times), library.largest_frame(), ending)


def sources() -> str:
    """A digest of every source of palpate."""
    digest = hashlib.sha256()
    for path in sorted(Path(palpate.__file__).parents[1].glob("palpate*/**/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def noted(notes: Path) -> dict[tuple[str, str], Cell]:
    """The cells that were made with the sources as they are."""
    now, lines = sources(), notes.read_text().splitlines() if notes.is_file() else []
    cells = [Cell(**written) for written in map(json.loads, lines) if written.pop("sources") == now]
    return {(c.law, c.arm): c for c in cells}


def table(laws: list[str], notes: Path) -> dict[tuple[str, str], Cell]:
    """All cells, arm by arm; those in the notes are not made again. A law's code is compiled once in the process."""
    now, done = sources(), noted(notes)
    for law, arm in ((law, arm) for arm in names() for law in laws):
        if (law, arm) not in done:
            made = done[law, arm] = cell(law, arm)
            print(made, flush=True)
            with notes.open("a") as file:
                file.write(json.dumps({**asdict(made), "sources": now}) + "\n")
    return done


_PAGE = """# Exported laws on the arms of the catalogue

{runs} closed-loop runs, {ticks:,} ticks: 0 bits of difference between [exported library](export.md) and loop. In each
the law with its default settings presses the arm on a wall (balances a pole, stands); the library is given each tick of
the run, the model's terms included, and each term of its answer is compared. `make export-matrix` writes this page.

- ✓: {each:,} ticks, each with the bits of the loop's
- ◐: the same over fewer ticks, because the run ended
- a letter: the law does not fit the arm, see below{missing}

{table}

`frame` is the largest stack frame in bytes, of the code for x86-64; it is the law's on every arm.

{reasons}
"""


def page(cells: dict[tuple[str, str], Cell], laws: list[str]) -> str:
    """One row for each law, one column for each arm, and what the marks mean."""
    reasons: dict[str, tuple[str, str]] = {}
    rows = [["law", "frame", *names()], ["---"] * (len(names()) + 2)]
    for law in laws:
        mine = [cells.get((law, arm)) for arm in names()]
        frame = max((c.frame for c in mine if c), default=0)
        rows.append([law, str(frame), *(_mark(c, reasons) if c else "·" for c in mine)])
    fitting = [c for c in cells.values() if c.ticks]
    return _PAGE.format(
        runs=len(fitting),
        ticks=sum(c.ticks for c in fitting),
        each=TICKS,
        missing="\n- ·: not run" if any("·" in row for row in rows) else "",
        table="\n".join(f"| {' | '.join(row)} |" for row in rows),
        reasons="\n".join(f"- {mark}: {text}" for mark, text in reasons.values()),
    )


def _mark(c: Cell, reasons: dict[str, tuple[str, str]]) -> str:
    """✓, ◐, or the letter of a reason; reasons that differ in numbers and directions alone are one."""
    if c.ticks:
        return "✓" if c.ticks == TICKS else "◐"
    reason = c.reason.split(" hint: ")[0]
    text = re.sub(r"^scenario has \d+ problems?: (control: )?", "", reason).removeprefix(f"{c.law}: ")
    kind = re.sub(r"\d\S*|\b(r?[xyz](, )?)+\b|'.*?'", "", text.replace(c.arm, "").replace(c.law, ""))
    letter = chr(ord("a") + len(reasons))
    return reasons.setdefault(kind, (letter, f"{text} ({c.law} on {c.arm})"))[0]


if __name__ == "__main__":
    chosen = sys.argv[3:] or compiled_laws()
    write_file(Path(sys.argv[1]), page(table(chosen, Path(sys.argv[2])), chosen))
