"""A run as data: the TOML file, typed, checked, overridden and extended."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.scenario.file.load import load_scenario, read_data, scenario_from_data, shipped
    from palpate.scenario.model import Scenario

__all__ = ["Scenario", "load_scenario", "read_data", "scenario_from_data", "shipped"]

_LOAD = ("load_scenario", "read_data", "scenario_from_data", "shipped")
__getattr__, __dir__ = lazy_names(
    __name__, {"Scenario": "palpate.scenario.model", **dict.fromkeys(_LOAD, "palpate.scenario.file.load")}
)
