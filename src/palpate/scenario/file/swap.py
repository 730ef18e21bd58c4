"""A scenario under another law: which of its gains the new law takes over, and which are dropped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario, law_class
from palpate.toml import toml_value
from palpate.user_code import is_address, load

_COMMON = "law"


@dataclass(frozen=True)
class LawSwap:
    """What becomes of the gains when a law takes the place of another.

    Attributes:
        law: the new one.
        taken: gains that both have, with the same unit: name → value.
        dropped: gains given for the old one that the new one does not have: name → value.
        given: gains given for the new one alone.
        same: whether it is the law that the scenario has already.
    """

    law: str
    taken: Mapping[str, Any]
    dropped: Mapping[str, Any]
    given: Mapping[str, Any]
    same: bool = False

    @property
    def overrides(self) -> list[str]:
        """The `key=value` texts that make the swap; those of the law that a scenario has already are its own."""
        values = {"law": self.law, **self.taken, **self.given}
        return [f"control.{key}={toml_value(value)}" for key, value in values.items()]

    @property
    def sentence(self) -> str:
        """What was taken over, dropped and given."""
        takes = "keeps" if self.same else "takes over"
        parts = [
            f"{verb} {', '.join(f'{name} = {toml_value(value)}' for name, value in gains.items())}"
            for verb, gains in ((takes, self.taken), ("drops", self.dropped), ("is given", self.given))
            if gains
        ]
        return f"{self.law} {'; '.join(parts) or 'has its own gains, all at their defaults'}"


def swap_law(
    scenario: Scenario, law: str, gains: Mapping[str, Any] | None = None, *, take_over: bool = True
) -> LawSwap:
    """What becomes of the gains of a scenario under another law.

    Gains that the scenario gives are taken over where the new law has one of the same name and unit. All others of the
    new law are at their defaults, or as `gains` says.

    Args:
        scenario: as it is.
        law: a registered name, or module:Name, whose code is run.
        gains: further gains of the new law, by name.
        take_over: False leaves every gain of the new law at its default.
    """
    given = dict(gains or {})
    own = {key: value for key, value in scenario.changed().get("control", {}).items() if key != _COMMON}
    if law == scenario.control.name:
        return LawSwap(law, {key: value for key, value in own.items() if key not in given}, {}, given, same=True)
    new = load(law, scenario.modules) if is_address(law) else law_class(law)
    old, here = _units(type(scenario.control)), _units(new)
    shared = {key: value for key, value in own.items() if take_over and key in here and here[key] == old.get(key)}
    taken = {key: value for key, value in shared.items() if key not in given}
    dropped = {key: value for key, value in own.items() if key not in shared}
    return LawSwap(law, taken, dropped, given)


def dropped_gains(source: str | os.PathLike[str], overrides: Sequence[str]) -> str | None:
    """A sentence on the gains that `control.law=NAME` among the overrides drops; None where it drops none."""
    if not any(text.replace(" ", "").startswith("control.law=") for text in overrides):
        return None
    before, after = load_scenario(source), load_scenario(source, overrides)
    given = before.changed().get("control", {})
    dropped = [key for key in given if key != _COMMON] if before.control.name != after.control.name else []
    if not dropped:
        return None
    return f"{after.control.name} takes over no gains of {before.control.name}: {', '.join(dropped)} dropped"


def _units(law: Any) -> dict[str, str]:
    extras = {name: info.json_schema_extra for name, info in getattr(law, "model_fields", {}).items()}
    return {name: str(extra.get("unit", "1")) if isinstance(extra, dict) else "1" for name, extra in extras.items()}
