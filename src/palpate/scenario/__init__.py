"""A run as data: the TOML file, typed, checked, overridden and extended."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.scenario.file.folders import shipped as shipped
    from palpate.scenario.file.load import load_scenario as load_scenario, scenario_from_data as scenario_from_data
    from palpate.scenario.file.sources import read_data as read_data
    from palpate.scenario.model import Scenario as Scenario

__getattr__, __dir__, __all__ = lazy_names(__name__)
