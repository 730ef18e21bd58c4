"""From a scenario to everything that an export writes down: the station, its image, its plan and its structs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.commands import COMMANDS
from palpate.control.guards import GuardMemory, guard_settings
from palpate.control.law import Law
from palpate.control.plain_law import PlainLaw
from palpate.control.tick import sizes_of
from palpate.engine.kernels import Kernel
from palpate.engine.records import Record
from palpate.equations.code.tree_program import TreeCode
from palpate.errors import NotApplicable
from palpate.escape.c import c_identifier
from palpate.run.assemble.assemble import suited, with_surroundings
from palpate.run.build import build
from palpate.run.run import Run
from palpate.scenario.model import Scenario
from palpate.tools.exporting.carrying import setup_of
from palpate.tools.exporting.code.image import Image, Part
from palpate.tools.exporting.code.own_model import OwnModel, own_model
from palpate.tools.exporting.code.protection import Protection
from palpate.tools.exporting.code.records import INPUT_HEAD, OUTPUT_HEAD, STATE_HEAD, PartPlan, PlanHead, Station
from palpate.tools.exporting.code.tuning import GainEase, Setup
from palpate.tools.exporting.gain_bounds import Bounds, adjustable
from palpate.tools.exporting.gain_table import kind_of
from palpate.tools.exporting.guarding import chosen_guards, protection, target_jumps
from palpate.tools.exporting.interface import Item, input_items, output_items, ranges, tick_over

LATEST = 10.0  # periods after which a tick comes too late


@dataclass(frozen=True)
class Draft:
    """An export before it is written.

    Attributes:
        name: prefix of every C name.
        run: with the law's open settings chosen.
        bound: the law as it begins.
        inputs, outputs: numbers of a tick and of its answer.
        model: "own" or "given".
        gains, memory: fields of the law's records.
        bounds: of the gains that may be changed in C, by name.
        plan: head of the constant data beside the code.
        data: all of it, in words.
        on: names of the guards that are on.
        protection: their bounds.
        setup: payload, tool, gravity and friction, with their bounds; None with a given model.
        jump_words: words of `data` that hold the largest jumps of a target: q, position, turn.
        link: the tool's in the model inside, −1 where it is fixed to the world; None with a given model.
    """

    name: str
    scenario: Scenario
    run: Run
    bound: BoundLaw
    inputs: list[Item]
    outputs: list[Item]
    model: str
    gains: list[Part]
    memory: list[Part]
    bounds: dict[str, Bounds]
    plan: PlanHead
    data: list[int]
    link: int | None
    on: tuple[str, ...]
    protection: Protection
    setup: Setup | None
    jump_words: tuple[int, ...]

    @property
    def law(self) -> Law:
        """The law's settings."""
        assert isinstance(self.run.law, Law)
        return self.run.law

    @property
    def kernel(self) -> Kernel:
        """The law's code."""
        return self.bound.function

    def with_target_jumps(self, inputs: Array) -> Draft:
        """The draft whose guards let a target jump as far as it does in the verified run, given by its inputs."""
        if "target-jump" not in self.on:
            return self
        data, names = list(self.data), ("target_q_jump", "target_position_jump", "target_turn_jump")
        for word, name, jump in zip(self.jump_words, names, target_jumps(inputs, ranges(self.inputs))):
            setattr(self.protection, name, jump)
            data[word] = int(np.array(jump).view(np.int64))
        return replace(self, data=data)


def draft(scenario: Scenario, model: str, without: Collection[str] = ()) -> Draft:
    """Bind a scenario's law and lay it out, with all guards but those named; refuse what cannot leave."""
    run = build(scenario)
    on = chosen_guards(without, run.robot)
    _refuse(run)
    run = suited(run)
    assert isinstance(run.law, Law)
    bound = with_surroundings(run)
    if not bound.compiled:
        raise _written_in_python(bound.name)
    given = model == "given"
    inputs = input_items(run, run.law, bound, given)
    gravity = not given or any(each.name == "gravity" for each in inputs)
    outputs = output_items(run.robot, bound, gravity)
    station, pointers = _station(run, bound, inputs, gravity)
    station.replace("protection", protection(run, on))
    if given and run.law.friction_compensation > 0.0:
        raise NotApplicable(
            "friction_compensation needs the model inside, and this export is given its terms",
            hint="--model own, or --set control.friction_compensation=0",
        )
    setup: Setup | None = None
    if not given:
        if "J_rate" in bound.needs:
            raise NotApplicable(
                f"law {bound.name!r} reads J_rate, which the model inside does not compute",
                hint="--model given; or read drift, which is J_rate v",
            )
        pointers["own"] = own_model(run.robot, station.tick)
        setup = pointers["setup"] = setup_of(run.robot, run.law.friction_compensation, pointers["own"])
    image = Image([0] * STATE_HEAD)
    gains = image.parts_of(bound.gains)
    station.replace("ease", _gain_ease(image, gains))
    image.add(station.ease)
    if setup is not None:
        image.add(setup)
    plan = PlanHead(kept_first=STATE_HEAD, kept_last=len(image.words))
    memory = image.parts_of(bound.memory)
    bounds, name = adjustable(run.law, run.robot, image, gains), _prefix(scenario.name)
    plan.version = _version(name, (inputs, outputs), (gains, memory))
    plan.input_bytes = 8 * (INPUT_HEAD + sum(each.size for each in inputs))
    plan.output_bytes = 8 * (OUTPUT_HEAD + sum(each.size for each in outputs))
    link = _place_station(plan, image, station, pointers)
    data = _plan_words(plan, image, gains, memory, bounds)
    first = plan.image + image.add(station.protection)
    words = tuple(first + Protection.fields[f"target_{what}_jump"].offset for what in ("q", "position", "turn"))
    structs = (inputs, outputs, model, gains, memory, bounds)
    return Draft(name, scenario, run, bound, *structs, plan, data, link, on, station.protection, setup, words)


