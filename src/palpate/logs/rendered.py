"""The impedance that was rendered, from tool motion and measured wrench, beside the one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from palpate.logs.columns import Log
from palpate.logs.identify import Identification
from palpate.robot import Robot


@dataclass(frozen=True)
class Rendered:
    """What was found."""

    notes: tuple[str, ...] = field(default=())

    def lines(self) -> list[str]:
        """Sentences for people."""
        return list(self.notes)

    def data(self) -> dict[str, Any]:
        """Plain data."""
        return {"notes": list(self.notes)}


def rendered_of(log: Log, robot: Robot, scenario: Any, result: Identification) -> Rendered:
    """Nothing yet."""
    return Rendered()
