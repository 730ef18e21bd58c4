"""Every law with its defaults on every arm of the catalogue under every driver: right, refused or warned by name.

`python tests/driver_table.py docs/driver-table.md` writes the page; a slow test holds it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from palpate.control import LAWS
from palpate.control.law import Law
from palpate.errors import PalpateError, shortened
from palpate.files import write_file
from palpate.robot import Robot, load_robot
from palpate.robot.catalogue import names
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.trace import Recording
from palpate.world.clock import Clock
from palpate.world.config import Driver, World
from palpate.world.driver import PRESETS

ARMS = ("fr3", "panda", "iiwa14", "gen3", "xarm7", "sawyer", "ur3e", "ur5e", "ur10e", "puma560")
_STILL = 0.02  # rad: a law that holds the arm where it starts keeps it so near


def law_of(name: str) -> Law:
    """A shipped law with its default settings."""
    entry = LAWS[name]
    kind = getattr(importlib.import_module(entry[0]), entry[1]) if isinstance(entry, tuple) else entry
    return kind()


def verdict(law: str, robot: Robot, preset: str) -> tuple[str, str]:
    """("right", "refused" or "warned", why): 0.3 s from home, asked to stay."""
    rate = PRESETS[preset].rate or 1000.0
    clock = Clock(duration=0.3, timestep=min(1e-3, 1.0 / rate), rate=rate)
    try:
        world = World(driver=Driver.model_validate({"preset": preset}))
        trace = simulate(Run(robot, law_of(law), world, clock=clock, record=Recording(("q",), 10)))
    except PalpateError as error:
        return "refused", str(error.args[0]).split(";")[0]
    if trace.warnings:
        return "warned", trace.warnings[0]
    if trace.outcome.kind != "completed":
        return "warned", trace.outcome.reason
    moved = float(np.abs(trace["q"] - trace["q"][0]).max())
    if law not in _FREE and moved > _STILL:
        return "wrong", f"moved by {moved:.3g} rad, and nothing was said"
    return "right", ""


_FREE = ("passive", "fastest-stop")  # laws under which an arm does not stay


def table() -> Iterator[tuple[str, str, str, str, str]]:
    """(law, arm, driver, verdict, why) for all of them."""
    assert set(ARMS) <= set(names())
    for arm in ARMS:
        robot = load_robot(arm)
        for law in LAWS.shipped:
            for preset in PRESETS:
                yield (law, arm, preset, *verdict(law, robot, preset))


def page(rows: list[tuple[str, str, str, str, str]]) -> str:
    """The table as a page: laws by arms for each driver; reasons below, told once."""
    told: dict[str, str] = {}
    text = [
        "# Every law, arm and driver",
        "",
        "Every law with its default settings on every arm of the catalogue, asked to stay where it starts for 0.3 s,",
        "under every preset of [the driver](driver.md): ✓ right, – refused, ! warned, with the reason's number below",
        "(its figures are those of the first such cell). Written by `make driver-table`.",
        "",
        _counted(rows),
    ]
    for preset in PRESETS:
        text += ["", f"## {preset}", "", "| law | " + " | ".join(ARMS) + " |", "|---" * (len(ARMS) + 1) + "|"]
        for law in dict.fromkeys(row[0] for row in rows):
            cells = {row[1]: _cell(row, told) for row in rows if row[0] == law and row[2] == preset}
            text.append(f"| {law} | " + " | ".join(cells[arm] for arm in ARMS) + " |")
    text += ["", "## Reasons", "", *(f"{k}. {why}" for k, why in enumerate(told.values(), 1))]
    return "\n".join(text) + "\n"


def _counted(rows: list[tuple[str, str, str, str, str]]) -> str:
    counts = {kind: sum(row[3] == kind for row in rows) for kind in _MARKS}
    return f"Of {len(rows)} cells {', '.join(f'{count} are {kind}' for kind, count in counts.items())}."


_MARKS = {"right": "✓", "refused": "–", "warned": "!", "wrong": "wrong"}
_FIGURES = re.compile(r"joint\d|\[[^]]*\]|[\d.]+(e[+-]?\d+)?")


def _cell(row: tuple[str, str, str, str, str], told: dict[str, str]) -> str:
    """A mark, with the number of its reason: reasons that differ in their figures alone are one."""
    _, arm, _, kind, why = row
    if kind == "right":
        return _MARKS[kind]
    why = re.sub(rf"(?<!of )(?<!, )\b{arm}\b", "the arm", why)
    key = _FIGURES.sub("#", why)
    told.setdefault(key, shortened(why, 160))
    return f"{_MARKS[kind]}\N{NO-BREAK SPACE}{list(told).index(key) + 1}"


if __name__ == "__main__":
    write_file(Path(sys.argv[1]), page(list(table())))
