"""Names on the left of an equals sign: the quantity that is meant, and which entry of it."""

from __future__ import annotations

import re

from palpate.tools.review.algebra.names import spelled
from palpate.tools.review.algebra.tree import Name
from palpate.tools.review.algebra.wanted import label_quantity
from palpate.tools.review.read.lexer import is_latex

_ENTRY = re.compile(  # M[0, 1], M[0][1], M[..., 0, 1] as in Python; M(1,2) as in Matlab
    r"(?P<name>[A-Za-z]\w*)\s*(?P<open>[\[(])\s*(?:\.\.\.\s*,\s*)?(?P<i>\d+)\s*(?:(?:,|\]\s*\[)\s*(?P<j>\d+)\s*)?[\])]"
)
_TOOL = ("", "e", "E", "ee", "EE", "tcp", "TCP", "tip", "tool")  # subscripts of the tool
_AXIS = re.compile(r"(?P<before>[a-zA-Z]{0,4}?|\d?),?(?P<axis>[xyz]),?(?P<after>[a-zA-Z]{0,4}|\d?)")


def bare(left: str) -> str:
    """A left side without the signs of alignment and wide spaces around it."""
    return re.sub(r"\\q?quad\b|\\[ ,;]|[&$]", " ", left).strip()


def label_name(left: str) -> Name:
    r"""The name on a left side: M(q), \mathbf{M}(\mathbf{q}), \dot{J}, C_{31}, without its arguments."""
    text = bare(left)
    if entry := _ENTRY.fullmatch(text):
        first = int(entry["i"]) + (entry["open"] == "[")
        second = entry["j"]
        last = f",{int(second) + (entry['open'] == '[')}" if second else ""
        return spelled(f"{entry['name']}_{first}{last}")
    if is_latex(text):
        text = re.sub(r"\\(mathbf|mathrm|boldsymbol|bm|operatorname|mathcal|text|rm)\b", "", text)
    text = re.sub(r"\((?:[^()]|\([^()]*\))*\)\s*$", "", text)
    return spelled(text)


def axis(label: Name, joints: int | None = None) -> str | None:
    """The coordinate of the tool that a name stands for, "x", "y" or "z": x, y_e, p_x; else None.

    Args:
        label: the name.
        joints: where a position is asked for, the number of joints: then x_2 is the tool of an arm of two joints, and
            any letter may be the tool's. Without it, only common subscripts of a tool are.
    """
    match = _AXIS.fullmatch(label.sub)
    if label.base.lower() in ("x", "y", "z"):
        letter, of = label.base.lower(), label.sub
    elif match and label.base in ("p", "P", "r", "o"):
        letter, of = match["axis"], match["before"] + match["after"]
    else:
        return None
    meant = of in _TOOL or (joints is not None and (of == str(joints) or not of.isdigit()))
    return letter if meant and not label.dots else None


def label_meaning(name: Name) -> tuple[str | None, tuple[int, int] | None]:
    """The quantity that a name on the left stands for, and which of its entries, counted from 0."""
    what = label_quantity(name)
    if what is not None:
        return what, None
    if name.dots == 2 and name.base in ("q", "theta", "vartheta", "phi", "varphi"):
        return "equation", None
    if axis(name) is not None:
        return "FK", None
    indices = entry_indices(name.sub)
    matrix = label_quantity(Name(name.base.upper() if name.base == "b" else name.base, "", name.dots))
    if matrix in ("M", "C", "J", "Jdot") and len(indices) == 2:
        return matrix, (indices[0] - 1, indices[1] - 1)
    if matrix in ("g", "c", "tau", "h") and name.sub.isdigit() and len(name.sub) < 3 and name.base != "c":
        return matrix, (int(name.sub) - 1, 0)
    return None, None


def entry_indices(sub: str) -> list[int]:
    """Row and column in the subscript of an entry: 12 is (1, 2), 10,2 is (10, 2); empty where there are none."""
    parts = sub.split(",") if "," in sub else list(sub)
    return [int(part) for part in parts] if len(parts) == 2 and all(part.isdigit() for part in parts) else []
