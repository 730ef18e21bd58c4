"""Facts about the joints of catalogue arms: rotor inertia, friction, gears; each with its source and its grade.

They stand in a TOML file beside the arm's MJCF, one `[[fact]]` per quantity and source. What is graded better than
*guessed* is put into the arm (`robot.joints = "as_built"`); a guess is shown and left out, and so is an unknown value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, check_names
from palpate.robot.build import BEHIND_COMPENSATION, FRICTION_SIDE, GEAR_DAMPING, STIFFNESS
from palpate.toml import toml_data

GRADES = ("measured", "identified", "published", "borrowed", "guessed")  # from the best to the worst
SIDES = ("joint", BEHIND_COMPENSATION)


@dataclass(frozen=True)
class FactKind:
    """The quantity of a fact: its unit, its meaning, and the attribute of an MJCF joint that it sets, if any."""

    unit: str
    meaning: str
    attribute: str = ""


QUANTITIES: Mapping[str, FactKind] = {
    "rotor_inertia": FactKind("kg·m²", "of rotor and gear, felt at the joint", "armature"),
    "viscous_friction": FactKind("N·m·s/rad", "joint torque per joint speed", "damping"),
    "coulomb_friction": FactKind("N·m", "joint torque that has to be overcome", "frictionloss"),
    "motor_side_inertia": FactKind("kg·m²", "of the rotor times gear squared, without a torque loop around it"),
    "joint_stiffness": FactKind("N·m/rad", "of gear and torque sensor, between motor and link"),
    "gear_damping": FactKind("N·m·s/rad", "beside that stiffness"),
    "gear_ratio": FactKind("1", "turns of the motor per turn of the joint"),
}


@dataclass(frozen=True)
class Fact:
    """Numbers of one quantity, for some joints of an arm.

    Attributes:
        quantity: a key of `QUANTITIES`.
        values: by joint.
        grade: how they came to be known, one of `GRADES`.
        source: paper, page or public model file.
        side: "joint", all that the drive has, or "behind_compensation", what was seen from outside while the maker's
            torque loop and friction compensation worked: what these leave.
        low, high: ends of the range in which the numbers may lie, by joint; empty where no range is known.
    """

    quantity: str
    values: Mapping[str, float]
    grade: str
    source: str
    side: str = "joint"
    low: Mapping[str, float] = field(default_factory=dict)
    high: Mapping[str, float] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """SI unit."""
        return QUANTITIES[self.quantity].unit

    @property
    def used(self) -> bool:
        """Whether the arm as built has it."""
        return bool(QUANTITIES[self.quantity].attribute) and self.grade != "guessed"


def read_facts(text: str, joints: tuple[str, ...], name: str) -> tuple[Fact, ...]:
    """The facts of a TOML text about an arm with these joints.

    Raises:
        InvalidInput, UnknownName: a quantity, grade, side or joint that there is not; a number that cannot be; friction
            from both sides of a compensation.
    """
    facts = tuple(_fact(entry, joints, name) for entry in toml_data(text).get("fact", ()))
    if len({fact.side for fact in _friction(facts)}) > 1:
        raise InvalidInput(f"friction of {name} is partly known behind the maker's compensation and partly before it")
    return facts


def _friction(facts: tuple[Fact, ...]) -> list[Fact]:
    return [fact for fact in facts if fact.used and fact.quantity.endswith("_friction")]


def _fact(entry: Mapping[str, Any], joints: tuple[str, ...], name: str) -> Fact:
    quantity, grade, side = entry["quantity"], entry["grade"], entry.get("side", "joint")
    check_names(f"quantity of a fact about {name}", [quantity], QUANTITIES)
    check_names(f"grade of a fact about {name}", [grade], GRADES)
    check_names(f"side of a fact about {name}", [side], SIDES)
    named = tuple(entry.get("joints", joints))
    check_names(f"joint of {name}", named, joints)
    values = finite_array(entry["values"], f"{quantity} of {name}", (len(named),))
    for joint, value in zip(named, values):
        if value < 0 and QUANTITIES[quantity].attribute:
            raise InvalidInput(f"{quantity} of {joint} of {name} must not be negative, got {value:g}")
    ends = {end: _end(entry, end, named, values, f"{quantity} of {name}") for end in ("low", "high")}
    return Fact(quantity, dict(zip(named, map(float, values))), grade, entry["source"], side, **ends)


def _end(entry: Mapping[str, Any], end: str, named: tuple[str, ...], values: Array, what: str) -> dict[str, float]:
    """One end of a range, by joint; nothing where the entry has none."""
    if end not in entry:
        return {}
    numbers = finite_array(entry[end], f"{end} end of {what}", (len(named),))
    beyond = numbers > values if end == "low" else numbers < values
    if beyond.any() or (numbers < 0).any():
        raise InvalidInput(f"the {end} end of {what} must lie on its side of the value, got {numbers.tolist()}")
    return dict(zip(named, map(float, numbers)))


@cache
def facts_about(name: str) -> tuple[Fact, ...]:
    """The facts of a shipped arm; none where there is no file of them."""
    folder = resources.files("palpate.robot.catalogue")
    beside = folder.joinpath(f"{name}.toml")
    if not beside.is_file():
        return ()
    joints = re.findall(r'<joint name="([^"]+)"', folder.joinpath(f"{name}.xml").read_text(encoding="utf-8"))
    return read_facts(beside.read_text(encoding="utf-8"), tuple(joints), name)


def as_built(xml: str, facts: tuple[Fact, ...]) -> str:
    """An arm's MJCF text with the facts that are used: attributes of its joints, and a note on its friction's side."""
    added: dict[str, list[str]] = {}
    for fact in facts:
        for joint, value in fact.values.items() if fact.used else ():
            added.setdefault(joint, []).append(f' {QUANTITIES[fact.quantity].attribute}="{value!r}"')
    xml = re.sub(r'<joint name="([^"]+)"', lambda match: match[0] + "".join(added.get(match[1], ())), xml)
    if not any(fact.side == BEHIND_COMPENSATION for fact in _friction(facts)):
        return xml
    return xml.replace("</custom>", f'  <text name="{FRICTION_SIDE}" data="{BEHIND_COMPENSATION}"/>\n  </custom>', 1)


def with_gears(xml: str, facts: tuple[Fact, ...], name: str) -> str:
    """An arm's MJCF text as built with its gears' stiffness too; of rotors and gears, guesses are taken as well.

    Raises:
        InvalidInput: the stiffness or a rotor of some joint is not even guessed.
    """
    joints = re.findall(r'<joint name="([^"]+)"', xml)
    known = {kind: _best(facts, kind) for kind in ("rotor_inertia", STIFFNESS, GEAR_DAMPING)}
    for kind in ("rotor_inertia", STIFFNESS):
        if missing := [joint for joint in joints if joint not in known[kind]]:
            raise InvalidInput(
                f"{kind} of {', '.join(missing)} of {name} is not known, which elastic joints need",
                hint='set robot.joints = "as_built", and give world.plant.joint_stiffness and rotor_inertia',
            )
    used = {joint for fact in facts if fact.used and fact.quantity == "rotor_inertia" for joint in fact.values}
    rotors = {joint: value for joint, value in known["rotor_inertia"].items() if joint not in used}
    xml = re.sub(
        r'<joint name="([^"]+)"',
        lambda match: match[0] + (f' armature="{rotors[match[1]]!r}"' if match[1] in rotors else ""),
        as_built(xml, facts),
    )
    numbers = {
        kind: " ".join(repr(known[kind].get(joint, 0.0)) for joint in joints) for kind in (STIFFNESS, GEAR_DAMPING)
    }
    lines = "".join(f'  <numeric name="{kind}" data="{data}"/>\n' for kind, data in numbers.items())
    return xml.replace("</custom>", f"{lines}  </custom>", 1)


def _best(facts: tuple[Fact, ...], quantity: str) -> dict[str, float]:
    """Numbers of a quantity by joint, of several the best graded one."""
    known: dict[str, float] = {}
    for fact in sorted((f for f in facts if f.quantity == quantity), key=lambda f: -GRADES.index(f.grade)):
        known |= fact.values
    return known


def ranges(facts: tuple[Fact, ...], quantity: str, joints: tuple[str, ...]) -> tuple[Array, Array, Array] | None:
    """Low end, value and high end of a quantity, per joint; the value itself where an end is not known.

    None where the quantity of some joint is not known at all.
    """
    value = _best(facts, quantity)
    if any(joint not in value for joint in joints):
        return None
    low, high = dict(value), dict(value)
    for fact in facts:
        if fact.quantity == quantity:
            low |= fact.low
            high |= fact.high
    return tuple(np.array([end[joint] for joint in joints]) for end in (low, value, high))  # pyright: ignore
