"""Another law for a scenario: the settings that it takes over from the one before, and those that it cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from palpate.control import LAWS
from palpate.control.law import Law
from palpate.errors import PalpateError, check_names
from palpate.scenario.fields import tagged_settings
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.model import Scenario


@dataclass(frozen=True)
class Swapped:
    """A scenario's data under another law.

    Attributes:
        data: of the whole scenario.
        taken: settings of the law before that the new one has too: gains, and others that were told.
        dropped: settings of the law before that the new one does not have, or does not accept.
        chosen: settings that stand at the new law's own defaults.
    """

    data: dict[str, Any]
    taken: tuple[str, ...]
    dropped: tuple[str, ...]
    chosen: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The three lists in words."""
        law, parts = self.data["control"]["law"], []
        for names, words in ((self.taken, "takes over"), (self.dropped, "drops"), (self.chosen, "has its own")):
            parts += [f"{words} {', '.join(names)}"] if names else []
        return f"{law} {'; '.join(parts) if parts else 'has no settings in common with the law before'}."


def swap_law(data: Mapping[str, Any], law: str, told: Collection[str]) -> Swapped:
    """Put another law into a scenario's data.

    A setting goes over where both laws have it with the same unit, and the scenario with it is accepted.

    Args:
        data: of the scenario, defaults included.
        law: the new one's name.
        told: the settings of the law before that are not its defaults; those that cannot go over are named.

    Raises:
        PalpateError: there is no such law, or it is refused without any setting of the one before.
    """
    check_names("law", [law], LAWS)
    given = data["control"]
    before, after = (tagged_settings("control", name) for name in (given["law"], law))
    common = {key for key in given if key in after and key in before and after[key].unit == before[key].unit} - {"law"}
    taken = sorted(common)
    try:
        scenario = _typed(data, law, taken)
    except PalpateError:
        taken = _accepted(data, law, taken)
        scenario = _typed(data, law, taken)
    own = scenario.as_data()["control"]
    shown = [key for key in taken if key in told or _is_gain(key, given[key])]
    dropped = [key for key in told if key not in taken and key != "law"]
    chosen = [key for key in own if key not in (*taken, "law")]
    return Swapped({**data, "control": own}, tuple(shown), tuple(sorted(dropped)), tuple(sorted(chosen)))


def _is_gain(key: str, value: Any) -> bool:
    """Whether a law's own setting holds numbers."""
    first = value[0] if isinstance(value, list) and value else value
    return key not in Law.model_fields and "quat" not in key and isinstance(first, float | list)


def _typed(data: Mapping[str, Any], law: str, keys: Iterable[str]) -> Scenario:
    """The scenario under a law that takes these settings over."""
    return scenario_from_data({**data, "control": {"law": law, **{key: data["control"][key] for key in keys}}})


def _accepted(data: Mapping[str, Any], law: str, keys: Iterable[str]) -> list[str]:
    """Those settings that the law accepts one after the other."""
    kept: list[str] = []
    for key in keys:
        try:
            _typed(data, law, [*kept, key])
        except PalpateError:
            continue
        kept.append(key)
    return kept
