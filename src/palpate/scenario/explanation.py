"""Explanations of a scenario's keys, from the types themselves."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from palpate.config import Config
from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.errors import UnknownName, check_names
from palpate.lazy import parsed
from palpate.metrics import METRICS
from palpate.metrics.table import Bound
from palpate.scenario.fields import TAGGED, Setting, law_key, settings_of, tagged_settings
from palpate.scenario.model import Scenario
from palpate.toml import toml_value


@dataclass(frozen=True)
class Explanation:
    """Explanation of a key.

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
    if parts[0] in TAGGED:
        return _tagged(parts)
    if parts[0] == "metrics" and len(parts) > 1:
        return _metric(parts)
    return _along(parts, [], settings_of(Scenario))


def _word(word: str) -> Explanation:
    """A name alone: of a law, a kind of reference, a metric, a shipped scenario or settings."""
    from palpate.scenario.file.folders import shipped

    for section, (_, names, _) in TAGGED.items():
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
    yield from _below("", {key: one for key, one in settings_of(Scenario).items() if key not in TAGGED})
    for section, (_, names, _) in TAGGED.items():
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
    section, (tag, names, class_of) = parts[0], TAGGED[parts[0]]
    below = partial(tagged_settings, section)
    if len(parts) == 1:
        text = settings_of(Scenario)[section].help
        if section == "control":
            return Explanation(section, text, {"law": law_key()}, {name: summary_of_law(name) for name in LAWS})
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
