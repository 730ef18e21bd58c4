"""What the types say about every key of a scenario: unit, help, default, bounds, and what is allowed."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from palpate.config import Config, setting
from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.errors import UnknownName, check_names
from palpate.lazy import parsed
from palpate.metrics import METRICS
from palpate.metrics.table import Bound
from palpate.scenario.model import Scenario, law_class
from palpate.toml import toml_value

_BOUNDS = {"gt": "greater than {}", "ge": "at least {}", "lt": "less than {}", "le": "at most {}"}
_PLAIN = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
_TAGS = {"control": "law", "reference": "kind"}
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


def law_settings(name: str | None) -> dict[str, Setting]:
    """Keys of `[control]` for a law; for any law if it is not known."""
    chosen = [name] if name in LAWS else list(LAWS)
    merged = {key: one for law in chosen for key, one in settings_of(law_class(str(law))).items()}
    return {"law": _law_key(), **merged}


def reference_settings(kind: str | None) -> dict[str, Setting]:
    """Keys of `[reference]` for a kind; for any kind if it is not known."""
    chosen = [kind] if kind in REFERENCES else list(REFERENCES)
    return {key: one for name in chosen for key, one in settings_of(REFERENCES[str(name)]).items()}


def keys_at(path: Sequence[str | int], data: dict[str, Any]) -> dict[str, Setting] | list[str]:
    """The keys that may stand in the table at `path` of a scenario's data; names alone where they are free."""
    parts = [part for part in path if not isinstance(part, int)]
    if parts and parts[0] in _TAGS:
        section = data.get(parts[0])
        tag = section.get(_TAGS[parts[0]]) if isinstance(section, dict) else None
        tag = tag if isinstance(tag, str) else None
        here = law_settings(tag) if parts.pop(0) == "control" else reference_settings(tag)
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
    if parts[0] in ("control", "reference"):
        return _tagged(parts)
    if parts[0] == "metrics" and len(parts) > 1:
        return _metric(parts)
    return _along(parts, [], settings_of(Scenario))


def _word(word: str) -> Explanation:
    """A name alone: of a law, a kind of reference, a metric, a shipped scenario or settings."""
    from palpate.scenario.file.load import shipped

    for section, names in {"control": LAWS, "reference": REFERENCES}.items():
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
    tagged = {f"control.{law}": law_settings(law) for law in LAWS}
    tagged |= {f"reference.{kind}": reference_settings(kind) for kind in REFERENCES}
    plain = {key: one for key, one in settings_of(Scenario).items() if key not in ("control", "reference")}
    yield from _below("", plain)
    for prefix, settings in tagged.items():
        yield from _below(f"{prefix}.", settings)


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
    section, names = parts[0], LAWS if parts[0] == "control" else REFERENCES
    if len(parts) == 1:
        text = settings_of(Scenario)[section].help
        if section == "control":
            return Explanation(section, text, {"law": law_settings(None)["law"]}, {n: summary_of_law(n) for n in LAWS})
        return Explanation(section, text, {}, {kind: _first_line(cls) for kind, cls in REFERENCES.items()})
    below = law_settings if section == "control" else reference_settings
    if parts[1] in names:
        cls = law_class(parts[1]) if section == "control" else REFERENCES[parts[1]]
        if len(parts) == 2:
            return Explanation(".".join(parts), inspect.getdoc(cls) or "", below(parts[1]))
        return _along(parts[2:], parts[:2], below(parts[1]))
    matches = {name: below(name)[parts[1]] for name in names if parts[1] in below(name)}
    if len(parts) == 2 and len(matches) > 1 and parts[1] not in ("law", "kind"):
        lines = {f"{section}.{name}.{parts[1]}": f"{one.help} [{one.unit}]" for name, one in matches.items()}
        return Explanation(".".join(parts), f"depends on the {'law' if section == 'control' else 'kind'}", {}, lines)
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
    laws = [_choice(law_class(name), "law", name, definitions) for name in LAWS]
    kinds = [_choice(cls, "kind", name, definitions) for name, cls in REFERENCES.items()]
    properties = schema["properties"]
    properties["control"] = {"description": properties["control"].get("description", ""), "oneOf": laws}
    properties["reference"] = {"description": properties["reference"].get("description", ""), "oneOf": kinds}
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
