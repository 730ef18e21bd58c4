"""The programming interface as Sphinx objects: one page per package in docs/api, made of autodoc directives.

Every public name is an object of the inventory (objects.inv), so that pages here and sites elsewhere can link to it.
Docstrings are plain text with equations; what reStructuredText would misread in them is escaped on the way.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, get_args, get_origin

import palpate

PACKAGES = (
    *("palpate", "palpate.robot", "palpate.spatial", "palpate.tools.derive", "palpate.tools.review", "palpate.control"),
    *("palpate.control.design", "palpate.control.references", "palpate.control.solve.hierarchy"),
    *("palpate.control.solve.priorities", "palpate.control.solve.tasks", "palpate.tools.contact", "palpate.world"),
    *("palpate.scenario", "palpate.run", "palpate.trace", "palpate.metrics", "palpate.views", "palpate.tools.study"),
    *(
        "palpate.tools.gym",
        "palpate.tools.exporting",
        "palpate.tools.logs",
        "palpate.tools.play",
        "palpate.tools.sheets",
        "palpate.errors",
    ),
)
_INDEX = """Programming interface
=====================

Every public name, one page per package. SI units, world axes, quaternions wxyz (:doc:`/notation`). The names of
:doc:`palpate <palpate>` itself suffice for most work; the others live one level down. The inventory ``objects.inv``
lets other Sphinx sites link here by ``intersphinx``.

.. list-table::
   :header-rows: 1

   * - package
     - holds
{rows}

.. toctree::
   :hidden:

{pages}
"""


def write(folder: Path) -> None:
    """Write the pages; one that is the same already is left alone."""
    folder.mkdir(exist_ok=True)
    rows = [f"   * - :doc:`{name} <{name}>`\n     - {_plain(_first(_module(name)))}" for name in PACKAGES]
    texts = {name: page(name) for name in PACKAGES}
    texts["index"] = _INDEX.format(rows="\n".join(rows), pages="\n".join(f"   {name}" for name in PACKAGES))
    for old in set(folder.glob("*.rst")) - {folder / f"{name}.rst" for name in texts}:
        old.unlink()
    for name, text in texts.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page(package: str) -> str:
    """One package: its account, then classes, functions and tables."""
    module = _module(package)
    parts = [f"{package}\n{'=' * len(package)}\n", f".. py:module:: {package}\n", *_account(module)]
    for title, fits in (("Classes", inspect.isclass), ("Functions", _is_function), ("Tables", _is_table)):
        names = [name for name in public(module) if fits(getattr(module, name))]
        if names:
            parts += [
                f"{title}\n{'-' * len(title)}\n",
                *(_entry(package, name, getattr(module, name)) for name in names),
            ]
    return "\n".join(parts)


def public(module: ModuleType) -> list[str]:
    """The public names of a package, without the packages inside it."""
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return [name for name in sorted(names) if name[0] != "_" and not _is_package(getattr(module, name))]


def metrics() -> str:
    """The table of every metric, from the table that the package itself reads."""
    rows = [f"| `{metric.name}` | {metric.unit} | {metric.help} |" for metric in palpate.metrics.METRICS.values()]
    return "\n".join(["| metric | unit | meaning |", "|---|---|---|", *rows])


@cache
def homes() -> dict[str, str]:
    """Where each public name is described: "Robot" at "palpate.Robot"."""
    where: dict[str, str] = {}
    for package in PACKAGES:
        for name in public(_module(package)):
            if not isinstance(getattr(_module(package), name), ModuleType):
                where.setdefault(name, f"{package}.{name}")
    return where


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _is_package(value: Any) -> bool:
    return isinstance(value, ModuleType) and not callable(value)


def _is_function(value: Any) -> bool:
    return callable(value) and not inspect.isclass(value)


def _is_table(value: Any) -> bool:
    return not callable(value)


def _entry(package: str, name: str, value: Any) -> str:
    """The directive of a name; one that the front page describes is a reference to it."""
    full = f"{package}.{name}"
    if isinstance(value, ModuleType):  # palpate.tools.derive is a package that can be called
        return f"See :py:func:`palpate.{name}.{name}`: the package itself can be called, ``palpate.{name}(…)``.\n"
    home = homes()[name]
    if home != full and getattr(_module(home.rpartition(".")[0]), name) is value:
        kind = "class" if inspect.isclass(value) else "function"
        return f".. py:{kind}:: {name}\n\n   The same as :py:obj:`{home}`.\n"
    if inspect.isclass(value):
        return f".. autoclass:: {full}\n   :members:\n"
    return f".. autofunction:: {full}\n" if callable(value) else f".. autodata:: {full}\n   :no-value:\n"


def _account(module: ModuleType) -> list[str]:
    lines = (inspect.getdoc(module) or "").splitlines()
    readable(None, "module", module.__name__, module, None, lines)
    return [*lines, ""]


def _first(value: Any) -> str:
    return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")


# ------------------------------------------------------------------------------------------------ docstrings

_SECTIONS = {
    "Args": "Parameters",
    "Attributes": "Attributes",
    "Raises": "Raises",
    "Returns": "Returns",
    "Yields": "Yields",
}
_ENTRY = re.compile(r"    ([\w*., ]+): (.*)")
_CODE = re.compile(r"(``?)([^`]+)\1")
_MARKUP = re.compile(r"([\\*|])|(?<=\w)(_)(?!\w)")


def readable(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Make a docstring readable for Sphinx: code in backticks, equations in blocks, no stray markup (in place)."""
    if isinstance(value, type) and (value.__doc__ or "").startswith(f"{value.__name__}("):
        lines[:] = []  # what a dataclass writes about itself is its signature
    out, block, section = [], False, ""
    for index, line in enumerate(lines):
        if line and line[0] != " ":
            out += [""] if block and lines[index - 1] else []
            block, section = False, _SECTIONS.get(line.removesuffix(":"), "") if line.endswith(":") else ""
            out += [f"**{section}**", ""] if section else [_plain(line)]
        elif section:
            out.append(_of_section(section, line))
        else:
            begins = not block and line.startswith("    ")
            out += ["", "::", ""] if begins else []
            block = block or begins
            out.append(line if block else _plain(line))
    lines[:] = [*out, "", *_settings(value)] if what == "class" else [*out, ""]


