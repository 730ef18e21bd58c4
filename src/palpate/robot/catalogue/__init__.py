"""The robots palpate ships, each as an MJCF text: files for real arms, templates for textbook ones, and pairs of arms.

Every text follows one form (see docs/catalogue.md): radians, no actuators, torque limits on the joints,
further limits and the provenance in `<custom>`, a keyframe `home`, a site `tool`, a geom `tip` that collides
with nothing until a world says so.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from palpate.errors import InvalidInput, check_names
from palpate.robot.catalogue.generated import DISTANCE, PAIRS, TEXTBOOK, Entry, Parameter, Value, pair, textbook_xml
from palpate.robot.catalogue.joint_facts import Fact, as_built, facts_about, with_gears

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
    """The robot's summary, its parameters, and the sources of its figures."""
    texts = {text.get("name"): text.get("data", "") for text in ET.fromstring(model_xml(name)).iter("text")}
    return Entry(name, texts["summary"], _parameters(name), texts["provenance"], texts["licence"])


def facts(name: str) -> tuple[Fact, ...]:
    """Known facts about the robot's joints: rotor inertia, friction, gears, with sources and grades."""
    _parameters(name)
    return facts_about(PAIRS[name][0] if name in PAIRS else name)


def is_textbook(name: str) -> bool:
    """Whether the robot is an invented one, whose joints have no rotor inertia or friction to look up."""
    return name in TEXTBOOK or name in ("quadruped", "ur5e-3link")


def model_xml(name: str, elastic: bool = False, /, **parameters: Value) -> str:
    """MJCF text of a catalogue robot, its joints as built.

    Args:
        name: one of `names()`.
        elastic: with gears that give: what is known, and what is guessed, of rotors and gears.
        parameters: values for the robot's own parameters, SI units; the rest keep their defaults.

    Raises:
        UnknownName: no such robot, or the robot has no such parameter.
        InvalidInput: a value that is not finite, out of bounds, or of the wrong length; unknown gears.
    """
    if elastic and (name not in _files() or is_textbook(name)):
        check_names("robot", [name], names())
        raise InvalidInput(
            f"nothing is known of the gears of {name}",
            hint='set robot.joints = "as_built", and give world.plant.joint_stiffness and rotor_inertia',
        )
    known = {parameter.name: parameter for parameter in _parameters(name)}
    check_names(f"parameter of robot {name!r}", parameters, known)
    values = {key: known[key].read(parameters.get(key, known[key].default)) for key in known}
    if name in TEXTBOOK:
        template = resources.files(__name__).joinpath("textbook", f"{name}.xml")
        return textbook_xml(template.read_text(encoding="utf-8"), values)
    if name in PAIRS:
        return pair(name, model_xml(PAIRS[name][0]), **values)
    text = _files()[name].read_text(encoding="utf-8")
    return with_gears(text, facts_about(name), name) if elastic else as_built(text, facts_about(name))


def _parameters(name: str) -> tuple[Parameter, ...]:
    check_names("robot", [name], names())
    if name in PAIRS:
        return (DISTANCE,)
    return TEXTBOOK.get(name, ())
