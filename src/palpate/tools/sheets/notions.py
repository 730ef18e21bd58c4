"""The quantity that a left side of a document stands for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy

from palpate.errors import UnreadableExpression
from palpate.tools.review.read.labels import axis, bare, label_meaning, label_name
from palpate.tools.sheets.seen import Seen

sp: Any = sympy  # its own types know too little of matrices

_STYLE = re.compile(
    r"\\(?:mathbf|mathrm|boldsymbol|bm|mathcal|operatorname|text|textrm|mathit|mathsf|vec|underline|bf|rm|pmb)\b\s*"
)
_SPACING = re.compile(r"\\(?:left|right|displaystyle|[bB]igg?[lr]?)\b|\\[,;:! ]|\s+|&|\$|~")
_FRAME = re.compile(r"^(?:\{\})?(?:\^(?:\{(?P<long>[^{}]*)\}|(?P<short>\w))|_(?:\{(?P<low>[^{}]*)\}|(?P<lower>\w)))+")
_POSES = re.compile(r"(?:(?:\{\})?\^\{?\d\}?[TAH]_\{?\d\}?|[TAH]_\{?\d\}?\^\{?\d\}?|[TAH]_\{?\d\}?)+")
_ARGUMENTS = re.compile(r"\((?:[^()]|\([^()]*\))*\)$")
_INDICES = re.compile(r"[\[(]\d+(?:,\d+)?[\])](?:\[\d+\])?$")  # an entry in a program: M(1,2), M[0][1], g[0]
_BELOW, _DIGITS = re.compile("[₀-₉]+"), str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_FORCES = re.compile(r"C(?:\([^)]*\)|\((?:[^()]|\([^()]*\))*\))?\\dot\{?(?:q|\\theta)\}?")
_LABEL = re.compile(
    r"\{?(?:\\(?P<d>d{1,3})ot)?\{?(?P<base>\\?[A-Za-zͰ-Ͽℓ]+?)\}?"
    r"(?P<scripts>(?:[_^](?:\{(?:[^{}]|\{[^{}]*\})*\}|\\?[A-Za-z0-9]))*)\}?'*"
)
_SCRIPT = re.compile(r"(?P<sign>[_^])(?:\{(?P<long>(?:[^{}]|\{[^{}]*\})*)\}|(?P<short>\\?[A-Za-z0-9]))")
_OF_L = r"\\frac\{\\partial(?:L|T|V|U|\{L\})\}\{\\partial(?P<x>[^{}]+(?:\{[^{}]*\}[^{}]*)*)\}"
_DERIVATIVES = [
    (re.compile(r"\\frac\{d\}\{dt\}[(\[{]*" + _OF_L + r"[)\]}]*"), "rate"),
    (re.compile(_OF_L), "slope"),
]
_COLUMN = re.compile(r"\\begin\{[bp]?matrix\}(?P<inside>.*)\\end\{[bp]?matrix\}(?:\^\{?T\}?)?")
_TORQUES = ("T", "tau", "\\tau", "τ", "u", "Q", "Gamma", "\\Gamma")


@dataclass(frozen=True)
class Notion:
    """The meaning of a left side.

    Attributes:
        title: in words.
        what: the kind of quantity, for `check_derivation`.
        entry: (row, column) from 0, if it is one entry of it.
        make: makes the expression that is right, where the kind of quantity alone does not say.
        labelled: whether the left side itself says which part of the quantity it is.
        names: further names that its formulas may use, and what they stand for.
        alone: whether names of the document have no meaning in it: T_1 in T = Jᵀ F is any torque.
    """

    title: str
    what: str
    entry: tuple[int, int] | None = None
    make: Callable[[Seen], Any] | None = None
    labelled: bool = False
    names: Callable[[Seen], dict[str, Any]] | None = None
    alone: bool = False


@dataclass(frozen=True)
class Label:
    """A name on a left side: letters, what stands below and above, dots."""

    base: str
    below: str = ""
    above: str = ""
    dots: int = 0


def normal(left: str) -> str:
    """A left side without type styles, spaces and arguments."""
    text = _SPACING.sub("", _STYLE.sub("", bare(left)))
    text = re.sub(r"(?<![_^\w}])\{([A-Za-z]+)\}", r"\1", text)
    return text


def label_of(left: str) -> Label | None:
    """The name that a left side is; None if it is more than a name."""
    text = normal(left)
    frame = _FRAME.match(text)
    above = (frame["long"] or frame["short"] or "") if frame else ""
    text = text[frame.end() :] if frame else text
    text = re.sub(r"\((?:[^()]|\([^()]*\))*\)(?=[_^])", "", text)  # M(q)_{12}
    text = re.sub(r"^([A-Za-z]+)(\d+)$", r"\1_{\2}", text)  # M12 of a program
    if _INDICES.search(text):
        return None
    text = _ARGUMENTS.sub("", _BELOW.sub(lambda m: f"_{{{m[0].translate(_DIGITS)}}}", text))
    match = _LABEL.fullmatch(text)
    if match is None:
        return None
    below = (frame["low"] or frame["lower"] or "") if frame else ""
    for script in _SCRIPT.finditer(match["scripts"]):
        inside = (script["long"] or script["short"] or "").replace("{", "").replace("}", "").replace("\\", "")
        if script["sign"] == "_":
            below = inside
        else:
            above = inside
    return Label(match["base"], below.replace("_", ""), above.replace("_", ""), len(match["d"] or ""))


def notion(left: str, right: str, joints: int) -> Notion | None:
    """The meaning of a left side for an arm with `joints` joints; None for a name that the writer made up.

    Args:
        left: the left side.
        right: the last right side: T_1 = … θ̈ … is a torque, T_1^0 = 4×4 a pose.
        joints: the number of joints.
    """
    derivative = _derivative(normal(left), joints)
    if derivative is not None:
        return derivative
    if _FORCES.fullmatch(normal(left)):
        return Notion("c", "c")
    if _is_product_of_poses(normal(left), right, joints):
        return Notion("the pose of the tool", "FK")
    label = label_of(left)
    if label is not None:
        special = _special(label, right, joints)
        if special is not None:
            return special
    return _column(left, right, joints) or _usual(left, label)


def _is_product_of_poses(left: str, right: str, joints: int) -> bool:
    """Whether a left side is the product of the poses of all links: A_1^0 A_2^1, {}^0T_1 {}^1T_2, A_1 A_2."""
    return bool(_POSES.fullmatch(left)) and len(re.findall("[TAH]", left)) == joints > 1 and right.count("\\\\") >= 3


def _usual(left: str, label: Label | None) -> Notion | None:
    """M, C, g, J, T, V and their entries."""
    if label is None and not re.fullmatch(r"[A-Za-z]\w*\s*[\[(][\d\s,\[\]().]*[\])]", bare(left)):
        return None
    if label is not None and label.above and not label.above.isdigit():
        return None
    try:
        what, entry = label_meaning(label_name(left if label is None else _plain(label)))
    except UnreadableExpression:
        return None
    return None if what is None else Notion(what, what, entry, labelled=what == "FK")


def _plain(label: Label) -> str:
    dots = {0: "{}", 1: "\\dot{{{}}}", 2: "\\ddot{{{}}}", 3: "\\dddot{{{}}}"}[label.dots]
    return dots.format(label.base) + (f"_{{{label.below}}}" if label.below else "")


def _derivative(text: str, joints: int) -> Notion | None:
    """∂L/∂q̇_1, d/dt ∂L/∂q̇_1, ∂L/∂q_1, ∂V/∂q_1."""
    for pattern, kind in _DERIVATIVES:
        match = pattern.fullmatch(text)
        if match is not None:
            joint = _joint(match["x"], joints)
            energy = text[text.index("\\partial") + 8]
            return None if joint is None else _derivative_of(energy, joint, "dot" in match["x"], kind == "rate")
    return None


def _derivative_of(energy: str, joint: int, by_rate: bool, in_time: bool) -> Notion | None:
    """The derivative of an energy by a coordinate or its rate, and the time derivative of that."""
    if energy in "VU":
        return None if by_rate else Notion(f"∂V/∂q{joint + 1}", "g", (joint, 0))
    if energy == "T" and not by_rate:
        return Notion(f"∂T/∂q{joint + 1}", "expression", make=lambda seen: seen["T"].diff(seen.q[joint]))
    if in_time:
        title = f"d/dt ∂L/∂q̇{joint + 1}"
        return Notion(title, "expression", make=lambda seen: seen.rate(seen.momentum(joint)))
    if by_rate:
        return Notion(f"∂L/∂q̇{joint + 1}", "expression", make=lambda seen: seen.momentum(joint))
    return Notion(f"∂L/∂q{joint + 1}", "expression", make=lambda seen: seen.slope(joint))


def _joint(name: str, joints: int) -> int | None:
    r"""The number of the joint in \dot{\theta}_1, from 0."""
    number = re.search(r"_\{?(\d+)\}?$", name)
    if number is not None:
        return int(number[1]) - 1 if 1 <= int(number[1]) <= joints else None
    return 0 if joints == 1 else None


def _special(label: Label, right: str, joints: int) -> Notion | None:
    """Names that depend on the number of joints or on what stands on the right."""
    base, below = label.base.lstrip("\\"), label.below
    if label.dots == 2 and base in ("q", "theta", "vartheta", "phi", "varphi", "θ") and joints > 1:
        return _acceleration(below, right, joints)
    number = int(below) if below.isdigit() and len(below) < 3 else None
    matrix = right.count("\\\\") + right.count(";") >= 3
    if base in ("L", "\\ell") and not below and not label.dots:
        return Notion("the Lagrangian", "expression", make=lambda seen: seen.lagrangian, names=_energies)
    if base in ("T", "A", "H") and (below, label.above) == ("0", str(joints)) and matrix:
        return Notion("the pose of the tool", "FK")
    if base in ("T", "A", "H", "g") and (label.above in ("0", "W", "B") or matrix) and number is not None:
        full = base != "A" and label.above in ("0", "W", "B", "")
        return Notion("the pose of the tool", "FK") if number == joints and full else None
    if base == "E" and not label.dots and below in ("k", "K", "p", "P"):
        return Notion(*{"k": ("T", "T"), "p": ("V", "V")}[below.lower()])
    if base in ("T", "A", "H") and below in (f"0{joints}", f"0,{joints}") and matrix:
        return Notion("the pose of the tool", "FK")
    if base in [one.lstrip("\\") for one in _TORQUES] and number is not None and not label.dots:
        return _torque(base, number, right, joints)
    if base in ("x", "y", "z", "p", "P", "X", "Y", "Z") and not label.above:
        position = _position(label, joints)
        if position is not None:
            return position
    if base in ("chi", "r", "p", "x") and below in ("e", "eP", "E", "ee", "P", "tip", "tcp"):
        return None if label.dots else Notion("the position of the tool", "FK")
    if (
        base in ("chi", "phi", "varphi", "theta", "alpha", "psi")
        and below in ("eR", "e", "ee", "E", "R")
        and joints > 1
    ):
        return Notion("the orientation of the tool", "expression", make=_orientation)
    return _jacobian(base, label, joints)


def _acceleration(below: str, right: str, joints: int) -> Notion | None:
    """q̈_1 = …: the equations of motion solved for one acceleration; without a torque, of the free motion."""
    if not below.isdigit() or not 1 <= int(below) <= joints or re.search(r"_d|ddot|J", right):
        return None
    row, free = int(below) - 1, not re.search(r"tau|τ|T_|u_", right)

    def make(seen: Seen) -> Any:
        if joints > 2 or seen.derivation.engine != "closed":
            return None
        torques = sp.zeros(joints, 1) if free else sp.Matrix(sp.symbols(f"tau_1:{joints + 1}"))
        rest = sp.Matrix(seen["C"]) * sp.Matrix(seen.v) + sp.Matrix(seen["g"])
        return (_inverse(sp.Matrix(seen["M"])) * (torques - rest))[row]

    def names(seen: Seen) -> dict[str, Any]:
        given = {f"tau_{k + 1}": None for k in range(joints)}
        return given if not free else {}

    title = f"the acceleration of joint {below}" + (" in free motion" if free else "")
    return Notion(title, "expression", make=make, names=names)


def _energies(seen: Seen) -> dict[str, Any]:
    kinetic, potential = seen["T"], seen["V"]
    return {"T": kinetic, "K": kinetic, "V": potential, "U": potential}


def _torque(base: str, number: int, right: str, joints: int) -> Notion | None:
    if not 1 <= number <= joints:
        return None
    if base == "T" and not re.search(r"ddot|̈|dd[qt]|qdd|q_?pp|partial", right):
        return None
    return Notion(f"the torque of joint {number}", "tau", (number - 1, 0))


def _position(label: Label, joints: int) -> Notion | None:
    letter = label.base.lower()
    number = int(label.below) if label.below.isdigit() else None
    if letter not in "xyz" or number is None or number > joints or number == 0:
        tool = axis(label_name(_plain(label))) is not None and not label.dots
        return Notion("the position of the tool", "FK", labelled=True) if tool else None
    row = "xyz".index(letter)
    if number == joints and not label.dots:
        return Notion(f"{letter} of the tool", "FK", labelled=True)

    def make(seen: Seen) -> Any:
        made = seen["position"] if number == joints else seen[f"p_{number + 1}"]
        value = made[row]
        for _ in range(label.dots):
            value = seen.rate(value)
        return value

    end = "the tool" if number == joints else f"the end of link {number}"
    kinds = ("", "the velocity of ", "the acceleration of ")
    return Notion(f"{kinds[min(label.dots, 2)]}{letter} of {end}", "expression", make=make)


def _orientation(seen: Seen) -> Any:
    """The angle of the tool of a planar arm: the sum of its joints.

    The axes are parallel if the rotation depends on the sum alone.
    """
    total, first = sum(seen.q), seen.q[0]
    rotation = seen["rotation"]
    moved = rotation.xreplace({first: first - total + sp.Symbol("sum")})
    if any(set(seen.q) & entry.free_symbols for entry in sp.Matrix(moved).applyfunc(sp.expand)):
        return None
    return total


def _jacobian(base: str, label: Label, joints: int) -> Notion | None:
    """J_P, J_O and the like, of the tool and of a link's centre of mass."""
    link = re.fullmatch(r"l?_?(\d)", label.above)
    if base == "J" and label.below in ("P", "O") and link and 1 <= int(link[1]) <= joints:
        name = f"J_{label.below}{link[1]}"
        return Notion(f"the Jacobian of link {link[1]}", "expression", make=lambda seen: seen[name])
    if base == "p" and (mass := re.fullmatch(r"c_?(\d)", label.below)) and int(mass[1]) <= joints:
        return Notion(f"the centre of mass of link {mass[1]}", "expression", make=lambda seen: seen[f"p_c{mass[1]}"])
    if base == "I" and (mass := re.fullmatch(r"l_?(\d)", label.below)) and int(mass[1]) <= joints:
        return Notion(f"the inertia of link {mass[1]}", "expression", make=lambda seen: seen[f"I_{mass[1]}"])
    if (not label.above.isalnum() and label.above) or label.above in ("T", "top", "dagger", "ast"):
        return None  # a transpose or an inverse of J
    if base == "J" and label.below in ("eAP", "P", "v", "p", "eP", "eA", "A", "e", "e0", "0", "xy"):
        return Notion("the Jacobian", "Jdot" if label.dots else "J")
    if base == "J" and label.below in ("eAR", "O", "w", "omega", "R") and not label.dots:
        return Notion("the Jacobian of the orientation", "expression", make=_turning)
    return None


