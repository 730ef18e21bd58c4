"""Settings of a scenario, read from its types: unit, help, default, bounds and allowed values of every key."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from palpate.config import Config, setting
from palpate.control import LAWS
from palpate.control.around import Around
from palpate.control.law import Law
from palpate.control.references import REFERENCES
from palpate.control.references.reference import ReferenceSettings
from palpate.errors import MissingTool
from palpate.metrics import METRICS
from palpate.scenario.model import Scenario, law_class
from palpate.toolbox import around_class
from palpate.user_code import is_address, is_loaded

_BOUNDS = {"gt": "greater than {}", "ge": "at least {}", "lt": "less than {}", "le": "at most {}"}
_PLAIN = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
# Sections whose keys depend on one of them: that key, the names that it may hold, and the settings class of a name.
TAGGED: dict[str, tuple[str, Mapping[str, Any], Callable[[str], type[Config]]]] = {
    "control": ("law", LAWS, law_class),
    "reference": ("kind", REFERENCES, REFERENCES.__getitem__),
}
_BASES: dict[str, type[Config]] = {"control": Law, "reference": ReferenceSettings}
_COUNTS = {2: "two", 3: "three", 4: "four", 6: "six"}


@dataclass(frozen=True)
class Setting:
    """One key: where it is declared and what may stand there."""

    key: str
    info: FieldInfo

    @property
    def unit(self) -> str:
        """SI unit, "1" where it has none."""
        extra = self.info.json_schema_extra
        return str(extra.get("unit", "1")) if isinstance(extra, dict) else "1"

    @property
    def help(self) -> str:
        """One line."""
        return self.info.description or ""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.info.is_required()

    @property
    def default(self) -> Any:
        """Default of the setting."""
        return None if self.info.default is PydanticUndefined else self.info.default

    @property
    def table(self) -> type[Config] | None:
        """The settings class of the table, or of each table of the list, that stands here."""
        table = _table(self.info.annotation)
        return _around_table(self.key) if table is Around else table

    @property
    def named(self) -> bool:
        """Whether a table with free keys stands here."""
        return _origin(self.info.annotation) is dict

    @property
    def bounds(self) -> str:
        """Bounds in words, or nothing."""
        words = []
        for rule in self.info.metadata:
            words += [text.format(f"{getattr(rule, name):g}") for name, text in _BOUNDS.items() if hasattr(rule, name)]
        return " and ".join(words)

    @property
    def allowed(self) -> str:
        """Allowed values in words, with bounds and unit."""
        text = describe(self.info.annotation)
        text += f" {self.bounds}" if self.bounds else ""
        return f"{text}, in {self.unit}" if self.unit != "1" and "number" in text else text


def _around_table(section: str) -> type[Config]:
    """The settings of what stands around a law; without its tool, none."""
    try:
        return around_class(section)
    except MissingTool:
        return Around


def settings_of(cls: type[Config]) -> dict[str, Setting]:
    """Every key of a settings class."""
    return {key: Setting(key, info) for key, info in cls.model_fields.items()}


@lru_cache(maxsize=1)
def law_key() -> Setting:
    """The key that names the law."""
    info = setting(..., "1", "name of the law (palpate list laws)")
    info.annotation = Literal[tuple(LAWS)]  # pyright: ignore[reportAttributeAccessIssue]
    return Setting("law", info)


def tagged_settings(section: str, name: str | None) -> dict[str, Setting]:
    """Keys of `[control]` for a law, or of `[reference]` for a kind; for any of them if it is not known."""
    _, names, class_of = TAGGED[section]
    if is_address(name) and not is_loaded(str(name)):
        classes: list[type[Config]] = [_BASES[section]]
    else:
        classes = [class_of(str(each)) for each in ([name] if name in names else list(names))]
    merged = {key: one for each in classes for key, one in settings_of(each).items()}
    return {"law": law_key(), **merged} if section == "control" else merged


def keys_at(path: Sequence[str | int], data: dict[str, Any]) -> dict[str, Setting] | list[str]:
    """The keys that may stand in the table at `path` of a scenario's data; names alone where they are free."""
    parts = [part for part in path if not isinstance(part, int)]
    if parts and parts[0] in TAGGED:
        table = data.get(parts[0])
        name = table.get(TAGGED[parts[0]][0]) if isinstance(table, dict) else None
        here = tagged_settings(parts.pop(0), name if isinstance(name, str) else None)
    else:
        here = settings_of(Scenario)
    while parts:
        entry = here.get(parts.pop(0))
        if entry is None or (entry.named and not parts):
            return list(METRICS) if entry is not None and entry.key == "metrics" else []
        if entry.named:
            parts.pop(0)
        here = settings_of(entry.table) if entry.table is not None else {}
    return here


def find(path: Sequence[str | int], data: dict[str, Any]) -> Setting | None:
    """The key that governs the value at `path`: its own, or that of the list it stands in."""
    names = list(path)
    while names and isinstance(names[-1], int):
        names.pop()
    if not names:
        return None
    here = keys_at(names[:-1], data)
    return here.get(str(names[-1])) if isinstance(here, dict) else None


def describe(annotation: Any) -> str:
    """A type in words."""
    origin, args = _origin(annotation), get_args(_bare(annotation))
    bare = _bare(annotation)
    if bare in _PLAIN:
        return _PLAIN[bare]
    if origin is Literal:
        return "one of " + ", ".join(map(str, args))
    if origin in (Union, types.UnionType):
        words = [describe(part) for part in args if part is not type(None)]
        return " or ".join(dict.fromkeys(words))
    if origin is tuple:
        return _list_words(args)
    return "a table"


def _list_words(args: tuple[Any, ...]) -> str:
    if _table(args[0]) is not None:
        return "a list of tables"
    if _origin(args[0]) is tuple and len(args) == len(get_args(_bare(args[0]))):
        return f"{len(args)}×{len(args)} numbers"
    inner = describe(args[0]).split(" ", 1)[1]
    if len(args) == 2 and args[1] is Ellipsis:
        return f"a list of {inner}s"
    return f"a list of {_COUNTS.get(len(args), len(args))} {inner}s"


def _bare(annotation: Any) -> Any:
    """Without Annotated and SerializeAsAny."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _origin(annotation: Any) -> Any:
    return get_origin(_bare(annotation))


def _table(annotation: Any) -> type[Config] | None:
    bare = _bare(annotation)
    if isinstance(bare, type) and issubclass(bare, Config):
        return bare
    if get_origin(bare) is dict:
        return _table(get_args(bare)[1])
    tables = (_table(part) for part in get_args(bare) if part not in (type(None), Ellipsis))
    return next((table for table in tables if table is not None), None)
