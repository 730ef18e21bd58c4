"""What the types say about every key of a scenario: unit, help, default, bounds, and what is allowed."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from palpate.config import Config, setting
from palpate.control import LAWS
from palpate.control.law import Law
from palpate.control.references import REFERENCES
from palpate.control.references.reference import ReferenceSettings
from palpate.errors import UnknownName, check_names
from palpate.lazy import parsed
from palpate.metrics import METRICS
from palpate.metrics.table import Bound
from palpate.scenario.model import Scenario, law_class
from palpate.toml import toml_value
from palpate.user_code import is_address, is_loaded

_BOUNDS = {"gt": "greater than {}", "ge": "at least {}", "lt": "less than {}", "le": "at most {}"}
_PLAIN = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
# Sections whose keys depend on one of them: that key, the names that it may hold, and the settings class of a name.
_TAGGED: dict[str, tuple[str, Mapping[str, Any], Callable[[str], type[Config]]]] = {
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
        """What stands when it is not given."""
        return None if self.info.default is PydanticUndefined else self.info.default

    @property
    def table(self) -> type[Config] | None:
        """The settings class of the table, or of each table of the list, that stands here."""
        return _table(self.info.annotation)

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
        """What may stand here, in words, with bounds and unit."""
        text = describe(self.info.annotation)
        text += f" {self.bounds}" if self.bounds else ""
        return f"{text}, in {self.unit}" if self.unit != "1" and "number" in text else text


def settings_of(cls: type[Config]) -> dict[str, Setting]:
    """Every key of a settings class."""
    return {key: Setting(key, info) for key, info in cls.model_fields.items()}


@lru_cache(maxsize=1)
def _law_key() -> Setting:
    info = setting(..., "1", "name of the law (palpate list laws)")
    info.annotation = Literal[tuple(LAWS)]  # pyright: ignore[reportAttributeAccessIssue]
    return Setting("law", info)


def tagged_settings(section: str, name: str | None) -> dict[str, Setting]:
    """Keys of `[control]` for a law, or of `[reference]` for a kind; for any of them if it is not known."""
    _, names, class_of = _TAGGED[section]
    if is_address(name) and not is_loaded(str(name)):
        classes: list[type[Config]] = [_BASES[section]]
    else:
        classes = [class_of(str(each)) for each in ([name] if name in names else list(names))]
    merged = {key: one for each in classes for key, one in settings_of(each).items()}
    return {"law": _law_key(), **merged} if section == "control" else merged


def keys_at(path: Sequence[str | int], data: dict[str, Any]) -> dict[str, Setting] | list[str]:
    """The keys that may stand in the table at `path` of a scenario's data; names alone where they are free."""
    parts = [part for part in path if not isinstance(part, int)]
    if parts and parts[0] in _TAGGED:
        table = data.get(parts[0])
        name = table.get(_TAGGED[parts[0]][0]) if isinstance(table, dict) else None
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


# ----------------------------------------------------------------------------------------------
# What a key of a scenario means, from the types themselves.


@dataclass(frozen=True)
class Explanation:
    """What there is to say about a key.

    Attributes:
        key: the key, completed.
        text: prose: a docstring, or a line of help.
        settings: the keys below it, or itself.
        choices: names that may stand below it, each with one line.
    """

    key: str
    text: str
    settings: dict[str, Setting] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)


def explain(key: str = "") -> Explanation:
    """Look a key up: `control.cartesian-impedance`, `world.surfaces.stiffness`, `reference.line`, `metrics.bounces`.

    A law, a kind of reference, a metric and a shipped scenario are found by their names alone, and settings by the
    last part of their keys: `force_peak`, `panda-wall`, `stiffness`.

    Raises:
        UnknownName: no such key; names the nearest.
    """
    parts = [part for part in key.split(".") if part and not part.isdecimal()]
    if not parts:
        return Explanation("", inspect.getdoc(Scenario) or "", settings_of(Scenario))
    if len(parts) == 1 and parts[0] not in settings_of(Scenario):
        return _word(parts[0])
    if parts[0] in _TAGGED:
        return _tagged(parts)
    if parts[0] == "metrics" and len(parts) > 1:
        return _metric(parts)
    return _along(parts, [], settings_of(Scenario))


def _word(word: str) -> Explanation:
    """A name alone: of a law, a kind of reference, a metric, a shipped scenario or settings."""
    from palpate.scenario.file.load import shipped

    for section, (_, names, _) in _TAGGED.items():
        if word in names:
            return _tagged([section, word])
    if word in METRICS:
        return _metric(["metrics", word])
    if word in shipped():
        return _scenario(word)
    matches = {key: one for key, one in _every_key() if key.endswith(f".{word}")}
    if len(matches) == 1:
        return explain(next(iter(matches)))
    if not matches:
        last = {key.rsplit(".", 1)[-1] for key, _ in _every_key()}
        raise UnknownName("key", word, {*settings_of(Scenario), *LAWS, *REFERENCES, *METRICS, *shipped(), *last})
    lines = {key: one.help if one.unit == "1" else f"{one.help} [{one.unit}]" for key, one in matches.items()}
    return Explanation(word, "the last part of these keys", {}, lines)


def _every_key() -> Iterator[tuple[str, Setting]]:
    """Every key of a scenario; those of laws and references behind their names."""
    yield from _below("", {key: one for key, one in settings_of(Scenario).items() if key not in _TAGGED})
    for section, (_, names, _) in _TAGGED.items():
        for name in names:
            yield from _below(f"{section}.{name}.", tagged_settings(section, name))


