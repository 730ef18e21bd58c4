"""What `palpate show` tells of a robot's joints beyond their limits: rotor inertia and friction, with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palpate.cli.tables import WIDTH, number, print_table, say, short

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_OF_FILE = "the model file"


def joint_facts(robot: Robot, source: str) -> list[dict[str, Any]]:
    """The facts of a catalogue robot; of a model file, what it says of rotor inertia and friction."""
    from palpate.robot import catalogue
    from palpate.robot.catalogue.facts import QUANTITIES

    if source in catalogue.names():
        return [
            {"quantity": fact.quantity, "unit": fact.unit, "grade": fact.grade, "used": fact.used,
             "values": dict(fact.values), "source": fact.source}
            for fact in catalogue.facts(source)
        ]  # fmt: skip
    facts = []
    for name, quantity in QUANTITIES.items():
        numbers = getattr(robot.model, f"dof_{quantity.attribute}", None) if quantity.attribute else None
        if numbers is not None and numbers.any():
            values = dict(zip(robot.dof_names, numbers[robot.coordinates.kept].tolist()))
            facts.append({"quantity": name, "unit": quantity.unit, "grade": "as given", "used": True,
                          "values": values, "source": _OF_FILE})  # fmt: skip
    return facts


def print_joint_facts(facts: Sequence[Mapping[str, Any]], joints: Sequence[str], remarks: Sequence[str]) -> None:
    """One column per fact, their sources below, then what is not known."""
    if facts:
        heads = [fact["quantity"].replace("_", " ") for fact in facts]
        rows = [["", *(fact["unit"] for fact in facts)], ["", *(_grade(fact) for fact in facts)]]
        rows += [[short(joint), *(number(fact["values"].get(joint)) for fact in facts)] for joint in joints]
        print()
        print_table(["joint", *heads], rows, "l" + "r" * len(facts))
    for source in dict.fromkeys(fact["source"] for fact in facts):
        of = ", ".join(fact["quantity"].replace("_", " ") for fact in facts if fact["source"] == source)
        say(f"{of}: {source}", pipe=WIDTH)
    for remark in remarks:
        say(f"note: {remark}", pipe=WIDTH)


def _grade(fact: Mapping[str, Any]) -> str:
    return fact["grade"] if fact["used"] else f"{fact['grade']}, not used"
