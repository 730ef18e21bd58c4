"""Every equation number of the documents, with the claims about it and the command that computes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from palpate_documents.claim import Claim
from palpate_documents.library import DOCUMENTS, document
from palpate_documents.printed_claims import CLAIMS

LAST = {"000": 15, "001": 16, "002": 0, "003": 1, "004": 50}  # the highest equation number that is printed
# Numbers that stand beside a list of definitions, with the equation that the list belongs to.
_LISTS = {"004": {15: 13, 26: 25, 27: 25}}
_NUMBERS = re.compile(r"\((\d+)\)(?:\s*[–-]\s*\((\d+)\))?")


@dataclass(frozen=True)
class Equation:
    """An equation of a document.

    Attributes:
        document: "004".
        number: as printed.
        claims: what is said about it.
    """

    document: str
    number: int
    claims: tuple[Claim, ...]

    @property
    def command(self) -> str:
        """The command that computes it and shows every number beside what is printed."""
        return f"palpate verify --claim {self.main.id}"

    @property
    def main(self) -> Claim:
        """The claim to look at first: one that is not right, or the first that is computed."""
        computed = [one for one in self.claims if one.check is not None] or list(self.claims)
        return next((one for one in computed if one.verdict in ("wrong", "typo")), computed[0])

    @property
    def run(self) -> str:
        """The command that runs it as printed beside the right form; "" if it cannot be run."""
        mine = [one.id for one in self.claims if one.id in CLAIMS]
        return f"palpate verify --claim {mine[0]} --as-printed" if mine else ""


def numbers_in(where: str) -> set[int]:
    """The equation numbers that a place in a document names: "(13), (14)", "(28)–(30)"."""
    return {n for first, last in _NUMBERS.findall(where) for n in range(int(first), int(last or first) + 1)}


def equations(number: str) -> list[Equation]:
    """The equations of a document, by their numbers."""
    claims = document(number).claims
    made = []
    for k in range(1, LAST[number] + 1):
        asked = _LISTS.get(number, {}).get(k, k)
        named = [one for one in claims if asked in numbers_in(one.where)]
        direct = [one for one in named if one.where.startswith(f"({asked})") or "–" in one.where] or named
        made.append(Equation(number, k, tuple(direct)))
    return made


def all_equations() -> list[Equation]:
    """The equations of all documents."""
    return [one for number in DOCUMENTS for one in equations(number)]
