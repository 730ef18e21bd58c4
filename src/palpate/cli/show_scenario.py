"""A scenario as `palpate show` tells it: robot, law with its equation and gains, task, world, clock, bounds."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from palpate.cli.tables import print_table, say

if TYPE_CHECKING:
    from palpate.scenario.model import Scenario


def is_scenario(name: str) -> bool:
    """Whether a name is that of a shipped scenario and of no robot, or of a .toml file that is no table of links."""
    from pathlib import Path

    from palpate.robot import catalogue
    from palpate.scenario.file.load import shipped

    if name in shipped() and name not in catalogue.names():
        return True
    path = Path(name)
    return path.suffix == ".toml" and path.is_file() and "[control]" in path.read_text("utf-8", errors="replace")


def show_scenario(name: str, as_json: bool) -> int:
    """Print a scenario."""
    import json

    from palpate.scenario.file.load import load_scenario

    scenario = load_scenario(name)
    if as_json:
        print(json.dumps(scenario.as_data(), indent=2, ensure_ascii=False, allow_nan=False))
        return 0
    _print(scenario)
    print(f"\nrun it with: palpate run {name}\nchange it:   palpate new mine --from {name}")
    return 0


def _print(scenario: Scenario) -> None:
    import inspect

    from palpate.toml import toml_text
    from palpate.views.pages.equation import equation_of

    heading = f"{scenario.name}: {scenario.description}" if scenario.description else scenario.name
    say(heading)
    print(f"\nlaw: {scenario.control.name}")
    equation = equation_of(inspect.getdoc(type(scenario.control)) or "")
    if equation:
        say(f"  {equation}")
    print()
    print_table(["gain", "value", "unit", "what it is"], _gains(scenario), "llll")
    say(f"\nphysics: {_physics(scenario)}")
    data = {key: value for key, value in scenario.changed().items() if key not in ("name", "description", "control")}
    print(f"\nwhat differs from the defaults:\n\n{textwrap.indent(toml_text(data), '  ').rstrip()}")


def _physics(scenario: Scenario) -> str:
    """Who would move the plant, or why that cannot be told."""
    from palpate.errors import PalpateError
    from palpate.run.assemble.carrier import carrier_before
    from palpate.run.build import build

    try:
        return str(carrier_before(build(scenario)))
    except PalpateError as error:
        return f"not known: {error.args[0]}"


def _gains(scenario: Scenario) -> list[list[str]]:
    from palpate.scenario.fields import settings_of
    from palpate.toml import toml_value

    law: Any = scenario.control
    values = law.model_dump(mode="json", exclude_none=True)
    settings = settings_of(type(law))
    rows = []
    for key, value in values.items():
        chosen = getattr(law, key) != settings[key].default
        if chosen or settings[key].unit != "1":
            text = toml_value(value) if not isinstance(value, dict | list) or _flat(value) else "…"
            rows.append([key, text, "" if settings[key].unit == "1" else settings[key].unit, settings[key].help])
    return rows


def _flat(value: Any) -> bool:
    return not isinstance(value, dict) and not any(isinstance(item, dict) for item in value)
