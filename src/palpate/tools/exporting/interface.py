"""Inputs and outputs of a tick in C: fields in order, with units and frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.law import Law
from palpate.control.reads import NEEDS
from palpate.control.tick import Target, Tick, sizes_of
from palpate.engine.records import Record
from palpate.escape.c import c_field
from palpate.robot.robot import Robot
from palpate.run.run import Run
from palpate.tools.exporting.code.objects import template_text

# What each field of the structs is, with its unit and frame.
_ABOUT = dict(line.split(" = ", 1) for line in template_text("fields.txt").splitlines())


@dataclass(frozen=True)
class Item:
    """A field of a struct."""

    name: str
    shape: tuple[int, ...]
    about: str

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


def item(name: str, *shape: int) -> Item:
    """A field that everybody knows by its name."""
    return Item(name.replace(".", "_"), shape, _ABOUT[name])


def needed_terms(run: Run, law: BoundLaw) -> tuple[str, ...]:
    """Terms of the model that a tick needs."""
    needs = set(law.needs) | (set(NEEDS) - {"J_rate"} if run.guards is not None else set())
    needs |= {"M", "bias"} if law.command == "acceleration" else set()
    needs |= {"gravity"} if law.command in ("torque", "acceleration") else set()  # in which every law ends
    return tuple(name for name in NEEDS if name in needs)


def input_items(run: Run, law: Law, bound: BoundLaw, given: bool) -> list[Item]:
    """The numbers of one tick, after its time."""
    robot = run.robot
    nq, nv = robot.nq, robot.nv
    shapes = Tick.shapes(sizes_of(robot))
    items = [item("q", nq), item("v", nv), item("tau", nv), item("wrench", 6)]
    items += [item(f"target.{name}", *Target.shapes(sizes_of(robot))[name]) for name in law.reads.target]
    if run.world.pole is not None:
        items += [item("pole.AB", 3), item("pole.AB_rate", 3), item("pole.rated"), item("pole.fresh"), item("pole.age")]
    if given:
        items += [item(name, *shapes[name]) for name in (*needed_terms(run, bound), "position", "rotation")]
    return items


def output_items(robot: Robot, bound: BoundLaw, gravity: bool) -> list[Item]:
    """The numbers of an answer, after code, guards and missed ticks."""
    n = robot.nv
    items = [item("command", n)]
    items += [item("set_q", n), item("set_v", n)] if bound.command in ("velocity", "position") else [item("torque", n)]
    items += [item("gravity", n)] if gravity else []
    return items + [
        Item(f"term_{c_field(name)}", (n,), "term of the law; the terms sum to `command`") for name in bound.terms
    ]


def ranges(items: Sequence[Item]) -> dict[str, tuple[int, int]]:
    """Where each field stands, first and after the last, counted in numbers."""
    ends = accumulate(each.size for each in items)
    return {each.name: (end - each.size, end) for each, end in zip(items, ends)}


def tick_over(robot: Robot, items: list[Item]) -> tuple[Tick, Array]:
    """A tick whose arrays are the numbers of one array, in the order of the fields."""
    tick, numbers = Tick(sizes_of(robot)), np.zeros(sum(each.size for each in items))
    for each, (first, last) in zip(items, ranges(items).values()):
        if each.shape:
            record, name = field_of(tick, each)
            record.replace(name, numbers[first:last].reshape(each.shape))
    return tick, numbers


def field_of(tick: Tick, each: Item) -> tuple[Record, str]:
    """The record of a tick that holds a field of an input, and the name that it has there."""
    prefix, _, name = each.name.partition("_")
    holders = {"target": tick.target, "pole": tick.seen.pole}
    return (holders[prefix], name) if prefix in holders else (tick, each.name)
