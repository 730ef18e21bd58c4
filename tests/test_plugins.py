"""Tables of laws, metrics and the rest: what is shipped, and what installed packages add by entry points."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import palpate as pp
from palpate.cli.main import COMMANDS, main
from palpate.control import LAWS, JointImpedance
from palpate.control.references import REFERENCES
from palpate.control.references.reference import ReferenceSettings
from palpate.errors import InvalidInput, StudyError
from palpate.metrics import METRICS, evaluate
from palpate.plugins import Table
from palpate.scenario.model import law_class
from palpate.world.sensing.sensor import SENSORS

CODE = """
from palpate.control.references import Hold
from palpate.metrics import Metric
samples = Metric("samples", "1", "how many samples there are", lambda trace: float(len(trace.time)))
class Wait(Hold):
    "Waits."
from palpate.world import Sensor
class Height(Sensor):
    "Height of the tool."
    def read(self, truth, memory):
        return truth.position[2]
def add_parser(subparsers):
    subparsers.add_parser("greet", help="says hello")
def run(args):
    print("hello")
    return 0
"""
ENTRIES = """
[palpate.metrics]
samples = added_things:samples
other = added_things:samples
bounces = added_things:samples
[palpate.references]
wait = added_things:Wait
[palpate.sensors]
height = added_things:Height
[palpate.commands]
greet = added_things
broken = added_things_that_are_not_there
[palpate.laws]
broken-law = added_things:NoSuchLaw
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with entry points, and tables that have read nothing yet."""
    (tmp_path / "added_things.py").write_text(CODE)
    info = tmp_path / "added_things-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: added-things\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    for table in (LAWS, METRICS, REFERENCES, SENSORS, COMMANDS):
        monkeypatch.setattr(table, "_entries", None)
        monkeypatch.setattr(table, "_loaded", {})
    return tmp_path


def test_a_metric_of_another_package_is_found_by_its_name(installed: Path) -> None:
    with pytest.warns(UserWarning, match=r"bounces = added_things:samples.*taken.*palpate"):
        assert METRICS["samples"].unit == "1"
    assert METRICS["bounces"].name == "bounces"


def test_one_that_will_not_do_is_left_out_with_a_warning_that_names_it(installed: Path) -> None:
    with pytest.warns(UserWarning, match="left out") as seen:
        names = list(METRICS)
    assert "samples" in names
    assert "other" not in names
    assert any(re.search(r"other = added_things:samples.*left.*InvalidInput.*calls.*'samples'", str(w.message))
               for w in seen)  # fmt: skip
    with pytest.warns(UserWarning, match=r"broken-law = added_things:NoSuchLaw.*left.*AttributeError"):
        assert "broken-law" not in LAWS
    assert "broken-law" not in LAWS
    assert "as-printed" in LAWS


def test_a_reference_and_a_command_of_another_package_are_used(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert REFERENCES["wait"].__doc__ == "Waits."
    assert main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_help_names_added_commands_and_loads_none(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.modules.pop("added_things", None)
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert ", greet" in out
    assert ", broken" in out
    assert "added_things" not in sys.modules


def test_a_broken_command_is_refused_with_a_warning(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match=r"broken = added_things_that_are_not_there.*left.*ModuleNotFoundError"):
        assert main(["broken"]) == 2
    assert "unknown command 'broken'" in capsys.readouterr().err


def test_a_shipped_name_reads_no_entry_points(installed: Path) -> None:
    assert METRICS["bounces"].unit == "1"
    assert "panda" not in LAWS.shipped
    assert "passive" in LAWS
    assert LAWS._entries is None
    assert METRICS._entries is None


def test_a_table_is_a_mapping_of_what_is_shipped_first() -> None:
    table: Table[int] = Table("palpate.nothing", {"b": 2, "a": 1})
    assert dict(table) == {"b": 2, "a": 1}
    assert len(table) == 2
    assert table.get("c") is None
    with pytest.raises(KeyError):
        table["c"]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables in which nothing is registered, now and afterwards."""
    for table in (LAWS, METRICS, REFERENCES):
        monkeypatch.setattr(table, "registered", {})


def test_what_a_notebook_registers_is_used_like_what_is_shipped(notebook: None) -> None:
    @pp.control.register
    class SoftJoints(JointImpedance):
        """Softer."""

    @METRICS.register
    def peak_torque(trace: pp.Trace) -> float:
        """Largest torque."""
        return abs(trace["tau"]).max()

    @REFERENCES.register
    class Stay(ReferenceSettings):
        """Stays."""

        def fill(self, targets: Any, times: Any, robot: Any, q_start: Any) -> None:
            """Nothing moves."""

    assert JointImpedance.name == "joint-impedance"
    assert law_class("soft-joints") is SoftJoints
    assert list(LAWS)[len(LAWS.shipped)] == "soft-joints"
    changes = ["control.law=soft-joints", "reference.kind=stay", "run.duration=0.02", "metrics.peak_torque.most=500"]
    scenario = pp.load_scenario("panda-joint-impedance", changes)
    trace = pp.simulate(scenario)
    unset = [f"control.{key}=" for key in ("stiffness", "damping_ratio", "feed_forward")]
    twin = pp.load_scenario("panda-joint-impedance", [*unset, "reference.kind=hold", "run.duration=0.02"])
    assert (trace["tau"] == pp.simulate(twin)["tau"]).all()
    results = {result.name: result for result in evaluate(trace, scenario.metrics)}
    assert results["peak_torque"].value == abs(trace["tau"]).max()
    assert results["peak_torque"].passed
    found = pp.sweep(scenario, {"world.plant.mass_scale": [1, 1.1]})
    assert found["peak_torque"][0] == results["peak_torque"].value
    with pytest.raises(StudyError, match=r"'soft-joints'.*registered"):
        pp.sweep(scenario, {"world.plant.mass_scale": [1, 1.1]}, workers=2)


def test_a_registered_name_can_be_replaced_and_a_shipped_one_cannot(notebook: None) -> None:
    class Mine(JointImpedance):
        """One."""

    first = LAWS.register(Mine)
    again = LAWS.register(type("Mine", (JointImpedance,), {"__module__": __name__}))
    assert law_class("mine") is again
    assert again is not first
    with pytest.raises(InvalidInput, match=r"the name 'joint-impedance'.*palpate's own"):
        LAWS.register(JointImpedance)
    with pytest.raises(InvalidInput, match=r"Law.*needed"):
        LAWS.register(type("Other", (), {}))


def test_a_sensor_of_an_installed_package_is_named_in_a_scenario(installed: Path) -> None:
    assert list(SENSORS) == ["height"]
    trace = pp.simulate(pp.load_scenario("pendulum", ["world.sensors.custom.up.kind=height", "run.duration=0.1"]))
    assert (trace["sensor.up"] == trace["tool_position"][:, 2]).all()
