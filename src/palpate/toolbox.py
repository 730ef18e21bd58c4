"""The tools beside the core: folders of `palpate.tools`, each of which can be taken away.

A tool is a package with a file `tool.toml`, which says what the package brings along. The core finds tools by these
files and loads their modules when a command, a plant or an option of theirs is asked for; it never imports one by name.

    about = "many runs: sweeps with a guarantee, maps, tuning"
    status = "stable"
    [commands]
    sweep = "commands.sweep"
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Literal

from palpate.errors import MissingTool

Status = Literal["stable", "experimental", "frozen"]
_FOLDER = Path(__file__).parent / "tools"


@dataclass(frozen=True)
class Tool:
    """A tool and what it adds to the core.

    Attributes:
        name: of its folder.
        about: one line for people.
        status: stable: kept as it is, changes are announced; experimental: may change with any version; frozen: kept
            working, nothing is added.
        commands: command → module with `add_parser(subparsers)` and `run(args)`, relative to the tool's package.
        options: command of the core or of another tool → module that adds options to it: `add_options(parser)` and
            `run(args, command)`, which calls the command itself where its options were not given.
        plants: kind of contact → "module:class" of the plant that moves a run with such contact.
        around: section of a scenario → "module:class" of what stands around the law (`palpate.control.around`).
        scenarios: package of the tool whose .toml files are scenarios that go by their names.
        figures: "module:function" that makes figures of a trace for a report.
    """

    name: str
    about: str
    status: Status
    commands: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    plants: Mapping[str, str] = field(default_factory=dict)
    around: Mapping[str, str] = field(default_factory=dict)
    scenarios: str = ""
    figures: str = ""

    @property
    def package(self) -> str:
        """Its dotted name."""
        return f"palpate.tools.{self.name}"


@cache
def installed() -> Mapping[str, Tool]:
    """The tools that are there, by name."""
    files = sorted(_FOLDER.glob("*/tool.toml"))
    tools = [Tool(file.parent.name, **tomllib.loads(file.read_text(encoding="utf-8"))) for file in files]
    return MappingProxyType({tool.name: tool for tool in tools})


def commands() -> dict[str, str]:
    """Commands of tools, each with the dotted name of its module."""
    return {name: f"{tool.package}.{at}" for tool in installed().values() for name, at in tool.commands.items()}


def options_of(command: str) -> Iterator[ModuleType]:
    """The modules that add options to a command."""
    for tool in installed().values():
        if command in tool.options:
            yield importlib.import_module(f"{tool.package}.{tool.options[command]}")


def plant_class(kind: str) -> Any:
    """The class that moves a run with contact of a kind.

    Raises:
        MissingTool: no tool that is there does.
    """
    for tool in installed().values():
        if kind in tool.plants:
            return _named(tool, tool.plants[kind])
    raise MissingTool(f"{kind} contact needs a tool of palpate that is not installed")


def around_class(section: str) -> Any:
    """The class of what stands around a law, by the section of a scenario that holds its settings.

    Raises:
        MissingTool: no tool that is there brings it.
    """
    for tool in installed().values():
        if section in tool.around:
            return _named(tool, tool.around[section])
    raise MissingTool(f"a section [{section}] needs a tool of palpate that is not installed")


def around_sections() -> list[str]:
    """Sections of a scenario that tools bring along."""
    return [section for tool in installed().values() for section in tool.around]


def scenario_packages() -> dict[str, str]:
    """Packages of tools whose .toml files are scenarios, by the name of the tool."""
    return {tool.name: f"{tool.package}.{tool.scenarios}" for tool in installed().values() if tool.scenarios}


def figure_makers() -> Iterator[Any]:
    """The functions of tools that make figures of a trace."""
    for tool in installed().values():
        if tool.figures:
            yield _named(tool, tool.figures)


def _named(tool: Tool, address: str) -> Any:
    """The object at "module:name" of a tool."""
    module, name = address.split(":")
    return getattr(importlib.import_module(f"{tool.package}.{module}"), name)
