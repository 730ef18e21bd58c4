"""Modes of an arm on its gears, as `palpate show` tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palpate.cli.showing.lines import say_line
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


def coupling_shown(robot: Robot, name: str, q: Array | Sequence[float]) -> dict[str, Any] | None:
    """Terms that the modes leave out, the rotors' inertial coupling with the links, as data; None for rigid joints."""
    import numpy as np

    from palpate.robot import catalogue
    from palpate.robot.catalogue.joint_facts import ranges
    from palpate.robot.joints.rotor_coupling import USUAL_RATIO, coupling_of_modes

    if robot.unresisted or robot.joint_stiffness is None or robot.coordinates.coupled or robot.nq != robot.nv:
        return None
    known = ranges(catalogue.facts(name), "gear_ratio", robot.dof_names) if name in catalogue.names() else None
    ratios = np.full(robot.nv, USUAL_RATIO) if known is None else known[1]
    found = coupling_of_modes(robot, np.asarray(q, dtype=float), ratios)
    smallest = float(np.abs(ratios).min())
    return {"change": found.change, "frequency": found.frequency, "matters": found.matters,
            "ratio": smallest, "ratio_known": known is not None}  # fmt: skip


def print_coupling(coupling: Mapping[str, Any] | None) -> None:
    """One sentence about it."""
    if coupling is None:
        return
    ratio = f"{coupling['ratio']:g} : 1{'' if coupling['ratio_known'] else ', which is assumed'}"
    say_line(
        f"{'warning: ' if coupling['matters'] else ''}left out: inertial coupling of rotors with links (Tomei; De"
        f" Luca), which with gears of {ratio}, changes the mode at {number(round(coupling['frequency'], 1))} Hz by"
        f" {100.0 * coupling['change']:.2g} %, others by less"
    )


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
