"""Two arms of the catalogue as one machine: side by side, names with `left_` and `right_` before them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from copy import deepcopy
from dataclasses import dataclass

from palpate.robot.catalogue.entry import Parameter

_DISTANCE = Parameter("distance", "m", 0.8, "between the two bases, along y", least=0.01, most=10.0)


@dataclass(frozen=True)
class Pair:
    """Which arm stands there twice, and what can be chosen."""

    arm: str
    summary: str
    parameters: tuple[Parameter, ...] = (_DISTANCE,)


PAIRS = {"two-arm": Pair("iiwa14", "two KUKA LBR iiwa 14 arms side by side, 14 revolute joints")}


def pair(name: str, arm_xml: str, distance: list[float]) -> str:
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
    _tell(root, name)
    ET.indent(root)
    card = f"{PAIRS[name].summary}, from the catalogue's {PAIRS[name].arm}; see there for the sources of every figure."
    return f"<!--\n{card}\n-->\n" + ET.tostring(root, encoding="unicode") + "\n"


def _named(arm: ET.Element, side: str, y: float) -> ET.Element:
    arm.set("pos", f"0 {y!r} 0")
    for element in list(arm.iter()):
        own = element.get("name")
        if own is None:
            continue
        element.set("name", f"{side}_{own}")
    if side == "left":
        parents = {child: parent for parent in arm.iter() for child in parent}
        for element in list(arm.iter("site")):
            if element.get("name") == "left_tool":
                parents[element].append(ET.Element("site", {**element.attrib, "name": "tool"}))
        for element in arm.iter("geom"):
            if element.get("name") == "left_tip":
                element.set("name", "tip")
    return arm


def _tell(root: ET.Element, name: str) -> None:
    for text in root.iter("text"):
        if text.get("name") == "summary":
            text.set("data", PAIRS[name].summary)
        elif text.get("name") == "provenance":
            text.set("data", f"The catalogue's {PAIRS[name].arm}, twice; the arrangement is ours. {text.get('data')}")
