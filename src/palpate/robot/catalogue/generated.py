"""Robots whose MJCF text depends on a few parameters: textbook robots from templates, and pairs of arms."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from palpate.checks import finite_array
from palpate.errors import BadShape, InvalidInput

Numbers = list[float]
Value = float | Sequence[float]


@dataclass(frozen=True)
class Parameter:
    """A number, or one number per link, that a robot of the catalogue is built from.

    Attributes:
        name: keyword of `model_xml`.
        unit: SI unit.
        default: one number; every link gets it.
        meaning: one line.
        count: 1 for a single number; n for n links, given as one number for all or as n numbers.
        least, most: inclusive bounds. The engine refuses bodies much lighter than the lower one.
    """

    name: str
    unit: str
    default: float
    meaning: str
    count: int = 1
    least: float = 1e-3
    most: float = 1e3

    def read(self, value: Value) -> Numbers:
        """`value` as `count` floats, or an error that names the parameter."""
        numbers = finite_array(value, self.name)
        if numbers.shape not in ((), (self.count,)):
            wanted = "one number" if self.count == 1 else f"one number or {self.count} numbers"
            raise BadShape(f"{self.name} must be {wanted}, got an array of shape {numbers.shape}")
        listed = [float(number) for number in numbers.ravel()]
        for number in listed:
            if not self.least <= number <= self.most:
                rule = f"between {self.least:g} and {self.most:g} {self.unit}"
                raise InvalidInput(f"{self.name} must be {rule}, got {number:g}")
        return listed * self.count if numbers.ndim == 0 else listed


@dataclass(frozen=True)
class Entry:
    """One robot of the catalogue.

    Attributes:
        summary: one line.
        parameters: what can be chosen; empty for a robot that is a file.
        provenance: where its figures come from.
        licence: under which terms file and figures stand.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    provenance: str
    licence: str


def textbook_xml(template: str, values: Mapping[str, Numbers]) -> str:
    """MJCF text of a textbook robot from its template, whose {names} are the parameters and what follows from them."""
    lengths, masses = values.get("length", [1.0]), values["mass"]
    rods = list(zip(lengths, masses))
    thickness = 0.04 * min(lengths)
    # Beyond the rods of a SCARA: solid cylinders of radius 0.03 m, wrist and quill, 0.1 m and 0.3 m long.
    cylinders = list(zip((0.1, 0.3), masses[2:]))
    return template.format(
        **{name: numbers[0] if name in ("gravity", "base_height") else numbers for name, numbers in values.items()},
        half=[length / 2 for length in lengths],
        rod=[mass * length**2 / 12 for length, mass in rods],
        thin=[max(1e-12 * mass * length**2, 2e-15) for length, mass in rods],  # the engine's floor is 1e-15
        cube=[mass * 0.1**2 / 6 for mass in masses],
        across=[mass * (3 * 0.03**2 + length**2) / 12 for length, mass in cylinders],
        along=[mass * 0.03**2 / 2 for _, mass in cylinders],
        post=max(values.get("base_height", [0.0])[0], 1e-3),  # a cylinder needs some length
        thickness=thickness,
        wire=thickness / 2,
        pin=1.5 * thickness,
        hub=1.2 * thickness,
        ball=2 * thickness,
    )


def _lengths(count: int) -> Parameter:
    return Parameter("length", "m", 1.0, "link length, one for all links or one each", count)


def _masses(count: int) -> Parameter:
    return Parameter("mass", "kg", 1.0, "link mass, one for all links or one each", count)


def _gravity(default: float, direction: str) -> Parameter:
    return Parameter("gravity", "m/s²", default, f"acceleration of free fall, along {direction}", least=0.0)


_HEIGHT = Parameter("base_height", "m", 1.0, "height l0 of the first joint above the origin", least=0.0)

_ARM = Parameter("length", "m", 0.4, "length of both arms, one for both or one each", 2)
_COLUMN = Parameter("base_height", "m", 0.6, "height of the arms above the floor", least=0.0)

# What each textbook robot is built from, by the name of its template in the folder `textbook`.
TEXTBOOK: dict[str, tuple[Parameter, ...]] = {
    "cartesian2": (_masses(2), _gravity(9.81, "-y")),
    "pendulum": (_lengths(1), _masses(1), _gravity(9.81, "-z")),
    "planar2": (_lengths(2), _masses(2), _gravity(9.81, "-y")),
    "planar3": (_lengths(3), _masses(3), _gravity(0.0, "-y")),
    "planar3-vertical": (_lengths(3), _masses(3), _HEIGHT, _gravity(9.81, "-z")),
    "point3": (_masses(1), _gravity(9.81, "-z")),
    "scara": (_ARM, _masses(4), _COLUMN, _gravity(9.81, "-z")),
}


# ----------------------------------------------------------------------------------------------
# Two arms of the catalogue as one machine: side by side, names with `left_` and `right_` before them.


DISTANCE = Parameter("distance", "m", 0.8, "between the two bases, along y", least=0.01, most=10.0)


# Which arm stands there twice, and what the pair is.
PAIRS = {"two-arm": ("iiwa14", "two KUKA LBR iiwa 14 arms side by side, 14 revolute joints")}


def pair(name: str, arm_xml: str, distance: Numbers) -> str:
    """MJCF text of two copies of an arm on one stand `base`, `distance` apart along y, the left one at +y.

    The left arm's tool is also `tool`, its tip `tip`: the frame a one-armed law moves.
    """
    root = ET.fromstring(arm_xml)
    root.set("model", name)
    world = next(root.iter("worldbody"))
    arm = world[0]
    world.remove(arm)
    stand = ET.SubElement(world, "body", name="base")
    half = f"0.1 {distance[0] / 2 + 0.1!r} 0.01"
    ET.SubElement(stand, "geom", type="box", pos="0 0 -0.01", size=half, rgba="0.25 0.27 0.30 1")
    for side, y in (("left", distance[0] / 2), ("right", -distance[0] / 2)):
        stand.append(_named(deepcopy(arm), side, y))
    for numeric in root.iter("numeric"):
        if numeric.get("name") != "cartesian_velocity_limit":
            numeric.set("data", " ".join([numeric.get("data", "")] * 2))
    key = next(root.iter("key"))
    key.set("qpos", " ".join([key.get("qpos", "")] * 2))
    arm_name, summary = PAIRS[name]
    texts = {text.get("name"): text for text in root.iter("text")}
    texts["summary"].set("data", summary)
    before = texts["provenance"].get("data")
    texts["provenance"].set("data", f"The catalogue's {arm_name}, twice; the arrangement is ours. {before}")
    ET.indent(root)
    remark = f"{summary}, from the catalogue's {arm_name}; see there for the sources of every figure."
    return f"<!--\n{remark}\n-->\n" + ET.tostring(root, encoding="unicode") + "\n"


def _named(arm: ET.Element, side: str, y: float) -> ET.Element:
    arm.set("pos", f"0 {y!r} 0")
    for element in arm.iter():
        if name := element.get("name"):
            element.set("name", f"{side}_{name}")
    if side == "left":
        for body in arm.iter("body"):
            for site in body.findall("site[@name='left_tool']"):
                body.append(ET.Element("site", {**site.attrib, "name": "tool"}))
        for tip in arm.findall(".//geom[@name='left_tip']"):
            tip.set("name", "tip")
    return arm
