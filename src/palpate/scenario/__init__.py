"""A run as data: the TOML file, typed, checked, overridden and extended."""

from palpate.lazy import lazy_names

_NAMES = {
    "Scenario": "palpate.scenario.model",
    "load_scenario": "palpate.scenario.load",
    "scenario_from_data": "palpate.scenario.load",
    "shipped": "palpate.scenario.load",
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
