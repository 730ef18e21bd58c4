"""Laws and references that a scenario names by `module:Class`, as data: their settings without their code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn

from pydantic import ConfigDict

from palpate.control.law import Law
from palpate.control.reads import Reads
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.errors import InvalidInput
from palpate.user_code import Unloaded


class UnloadedLaw(Unloaded, Law):
    """An own law's settings as they were given; `Scenario.with_code` makes the law of them."""

    model_config = ConfigDict(extra="allow")

    @property
    def reads(self) -> Reads:
        """Refused: its kernel is not known."""
        _refuse(self.name)

    def bound_to(self, robot: Any) -> NoReturn:
        """Refused: its kernel is not known."""
        _refuse(self.name)

    def gains(self, robot: Any) -> NoReturn:
        """Refused: its class is not known."""
        _refuse(self.name)


class UnloadedReference(Unloaded, ReferenceSettings):
    """An own reference's settings as they were given; `Scenario.with_code` makes the reference of them."""

    model_config = ConfigDict(extra="allow")

    def fill(self, targets: Targets, times: Any, robot: Any, q_start: Any) -> NoReturn:
        """Refused: its class is not known."""
        _refuse(self.kind)


def _refuse(address: str) -> NoReturn:
    raise InvalidInput(
        f"{address!r} is code that the scenario brings along, and it was not loaded", hint="use scenario.with_code()"
    )


@lru_cache(maxsize=64)
def unloaded_law(address: str) -> type[UnloadedLaw]:
    """The class of a law that is only known by its address."""
    made = type("UnloadedLaw", (UnloadedLaw,), {"__module__": __name__, "__doc__": UnloadedLaw.__doc__})
    made.name = address  # pyright: ignore[reportAttributeAccessIssue]
    return made
