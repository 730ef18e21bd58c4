"""Textbook robots whose MJCF text is built from a few parameters."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import pi

from palpate.checks import finite_array
from palpate.errors import BadShape, InvalidInput

Axis = tuple[float, float, float]
Numbers = list[float]
Value = float | Sequence[float]

_LICENCE = "Apache-2.0; the figures are the source's or the caller's, the shapes are our own."
_POINT_NOTE = (
    "A point mass has no rotational inertia, but the engine wants some: it gets 1e-12 m l^2 about each axis, "
    "which changes the mass matrix in its twelfth digit."
)
_ROD_NOTE = "A thin uniform rod: m l^2/12 across it; along it 1e-12 m l^2, because the engine refuses zero."
_TIP_NOTE = "tip is a 0.01 m sphere centred on the tool point; it collides with nothing until a world says so."

_STEEL, _DARK, _BRASS = "0.55 0.66 0.78 1", "0.25 0.27 0.30 1", "0.85 0.65 0.25 1"


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


@dataclass(frozen=True)
class Recipe:
    """How to build a robot: its parameters, and a function from their values (lists) to MJCF text."""

    parameters: tuple[Parameter, ...]
    build: Callable[..., str]


class _Model:
    """The MJCF document of a robot: the parts that all share, a `base` to hang links on, and what is said of it."""

    def __init__(self, name: str, summary: str, provenance: str, assumed: Iterable[str], gravity: Axis) -> None:
        self.remarks = (summary, provenance, _LICENCE, *assumed, _TIP_NOTE)
        self.root = ET.Element("mujoco", model=name)
        ET.SubElement(self.root, "compiler", angle="radian", autolimits="true")
        ET.SubElement(self.root, "option", gravity=_text(*gravity), timestep="0.001")
        custom = ET.SubElement(self.root, "custom")
        for key, data in (("summary", summary), ("provenance", provenance), ("licence", _LICENCE)):
            ET.SubElement(custom, "text", name=key, data=data)
        default = ET.SubElement(self.root, "default")
        ET.SubElement(default, "geom", contype="0", conaffinity="0", group="1", mass="0")
        self.base = ET.SubElement(ET.SubElement(self.root, "worldbody"), "body", name="base")

    def text(self, home: Iterable[float]) -> str:
        ET.SubElement(ET.SubElement(self.root, "keyframe"), "key", name="home", qpos=_text(*home))
        return _document(self.root, *self.remarks)


def _document(root: ET.Element, *remarks: str) -> str:
    """The text of a document, with remarks before it."""
    ET.indent(root)
    return "<!--\n" + "\n".join(remarks) + "\n-->\n" + ET.tostring(root, encoding="unicode") + "\n"


def planar2(length: Numbers, mass: Numbers, gravity: Numbers) -> str:
    """Two revolute joints, point masses at the link ends; angles from x, gravity along −y.

    M = [[(m1 + m2) l1² + m2 l2² + 2 m2 l1 l2 c2, m2 l2² + m2 l1 l2 c2], [·, m2 l2²]].
    """
    model = _Model(
        "planar2",
        "planar 2R arm, point masses at the link ends, gravity along -y",
        "Lecture notes on robots in contact with the environment: unit lengths, unit masses.",
        (_POINT_NOTE, "The angles are counted from the x axis, as in the notes' section on the wall."),
        (0.0, -gravity[0], 0.0),
    )
    _tool(*_serial(model.base, length, mass, along=(1.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), point=True))
    return model.text((pi / 3, -2 * pi / 3))


def planar3(length: Numbers, mass: Numbers, gravity: Numbers) -> str:
    """Three revolute joints, thin uniform rods; angles from x, gravity (if any) along −y.

    With equal links: x = L (c1 + c12 + c123), y = L (s1 + s12 + s123).
    """
    model = _Model(
        "planar3",
        "planar 3R arm of thin uniform rods; horizontal plane unless gravity is given",
        "Robotics 2 exam of 10 September 2021 (Sapienza), exercises 1 and 2: L = 1 m for the stop, "
        "L = 0.5 m and m = 5 kg for the inertia.",
        (_ROD_NOTE, "The exam's figure shows no gravity, so there is none by default."),
        (0.0, -gravity[0], 0.0),
    )
    _tool(*_serial(model.base, length, mass, along=(1.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), point=False))
    return model.text((0.0, pi / 2, pi / 2))


def planar3_vertical(length: Numbers, mass: Numbers, base_height: Numbers, gravity: Numbers) -> str:
    """Three revolute joints in the x–z plane; angles from the vertical, positive towards +x.

    x = l1 s1 + l2 s12 + l3 s123, z = l0 + l1 c1 + l2 c12 + l3 c123; the tool's rotation is about +y.
    """
    model = _Model(
        "planar3-vertical",
        "planar 3R arm in the vertical x-z plane, angles from the vertical, base at height l0",
        "Robot Dynamics (lecture by M. Hutter, notes by Y. Song), planar arm of the kinematics "
        "section. It prints no figures: unit lengths, unit masses and l0 = 1 m are ours.",
        (_ROD_NOTE,),
        (0.0, 0.0, -gravity[0]),
    )
    post = _text(0, 0, 0, 0, 0, max(base_height[0], 1e-3))  # a capsule needs some length
    ET.SubElement(model.base, "geom", type="cylinder", fromto=post, size=_text(0.04), rgba=_DARK)
    up = (0.0, 0.0, 1.0)
    _tool(*_serial(model.base, length, mass, along=up, axis=(0.0, 1.0, 0.0), point=False, height=base_height[0]))
    return model.text((pi / 6, pi / 3, pi / 6))


def pendulum(length: Numbers, mass: Numbers, gravity: Numbers) -> str:
    """A point mass on a massless rod, θ = 0 hanging down: θ̈ = −(g/l) sin θ, x = l sin θ, z = −l cos θ."""
    model = _Model(
        "pendulum",
        "point mass on a massless rod in the x-z plane, hanging down at zero",
        "Robot Dynamics (lecture by M. Hutter, notes by Y. Song), Lagrangian example.",
        (_POINT_NOTE, "The pivot is the origin; positive angles swing towards +x."),
        (0.0, 0.0, -gravity[0]),
    )
    _tool(*_serial(model.base, length, mass, along=(0.0, 0.0, -1.0), axis=(0.0, -1.0, 0.0), point=True))
    return model.text((0.0,))


def cartesian2(mass: Numbers, gravity: Numbers) -> str:
    """Prismatic x carrying prismatic y, gravity along −y: M = diag(m1 + m2, m2), g = (0, m2 g), p = q."""
    model = _Model(
        "cartesian2",
        "prismatic x axis carrying a prismatic y axis in a vertical plane",
        "Robotics 2 exam of 10 September 2021 (Sapienza), exercise 3; the masses are left open there.",
        ("The links never turn, so their rotational inertia (that of 0.1 m cubes) does not matter.",),
        (0.0, -gravity[0], 0.0),
    )
    ET.SubElement(model.base, "geom", type="box", pos="0 0.6 -0.05", size="0.7 0.02 0.02", rgba=_DARK)
    cart = _slider(model.base, 1, (1.0, 0.0, 0.0), mass[0])
    ET.SubElement(cart, "geom", type="box", pos="0 0.6 0", size="0.07 0.06 0.05", rgba=_STEEL)
    ram = _slider(cart, 2, (0.0, 1.0, 0.0), mass[1])
    ET.SubElement(ram, "geom", type="capsule", fromto="0 0 0 0 0.9 0", size="0.02", rgba=_BRASS)
    _tool(ram, (0.0, 0.0, 0.0))
    return model.text((0.0, 0.0))


def point3(mass: Numbers, gravity: Numbers) -> str:
    """A mass that moves in x, y and z without turning: M = m 1, g = (0, 0, m g), p = q."""
    model = _Model(
        "point3",
        "point mass on three slides: an end-effector without its arm",
        "A pole on the end-effector of an arm: the end-effector A of mass m_e.",
        ("It never turns, so its rotational inertia (that of a 0.1 m cube) does not matter.",),
        (0.0, 0.0, -gravity[0]),
    )
    link = _slider(model.base, 1, (1.0, 0.0, 0.0), mass[0])
    for index, axis in ((2, "0 1 0"), (3, "0 0 1")):
        ET.SubElement(link, "joint", name=f"joint{index}", type="slide", axis=axis)
    ET.SubElement(link, "geom", type="box", pos="0 0 -0.03", size="0.05 0.05 0.03", rgba=_STEEL)
    _tool(link, (0.0, 0.0, 0.0))
    return model.text((0.0, 0.0, 0.0))


def scara(length: Numbers, mass: Numbers, base_height: Numbers, gravity: Numbers) -> str:
    """Three parallel vertical turns α, β, γ and a vertical stroke ζ: x = l1 c1 + l2 c12, z = h + ζ, φ = α + β + γ.

    Links 1 and 2 are thin uniform rods with moments m l²/12; wrist and quill are solid cylinders on the third axis.
    """
    model = _Model(
        "scara",
        "SCARA, 4 joints: three vertical turns and a vertical stroke",
        "Robot Dynamics (lecture by M. Hutter, notes by Y. Song), the example of operational-space "
        "coordinates, q = (alpha, beta, gamma, zeta). It prints no figures: these are ours.",
        (_ROD_NOTE, "Wrist and quill: solid cylinders of radius 0.03 m, 0.1 m and 0.3 m long, the quill hanging."),
        (0.0, 0.0, -gravity[0]),
    )
    height = max(base_height[0], 1e-3)  # a cylinder needs some length
    ET.SubElement(model.base, "geom", type="cylinder", fromto=_text(0, 0, 0, 0, 0, height), size="0.07", rgba=_DARK)
    x, up = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    arm, _ = _serial(model.base, length, mass[:2], along=x, axis=up, point=False, height=base_height[0])
    wrist = _round_link(arm, 3, mass[2], (length[1], 0.0, 0.0), 0.1, (0.0, 0.0, 0.0), "hinge")
    quill = _round_link(wrist, 4, mass[3], (0.0, 0.0, 0.0), 0.3, (0.0, 0.0, 0.15), "slide")
    _tool(quill, (0.0, 0.0, 0.0))
    return model.text((0.4, 0.8, -1.2, -0.1))


def _round_link(
    parent: ET.Element, index: int, mass: float, position: Axis, length: float, centre: Axis, kind: str
) -> ET.Element:
    """A solid cylinder about the vertical axis it turns about or slides along."""
    radius = 0.03
    link = ET.SubElement(parent, "body", name=f"link{index}", pos=_text(*position))
    across, along = mass * (3 * radius**2 + length**2) / 12, mass * radius**2 / 2
    moments = _text(across, across, along)
    ET.SubElement(link, "inertial", mass=_text(mass), pos=_text(*centre), diaginertia=moments)
    ET.SubElement(link, "joint", name=f"joint{index}", type=kind, axis="0 0 1")
    x, y, z = centre
    ends = _text(x, y, z - length / 2, x, y, z + length / 2)
    size = _text(radius if kind == "hinge" else 0.4 * radius)
    ET.SubElement(link, "geom", type="cylinder", fromto=ends, size=size, rgba=_DARK if kind == "hinge" else _BRASS)
    return link


def _serial(
    base: ET.Element, lengths: Numbers, masses: Numbers, *, along: Axis, axis: Axis, point: bool, height: float = 0.0
) -> tuple[ET.Element, Axis]:
    """Hang a chain of hinges under `base`; at q = 0 every link lies along `along`. The last link, and its end."""
    parent, origin, radius = base, (0.0, 0.0, height), 0.04 * min(lengths)
    for index, (length, mass) in enumerate(zip(lengths, masses), start=1):
        link = ET.SubElement(parent, "body", name=f"link{index}", pos=_text(*origin))
        tip = _scaled(length, along)
        _inertial(link, mass, length, along, point)
        ET.SubElement(link, "joint", name=f"joint{index}", axis=_text(*axis))
        _draw_link(link, tip, axis, radius, point)
        parent, origin = link, tip
    return parent, origin


def _inertial(link: ET.Element, mass: float, length: float, along: Axis, point: bool) -> None:
    least = max(1e-12 * mass * length**2, 2e-15)  # the engine's floor is 1e-15
    across = least if point else mass * length**2 / 12
    inertia = [least if a else across for a in along]
    com = _scaled(length if point else length / 2, along)
    ET.SubElement(link, "inertial", mass=_text(mass), pos=_text(*com), diaginertia=_text(*inertia))


def _draw_link(link: ET.Element, end: Axis, axis: Axis, radius: float, point: bool) -> None:
    pin = _scaled(1.5 * radius, axis)
    ends = _text(*_scaled(-1.0, pin), *pin)
    ET.SubElement(link, "geom", type="cylinder", fromto=ends, size=_text(1.2 * radius), rgba=_DARK)
    thickness = radius / 2 if point else radius
    ET.SubElement(link, "geom", type="capsule", fromto=_text(0, 0, 0, *end), size=_text(thickness), rgba=_STEEL)
    if point:
        ET.SubElement(link, "geom", type="sphere", pos=_text(*end), size=_text(2 * radius), rgba=_BRASS)


def _slider(parent: ET.Element, index: int, axis: Axis, mass: float) -> ET.Element:
    link = ET.SubElement(parent, "body", name=f"link{index}")
    cube = _text(*[mass * 0.1**2 / 6] * 3)
    ET.SubElement(link, "inertial", mass=_text(mass), pos="0 0 0", diaginertia=cube)
    ET.SubElement(link, "joint", name=f"joint{index}", type="slide", axis=_text(*axis))
    return link


def _tool(link: ET.Element, where: Axis) -> None:
    pos = _text(*where)
    ET.SubElement(link, "geom", name="tip", type="sphere", pos=pos, size="0.01", group="3", rgba="0.9 0.2 0.2 1")
    ET.SubElement(link, "site", name="tool", pos=pos)


def _scaled(factor: float, axis: Axis) -> Axis:
    x, y, z = (factor * a + 0.0 for a in axis)  # + 0.0 turns −0 into 0
    return x, y, z


def _text(*numbers: float) -> str:
    """Shortest decimals that read back as the same doubles."""
    return " ".join(repr(float(number)) for number in numbers)


def _lengths(count: int) -> Parameter:
    return Parameter("length", "m", 1.0, "link length, one for all links or one each", count)


def _masses(count: int) -> Parameter:
    return Parameter("mass", "kg", 1.0, "link mass, one for all links or one each", count)


def _gravity(default: float, direction: str) -> Parameter:
    return Parameter("gravity", "m/s²", default, f"acceleration of free fall, along {direction}", least=0.0)


_HEIGHT = Parameter("base_height", "m", 1.0, "height l0 of the first joint above the origin", least=0.0)

_ARM = Parameter("length", "m", 0.4, "length of both arms, one for both or one each", 2)
_COLUMN = Parameter("base_height", "m", 0.6, "height of the arms above the floor", least=0.0)

RECIPES: dict[str, Recipe] = {
    "cartesian2": Recipe((_masses(2), _gravity(9.81, "-y")), cartesian2),
    "pendulum": Recipe((_lengths(1), _masses(1), _gravity(9.81, "-z")), pendulum),
    "planar2": Recipe((_lengths(2), _masses(2), _gravity(9.81, "-y")), planar2),
    "planar3": Recipe((_lengths(3), _masses(3), _gravity(0.0, "-y")), planar3),
    "planar3-vertical": Recipe((_lengths(3), _masses(3), _HEIGHT, _gravity(9.81, "-z")), planar3_vertical),
    "point3": Recipe((_masses(1), _gravity(9.81, "-z")), point3),
    "scara": Recipe((_ARM, _masses(4), _COLUMN, _gravity(9.81, "-z")), scara),
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
    return _document(root, f"{summary}, from the catalogue's {arm_name}; see there for the sources of every figure.")


def _named(arm: ET.Element, side: str, y: float) -> ET.Element:
    arm.set("pos", f"0 {y!r} 0")
    for element in arm.iter():
        if name := element.get("name"):
            element.set("name", f"{side}_{name}")
    if side == "left":
        parents = {child: parent for parent in arm.iter() for child in parent}
        for element in list(arm.iter("site")):
            if element.get("name") == "left_tool":
                parents[element].append(ET.Element("site", {**element.attrib, "name": "tool"}))
        for element in arm.iter("geom"):
            if element.get("name") == "left_tip":
                element.set("name", "tip")
    return arm
