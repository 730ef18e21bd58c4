"""What C gives and takes at a tick: fields in order, with units and frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from palpate.checks import Array
from palpate.control.law import NEEDS, BoundLaw, Law, PoleView, Seen, Target, Tick, sizes_of
from palpate.engine.records import Record
from palpate.robot.robot import Robot
from palpate.run.run import Run

_JOINTS = "rad or m"
_ABOUT = {
    "q": f"measured joint positions, {_JOINTS}",
    "v": "measured joint velocities, rad/s or m/s",
    "tau": "measured joint torques, N·m or N",
    "wrench": "measured wrench [f; n] of the environment on the robot, at the tool's origin, world axes, N and N·m",
    "target.q": f"desired joint positions, {_JOINTS}",
    "target.v": "desired joint velocities, rad/s or m/s",
    "target.a": "desired joint accelerations, rad/s² or m/s²",
    "target.position": "desired position of the tool's origin, world axes, m",
    "target.quat_wxyz": "desired orientation of the tool in the world, w x y z, norm 1",
    "target.twist": "desired twist [v; w] of the tool, world axes, m/s and rad/s",
    "target.acceleration": "desired acceleration [v'; w'] of the tool, world axes, m/s² and rad/s²",
    "target.wrench": "desired wrench [f; n] of the environment on the robot, world axes, N and N·m",
    "pole.AB": "from the pole's foot to its sphere, world axes, m",
    "pole.AB_rate": "rate of AB, m/s; used where `rated` is not 0",
    "pole.rated": "1 where AB_rate is measured, 0 for a camera's picture",
    "pole.fresh": "1 where a new picture has come",
    "pole.age": "age of the picture, s",
    "M": "mass matrix of the joints, rotor inertia included, kg m², row by row",
    "bias": "C(q, v) v + g(q), N·m or N",
    "gravity": "g(q), N·m or N",
    "J": "Jacobian of the tool's origin, rows [linear; angular], world axes, row by row",
    "drift": "J' v, m/s² and rad/s²",
    "J_rate": "J', as J",
    "position": "position of the tool's origin, world axes, m",
    "rotation": "rotation matrix of the tool in the world, row by row",
    "command": "sum of the law's terms",
    "torque": "joint torques after the guards, N·m or N: what the joints shall do",
    "set_q": f"set points of the joint servos after the guards, {_JOINTS}",
    "set_v": "their velocities, rad/s or m/s",
}


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


def needed(run: Run, law: BoundLaw) -> tuple[str, ...]:
    """What a tick needs of the model."""
    needs = set(law.needs) | (set(NEEDS) - {"J_rate"} if run.guards is not None else set())
    needs |= {"M", "bias"} if law.command == "acceleration" else set()
    return tuple(name for name in NEEDS if name in needs)


def input_items(run: Run, law: Law, bound: BoundLaw, given: bool) -> list[Item]:
    """The numbers of one tick, after its time."""
    robot = run.robot
    nq, nv = robot.nq, robot.nv
    shapes = Tick.shapes(sizes_of(robot))
    items = [item("q", nq), item("v", nv), item("tau", nv), item("wrench", 6)]
    items += [item(f"target.{name}", *Target.shapes(sizes_of(robot))[name]) for name in law.takes]
    if run.world.pole is not None:
        items += [item("pole.AB", 3), item("pole.AB_rate", 3), item("pole.rated"), item("pole.fresh"), item("pole.age")]
    if given:
        items += [item(name, *shapes[name]) for name in (*needed(run, bound), "position", "rotation")]
    return items


def output_items(robot: Robot, bound: BoundLaw, gravity: bool) -> list[Item]:
    """The numbers of an answer, after code, guards and missed ticks."""
    n = robot.nv
    items = [item("command", n)]
    items += [item("set_q", n), item("set_v", n)] if bound.command in ("velocity", "position") else [item("torque", n)]
    items += [item("gravity", n)] if gravity else []
    return items + [Item(f"term_{name}", (n,), "term of the law; the terms sum to `command`") for name in bound.terms]


def places(items: Sequence[Item]) -> dict[str, tuple[int, int]]:
    """Where each field stands, first and after the last, counted in numbers."""
    ends = accumulate(each.size for each in items)
    return {each.name: (end - each.size, end) for each, end in zip(items, ends)}


def tick_over(robot: Robot, items: list[Item]) -> tuple[Tick, Array]:
    """A tick whose arrays are the numbers of one array, in the order of the fields."""
    numbers = np.zeros(sum(each.size for each in items))
    views = {e.name: numbers[first:last].reshape(e.shape) for e, (first, last) in zip(items, places(items).values())}

    def of(record: type[Record], prefix: str = "") -> dict[str, Array]:
        return {n: views[prefix + n] for n in record.fields if prefix + n in views and views[prefix + n].ndim}

    sizes = sizes_of(robot)
    seen = Seen(pole=PoleView(**of(PoleView, "pole_")))
    return Tick(sizes, target=Target(sizes, **of(Target, "target_")), seen=seen, **of(Tick)), numbers


def field_of(tick: Tick, each: Item) -> tuple[Record, str]:
    """The record of a tick that holds a field of an input, and the name that it has there."""
    prefix, _, name = each.name.partition("_")
    holders = {"target": tick.target, "pole": tick.seen.pole}
    return (holders[prefix], name) if prefix in holders else (tick, each.name)