def _turning(seen: Seen) -> Any:
    rows = sp.Matrix(seen["J"])[3:, :]
    moving = [i for i in range(rows.shape[0]) if any(rows[i, :])]
    made = rows[moving[0], :] if len(moving) == 1 else rows
    signs = set(made)
    return -made if signs <= {0, -1} else made


def _column(left: str, right: str, joints: int) -> Notion | None:
    """A column of names: the torques, or the coordinates of the tool."""
    match = _COLUMN.fullmatch(re.sub(r"\s|\$", "", _STYLE.sub("", left)))
    if match is None:
        return None
    labels = [label_of(part) for part in re.split(r"\\\\|&", match["inside"])]
    names = [(one.base.lstrip("\\"), one.below, one.dots) for one in labels if one is not None]
    relation = _relation(names, right, joints)
    if relation is not None:
        return relation
    for base in ("T", "tau", "u", "Q"):
        if names == [(base, str(i), 0) for i in range(1, joints + 1)]:
            return Notion("the torques", "tau") if re.search(r"ddot|̈", right) else None
    if names in ([(x, str(joints), 0) for x in "xy"], [(x, "", 0) for x in "xy"], [(x, "e", 0) for x in "xy"]):
        return Notion("the position of the tool", "FK") if re.search(r"[cs]_|\\cos|\\sin|cos|sin", right) else None
    return None


