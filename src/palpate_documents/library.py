"""Which documents there are, and where their claims are."""

from __future__ import annotations

import importlib

from palpate_documents.claim import Document
from palpate.errors import UnknownName

DOCUMENTS = {
    "000": "a pole balanced on the end-effector of an iiwa",
    "001": "Robotics 2 exam of 10 September 2021: fastest stop, Cartesian inertia, impedance",
    "002": "robots in contact with the environment: wall, tip forces, integral force control",
    "003": "robot dynamics, a summary: kinematics, dynamics, control",
    "004": "admittance controller on three links of a UR5e",
}


def document(number: str) -> Document:
    """A document by its number, "001"."""
    if number not in DOCUMENTS:
        raise UnknownName("document", number, DOCUMENTS)
    return importlib.import_module(f"palpate_documents.d{number}").DOCUMENT


def documents() -> list[Document]:
    """All of them."""
    return [document(number) for number in DOCUMENTS]
