"""Modes of an arm on its gears, as `palpate show` tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palpate.cli.tables import number, print_table

if TYPE_CHECKING:
    from palpate.checks import Array
    from palpate.robot.robot import Robot


def modes_shown(robot: Robot, q: Array | Sequence[float]) -> list[dict[str, Any]]:
    """Modes of an arm with elastic joints at a posture, as plain data; none where joints are rigid."""
    import numpy as np

    from palpate.robot.joints.elastic_modes import elastic_modes, held_modes

    if robot.unresisted or robot.joint_stiffness is None:
        return []
    at = np.asarray(q, dtype=float)
    kinds = {"motors free": elastic_modes(robot, at), "motors held": held_modes(robot, at)}
    return [
        {"motors": kind, "frequency": mode.frequency, "damping_ratio": mode.damping_ratio, "joint": mode.joint}
        for kind, modes in kinds.items()
        for mode in modes
    ]


def print_modes(modes: Sequence[Mapping[str, Any]]) -> None:
    """A table: motors free beside motors held, the slowest mode first."""
    if not modes:
        return
    free, held = ([mode for mode in modes if mode["motors"] == kind] for kind in ("motors free", "motors held"))
    rows = [[cell for mode in pair for cell in _cells(mode)] for pair in zip(free, held)]
    print("\nmodes of the arm on its gears at this posture:")
    heads = ["motors free, Hz", "damping ratio", "joint", "motors held, Hz", "damping ratio", "joint"]
    print_table(heads, rows, "rrlrrl")


def _cells(mode: Mapping[str, Any]) -> list[str]:
    return [number(round(mode["frequency"], 1)), number(round(mode["damping_ratio"], 4)), mode["joint"]]
