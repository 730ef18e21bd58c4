"""Facts of a robot's joints beyond their limits: rotor inertia and friction, with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palpate.cli.showing.lines import say_line
from palpate.cli.tables import number, print_table, short

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_OF_GEARS = ("joint_stiffness", "gear_damping")
_COLUMNS = 4  # of a table that fits a hundred columns


def joint_facts(robot: Robot, source: str) -> list[dict[str, Any]]:
    """The facts of a catalogue robot; of a model file, what it says of rotor inertia and friction."""
    from palpate.robot import catalogue
    from palpate.robot.catalogue.joint_facts import QUANTITIES

    if source in catalogue.names():
        return _of_catalogue(source, elastic=robot.joint_stiffness is not None)
    facts = []
    for name, quantity in QUANTITIES.items():
        numbers = getattr(robot.model, f"dof_{quantity.attribute}", None) if quantity.attribute else None
        if numbers is not None and numbers.any():
            values = dict(zip(robot.dof_names, numbers[robot.coordinates.kept].tolist()))
            facts.append({"quantity": name, "unit": quantity.unit, "grade": "as given", "side": "joint", "used": True,
                          "values": values, "source": "the model file"})  # fmt: skip
    return facts


def _of_catalogue(source: str, *, elastic: bool) -> list[dict[str, Any]]:
    """Facts of a catalogue robot; those of its gears where they are used, guesses then too."""
    from palpate.robot import catalogue

    keys = ("quantity", "unit", "grade", "side", "used", "values", "source")
    facts = [{key: getattr(fact, key) for key in keys} for fact in catalogue.facts(source)]
    if not elastic:
        return [fact for fact in facts if fact["quantity"] not in _OF_GEARS]
    return [fact | {"used": fact["used"] or fact["quantity"] in ("rotor_inertia", *_OF_GEARS)} for fact in facts]


def print_joint_facts(facts: Sequence[Mapping[str, Any]], joints: Sequence[str], remarks: Sequence[str]) -> None:
    """One column per fact, their sources below, then what is not known."""
    for first in range(0, len(facts), _COLUMNS):
        _print_columns(facts[first : first + _COLUMNS], joints)
    for source in dict.fromkeys(fact["source"] for fact in facts):
        of = ", ".join(fact["quantity"].replace("_", " ") for fact in facts if fact["source"] == source)
        say_line(f"{of}: {source}")
    for remark in remarks:
        say_line(f"note: {remark}")


def _print_columns(facts: Sequence[Mapping[str, Any]], joints: Sequence[str]) -> None:
    """A table of a few facts."""
    heads = [fact["quantity"].replace("_", " ") for fact in facts]
    rows = [
        ["", *(fact["unit"] for fact in facts)],
        ["", *(f"{fact['grade']}{'' if fact['used'] else ', not used'}" for fact in facts)],
    ]
    if any(fact["side"] != "joint" for fact in facts):
        rows.append(["", *("" if fact["side"] == "joint" else fact["side"].replace("_", " ") for fact in facts)])
    rows += [[short(joint), *(number(fact["values"].get(joint)) for fact in facts)] for joint in joints]
    print()
    print_table(["joint", *heads], rows, "l" + "r" * len(facts))