def _relation(names: list[tuple[str, str, int]], right: str, joints: int) -> Notion | None:
    """Torques and tip forces of a planar arm of two joints, T = Jᵀ F; accelerations, q̈ = J⁻¹ (ẍ − J̇ q̇)."""
    if joints != 2 or "J" not in right:
        return None
    forces = sp.Matrix(sp.symbols("F_x F_y"))
    for base in ("T", "tau"):
        torques = sp.Matrix(sp.symbols(f"{base}_1 {base}_2"))
        if names == [(base, "1", 0), (base, "2", 0)] and "F" in right and "ddot" not in right:
            title = "the torques of a force at the tool"
            return Notion(
                title, "expression", make=lambda seen: _planar(seen).T * forces, names=_with(forces), alone=True
            )
        if names == [("F", "x", 0), ("F", "y", 0)] and re.search(rf"(?:\\)?{base}_", right):
            title = f"the force at the tool of torques {base}"
            return Notion(
                title,
                "expression",
                make=lambda seen, t=torques: _inverse(_planar(seen).T) * t,
                names=_with(torques),
                alone=True,
            )
    if [(name[1], name[2]) for name in names] == [("1", 2), ("2", 2)] and "ddot{x}" in right.replace(" ", ""):
        return Notion(
            "the accelerations of the joints", "expression", make=_accelerations, names=_with_accelerations, alone=True
        )
    return None


def _planar(seen: Seen) -> Any:
    """The rows of the Jacobian in the plane of the arm."""
    rows = sp.Matrix(seen["J"])[:3, :]
    moving = [i for i in range(3) if any(rows[i, :])]
    return rows[moving[:2], :] if len(moving) == 2 else rows[:2, :]


def _inverse(matrix: Any) -> Any:
    """The inverse of a 2×2 matrix, not simplified."""
    (a, b), (c, d) = matrix.tolist()
    return sp.Matrix([[d, -b], [-c, a]]) / (a * d - b * c)


def _with(symbols: Any) -> Callable[[Seen], dict[str, Any]]:
    return lambda seen: {"J": _planar(seen), **{str(symbol): None for symbol in symbols}}


_TIP = sp.Matrix(sp.symbols("ddx_2 ddy_2"))


def _accelerations(seen: Seen) -> Any:
    J = _planar(seen)
    return _inverse(J) * (_TIP - seen.rate(J) * sp.Matrix(seen.v))


def _with_accelerations(seen: Seen) -> dict[str, Any]:
    return {"J": _planar(seen), "\\ddot{x}_2": "ddx_2", "\\ddot{y}_2": "ddy_2", "ddx_2": None, "ddy_2": None}
