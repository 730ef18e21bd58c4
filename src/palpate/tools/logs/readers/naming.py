"""Names of columns and joints: which of a file's joints are the robot's, and which columns look like which quantity.

A name is never a unit: what is proposed here fills the columns of a map's template, whose units stay open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from palpate.errors import InvalidInput

_NOT_AN_ARM = re.compile(r"finger|gripper|hand|knuckle|robotiq|thumb|wheel|head", re.IGNORECASE)
_MAKERS = {  # joints that makers name by place, base first
    "shoulder_pan": 1, "shoulder_lift": 2, "elbow": 3, "wrist_1": 4, "wrist_2": 5, "wrist_3": 6,
}  # fmt: skip
_ROLES = {
    "q": r"q|qs|pos|position|positions|angle|angles|theta|jpos|mp",
    "v": r"dq|qd|qdot|q_dot|v|vel|velocity|velocities|speed|speeds|jvel",
    "tau": r"tau|torque|torques|effort|efforts|eff|moment|trq|mt|i|current|cur",
}
_ASIDE = {  # words of a column's name that say nothing about its quantity
    "actual", "measured", "meas", "joint", "joints", "j", "state", "states", "arm", "robot",
    "panda", "fr3", "fer", "lbr", "iiwa", "rad", "deg", "s", "nm",
}  # fmt: skip
_TIME = re.compile(r"(rel_|abs_)?(t|time|timestamp|stamp|time_s|time_ms|secs?|seconds)(\s*[\[(].*)?", re.IGNORECASE)


def joint_order(theirs: Sequence[str], ours: Sequence[str], robot: str) -> tuple[list[str], str]:
    """The file's joints in the robot's order, and a note where it is not the file's own; fingers are left out.

    By one prefix and ending common to all, by the numbers or the makers' names in the names, or as they are where the
    count fits.

    Raises:
        InvalidInput: two arms fit, or the count does not.
    """
    common = _by_common_prefix(theirs, ours)
    if len(common) > 1:
        raise InvalidInput(
            f"two arms of the recording fit {robot}: {common[0][0]} …, {common[1][0]} …",
            hint="name the columns of one of them in a map: --map columns.toml",
        )
    if common:
        return common[0], "" if common[0] == list(ours) else f"joints by name: {', '.join(common[0])}"
    arm = [name for name in theirs if not _NOT_AN_ARM.search(name)]
    arm = arm if len(arm) == len(ours) else list(theirs)
    if len(arm) != len(ours):
        raise InvalidInput(
            f"the recording has {len(theirs)} joints ({', '.join(theirs)}), {robot} has {len(ours)}",
            hint="name the columns in a map: --map columns.toml",
        )
    ranks = [_rank(name) for name in arm]
    if None not in ranks and len(set(ranks)) == len(arm):
        order = [name for _, name in sorted(zip(ranks, arm))]
        return order, f"joints by name: {', '.join(order)} as {', '.join(ours)}"
    return arm, f"joints taken in the file's order: {', '.join(arm)} as {', '.join(ours)}"


def _by_common_prefix(theirs: Sequence[str], ours: Sequence[str]) -> list[list[str]]:
    """Every way to write all of our names with one prefix and one ending."""
    present, ways = set(theirs), []
    for name in theirs:
        at = name.find(ours[0])
        while at >= 0:
            way = [f"{name[:at]}{one}{name[at + len(ours[0]) :]}" for one in ours]
            if present.issuperset(way) and way not in ways:
                ways.append(way)
            at = name.find(ours[0], at + 1)
    return ways


def _rank(name: str) -> int | None:
    """The number of a joint by its maker's name or the last number in it; None without one."""
    for word, number in _MAKERS.items():
        if word in name:
            return number
    digits = re.findall(r"\d+", name)
    return int(digits[-1]) if digits else None


def proposed(names: Iterable[str], joints: int) -> dict[str, list[str]]:
    """Columns that look like time, positions, speeds and torques, by role; only `joints` of a kind are taken."""
    names = list(names)
    out = {}
    clocks = [name for name in names if _TIME.fullmatch(name.strip())]
    if clocks:
        out["time"] = clocks[:1]
    for role, pattern in _ROLES.items():
        families: dict[str, list[tuple[int, str]]] = {}
        for name in names:
            stem, number = _numbered(name)
            words = re.split(r"[_\s]+", re.split(r"[./]", stem)[-1].lower())
            last = "_".join(word for word in words if word not in _ASIDE)
            if number is not None and re.fullmatch(pattern, last):
                families.setdefault(stem, []).append((number, name))
        whole = [family for family in families.values() if len(family) == joints]
        if whole:
            out[role] = [name for _, name in sorted(whole[0])]
    return out


def _numbered(name: str) -> tuple[str, int | None]:
    """A name without its joint's number, and that number: q1, q[0], joint_2_position, "q3 [rad]"."""
    plain = re.sub(r"\s*[\[(](?!\d+[\])])[^\])]*[\])]\s*$", "", name.strip())
    match = re.fullmatch(r"(.*?)[_ .]?[\[(]?(\d+)[\])]?", plain)
    if match:
        return match[1].rstrip("_. "), int(match[2])
    match = re.fullmatch(r"(?:joint|j|axis|a)_?(\d+)[_ .](.+)", plain, re.IGNORECASE)
    return (match[2], int(match[1])) if match else (plain, None)


class Known:
    """Names of the columns that formats with units of their own are read by; used as a set of wanted columns."""

    _NAMES = re.compile(
        r"time|timestamp|(actual_qd?|target_moment)_\d+|(state\.(q|dq|tau_J|q_d|theta)|cmd\.tau_J_d)\[\d+\]"
        r"|(q_measured|q|v_measured|v|tau|command|target_q|measured_wrench|target_position|motor_q)\[.*\]"
        r"|.*\.(position|velocity|effort|q|dq|tau_J|tau_J_d|q_d|theta)\[.+\]"
    )

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._NAMES.fullmatch(name))
