"""Facts of the arm's own interface, whatever the scenario: its rate, and whether it adds gravity."""

from __future__ import annotations

from palpate.errors import NotApplicable, PalpateError
from palpate.run.build import build
from palpate.run.run import Run
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.model import Scenario
from palpate.world.driver import PRESETS, DriverFacts


def interface_of(arm: str) -> tuple[str, DriverFacts] | None:
    """The published interface of an arm of the catalogue, with its name; None where none is known."""
    return next(((name, facts) for name, facts in PRESETS.items() if arm in facts.arms), None)


def adds_gravity(run: Run) -> bool:
    """Whether the arm's controller adds gravity to a torque: its maker's interface says so, else the scenario's."""
    known = interface_of(run.robot.name)
    return known[1].adds_gravity if known else run.world.driver.facts.adds_gravity


def at_arm_rate(scenario: Scenario) -> tuple[Scenario, str]:
    """The scenario at the rate of the arm's interface, and a sentence where that is another one than its own.

    The run is repeated at that rate, so that the replay is what the arm will do.

    Raises:
        NotApplicable: the interface's period is no multiple of the physics step.
    """
    run = build(scenario)
    known = interface_of(run.robot.name)
    own = 1.0 / run.clock.control_period
    if known is None or not known[1].rate or abs(own / known[1].rate - 1.0) < 1e-6:
        return scenario, ""
    rate, data = known[1].rate, scenario.as_data()
    clock = {key: value for key, value in data["run"].items() if key not in ("period", "rate")}
    try:
        changed = scenario_from_data({**data, "run": {**clock, "rate": rate}}).with_code()
    except PalpateError as error:
        raise NotApplicable(
            f"{run.robot.name} takes commands at {rate:g} Hz ({known[0]}); the scenario cannot run at that: {error}",
            hint="--set run.timestep=…, or --rate scenario",
        ) from error
    return changed, (
        f"{run.robot.name} takes commands at {rate:g} Hz ({known[0]}): run and exported at that,"
        f" not at the scenario's {own:g} Hz."
    )
