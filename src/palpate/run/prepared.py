"""Many runs of one scenario, with robot and scene built once and changed in place where only numbers change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from palpate.errors import PalpateError
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.run.simulate import execute_bare
from palpate.scenario.checking.checks import contradictions
from palpate.scenario.file.load import STAND_IN, scenario_from_data
from palpate.scenario.file.overrides import apply_overrides
from palpate.scenario.model import Scenario
from palpate.trace import Trace

# Sections whose numbers an assembled run can take over, and what stands for the others while they are typed.
_SECTIONS = {"control": "law", "reference": "reference", "world": "world", "run": "clock"}
_ALONE = {"world", "run"}  # typed without the others


class Prepared:
    """A scenario's runs, one after the other; each uses the assembly of the last one it can.

    What is refused, and every number of every run, is the same as if each were built from nothing.
    """

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        """Take a scenario's data, before what varies."""
        self._data = dict(scenario)
        self._kept: Renewable | None = None
        self._built: dict[str, Any] = {}  # the data that the kept assembly was built from, and what they say
        self._scenario: Scenario | None = None

    def run(
        self, overrides: Sequence[str], *, singular: bool = True, read: set[str] | None = None
    ) -> tuple[Mapping[str, Any], Trace]:
        """Make one run with `key=value` texts on top: its bounds on metrics, and a trace for them.

        Args:
            overrides: as `--set` takes them.
            singular: whether the trace notes the smallest singular value on the way.
            read: names of the channels that were read of other runs; those that are read of this one are added. No
                others are kept, but for an empty set.

        Raises:
            PalpateError: the parameters are refused.
            NotKept: another channel was read of the run; reading one of the trace raises it, too.
        """
        kept, bounds = self.ready(apply_overrides(self._data, overrides))
        offered = kept.keep_channels(read or None)
        trace = execute_bare(kept.assembly, singular=singular, read=None if read is None else (offered, read))
        self.release_broken()
        return bounds, trace

    def ready(self, data: dict[str, Any]) -> tuple[Renewable, Mapping[str, Any]]:
        """Make the assembly of a scenario's data ready to run once, and return it with the bounds it must keep.

        Raises:
            PalpateError: the data are refused.
        """
        return self._renew(data) or self._build(data)

    def release_broken(self) -> None:
        """Let the assembly go if the engine gave up in it: nothing of it may be used again."""
        if self._kept is not None and self._kept.assembly.rescues.said is not None:
            self._kept = None

    def _build(self, data: dict[str, Any]) -> tuple[Renewable, Mapping[str, Any]]:
        self._kept = None  # also where building fails half-way
        scenario = scenario_from_data(data).with_code()
        self._kept, self._built, self._scenario = Renewable(build(scenario)), data, scenario
        return self._kept, scenario.metrics

    def _renew(self, data: Mapping[str, Any]) -> tuple[Renewable, Mapping[str, Any]] | None:
        """The kept assembly made ready for a run, and its bounds; what is refused is left to the long way."""
        changed = {name for name in {**data, **self._built} if data.get(name) != self._built.get(name)}
        if self._kept is None or self._scenario is None or not changed <= {*_SECTIONS, "metrics"}:
            return None
        try:
            typed = self._typed(data, changed, self._scenario)
            changes = {_SECTIONS[name]: section for name, section in typed.items() if name in _SECTIONS}
            fits = self._kept.renew(self._kept.first.varied(**changes))
            return (self._kept, typed.get("metrics", self._scenario.metrics)) if fits else None
        except (PalpateError, ValidationError):
            return None

    def _typed(self, data: Mapping[str, Any], changed: set[str], built: Scenario) -> dict[str, Any]:
        alone = {name for name in changed if name in _ALONE and name in data}
        typed: dict[str, Any] = {
            name: _typed_again(getattr(built, name), self._built.get(name, {}), data[name]) for name in alone
        }
        if others := changed - alone:
            given = {name: data[name] for name in (*others, "modules") if name in data}
            scenario = _from_json(Scenario.__pydantic_validator__, {**STAND_IN, **given})
            typed |= {name: getattr(scenario, name) for name in others}
        if contradictions(typed)[0]:
            raise PalpateError("sections contradict each other")
        return typed


def _typed_again(known: BaseModel, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """A section from its data; of the one that is known, everything whose data are the same is taken over.

    So is what neither gives: a default is neither made nor checked again.
    """
    kind = type(known)
    if not after.keys() <= kind.model_fields.keys():
        raise PalpateError("unknown keys")
    parts = {
        name: getattr(known, name)
        if name in before and before[name] == value
        else _from_json(_validator(kind, name), value)
        for name, value in after.items()
    }
    same = {name: getattr(known, name) for name in kind.model_fields if name not in before and name not in after}
    made = kind.__pydantic_validator__.validate_python({**same, **parts}, strict=True)
    made.model_fields_set.difference_update(same)
    return made


@cache
def _validator(kind: type[BaseModel], name: str) -> Any:
    """The validator of one field of a section."""
    field = kind.model_fields[name]
    return TypeAdapter(Annotated[field.annotation, field]).validator  # pyright: ignore


def _from_json(validator: Any, data: Any) -> Any:
    return validator.validate_json(json.dumps(data, default=str), strict=True)
