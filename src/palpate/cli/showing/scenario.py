"""A scenario as `palpate show` tells it: robot, law with its equation and gains, task, world, clock, bounds."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.cli.arm import scenario_shown
from palpate.cli.tables import print_json, print_table, say
from palpate.errors import PalpateError, printable
from palpate.toml import toml_text, toml_value

if TYPE_CHECKING:
    from palpate.scenario.model import Scenario


def is_scenario(name: str) -> bool:
    """Whether a name is that of a shipped scenario and of no robot, or of a .toml file that is no table of links."""
    from palpate.robot import catalogue
    from palpate.scenario.file.folders import shipped

    if name in shipped() and name not in catalogue.names():
        return True
    path = Path(name)
    return path.suffix == ".toml" and path.is_file() and "[control]" in path.read_text("utf-8", errors="replace")


def show_scenario(args: argparse.Namespace) -> int:
    """Print a scenario, with its changes; --code loads the code that it names, for units and help of its settings."""
    scenario = scenario_shown(args)
    if args.code:
        scenario = scenario.with_code()
    elif scenario.code:
        names = printable(", ".join(dict.fromkeys(scenario.code.values())))
        print(f"note: {names}: code that was not run; --code loads it, for units and help", file=sys.stderr)
    if args.json:
        print_json(scenario.as_data())
        return 0
    _print_scenario(scenario)
    print(f"\nrun it with: palpate run {args.robot}\nchange it:   palpate new mine --from {args.robot}")
    return 0


def _print_scenario(scenario: Scenario) -> None:
    from palpate.views.pages.equation import equation_of

    say(f"{scenario.name}: {scenario.description}" if scenario.description else scenario.name)
    print(f"\nlaw: {scenario.control.name}")
    equation = equation_of(inspect.getdoc(type(scenario.control)) or "")
    if equation:
        say(f"  {equation}")
    print()
    print_table(["gain", "value", "unit", "what it is"], _gain_rows(scenario), "llll")
    say(f"\nphysics: {_physics(scenario)}")
    data = {key: value for key, value in scenario.changed().items() if key not in ("name", "description", "control")}
    print(f"\nwhat differs from the defaults:\n\n{textwrap.indent(toml_text(data), '  ').rstrip()}")


def _physics(scenario: Scenario) -> str:
    """Who would move the plant, or why that cannot be told."""
    from palpate.run.assemble.carrier import carrier_before
    from palpate.run.build import build

    try:
        return str(carrier_before(build(scenario)))
    except PalpateError as error:
        return f"not known: {error.args[0]}"


def _gain_rows(scenario: Scenario) -> list[list[str]]:
    from palpate.scenario.fields import settings_of

    law: Any = scenario.control
    values = law.model_dump(mode="json", exclude_none=True)
    settings = settings_of(type(law))
    rows = []
    for key, value in values.items():
        if key not in settings:  # of a class that was not loaded
            rows.append([key, toml_value(value), "", ""])
            continue
        chosen = getattr(law, key) != settings[key].default
        if chosen or settings[key].unit != "1":
            items = [value, *value] if isinstance(value, list) else [value]
            text = "…" if any(isinstance(item, dict) for item in items) else toml_value(value)
            rows.append([key, text, "" if settings[key].unit == "1" else settings[key].unit, settings[key].help])
    return rows