def _below(prefix: str, settings: dict[str, Setting]) -> Iterator[tuple[str, Setting]]:
    for key, one in settings.items():
        yield f"{prefix}{key}", one
        if one.table is not None and not one.named:
            yield from _below(f"{prefix}{key}.", settings_of(one.table))


def _scenario(name: str) -> Explanation:
    from palpate.scenario.file.load import load_scenario

    scenario = load_scenario(name)
    parts = {
        "robot": scenario.robot.model or "a Denavit–Hartenberg table",
        "law": scenario.control.name,
        "reference": scenario.reference.kind,
        "surfaces": ", ".join(surface.name for surface in scenario.world.surfaces) or "none",
        "bounds": ", ".join(scenario.metrics) or "none",
    }
    text = f"{scenario.description}\n\nA scenario: palpate show {name} shows its settings, palpate run {name} runs it."
    return Explanation(name, text, {}, parts)


def summary_of_law(name: str) -> str:
    """The first line of a law's docstring, read without importing the law (which would compile it)."""
    law = LAWS[name]
    if isinstance(law, type):
        return _first_line(law)
    module, class_name = law
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    tree = parsed(Path(spec.origin).read_text(encoding="utf-8"))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    doc = next((ast.get_docstring(node) for node in classes), None)
    return (doc or "").split("\n")[0]


def _tagged(parts: list[str]) -> Explanation:
    """`control.LAW[.key]`, `reference.KIND[.key]`, or a key of any law or kind."""
    section, (tag, names, class_of) = parts[0], _TAGGED[parts[0]]
    below = partial(tagged_settings, section)
    if len(parts) == 1:
        text = settings_of(Scenario)[section].help
        if section == "control":
            return Explanation(section, text, {"law": _law_key()}, {name: summary_of_law(name) for name in LAWS})
        return Explanation(section, text, {}, {kind: _first_line(cls) for kind, cls in REFERENCES.items()})
    if parts[1] in names:
        if len(parts) == 2:
            return Explanation(".".join(parts), inspect.getdoc(class_of(parts[1])) or "", below(parts[1]))
        return _along(parts[2:], parts[:2], below(parts[1]))
    matches = {name: below(name)[parts[1]] for name in names if parts[1] in below(name)}
    if len(parts) == 2 and len(matches) > 1 and parts[1] not in ("law", "kind"):
        lines = {f"{section}.{name}.{parts[1]}": f"{one.help} [{one.unit}]" for name, one in matches.items()}
        return Explanation(".".join(parts), f"depends on the {tag}", {}, lines)
    return _along(parts[1:], [section], below(None), extra=names)


def _metric(parts: list[str]) -> Explanation:
    check_names("metric", [parts[1]], METRICS)
    metric = METRICS[parts[1]]
    bounds = settings_of(Bound)
    return Explanation(".".join(parts[:2]), f"{metric.help} [{metric.unit}]", bounds)


def _along(
    parts: list[str], above: list[str], here: dict[str, Setting], extra: Mapping[str, Any] | None = None
) -> Explanation:
    for depth, part in enumerate(parts):
        setting = here.get(part)
        if setting is None:
            prefix = ".".join([*above, *parts[:depth]])
            raise UnknownName(f"key of {prefix!r}" if prefix else "key", part, [*here, *(extra or ())])
        last = depth == len(parts) - 1
        if last and part == "metrics":
            return Explanation("metrics", setting.help, {}, {n: f"{m.help} [{m.unit}]" for n, m in METRICS.items()})
        if last and setting.table is not None:
            doc = inspect.getdoc(setting.table) or ""
            return Explanation(".".join([*above, *parts]), f"{setting.help}\n\n{doc}", settings_of(setting.table))
        if last:
            return Explanation(".".join([*above, *parts]), setting.help, {part: setting})
        here = settings_of(setting.table) if setting.table is not None else {}
    return Explanation("", "")


def default_text(one: Setting) -> str:
    """A default as a file would give it."""
    if one.required:
        return "required"
    value = one.default
    if value is None:
        return "not given"
    if isinstance(value, Config):
        return "its defaults"
    if isinstance(value, dict | tuple | list) and not value:
        return "none"
    return toml_value(value)


def _first_line(cls: type) -> str:
    return (inspect.getdoc(cls) or "").split("\n")[0]


# ----------------------------------------------------------------------------------------------
# The scenario's JSON Schema, for editors.


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Everything a scenario file may hold: every law with its gains, every kind of reference, every metric."""
    schema = Scenario.model_json_schema()
    definitions: dict[str, Any] = schema.setdefault("$defs", {})
    properties = schema["properties"]
    for section, (tag, names, class_of) in _TAGGED.items():
        choices = [_choice(class_of(name), tag, name, definitions) for name in names]
        properties[section] = {"description": properties[section].get("description", ""), "oneOf": choices}
    properties["metrics"]["propertyNames"] = {"enum": sorted(METRICS)}
    # What a file extends may give the rest.
    schema["required"] = ["name"]
    return {"$schema": DIALECT, **schema, "title": "palpate scenario"}


def _choice(cls: Any, tag: str, name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    schema = cls.model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(schema.pop("$defs", {}))
    schema["properties"] = {tag: {"const": name}, **{k: v for k, v in schema["properties"].items() if k != tag}}
    schema["required"] = sorted({*schema.get("required", ()), tag})
    definitions[f"{tag}:{name}"] = schema
    return {"$ref": f"#/$defs/{tag}:{name}"}
