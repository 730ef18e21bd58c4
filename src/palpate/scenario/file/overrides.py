"""Changing a scenario's data before it is typed: `a.b=c`, and one file over another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from palpate.errors import InvalidInput, ScenarioError, UnknownName, shortened
from palpate.toml import toml_data

LONGEST_WORD = 1000
_BARE = re.compile(r"[^\s\"'\[\]{}=#,][^\"'\[\]{}=#,]*")
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,15})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_QUOTED = re.compile(r"""\.(?=(?:[^"']|"[^"]*"|'[^']*')*$)""")  # a dot outside quotes
# A table whose other keys depend on one: another value of that one takes nothing over from before.
TAGS = {"control": "law", "reference": "kind"}
UNSET = object()  # the value of `key=`: what was given for the key is taken away


def parse_override(text: str) -> tuple[tuple[str, ...], Any]:
    """`a.b.0.c=value`, keys and values as in TOML; a bare word is a text, nothing takes the key away (UNSET)."""
    key, equals, value = text.partition("=")
    parts = _QUOTED.split(key) if '"' in key or "'" in key else key.split(".")
    path = tuple(part.strip().strip("\"'") for part in parts)
    if not equals or not all(path):
        raise ScenarioError(
            f"--set takes KEY=VALUE, got {text!r}",
            hint="for example --set run.duration=2; KEY= removes a value",
        )
    return path, _value(value.strip(), text) if value.strip() else UNSET


def _value(value: str, text: str) -> Any:
    if _NUMBER.fullmatch(value):  # as most of a sweep's are
        return float(value) if set(value) & set(".eE") else int(value)
    try:
        return toml_data(f"x = {value}")["x"]
    except InvalidInput as error:
        if len(value) < LONGEST_WORD and _BARE.fullmatch(value):
            return value
        raise ScenarioError(
            f"--set {shortened(text)}: the value {error.args[0]}", hint='lists are [1, 2, 3], texts "in quotes"'
        ) from error


def apply_overrides(data: dict[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """The data with the overrides in them; tags (`control.law`) first, whatever their order.

    Tables and lists on the way to what an override changes are copies, the others are the data's own: a sweep does
    this for every run.
    """
    parsed = [(*parse_override(text), text) for text in overrides]
    parsed.sort(key=lambda item: not (len(item[0]) == 2 and TAGS.get(item[0][0]) == item[0][1]))
    result = dict(data)
    for path, value, text in parsed:
        if len(path) == 2 and TAGS.get(path[0]) == path[1] and result.get(path[0], {}).get(path[1]) != value:
            result[path[0]] = {}
        _put(result, path, value, text)
    return result


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any, text: str) -> None:
    """Write a value into data that is the caller's own, down a path of which only its beginning is."""
    here: Any = data
    for depth, part in enumerate(path[:-1]):
        key: Any = _index(here, part, path[:depth], text) if isinstance(here, list) else part
        below = here[key] if isinstance(here, list) else here.get(key, {})
        if not isinstance(below, dict | list):
            raise ScenarioError(f"--set {text}: {'.'.join(path[: depth + 1])} is {below!r}, not a table")
        here[key] = below.copy()
        here = here[key]
    if value is UNSET:
        _take_away(here, path, text, data)
        return
    here[_index(here, path[-1], path[:-1], text) if isinstance(here, list) else path[-1]] = value


def _take_away(here: Any, path: tuple[str, ...], text: str, data: dict[str, Any]) -> None:
    """Let a key be as if it had not been given; of a list, leave out one entry."""
    if isinstance(here, list):
        del here[_index(here, path[-1], path[:-1], text)]
    elif here.pop(path[-1], UNSET) is UNSET:
        from palpate.scenario.fields import keys_at

        known = keys_at(path[:-1], data)
        if known and path[-1] not in known:
            raise UnknownName("setting", ".".join(path), [".".join((*path[:-1], key)) for key in known])


def _index(items: list[Any], part: str, where: tuple[str, ...], text: str) -> int:
    """A place in a list, by number or by the name of the table that stands there."""
    names = [item.get("name") if isinstance(item, dict) else None for item in items]
    if part in names:
        return names.index(part)
    if part.isdecimal() and int(part) < len(items):
        return int(part)
    offered = [str(k) if name is None else str(name) for k, name in enumerate(names)]
    raise ScenarioError(f"--set {text}: {'.'.join(where)} has no entry {part!r}; it has {', '.join(offered) or 'none'}")


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables merge key by key, everything else of `above` replaces; so does a section whose tag changes."""
    result = _copied(below)
    for key, value in above.items():
        old, tag = result.get(key), TAGS.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        if both and not (tag in value and value[tag] != old.get(tag)):
            result[key] = merged(old, value)
        else:
            result[key] = _copied(value)
    return result


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
