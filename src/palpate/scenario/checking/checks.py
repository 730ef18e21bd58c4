"""Consistency of a scenario's sections with each other: lengths, frames, names and times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np

from palpate.control.rig import Rig
from palpate.control.unread import unread_of_reference
from palpate.errors import PalpateError, UnknownName
from palpate.metrics import METRICS
from palpate.robot.robot import Robot
from palpate.scenario.checking.problems import Problem, problem_from, unknown_key
from palpate.scenario.checking.unused import unused_settings
from palpate.scenario.model import Scenario
from palpate.scenario.reference import FittedLaw, placed, rig_of
from palpate.scenario.robot import build_robot, start_state
from palpate.user_code import is_address, is_loaded
from palpate.world.config import World
from palpate.world.surfaces.forms import form_of


def contradictions(sections: dict[str, Any]) -> tuple[list[Problem], FittedLaw | None]:
    """Problems between sections, those that are well-formed, and the law as it was fitted to the robot."""
    problems = _times(sections)
    timed = "world" in sections and "run" in sections and not problems
    problems += [*_names(sections), *_metrics(sections), *_surfaces(sections)]
    return problems, _of_robot(sections, timed, problems) if "robot" in sections else None


def _of_robot(sections: dict[str, Any], timed: bool, problems: list[Problem]) -> FittedLaw | None:
    """Add what robot, law and reference refuse; `timed`: every delay is in whole control periods."""
    settings, world, fitted = sections["robot"], sections.get("world") or World(), None
    with _collected(problems, "robot"):
        robot = build_robot(settings)
        problems += _frames(sections, robot)
        q = robot.home
        with _collected(problems, "robot", "start"):
            q, _ = start_state(settings.start, robot)
        with _collected(problems, "control"):
            if "control" in sections:
                clock = sections["run"] if timed else None
                rig = Rig() if clock is None else rig_of(world.in_samples(clock.control_period), clock, q)
                fitted = FittedLaw(sections["control"], robot, rig)
        with _collected(problems, "reference"):
            if "reference" in sections:
                placed(sections["reference"], world).sample(np.zeros(1), robot, q)
    return fitted


@contextmanager
def _collected(problems: list[Problem], *path: str | int) -> Iterator[None]:
    """Turn an error in the block into a problem of the key at `path`."""
    try:
        yield
    except PalpateError as error:
        problems.append(problem_from(error, path))


def _frames(sections: dict[str, Any], robot: Robot) -> Iterator[Problem]:
    world = sections.get("world")
    if world is None:
        return
    named: list[tuple[tuple[str | int, ...], str | None]] = [
        (("world", "sensors", "wrench", "frame"), world.sensors.wrench.frame)
    ]
    for kind in ("pushes", "attachments", "pins", "contact_shapes"):
        named += [(("world", kind, k, "frame"), item.frame) for k, item in enumerate(getattr(world, kind))]
    known = (*robot.frame_names, *(item.name for item in world.objects))
    known += ("pole", "pole_tip") if world.pole is not None else ()
    for path, frame in named:
        if frame is not None and frame not in known:
            yield problem_from(UnknownName("frame", frame, known), path)


def _surfaces(sections: dict[str, Any]) -> list[Problem]:
    """Height fields and meshes whose files cannot be read, or are none."""
    world, problems = sections.get("world"), []
    for k, surface in enumerate(() if world is None else world.surfaces):
        with _collected(problems, "world", "surfaces", k):
            form_of(surface)
    return problems


def _times(sections: dict[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    world, clock, record = (sections.get(name) for name in ("world", "run", "record"))
    if clock is not None:
        late = () if world is None else (("sensors",), ("sensors", "wrench"), ("driver",))
        for path in late:
            part: Any = reduce(getattr, path, world)
            with _collected(problems, "world", *path, "delay_time"):
                part.in_samples(clock.control_period)
        if record is not None:
            with _collected(problems, "record", "stride" if record.period is None else "period"):
                record.recording(clock.timestep)
    for k, load in enumerate(() if world is None else world.attachments):
        if load.release is not None and load.release <= load.attach:
            text = f"release at {load.release:g} s must come after attach at {load.attach:g} s"
            problems.append(Problem(("world", "attachments", k, "release"), text))
    for k, surface in enumerate(() if world is None else world.surfaces):
        if surface.motion is not None and surface.motion.stop < surface.motion.start:
            text = f"stop at {surface.motion.stop:g} s must not come before start at {surface.motion.start:g} s"
            problems.append(Problem(("world", "surfaces", k, "motion", "stop"), text))
    return problems


def _names(sections: dict[str, Any]) -> Iterator[Problem]:
    world = sections.get("world")
    if world is None:
        return
    seen: set[str] = set()
    for kind in ("surfaces", "pins", "objects"):
        for k, item in enumerate(getattr(world, kind)):
            if item.name in seen:
                yield Problem(("world", kind, k, "name"), f"{item.name!r} is the name of another one already")
            seen.add(item.name)


def _metrics(sections: dict[str, Any]) -> Iterator[Problem]:
    named = (name for name in sections.get("metrics", {}) if not is_address(name) or is_loaded(name))
    return (unknown_key(("metrics", name), {}) for name in named if name not in METRICS)


def remarks(scenario: Scenario) -> list[str]:
    """Remarks on settings that are allowed, but probably not meant."""
    end = scenario.run.duration
    notes = [*unused_settings(scenario), *unread_of_reference(scenario.control, scenario.reference)]
    if scenario.reference.end > end * (1 + 1e-9):
        notes.append(f"the reference ends at {scenario.reference.end:g} s, after the run ({end:g} s)")
    late: Sequence[tuple[str, Any, float]] = [
        *(("push", item, item.start) for item in scenario.world.pushes),
        *(("attachment", item, item.attach) for item in scenario.world.attachments),
    ]
    notes += [
        f"{kind} {item.name!r} begins at {t:g} s, after the run ({end:g} s)" for kind, item, t in late if t >= end
    ]
    return notes
