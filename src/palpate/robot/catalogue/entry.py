"""What the catalogue says about a robot before anyone loads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palpate.checks import finite_array
from palpate.errors import BadShape, InvalidInput

Value = float | Sequence[float]


@dataclass(frozen=True)
class Parameter:
    """A number, or one number per link, that a robot of the catalogue is built from.

    Attributes:
        name: keyword of `model_xml`.
        unit: SI unit.
        default: one number; every link gets it.
        meaning: one line.
        count: 1 for a single number; n for n links, given as one number for all or as n numbers.
        least, most: inclusive bounds. The engine refuses bodies much lighter than the lower one.
    """

    name: str
    unit: str
    default: float
    meaning: str
    count: int = 1
    least: float = 1e-3
    most: float = 1e3

    def read(self, value: Value) -> list[float]:
        """`value` as `count` floats, or an error that names the parameter."""
        numbers = finite_array(value, self.name)
        if numbers.shape not in ((), (self.count,)):
            wanted = "one number" if self.count == 1 else f"one number or {self.count} numbers"
            raise BadShape(f"{self.name} must be {wanted}, got an array of shape {numbers.shape}")
        listed = [float(number) for number in numbers.ravel()]
        for number in listed:
            if not self.least <= number <= self.most:
                rule = f"between {self.least:g} and {self.most:g} {self.unit}"
                raise InvalidInput(f"{self.name} must be {rule}, got {number:g}")
        return listed * self.count if numbers.ndim == 0 else listed


@dataclass(frozen=True)
class Entry:
    """One robot of the catalogue.

    Attributes:
        summary: one line.
        parameters: what can be chosen; empty for a robot that is a file.
        provenance: where its figures come from.
        licence: under which terms file and figures stand.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    provenance: str
    licence: str
