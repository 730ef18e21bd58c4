"""From a scenario to everything that an export writes down: the station, its image, its plan and its structs."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from palpate.control.guards import GuardMemory, guard_settings
from palpate.control.law import COMMANDS, BoundLaw, Law, sizes_of
from palpate.control.plain_law import PlainLaw
from palpate.engine.kernels import Kernel
from palpate.engine.records import Record
from palpate.equations.code.tree_program import TreeCode
from palpate.errors import NotApplicable
from palpate.exporting.code.image import Image, Part, parts_of
from palpate.exporting.code.own_model import OwnModel, own_model
from palpate.exporting.code.records import INPUT_HEAD, OUTPUT_HEAD, STATE_HEAD, PartPlan, Plan, Station
from palpate.exporting.gains import Bounds, adjustable
from palpate.exporting.interface import Item, input_items, output_items, places, tick_over
from palpate.run.assemble.assemble import beginning, suited
from palpate.run.build import build
from palpate.run.run import Run
from palpate.scenario.model import Scenario

LATEST = 10.0  # periods after which a tick comes too late


@dataclass(frozen=True)
class Draft:
    """An export before it is written.

    Attributes:
        name: prefix of every C name.
        run: with the law's open settings chosen.
        bound: the law as it begins.
        inputs, outputs: numbers of a tick and of its answer.
        gains, memory: fields of the law's records.
        bounds: of the gains that may be changed in C, by their path.
        plan: head of the constant data beside the code.
        data: all of it, in words.
        model: "own" or "given".
        program: where the addresses of the model's terms and of its frame stand in the state, and the tool's link.
    """

    name: str
    scenario: Scenario
    run: Run
    bound: BoundLaw
    inputs: list[Item]
    outputs: list[Item]
    gains: list[Part]
    memory: list[Part]
    bounds: dict[tuple[str, ...], Bounds]
    plan: Plan
    data: list[int]
    model: str
    program: tuple[int, int, int] | None = None

    @property
    def law(self) -> Law:
        """The law's settings."""
        assert isinstance(self.run.law, Law)
        return self.run.law

    @property
    def kernel(self) -> Kernel:
        """The law's code."""
        return self.bound.function

    def word(self, field: str) -> int:
        """Where a field of the station stands in the state."""
        return self.plan.station + Station.fields[field].place


def draft(scenario: Scenario, model: str) -> Draft:
    """Bind a scenario's law and lay it out; refuse what cannot leave."""
    run = build(scenario)
    _refuse(run)
    run = suited(run)
    assert isinstance(run.law, Law)
    q, v = run.start()
    bound = run.law.begin(run.robot, beginning(run, q, v))
    if not bound.compiled:
        raise NotApplicable(
            f"law {bound.name!r} is written in Python, and only compiled laws can be exported",
            hint="write it as a kernel (docs: laws of your own)",
        )
    given = model == "given"
    inputs = input_items(run, run.law, bound, given)
    gravity = not given or any(each.name == "gravity" for each in inputs)
    outputs = output_items(run.robot, bound, gravity)
    station, pointers = _station(run, bound, inputs, gravity)
    if not given:
        pointers["own"] = own_model(run.robot, station.tick)
    made = Draft(
        _prefix(scenario.name),
        scenario,
        run,
        bound,
        inputs,
        outputs,
        [],
        [],
        {},
        Plan(**dict.fromkeys(Plan.fields, 0)),
        [],
        model,
    )
    return _laid_out(made, station, pointers)


def _refuse(run: Run) -> None:
    if not isinstance(run.law, Law) or isinstance(run.law, PlainLaw):
        raise NotApplicable(
            f"law {run.law.name!r} is written in Python, and only compiled laws can be exported",
            hint="write it as a kernel (docs: laws of your own)",
        )
    if run.law.friction_compensation > 0.0:
        raise NotApplicable(
            "friction_compensation is a term that palpate's loop adds, and an exported law has none",
            hint="--set control.friction_compensation=0, and compensate in the robot's driver",
        )
    if run.world.is_exact:
        raise NotApplicable(
            "exact contact cannot be exported: it is found by events between ticks, which no robot has",
            hint="export a scenario of the same law with compliant or rigid surfaces",
        )
    if run.robot.nq != run.robot.nv and run.guards is not None:
        raise NotApplicable("guards of a machine with a free base cannot be exported", hint="--set guards=")


