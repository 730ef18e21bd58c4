"""Settings of a run that each part of its assembly answers for, and those that it can take over between two runs.

A part is a function that makes fields of the loop. Its declaration stands at the function:

    @part("sensors", built=("world.faults",), renewed=("world.sensors.delay", …))
    def sensor_fields(run, …)

`built` are settings that are built into an assembly: with another value it is another assembly. `renewed` are settings
that `renew` takes over in place. Every setting belongs to one part; one that nobody declared is found by the tests, and
until then an assembly is not used again at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter, ne
from typing import Any, TypeVar, get_args

from pydantic import BaseModel

from palpate.run.run import Run
from palpate.world.clock import Clock
from palpate.world.config import World

Function = TypeVar("Function", bound=Callable[..., Any])
_SECTIONS: dict[str, type[BaseModel]] = {"world": World, "clock": Clock}
_STARTS = ("q_start", "v_start")  # compared as numbers
_UNREAD = ("scenario", "changed")  # of a run: kept in its trace, read by no part


@dataclass(frozen=True)
class Part:
    """Declaration of a part.

    Attributes:
        built, renewed: paths of settings, "world.sensors.delay"; of a list's items likewise.
        built_where: of what is renewed, by path: the share of a value that is built into an assembly all the same.
    """

    built: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    built_where: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


_Path = tuple[str, ...]
PARTS: dict[str, Part] = {}


def part(
    name: str,
    *,
    built: tuple[str, ...] = (),
    renewed: tuple[str, ...] = (),
    built_where: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Callable[[Function], Function]:
    """Declare the settings that a function answers for."""
    PARTS[name] = Part(built, renewed, built_where or {})
    return lambda function: function


def below(path: str, *names: str) -> tuple[str, ...]:
    """Paths of several settings of one section."""
    return tuple(f"{path}.{name}" for name in names)


def settings_of_runs() -> tuple[str, ...]:
    """Paths of all settings of a run: down to the last in its world and its clock, whole in the rest."""
    paths: list[str] = []
    for one in fields(Run):
        if one.name not in _UNREAD:
            paths += _leaves(_SECTIONS[one.name], one.name) if one.name in _SECTIONS else [one.name]
    return tuple(paths)


def _leaves(kind: type[BaseModel], path: str) -> Iterator[str]:
    for name, one in kind.model_fields.items():
        inner = _section_of(one.annotation)
        if inner is None:
            yield f"{path}.{name}"
        else:
            yield from _leaves(inner, f"{path}.{name}")


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """The section that a setting is, or a list of; none for numbers, and for tables of somebody's own names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = [_section_of(one) for one in get_args(annotation) if getattr(annotation, "__origin__", None) is not dict]
    return next((one for one in found if one is not None), None)


def undeclared() -> tuple[str, ...]:
    """Settings that no part answers for."""
    known = {path for one in PARTS.values() for path in (*one.built, *one.renewed)}
    return tuple(path for path in settings_of_runs() if path not in known)


_Tree = dict[str, Any]  # names of settings, down to those that are compared, below which there is nothing
_Differ = Callable[[Any, Any], bool]


def are_alike(section: str, one: Any, other: Any) -> bool:
    """Whether two worlds or clocks can share an assembly; what they hold in common is not looked into."""
    if one is other:
        return True
    for name, (differ, shares) in _built_in(section).items():
        a, b = getattr(one, name), getattr(other, name)
        if a is b:
            continue
        if differ(a, b) or any(share(_value(a, path)) != share(_value(b, path)) for path, share in shares):
            return False
    return True


def _comparison(tree: _Tree | None) -> _Differ:
    """A function that says whether a setting differs in what is built in of it, of a list in any of its sections."""
    if tree is None:
        return ne
    leaves = [name for name, below in tree.items() if below is None]
    values = attrgetter(*leaves) if leaves else lambda section: None
    deeper = [(name, _comparison(below)) for name, below in tree.items() if below]

    def differ(one: Any, other: Any) -> bool:
        if one is other or not tree:
            return False
        if one is None or other is None:
            return True
        if isinstance(one, tuple):
            return len(one) != len(other) or any(differ(a, b) for a, b in zip(one, other))
        return values(one) != values(other) or any(at(getattr(one, name), getattr(other, name)) for name, at in deeper)

    return differ


@cache
def _built_in(section: str) -> dict[str, tuple[_Differ, list[tuple[_Path, Callable[[Any], Any]]]]]:
    """Comparisons of settings built into an assembly, by the section's field that they are in, and shares of others.

    A setting that nobody declared is built in.
    """
    tree, found = _Tree(), dict[str, list[tuple[_Path, Callable[[Any], Any]]]]()
    for whole in (*(path for one in PARTS.values() for path in one.built), *undeclared()):
        start, *path = whole.split(".")
        here = tree
        for name in path[:-1] if start == section else ():
            here = here.setdefault(name, {})
        if start == section and path:
            here[path[-1]] = None
    for one in PARTS.values():
        for whole, share in one.built_where.items():
            start, name, *path = whole.split(".")
            if start == section:
                found.setdefault(name, []).append((tuple(path), share))
    return {name: (_comparison(tree.get(name, {})), found.get(name, [])) for name in (*tree, *found)}


def fixed_in_runs() -> tuple[str, ...]:
    """Attributes of a run that two runs in one assembly must have in common, besides its world and clock."""
    paths = [*(path for one in PARTS.values() for path in one.built), *undeclared()]
    return tuple(path for path in paths if "." not in path and path not in _STARTS)


def _value(value: Any, path: tuple[str, ...]) -> Any:
    """A setting by its path; of a list of sections one value for each."""
    for k, name in enumerate(path):
        if value is None:
            return None
        if isinstance(value, tuple):
            return tuple(_value(item, path[k:]) for item in value)
        value = getattr(value, name)
    return value
