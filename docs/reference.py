"""The page of the programming interface, made from the docstrings of every public name."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin

import palpate

ROOMS = [
    "robot",
    "spatial",
    "derive",
    "review",
    "control",
    "contact",
    "world",
    "run",
    "trace",
    "metrics",
    "views",
    "study",
    "errors",
]
_HEAD = """# Programming interface

Every public name with its own account, as `help()` shows it. SI units, world axes, quaternions wxyz.
"""


def write(path: Path) -> None:
    """Write the page; one that is the same already is left alone."""
    text = page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def page() -> str:
    """The page's text."""
    names = [name for name in palpate.__all__ if not isinstance(getattr(palpate, name), ModuleType)]
    parts = [_HEAD, "## palpate\n", *(_entry("palpate", name, getattr(palpate, name)) for name in names)]
    for room in ROOMS:
        module = getattr(palpate, room)
        parts.append(f"## palpate.{room}\n\n{_first(module)}\n")
        parts += [_entry(f"palpate.{room}", name, getattr(module, name)) for name in _public(module)]
    return "\n".join(parts)


def metrics() -> str:
    """The table of every metric, from the table that the package itself reads."""
    rows = [f"| `{metric.name}` | {metric.unit} | {metric.help} |" for metric in palpate.metrics.METRICS.values()]
    return "\n".join(["| metric | unit | meaning |", "|---|---|---|", *rows])


def _public(module: ModuleType) -> list[str]:
    if hasattr(module, "__all__"):
        found = module.__all__
    else:
        found = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    return [n for n in sorted(found) if n[0] != "_" and callable(getattr(module, n))]


def _entry(room: str, name: str, value: Any) -> str:
    if not callable(value):
        return ""
    text = f"### {room}.{name}\n\n```python\n{name}{_signature(value)}\n```\n\n{_block(value)}"
    if inspect.isclass(value):
        text += "".join(_method(key, found) for key, found in vars(value).items() if key[0] != "_")
    return text


def _method(name: str, found: Any) -> str:
    target = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
    if not inspect.isfunction(target) or not inspect.getdoc(target):
        return ""
    head = f".{name}" if isinstance(found, property) else f".{name}{_signature(target)}"
    return f"- `{head}`: {_first(target)}\n"


class _Plain:
    """An annotation as a person writes it: without quotes, without the bounds that pydantic checks."""

    def __init__(self, annotation: Any) -> None:
        while get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        self.text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        return self.text


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    kept = [
        p if p.annotation is p.empty else p.replace(annotation=_Plain(p.annotation)) for p in found.parameters.values()
    ]
    told = found.return_annotation
    return str(found.replace(parameters=kept, return_annotation=told if told is found.empty else _Plain(told)))


def _first(value: Any) -> str:
    """The first sentence of a docstring, safe in Markdown."""
    text = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    for letter in "\\*_[]<>|":
        text = text.replace(letter, f"\\{letter}")
    return text


def _block(value: Any) -> str:
    doc = inspect.getdoc(value)
    return f"```text\n{doc}\n```\n\n" if doc else ""
