"""What the target asks of the drives, said before the run."""

import pytest

import palpate as pp
from palpate.metrics import evaluate
from palpate.run.assemble.assemble import assemble
from palpate.run.before.demands import demands, target_path
from palpate.run.before.foresee import Forecast, foresee
from palpate.run.build import build


@pytest.mark.parametrize(
    ("scenario", "changes", "said"),
    [
        ("panda-wall", ["control.stiffness=[1132, 1132, 1132, 57, 57, 57]"], "joint6 13.4 of 12 N·m"),
        ("ur5e-admittance", ["world.driver.servo_bandwidth=10"], "the joint servo (10 rad/s) deflects by"),
        ("ur5e-admittance", ["world.driver.servo_bandwidth=2"], "too slow for the compliant frame"),
        ("panda-wall", [], ""),
        ("panda-wall", ["control.law=admittance"], ""),
        ("ur5e-admittance", ["world.driver={}", "world.plant={}"], ""),
    ],
)
def test_what_the_drives_cannot_give_is_said_before_the_run(scenario: str, changes: list[str], said: str) -> None:
    warnings = demands(target_path(Forecast(assemble(build(pp.load_scenario(scenario, changes))))))[1]
    assert any(said in text for text in warnings) if said else not warnings


def test_design_tells_the_largest_wall_with_the_driver_and_without() -> None:
    """One axis of 3 kg, K = 1000 N/m, ζ = 0.7, one sample late: 1.12 MN/m behind a 100 Hz filter, 3.16 without."""
    data = {
        "name": "axis",
        "robot": {"model": "cartesian2", "parameters": {"mass": [1.0, 2.0], "gravity": 0.0}},
        "control": {"law": "joint-impedance", "stiffness": [1000.0, 1000.0], "damping": [76.68116, 62.6]},
        "world": {
            "surfaces": [
                {"name": "wall", "position": [0.5, 0, 0], "normal": [-1, 0, 0], "stiffness": 1e4, "damping": 0}
            ],
            "driver": {"delay": 1, "cutoff": 100.0},
        },
        "run": {"rate": 1000.0},
    }
    (expected,) = foresee(Forecast(assemble(build(pp.Scenario.model_validate(data)))))
    assert expected.driver == "With the driver: largest stable wall 1.12 MN/m, without 3.16 MN/m."


def test_an_admittance_says_how_far_the_tool_left_its_compliant_frame() -> None:
    slow = pp.load_scenario("ur5e-admittance", ["world.driver.servo_bandwidth=10", "run.duration=8", "metrics={}"])
    trace = pp.simulate(slow)
    numbers = {result.name: result.value for result in evaluate(trace)}
    assert numbers["compliant_distance_max"] == pytest.approx(trace["law.compliant_distance"].max())
    assert trace["law.compliant_distance"].max() > 5e-3
    assert any("from its compliant frame" in text for text in trace.warnings)
