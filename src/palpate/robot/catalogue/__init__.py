"""The robots palpate ships, each as an MJCF text: files for real arms, templates for textbook ones, and pairs of arms.

Every text follows one form (see docs/catalogue.md): radians, no actuators, torque limits on the joints,
further limits and the provenance in `<custom>`, a keyframe `home`, a site `tool`, a geom `tip` that collides
with nothing until a world says so.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from palpate.checks import finite_array
from palpate.errors import InvalidInput, check_names
from palpate.robot.catalogue.generated import DISTANCE, PAIRS, TEXTBOOK, Entry, Parameter, Value, pair, textbook_xml
from palpate.toml import toml_data

__all__ = ["Entry", "Fact", "Parameter", "describe", "facts", "is_textbook", "model_xml", "names"]


@cache
def _files() -> dict[str, Traversable]:
    """The model files of this package, by the names of their robots."""
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".xml"))
    return {file.name.removesuffix(".xml"): file for file in files}


def names() -> list[str]:
    """The catalogue's robots, in alphabetical order."""
    return sorted([*_files(), *TEXTBOOK, *PAIRS])


def describe(name: str) -> Entry:
    """What the robot is, which parameters it takes and where its figures come from."""
    texts = {text.get("name"): text.get("data", "") for text in ET.fromstring(model_xml(name)).iter("text")}
    return Entry(name, texts["summary"], _parameters(name), texts["provenance"], texts["licence"])


def facts(name: str) -> tuple[Fact, ...]:
    """What is known of the robot's joints: rotor inertia, friction, gears, with sources and grades."""
    _parameters(name)
    return facts_about(PAIRS[name][0] if name in PAIRS else name)


def is_textbook(name: str) -> bool:
    """Whether the robot is nobody's machine, so that its joints lack nothing."""
    return name in TEXTBOOK or name in ("quadruped", "ur5e-3link")


def model_xml(name: str, /, **parameters: Value) -> str:
    """MJCF text of a catalogue robot, its joints as built.

    Args:
        name: one of `names()`.
        parameters: values for the robot's own parameters, SI units; the rest keep their defaults.

    Raises:
        UnknownName: no such robot, or the robot has no such parameter.
        InvalidInput: a value that is not finite, out of bounds, or of the wrong length.
    """
    known = {parameter.name: parameter for parameter in _parameters(name)}
    check_names(f"parameter of robot {name!r}", parameters, known)
    values = {key: known[key].read(parameters.get(key, known[key].default)) for key in known}
    if name in TEXTBOOK:
        template = resources.files(__name__).joinpath("textbook", f"{name}.xml")
        return textbook_xml(template.read_text(encoding="utf-8"), values)
    if name in PAIRS:
        return pair(name, model_xml(PAIRS[name][0]), **values)
    return as_built(_files()[name].read_text(encoding="utf-8"), facts_about(name))


def _parameters(name: str) -> tuple[Parameter, ...]:
    check_names("robot", [name], names())
    if name in PAIRS:
        return (DISTANCE,)
    return TEXTBOOK.get(name, ())


# ----------------------------------------------------------------------------------------------
# Facts about the joints of catalogue arms: rotor inertia, friction, gears; each with its source and its grade.
#
# They stand in a TOML file beside the arm's MJCF, one `[[fact]]` per quantity and source. What is graded better than
# *guessed* is put into the arm (`robot.joints = "as_built"`); a guess is shown and left out, and so is what nobody
# knows.


GRADES = ("measured", "identified", "published", "guessed")  # from the best to the worst


@dataclass(frozen=True)
class FactKind:
    """What a fact is about: its unit, its meaning, and the attribute of an MJCF joint that it sets, if any."""

    unit: str
    meaning: str
    attribute: str = ""


QUANTITIES: Mapping[str, FactKind] = {
    "rotor_inertia": FactKind("kg·m²", "of rotor and gear, felt at the joint", "armature"),
    "viscous_friction": FactKind("N·m·s/rad", "joint torque per joint speed", "damping"),
    "coulomb_friction": FactKind("N·m", "joint torque that has to be overcome", "frictionloss"),
    "motor_side_inertia": FactKind("kg·m²", "of the rotor times gear squared, without a torque loop around it"),
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
    """

    quantity: str
    values: Mapping[str, float]
    grade: str
    source: str

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
        InvalidInput, UnknownName: a quantity, grade or joint that there is not; a number that cannot be.
    """
    return tuple(_fact(entry, joints, name) for entry in toml_data(text).get("fact", ()))


def _fact(entry: Mapping[str, Any], joints: tuple[str, ...], name: str) -> Fact:
    quantity, grade = entry["quantity"], entry["grade"]
    check_names(f"quantity of a fact about {name}", [quantity], QUANTITIES)
    check_names(f"grade of a fact about {name}", [grade], GRADES)
    named = tuple(entry.get("joints", joints))
    check_names(f"joint of {name}", named, joints)
    values = finite_array(entry["values"], f"{quantity} of {name}", (len(named),))
    for joint, value in zip(named, values):
        if value < 0 and QUANTITIES[quantity].attribute:
            raise InvalidInput(f"{quantity} of {joint} of {name} must not be negative, got {value:g}")
    return Fact(quantity, dict(zip(named, map(float, values))), grade, entry["source"])


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
    """An arm's MJCF text with the facts that are used as attributes of its joints."""
    added: dict[str, list[str]] = {}
    for fact in facts:
        for joint, value in fact.values.items() if fact.used else ():
            added.setdefault(joint, []).append(f' {QUANTITIES[fact.quantity].attribute}="{value!r}"')
    return re.sub(r'<joint name="([^"]+)"', lambda match: match[0] + "".join(added.get(match[1], ())), xml)
