"""A scenario under another law: which of its gains the new law takes over, and which are dropped."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palpate.control import LAWS
from palpate.control.law import Law
from palpate.errors import PalpateError, check_names
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.model import Scenario, law_class
from palpate.toml import toml_value
from palpate.user_code import is_address, load

_COMMON = "law"


@dataclass(frozen=True)
class LawSwap:
    """The gains of a scenario when a law takes the place of another.

    Attributes:
        law: the new one.
        taken: gains that both have, with the same unit: name → value.
        dropped: gains given for the old one that the new one does not have: name → value.
        given: gains given for the new one alone.
        same: whether it is the law that the scenario has already.
        defaults: names of settings that stand at the new law's own defaults, where they are known.
    """

    law: str
    taken: Mapping[str, Any]
    dropped: Mapping[str, Any]
    given: Mapping[str, Any]
    same: bool = False
    defaults: tuple[str, ...] = ()

    @property
    def overrides(self) -> list[str]:
        """The `key=value` texts that make the swap; those of the law that a scenario has already are its own."""
        values = {"law": self.law, **self.taken, **self.given}
        return [f"control.{key}={toml_value(value)}" for key, value in values.items()]

    @property
    def sentence(self) -> str:
        """The gains taken over, dropped and given, with their values."""
        takes = "keeps" if self.same else "takes over"
        parts = [
            f"{verb} {', '.join(f'{name} = {toml_value(value)}' for name, value in gains.items())}"
            for verb, gains in ((takes, self.taken), ("drops", self.dropped), ("is given", self.given))
            if gains
        ]
        return f"{self.law} {'; '.join(parts) or 'has its own gains, all at their defaults'}"

    @property
    def names_sentence(self) -> str:
        """The names of the settings taken over, dropped and at their defaults."""
        groups = ((self.taken, "takes over"), (self.dropped, "drops"), (self.defaults, "has its own"))
        parts = [f"{verb} {', '.join(names)}" for names, verb in groups if names]
        return f"{self.law} {'; '.join(parts) or 'has no settings in common with the law before'}."


def swap_law(
    scenario: Scenario, law: str, gains: Mapping[str, Any] | None = None, *, take_over: bool = True
) -> LawSwap:
    """Swap the law of a scenario, with the gains that it gives.

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
    shared = _shared(own, type(scenario.control), new) if take_over else {}
    taken = {key: value for key, value in shared.items() if key not in given}
    dropped = {key: value for key, value in own.items() if key not in shared}
    return LawSwap(law, taken, dropped, given)


def swap_law_in_data(data: Mapping[str, Any], law: str, changed: Collection[str]) -> tuple[dict[str, Any], LawSwap]:
    """Swap the law in a scenario's data, with all settings that both laws have and that the scenario accepts.

    Args:
        data: of the scenario, defaults included.
        law: the new one's registered name.
        changed: the settings of the law before that are not its defaults; those that are dropped are named.

    Returns:
        The data under the new law, and the swap, whose `taken` holds changed settings and gains.

    Raises:
        PalpateError: there is no such law, or it is refused without any setting of the one before.
    """
    check_names("law", [law], LAWS)
    own = {key: value for key, value in data["control"].items() if key != _COMMON}
    before = data["control"]["law"]
    old = load(before, data.get("modules", {})) if is_address(before) else law_class(before)
    shared = sorted(_shared(own, old, law_class(law)))
    try:
        scenario = _under(data, law, shared)
    except PalpateError:
        shared = _accepted(data, law, shared)
        scenario = _under(data, law, shared)
    new = scenario.as_data()["control"]
    taken = {key: own[key] for key in shared if key in changed or _is_gain(key, own[key])}
    dropped = {key: own.get(key) for key in sorted(changed) if key not in shared and key != _COMMON}
    defaults = tuple(sorted(key for key in new if key not in (*shared, _COMMON)))
    return {**data, "control": new}, LawSwap(law, taken, dropped, {}, defaults=defaults)


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


def _shared(own: Mapping[str, Any], old: Any, new: Any) -> dict[str, Any]:
    """Those settings of a law that another one has with the same unit."""
    before, after = _units(old), _units(new)
    return {key: value for key, value in own.items() if key in after and after[key] == before.get(key)}


def _is_gain(key: str, value: Any) -> bool:
    """Whether a law's own setting holds numbers."""
    first = value[0] if isinstance(value, list) and value else value
    return key not in Law.model_fields and "quat" not in key and isinstance(first, float | list)


def _under(data: Mapping[str, Any], law: str, keys: Iterable[str]) -> Scenario:
    """The scenario under a law that takes these settings over."""
    return scenario_from_data({**data, "control": {"law": law, **{key: data["control"][key] for key in keys}}})


def _accepted(data: Mapping[str, Any], law: str, keys: Iterable[str]) -> list[str]:
    """Those settings that the law accepts one after the other."""
    kept: list[str] = []
    for key in keys:
        try:
            _under(data, law, [*kept, key])
        except PalpateError:
            continue
        kept.append(key)
    return kept


def _units(law: Any) -> dict[str, str]:
    extras = {name: info.json_schema_extra for name, info in getattr(law, "model_fields", {}).items()}
    return {name: str(extra.get("unit", "1")) if isinstance(extra, dict) else "1" for name, extra in extras.items()}
