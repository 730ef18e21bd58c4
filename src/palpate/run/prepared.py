"""Many runs of one scenario, with robot and scene built once and changed in place where only numbers change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from palpate.errors import PalpateError
from palpate.run.assemble.renew import Renewable
from palpate.run.block import Block
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


class _Change(NamedTuple):
    """Parts of a run that are others, and its bounds on metrics."""

    sections: dict[str, Any]
    bounds: Mapping[str, Any]


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
        self._block: tuple[Block, frozenset[str]] | None = None  # of the kept assembly, and the channels it keeps

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

    def several(
        self, many: Sequence[Sequence[str]], *, singular: bool, read: set[str]
    ) -> Iterator[tuple[int, Mapping[str, Any], Trace]]:
        """Make those of many runs that can be made together, in compiled calls of several runs each.

        Args:
            many: `key=value` texts of each run.
            singular, read: as for `run`.

        Yields:
            the place of a run in `many`, its bounds, and its trace for metrics. A run that is left out is to be made
            alone, whatever the reason.
        """
        kept = self._kept
        if kept is None or not Block.possible(kept):
            return
        changes = [self._change_for(overrides) for overrides in many]
        block = self._block_of(kept, frozenset(read))
        for place, change in enumerate(changes):
            if block.full:
                yield from self._made(block, singular, read)
            try:
                if change is not None and kept.renew(kept.first.varied(**change.sections)):
                    block.add((place, change.bounds))
            except PalpateError:
                if self.release_broken():
                    return
        yield from self._made(block, singular, read)

    def _change_for(self, overrides: Sequence[str]) -> _Change | None:
        try:
            return self._change(apply_overrides(self._data, overrides))
        except PalpateError:
            return None

    def _block_of(self, kept: Renewable, read: frozenset[str]) -> Block:
        """The block of an assembly, which keeps its room from one use to the next.

        A run made alone in between may have kept other channels: rows of the loop and of the block are as wide again.
        """
        offered = kept.keep_channels(read)
        if self._block is None or self._block[0].kept is not kept or self._block[1] != read:
            self._block = Block(kept, offered), read
        return self._block[0]

    def _made(self, block: Block, singular: bool, read: set[str]) -> Iterator[tuple[int, Mapping[str, Any], Trace]]:
        for (place, bounds), trace in block.traces(singular=singular, read=read):
            if trace is not None:
                yield place, bounds, trace
        self.release_broken()

    def ready(self, data: dict[str, Any]) -> tuple[Renewable, Mapping[str, Any]]:
        """Make the assembly of a scenario's data ready to run once, and return it with the bounds it must keep.

        Raises:
            PalpateError: the data are refused.
        """
        return self._renew(data) or self._build(data)

    def release_broken(self) -> bool:
        """Let the assembly go if the engine gave up in it, and say so: nothing of it may be used again."""
        if self._kept is None or self._kept.assembly.rescues.said is None:
            return False
        self._kept = self._block = None
        return True

    def _build(self, data: dict[str, Any]) -> tuple[Renewable, Mapping[str, Any]]:
        self._kept = self._block = None  # also where building fails half-way
        scenario = scenario_from_data(data).with_code()
        self._kept, self._built, self._scenario = Renewable(build(scenario)), data, scenario
        return self._kept, scenario.metrics

    def _renew(self, data: Mapping[str, Any]) -> tuple[Renewable, Mapping[str, Any]] | None:
        """The kept assembly made ready for a run, and its bounds; what is refused is left to the long way."""
        change, kept = self._change(data), self._kept
        try:
            fits = kept is not None and change is not None and kept.renew(kept.first.varied(**change.sections))
        except PalpateError:
            return None
        return (kept, change.bounds) if fits and kept is not None and change is not None else None

    def _change(self, data: Mapping[str, Any]) -> _Change | None:
        """Parts that differ from the run that the kept assembly was built for; None where that needs another one."""
        changed = {name for name in {**data, **self._built} if _differ(data.get(name), self._built.get(name))}
        if self._kept is None or self._scenario is None or not changed <= {*_SECTIONS, "metrics"}:
            return None
        try:
            typed = self._typed(data, changed, self._scenario)
        except (PalpateError, ValidationError):
            return None
        sections = {_SECTIONS[name]: section for name, section in typed.items() if name in _SECTIONS}
        return _Change(sections, typed.get("metrics", self._scenario.metrics))

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


def _differ(one: Any, other: Any) -> bool:
    return one is not other and one != other  # tables of a scenario that no override reaches are one object


def _typed_again(known: BaseModel, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """A section from its data; of the one that is known, everything whose data are the same is taken over.

    So is what neither gives: a default is neither made nor checked again.
    """
    kind, held = type(known), vars(known)
    if not after.keys() <= kind.__pydantic_fields__.keys():
        raise PalpateError("unknown keys")
    values = {name: held[name] for name in kind.__pydantic_fields__ if name in after or name not in before}
    for name, value in after.items():
        if name not in before or _differ(before[name], value):
            values[name] = _part_again(kind, name, held[name], before.get(name), value)
    made = kind.__pydantic_validator__.validate_python(values, strict=True)
    made.model_fields_set.intersection_update(after)
    return made


def _part_again(kind: type[BaseModel], name: str, known: Any, before: Any, after: Any) -> Any:
    """A field of a section, down to the numbers that are new where it is a section itself, or a list of sections."""
    inner, listed = _sections_in(kind, name)
    if inner is not None and not listed and isinstance(before, dict) and isinstance(after, dict):
        return _typed_again(known, before, after)
    alike = inner is not None and listed and isinstance(before, list) and isinstance(after, list)
    if alike and len(before) == len(after) == len(known):
        rows = zip(known, before, after)
        return tuple(item if old == new else _typed_again(item, old, new) for item, old, new in rows)
    return _from_json(_validator(kind, name), after)


@cache
def _sections_in(kind: type[BaseModel], name: str) -> tuple[type[BaseModel] | None, bool]:
    """The section that a field is, or is a list of, where nothing else may stand there."""
    annotation = kind.model_fields[name].annotation
    listed = get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,)
    inner: Any = get_args(annotation)[0] if listed else annotation
    plain = isinstance(inner, type) and issubclass(inner, BaseModel) and not inner.__subclasses__()
    return (inner if plain else None), listed


@cache
def _validator(kind: type[BaseModel], name: str) -> Any:
    """The validator of one field of a section."""
    field = kind.model_fields[name]
    return TypeAdapter(Annotated[field.annotation, field]).validator  # pyright: ignore


def _from_json(validator: Any, data: Any) -> Any:
    return validator.validate_json(json.dumps(data, default=str), strict=True)
