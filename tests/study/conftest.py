from __future__ import annotations

import pytest

from palpate.scenario.load import load_scenario
from palpate.scenario.model import Scenario

SHORT = ["run.duration=0.02", "record.stride=5"]


@pytest.fixture(scope="session")
def pendulum() -> Scenario:
    """The cheapest run there is."""
    return load_scenario("pendulum", SHORT)