def _prefix(name: str) -> str:
    cleaned = re.sub(r"\W", "_", name).lower()
    return cleaned if cleaned[:1].isalpha() else f"law_{cleaned}"


def _station(run: Run, bound: BoundLaw, inputs: list[Item], gravity: bool) -> tuple[Station, dict[str, Record]]:
    robot, sizes, at = run.robot, sizes_of(run.robot), places(inputs)
    tick, numbers = tick_over(robot, inputs)
    assert bound.answer is not None
    station = Station(
        sizes,
        period=run.clock.control_period,
        dt=run.clock.timestep,
        ratio=run.clock.ratio,
        kind=COMMANDS.index(bound.command),
        latest=LATEST,
        tick=tick,
        input=numbers,
        law=0, gains=0, memory=0, terms=0, model=0, own=0,
        rows=bound.rows,
        quaternion=at.get("target_quat_wxyz", (-1, 0))[0],
        pole=at.get("pole_rated", (-1, 0))[0],
        shows_gravity=gravity,
        guard=guard_settings(run.guards, robot),
        guard_memory=GuardMemory(sizes),
    )  # fmt: skip
    return station, {"gains": bound.gains, "memory": bound.memory, "terms": bound.answer}


def _laid_out(made: Draft, station: Station, pointers: dict[str, Record]) -> Draft:
    """The draft with its plan: the image of a state, and where its parts are."""
    image = Image([0] * STATE_HEAD)
    gains = list(parts_of(pointers["gains"], image))
    kept = len(image.words)
    memory = list(parts_of(pointers["memory"], image))
    at = image.add(station, pointers)
    bounds = adjustable(made.law, made.run.robot, gains)
    plan = Plan(**dict.fromkeys(Plan.fields, 0))
    plan.version, plan.state_bytes, plan.station = _version(made, gains, memory), 8 * len(image.words), at
    plan.kept_first, plan.kept_last = STATE_HEAD, kept
    plan.input_bytes = 8 * (INPUT_HEAD + sum(each.size for each in made.inputs))
    plan.output_bytes = 8 * (OUTPUT_HEAD + sum(each.size for each in made.outputs))
    plan.gains_bytes, plan.memory_bytes = _bytes(gains), _bytes(memory)
    data = [0] * Plan.words
    plan.image, plan.image_words = len(data), len(image.words)
    data += image.words
    plan.addresses, plan.address_count = len(data), len(image.addresses)
    data += image.addresses
    plan.gains, plan.gains_count = len(data), len(gains)
    data += [word for part in gains for word in _part_words(part, bounds)]
    plan.memory, plan.memory_count = len(data), len(memory)
    data += [word for part in memory for word in _part_words(part, {})]
    data[: Plan.words] = plan._table.tolist()
    program = _program(pointers.get("own"), image)
    return replace(made, gains=gains, memory=memory, bounds=bounds, plan=plan, data=data, program=program)


def _program(own: Record | None, image: Image) -> tuple[int, int, int] | None:
    if not isinstance(own, OwnModel):
        return None
    link = own.place.link
    terms = image.add(own.code) + TreeCode.fields["terms"].place
    return terms, image.word_of(own.code.frames) + max(link, 0), link


def _bytes(parts: list[Part]) -> int:
    return 8 * max(sum(part.count for part in parts), 1)  # C knows no struct without fields


def _part_words(part: Part, bounds: dict[tuple[str, ...], Bounds]) -> list[int]:
    low, high = bounds.get(part.path, (0.0, 0.0))
    free = int(part.path in bounds)
    return PartPlan(word=part.word, count=part.count, free=free, low=low, high=high)._table.tolist()


def _version(made: Draft, gains: list[Part], memory: list[Part]) -> int:
    """31 bits of a digest of every name and shape in the header."""
    shapes: list[Any] = [[(e.name, e.shape) for e in items] for items in (made.inputs, made.outputs)]
    shapes += [[(part.path, part.shape) for part in parts] for parts in (gains, memory)]
    digest = hashlib.sha256(json.dumps([made.name, *shapes]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
