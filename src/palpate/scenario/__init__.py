"""A run as data: the TOML file, typed, checked, overridden and extended."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.scenario.file.load import (
        load_scenario as load_scenario,
        read_data as read_data,
        scenario_from_data as scenario_from_data,
        shipped as shipped,
    )
    from palpate.scenario.model import Scenario as Scenario

__getattr__, __dir__, __all__ = lazy_names(__name__)
