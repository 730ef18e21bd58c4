from __future__ import annotations

import pytest

from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario

SHORT = ["run.duration=0.02", "record.stride=5"]


@pytest.fixture(scope="session")
def pendulum() -> Scenario:
    """The cheapest run there is; a little damping, so that its effort grows with the angle it starts from."""
    return load_scenario("pendulum", [*SHORT, "control.damping=0.1"])
