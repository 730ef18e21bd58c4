"""A step of an export's commissioning sheet as a drive: its run, where it ends, its numbers beside the bands."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, NotApplicable
from palpate.run.build import build
from palpate.run.run import Run
from palpate.scenario.model import Scenario
from palpate.tools.exporting.commissioning import SHOWN, Band, Step, numbers_of, run_of_step
from palpate.tools.exporting.writing.manifest import read_manifest
from palpate.tools.serving.drive import DriveLimits
from palpate.trace import Trace

_SAME = ("robot", "control", "reference")  # sections of a scenario that an export was made of, and a drive is


@dataclass(frozen=True)
class SheetStep:
    """A step of a commissioning sheet.

    Attributes:
        number: of the step, from 1 on.
        title: of it.
        run: what is driven.
        force, error: N and m, from which on the sheet says to end it.
        bands: least and largest of each number in the sheet's runs.
        friction: N of joint friction, at most, in the arm's own estimate of a force.
    """

    number: int
    title: str
    run: Run
    force: float
    error: float
    bands: dict[str, Band]
    friction: float

    def limited(self, limits: DriveLimits) -> DriveLimits:
        """Limits that are not wider than the sheet's."""
        force = self.force if limits.force is None else min(limits.force, self.force)
        return replace(limits, force=force, error=self.error)

    def measured(self, trace: Trace) -> list[tuple[str, Band, float, bool]]:
        """Each number of the sheet: its band, what was measured, and whether that is inside, as far as is written."""
        force = np.linalg.norm(trace["measured_wrench"][:, :3], axis=1)
        numbers = dict(numbers_of(trace, self.run, force))
        seen = {name: self._seen(name, band) for name, band in self.bands.items()}
        return [(name, band, numbers[name], _inside(numbers[name], band)) for name, band in seen.items()]

    def _seen(self, name: str, band: Band) -> Band:
        """A band as the arm sees it: its estimate of a force counts joint friction."""
        off = self.friction if name.startswith("force") else 0.0
        return max(band[0] - off, 0.0), band[1] + off


def _inside(value: float, band: Band) -> bool:
    """Whether a number is in its band, at the digits that the sheet shows."""
    low, high, value = (float(f"{x:.3g}") if abs(x) >= SHOWN else 0.0 for x in (*band, value))
    return low <= value <= high


def read_step(folder: str | os.PathLike[str], number: int | None, scenario: Scenario) -> SheetStep:
    """A step of the sheet in an export's folder, by default the last one.

    Raises:
        FileError: no export, or a file in it was changed.
        NotApplicable: it was exported without a sheet.
        InvalidInput: no such step, one that did not finish in simulation, or the export of another scenario.
    """
    manifest = read_manifest(Path(folder))
    steps = manifest.get("commissioning") or []
    if not steps:
        raise NotApplicable(f"{folder} has no commissioning sheet", hint="an export without --no-sheet has one")
    if number is None:
        number = len(steps)
    if not 1 <= number <= len(steps):
        titles = "; ".join(f"{k + 1} {step['title']}" for k, step in enumerate(steps))
        raise InvalidInput(f"--step must be one of {titles}; got {number}")
    own, exported = scenario.as_data(), manifest["scenario"]
    for section in _SAME:
        if own.get(section) != exported.get(section):
            raise InvalidInput(
                f"{folder} is the export of another scenario: its [{section}] is not that of {scenario.name}",
                hint="drive with the settings of the export, or export anew",
            )
    return _step(number, steps[number - 1], scenario)


def _step(number: int, told: dict[str, Any], scenario: Scenario) -> SheetStep:
    if not told["runs"]:
        why = "; ".join(f"{name}: {text}" for name, text in told["ended"].items())
        raise InvalidInput(f"no run of step {number} finished in simulation, so that it has no limits: {why}")
    step = Step(*(told[name] for name in ("title", "touches", "moves", "stiffness", "speed")))
    bands = {name: (float(low), float(high)) for name, (low, high) in told["bands"].items()}
    ends = told["end_above"]
    limits = float(ends["force"]), float(ends["tool_error"])
    return SheetStep(number, step.title, run_of_step(build(scenario), step), *limits, bands, float(told["friction"]))
