"""Programs for libfranka: callback and active control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from palpate.escape.template import Written
from palpate.tools.exporting.draft import Draft
from palpate.tools.exporting.writing.wrappers import INTERFACES, target_items

_FRANKAS = ("fr3", "panda", "franka", "fer")
_NO_FILTER = 1000.0  # Hz, from which on libfranka's loop filters nothing
_FRANKA_CUTOFF, _FRANKA_RATE = 100.0, 999.999  # Hz, N·m/s: libfranka's own defaults


def franka_values(draft: Draft) -> dict[str, Any]:
    """Values of the programs for libfranka; none where the arm or the law does not fit."""
    robot = draft.run.robot
    franka = robot.nv == 7 and any(make in robot.name.lower() for make in _FRANKAS)
    if not franka or INTERFACES[draft.bound.command] != "effort":
        return {}
    cutoff, rate, driver = _FRANKA_CUTOFF, _FRANKA_RATE, draft.run.world.driver
    if driver.preset == "libfranka":
        cutoff = driver.facts.cutoff or _NO_FILTER
        rate = driver.facts.torque_rate_limit if isinstance(driver.facts.torque_rate_limit, float) else rate
    base = robot.model.body(int(robot.model.body_parentid[robot.model.jnt_bodyid[0]])).name
    X_WO = robot.pose(robot.home, base)
    return {
        "TOOL": robot.tool_frame,
        "CUTOFF": cutoff,
        "TORQUE_RATE": rate,
        "R_WO": Written(_in_braces(X_WO.rotation)),
        "P_WO": Written(_in_braces(X_WO.position)),
        "HOLD": Written("\n".join(_hold_lines(draft))),
    }


def _in_braces(numbers: Any) -> str:
    return repr(np.asarray(numbers, dtype=float).tolist()).replace("[", "{").replace("]", "}")


def _hold_lines(draft: Draft) -> Iterator[str]:
    """C that makes a measured posture and pose (q, p, w) the target; rates and wrenches of a target become 0."""
    sources = {"target_q": "q", "target_position": "p", "target_quat_wxyz": "w"}
    unused = set(sources.values())
    for each in target_items(draft):
        field, source = f"f->in.{each.name}", sources.get(each.name)
        unused.discard(source or "")
        yield (
            f"    memcpy({field}, {source}, sizeof {field});" if source else f"    memset({field}, 0, sizeof {field});"
        )
    yield from (f"    (void){name};" for name in sorted(unused))