def _refuse(run: Run) -> None:
    if not isinstance(run.law, Law) or isinstance(run.law, PlainLaw):
        raise _written_in_python(run.law.name)
    if run.world.is_exact:
        raise NotApplicable(
            "exact contact cannot be exported: it is found by events between ticks, which no robot has",
            hint="export a scenario of the same law with compliant or rigid surfaces",
        )
    if run.robot.nq != run.robot.nv and run.guards is not None:
        raise NotApplicable("guards of a machine with a free base cannot be exported", hint="--set guards=")


def _written_in_python(law: str) -> NotApplicable:
    return NotApplicable(
        f"law {law!r} is written in Python, and only compiled laws can be exported",
        hint="write it as a kernel (docs: laws of your own)",
    )


def _prefix(name: str) -> str:
    """The prefix of every C name: also a namespace of C++, a file and a target of CMake."""
    return c_identifier(name.lower(), prefix="law_")


def _station(run: Run, bound: BoundLaw, inputs: list[Item], gravity: bool) -> tuple[Station, dict[str, Record]]:
    robot, sizes, at = run.robot, sizes_of(run.robot), ranges(inputs)
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
        rows=bound.rows,
        quaternion=at.get("target_quat_wxyz", (-1, 0))[0],
        pole=at.get("pole_rated", (-1, 0))[0],
        shows_gravity=gravity,
        guard=guard_settings(run.guards, robot),
        guard_memory=GuardMemory(sizes),
        target_q=at.get("target_q", (-1, 0))[0],
        target_position=at.get("target_position", (-1, 0))[0],
        target_first=min((first for name, (first, _) in at.items() if name.startswith("target_")), default=0),
        target_last=max((last for name, (_, last) in at.items() if name.startswith("target_")), default=0),
        ease=GainEase({"words": 1}),
        held=np.zeros(numbers.size),
        told=np.zeros(numbers.size),
    )
    return station, {"gains": bound.gains, "memory": bound.memory, "terms": bound.answer}


def _place_station(plan: PlanHead, image: Image, station: Station, pointers: dict[str, Record]) -> int | None:
    """Put the station into the image of a state, and note in the plan where it is; the tool's link, see `Draft`."""
    plan.station = image.add(station, pointers)
    plan.law, plan.model = (plan.station + Station.fields[name].offset for name in ("law", "model"))
    plan.state_bytes, own = 8 * len(image.words), pointers.get("own")
    if not isinstance(own, OwnModel):
        return None
    plan.model_terms = image.add(own.code) + TreeCode.fields["terms"].offset
    plan.model_constants = image.add(own.code) + TreeCode.fields["constants"].offset
    plan.model_frame = image.word_of(own.code.frames) + max(own.tool.link, 0)
    return own.tool.link


def _plan_words(
    plan: PlanHead, image: Image, gains: list[Part], memory: list[Part], bounds: dict[str, Bounds]
) -> list[int]:
    """The plan's head, the image, its addresses, and the parts of gains and memory, one after another."""
    plan.gains_bytes, plan.memory_bytes = _bytes(gains), _bytes(memory)
    data = [0] * PlanHead.words
    plan.image, plan.image_words = len(data), len(image.words)
    data += image.words
    plan.addresses, plan.address_count = len(data), len(image.addresses)
    data += image.addresses
    plan.gains, plan.gains_count = len(data), len(gains)
    data += [word for part in gains for word in _part_words(part, bounds)]
    plan.memory, plan.memory_count = len(data), len(memory)
    data += [word for part in memory for word in _part_words(part, {})]
    data[: PlanHead.words] = plan._table.tolist()
    return data


def _bytes(parts: list[Part]) -> int:
    return 8 * max(sum(part.count for part in parts), 1)  # C knows no struct without fields


def _part_words(part: Part, bounds: dict[str, Bounds]) -> list[int]:
    low, high = bounds.get(part.name, (0.0, 0.0))
    kind = kind_of(part) if part.name in bounds else 0
    return PartPlan(word=part.word, count=part.count, free=kind, low=low, high=high)._table.tolist()


def _gain_ease(image: Image, gains: list[Part]) -> GainEase:
    """The gains of the image as those asked for."""
    words = [word for part in gains for word in image.words[part.word : part.word + part.count]]
    return GainEase({"words": len(words)}, wanted=np.array(words, dtype=np.int64))


def _version(name: str, structs: tuple[list[Item], ...], records: tuple[list[Part], ...]) -> int:
    """31 bits of a digest of every name and shape in the header."""
    shapes: list[Any] = [[(each.name, each.shape) for each in items] for items in structs]
    shapes += [[(part.path, part.shape) for part in parts] for parts in records]
    digest = hashlib.sha256(json.dumps([name, *shapes]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
