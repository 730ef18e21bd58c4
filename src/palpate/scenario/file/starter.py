"""Scenarios to start from, with a comment at each key."""

from __future__ import annotations

from typing import Any

from palpate.control import CartesianImpedance
from palpate.scenario.fields import find
from palpate.scenario.file.load import load_scenario
from palpate.scenario.file.pressing import wall_table
from palpate.scenario.model import Scenario
from palpate.toml import toml_text

_HEAD = """\
# A palpate scenario. SI units throughout.
#   palpate run {file:<19}  runs it
#   palpate explain world.surfaces   explains the keys of a section
#   palpate list                     shows robots, laws and metrics
"""


def starter_text(name: str, source: Scenario | str | dict[str, Any] | None = None) -> str:
    """A scenario that runs as it is; each key with its unit and help, taken from the types.

    Args:
        name: of the scenario.
        source: a scenario, its shipped name or file, or its data; a Panda on a wall if not given.
    """
    if isinstance(source, str):
        source = load_scenario(source)
    data = source.changed() if isinstance(source, Scenario) else _starter() if source is None else source
    data = {"name": name, **{key: value for key, value in data.items() if key not in ("name", "extends")}}

    def comment(path: tuple[str | int, ...]) -> str:
        setting = find(path, data)
        if setting is None:
            return ""
        unit = f" [{setting.unit}]" if setting.unit != "1" else ""
        return f"{setting.help}{unit}"

    return _HEAD.format(file=f"{name}.toml") + "\n" + toml_text(data, comment)


def _starter() -> dict[str, Any]:
    return {
        "description": "A Panda presses on a wall.",
        "robot": {"model": "panda"},
        "control": {"law": CartesianImpedance.name, "stiffness": [400, 400, 400, 20, 20, 20], "damping_ratio": 1.0},
        "reference": {"kind": "line", "offset": [0.085, 0, 0], "start": 0.2, "duration": 1.5},
        "world": {"surfaces": [wall_table([0.35, 0, 0], [-1, 0, 0], 10000, 100)]},
        "run": {"duration": 4.0, "timestep": 0.001, "rate": 1000, "seed": 0},
        "metrics": {"force_peak": {"most": 25}},
    }
