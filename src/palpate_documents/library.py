"""Which documents there are, and where their claims are."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

from palpate.errors import check_names
from palpate.scenario import read_data, shipped
from palpate_documents.claim import Document

DOCUMENTS = {
    "000": "a pole balanced on the end-effector of an iiwa",
    "001": "Robotics 2 exam of 10 September 2021: fastest stop, Cartesian inertia, impedance",
    "002": "robots in contact with the environment: wall, tip forces, integral force control",
    "003": "robot dynamics, a summary: kinematics, dynamics, control",
    "004": "admittance controller on three links of a UR5e",
}
# Scenarios of palpate itself that show a part of a document.
_ELSEWHERE = {
    "000": ("iiwa14-pole", "iiwa14-pole-camera", "iiwa14-pole-circle"),
    "003": (
        "floating-stand", "iiwa14-computed-torque", "panda-joint-impedance", "panda-operational-space",
        "panda-priorities",
    ),
    "004": ("ur5e-admittance",),
}  # fmt: skip


@cache
def document(number: str) -> Document:
    """A document by its number, "001"."""
    check_names("document", [number], DOCUMENTS)
    package = importlib.import_module(f"palpate_documents.d{number}")
    for part in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        package.DOCUMENT.check_by_name(vars(importlib.import_module(part.name)))
    return package.DOCUMENT


def scenarios_of(number: str) -> dict[str, dict[str, Any]]:
    """The scenarios that show parts of a document, by name, as data with what they extend merged in."""
    every = {name: read_data(name)[0] for name in shipped()}
    mine = _ELSEWHERE.get(number, ())
    return {name: data for name, data in every.items() if data.get("document") == number or name in mine}


def documents() -> list[Document]:
    """All of them."""
    return [document(number) for number in DOCUMENTS]