def _of_section(section: str, line: str) -> str:
    """A line of a section: "    name: what it is" as an entry of a list, what follows as its continuation."""
    entry = _ENTRY.match(line)
    if entry is None or section in ("Returns", "Yields"):
        return f"  {_plain(line.strip())}" if line.startswith("        ") else _plain(line.strip())
    names = _plain(f"`{entry[1]}`") if section == "Raises" else f"``{entry[1]}``"
    return f"- {names}: {_plain(entry[2])}"


def _settings(value: Any) -> list[str]:
    """The settings of a class that is read from files: what each means, and its unit."""
    fields = {name: field for name, field in getattr(value, "model_fields", {}).items() if field.description}
    told = [f"- ``{name}``: {_plain(_help(field))}" for name, field in fields.items()]
    return ["**Settings**", "", *told, ""] if told else []


def _help(field: Any) -> str:
    unit = (field.json_schema_extra or {}).get("unit", "1")
    return field.description if unit == "1" else f"{field.description} ({unit})"


def _plain(text: str) -> str:
    parts, end = [], 0
    for match in _CODE.finditer(text):
        parts += [_escaped(text[end : match.start()]), _code(match[2])]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return _MARKUP.sub(lambda match: f"\\{match[0]}", text).replace("`", "\\`")


def _code(words: str) -> str:
    """A public name becomes a link to its page; anything else is code."""
    home = homes().get(words.removesuffix("()").removeprefix("palpate."))
    return f":py:obj:`{words} <{home}>`" if home else f"``{words}``"


# ------------------------------------------------------------------------------------------------ signatures


class _Plain:
    """An annotation as a person writes it: without quotes, without the bounds that pydantic checks."""

    def __init__(self, annotation: Any, names: dict[str, Any] | None = None) -> None:
        while get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        text = re.sub(r"[A-Z]\w+", lambda match: _spelled(match[0], (names or {}).get(match[0])), text)
        self.text = _shorter(text)

    def __repr__(self) -> str:
        return self.text


def _shorter(text: str) -> str:
    """Without bounds and words inside a type, and numbers of one kind as a sequence: its settings say how many."""
    before = ""
    while text != before:
        before, text = text, re.sub(r"Annotated\[((?:\w+\[[^\[\]]*\]|[\w.]+)), [^\[\]]*\]", r"\1", text)
        text = re.sub(r"tuple\[((?:\w+\[[^\[\]]*\]|\w+))(?:, \1){2,}\]", r"Sequence[\1]", text)
    return text.replace("NoneType", "None")


def _spelled(name: str, value: Any) -> str:
    """A union that a module gives a name of its own is spelled out: Scenario | str instead of Source."""
    return inspect.formatannotation(value) if isinstance(value, UnionType) else name


def signature(app: Any, what: str, name: str, value: Any, options: Any, given: Any, told: Any) -> Any:
    """The signature of a class or function as a person writes it."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    parameters = list(found.parameters.values())
    if what in ("method", "classmethod") and parameters and parameters[0].name in ("self", "cls"):
        parameters = parameters[1:]
    names = getattr(inspect.unwrap(value), "__globals__", {}) if callable(value) else {}
    shown = [_told(parameter, names) for parameter in parameters]
    result = found.return_annotation
    returned = None if result is found.empty or what == "class" else repr(_Plain(result))
    return str(inspect.Signature(shown)), returned


def _told(parameter: inspect.Parameter, names: dict[str, Any]) -> inspect.Parameter:
    plain = (
        parameter
        if parameter.annotation is parameter.empty
        else parameter.replace(annotation=_Plain(parameter.annotation, names))
    )
    default = parameter.default
    if default is parameter.empty or (len(repr(default)) < 60 and "<" not in repr(default)):
        return plain
    return plain.replace(default=_Dots())


class _Dots:
    """A default too long, or without a written form, to be shown."""

    def __repr__(self) -> str:
        return "..."


def skipped(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what pydantic adds to every class."""
    return True if name.startswith(("model_", "__")) else None


def homed(app: Any, doctree: Any) -> None:
    """A type named by its module, or by its bare name, leads to where it is described, and nowhere by guess."""
    from sphinx.addnodes import pending_xref

    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "py":
            name = node["reftarget"].removeprefix("palpate.")
            known = node["reftarget"].startswith("palpate.") or "." not in name
            node["reftarget"] = homes().get(name.rpartition(".")[2], node["reftarget"]) if known else node["reftarget"]
            node.attributes.pop("refspecific", None)


def connect(app: Any) -> None:
    """Let Sphinx read docstrings and signatures as above."""
    app.connect("autodoc-process-docstring", readable)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skipped)
    app.connect("doctree-read", homed)
