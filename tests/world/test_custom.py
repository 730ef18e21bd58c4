"""Sensors of one's own: one class beside the scenario, plain or compiled, everywhere a shipped one goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.scenario.test_user_code import Folder

import palpate as pp
from palpate import user_code
from palpate.cli.main import main
from palpate.errors import InvalidInput, ScenarioError, StudyError
from palpate.module_copies import texts_of
from palpate.world.sensing.noise import normal
from palpate.world.sensing.sensor import SENSORS, Sensor

SHORT = ["run.duration=0.4", "reference.start=0.05", "reference.duration=0.3"]
CODE = '''
from typing import ClassVar
import numpy as np
from palpate.config import setting
from palpate.control import PlainLaw
from palpate.control.law import Law, NoMemory, Tick, law_kernel
from palpate.engine.records import Record, Vector, sized
from palpate.metrics import Metric
from palpate.world import Sensor
from palpate.world.sensing.custom import Reading, Truth, sensor_kernel

class Plain(Sensor):
    """Distance of the tool from a plane, and how fast it shrinks."""
    unit: ClassVar[tuple[str, ...]] = ("m", "m/s")
    labels: ClassVar[tuple[str, ...]] = ("gap", "rate")
    wall: float = setting(0.35, "m", "where the plane is")

    def memory(self, robot):
        return {"calls": 0, "gap": 0.0}

    def read(self, truth, memory):
        gap, before = self.wall - truth.position[0], memory["gap"]
        rate = (gap - before) / truth.period if memory["calls"] else 0.0
        memory["calls"] += 1
        memory["gap"] = gap
        return gap, rate

class Gains(Record):
    wall: float

class Memory(Record):
    calls: int = 0
    gap: float = 0.0

@sensor_kernel
def _read(x: Truth, k: Gains, m: Memory, out: Reading) -> None:
    gap = k.wall - x.position[0]
    out.values[0] = gap
    out.values[1] = (gap - m.gap) / x.period if m.calls > 0 else 0.0
    m.calls += 1
    m.gap = gap

class Fast(Plain):
    kernel = _read

    def gains(self, robot):
        return Gains(wall=self.wall)

    def memory(self, robot):
        return Memory()

class Wrong(Sensor):
    def read(self, truth, memory):
        return truth.position / nothing

class Short(Plain):
    def read(self, truth, memory):
        return 1.0

class NotANumber(Sensor):
    def read(self, truth, memory):
        return np.nan if truth.t > 0.1 else 0.0

class Careful(PlainLaw):
    """Springs at the joints that are softer near the wall."""
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "gravity")
    soft: float = setting(50.0, "N·m/rad", "near the wall", ge=0)

    def decide(self, tick, memory):
        k = self.soft if tick.seen.values[0] < 0.03 else 300.0
        return {"spring": k * (tick.target.q - tick.q), "damper": -20.0 * tick.v, "gravity": tick.bias}

class LawGains(Record):
    soft: float

class Terms(Record):
    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    gravity: Vector = sized("nv")

@law_kernel
def _decide(x: Tick, k: LawGains, m: NoMemory, out: Terms) -> None:
    stiffness = k.soft if x.seen.values[0] < 0.03 else 300.0
    for i in range(x.v.size):
        out.spring[i] = stiffness * (x.target.q[i] - x.q[i])
        out.damper[i] = -20.0 * x.v[i]
        out.gravity[i] = x.bias[i]

class FastCareful(Law):
    """The same, compiled."""
    kernel = _decide
    memoryless: ClassVar[bool] = True
    soft: float = setting(50.0, "N·m/rad", "near the wall", ge=0)

    def gains(self, robot):
        return LawGains(soft=self.soft)

nearest = Metric("nearest", "m", "smallest gap", lambda trace: float(trace["sensor.eye"][:, 0].min()))
'''
TABLE = '[world.sensors.custom.eye]\nkind = "MODULE:{kind}"\n{more}'
LAW = '[control]\nlaw = "MODULE:{law}"\n'
BASE = "panda-joint-impedance"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_code, "_allowed", "all")
    return Folder(tmp_path)


def written(folder: Folder, kind: str = "Fast", law: str = "", more: str = "") -> str:
    text = (LAW.format(law=law) if law else "") + TABLE.format(kind=kind, more=more)
    return folder.write(CODE, text, law="", base=BASE)


def trace_of(folder: Folder, *given: str, **chosen: str) -> pp.Trace:
    return pp.simulate(pp.load_scenario(written(folder, **chosen), [*SHORT, *given]))


def test_a_sensor_reads_what_is_true_and_the_trace_has_it_as_a_channel(folder: Folder) -> None:
    trace = trace_of(folder, kind="Plain")
    gap = 0.35 - trace["tool_position"][:, 0]
    assert np.ptp(gap) > 0.01
    assert np.array_equal(trace["sensor.eye"][:, 0], gap)
    assert np.allclose(trace["sensor.eye"][1:, 1], np.diff(gap) / 1e-3, rtol=0, atol=1e-9)
    channel = trace.channels["sensor.eye"]
    assert channel.labels == ("gap", "rate")
    assert channel.unit == ("m", "m/s")
    assert channel.help == "Distance of the tool from a plane, and how fast it shrinks."


@pytest.mark.parametrize("law", ["", "Careful", "FastCareful"])
def test_a_compiled_sensor_is_its_plain_twin_bit_for_bit(folder: Folder, law: str) -> None:
    plain, fast = (trace_of(folder, kind=kind, law=law, more="noise = 1e-3\ndelay = 4\n") for kind in ("Plain", "Fast"))
    assert np.array_equal(plain["sensor.eye"], fast["sensor.eye"])
    assert np.array_equal(plain["q"], fast["q"])


def test_what_a_law_does_follows_its_sensor(folder: Folder) -> None:
    """The compiled law and the plain one agree, and without the sensor's word the arm would go elsewhere."""
    law = {"kind": "Fast", "more": ""}
    plain, fast = trace_of(folder, **law, law="Careful"), trace_of(folder, **law, law="FastCareful")
    assert np.allclose(plain["q"], fast["q"], rtol=0, atol=1e-12)
    near = fast["sensor.eye"][:, 0] < 0.03
    assert 0 < near.sum() < len(near)
    stiffness = fast["tau.spring"][:, 0] / (fast["target_q"][:, 0] - fast["q"][:, 0] + 1e-300)
    moved = abs(fast["target_q"][:, 0] - fast["q"][:, 0]) > 1e-4
    assert np.allclose(stiffness[near & moved], 50.0)
    assert np.allclose(stiffness[~near & moved], 300.0)


def test_noise_and_delay_are_those_of_the_other_sensors(folder: Folder) -> None:
    """value(k) = true(k − delay) + noise · normal(seed, stream, k − delay)."""
    trace = trace_of(folder, more="noise = 0.01\ndelay = 3\n")
    true = 0.35 - trace["tool_position"][:, 0]
    noise = np.array([0.01 * normal(0, 5000, k) for k in range(len(true))])
    expected = true + noise
    assert np.allclose(trace["sensor.eye"][3:, 0], expected[:-3], rtol=0, atol=1e-15)
    assert np.array_equal(trace["sensor.eye"][:3, 0], np.repeat(trace["sensor.eye"][0, 0], 3))
    assert trace_of(folder, more="noise = 0.01\ndelay_time = 0.003\n")["sensor.eye"].tolist() == (
        trace["sensor.eye"].tolist()
    )


def test_two_sensors_stand_one_after_the_other_and_have_noise_of_their_own(folder: Folder) -> None:
    second = '[world.sensors.custom.other]\nkind = "MODULE:Plain"\nnoise = 0.01\nwall = 0.5\n'
    trace = trace_of(folder, more=f"noise = 0.01\n{second}")
    assert abs(np.corrcoef(np.diff(trace["sensor.eye"][:, 0]), np.diff(trace["sensor.other"][:, 0]))[0, 1]) < 0.2
    assert np.mean(trace["sensor.other"][:, 0] - trace["sensor.eye"][:, 0]) == pytest.approx(0.15, abs=5e-3)


def test_the_loop_goes_on_under_exact_contact(folder: Folder) -> None:
    text = CODE.replace("truth.position[0]", "truth.position[1]")
    scenario = folder.write(text, TABLE.format(kind="Plain", more=""), law="", base="planar2-pinned")
    trace = pp.simulate(pp.load_scenario(scenario, ["run.duration=0.01"]))
    assert np.allclose(trace["sensor.eye"][:, 0], 0.35 - trace["tool_position"][:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["Plain", "Fast"])
def test_a_sweep_in_two_processes_and_in_one_gives_the_same(folder: Folder, kind: str) -> None:
    scenario = pp.load_scenario(written(folder, kind, "FastCareful", "noise = 1e-3\n"), SHORT)
    vary = {"world.sensors.custom.eye.wall": "uniform(0.3, 0.36)", "run.seed": "0, 1, 2"}
    metrics = [f"{folder.module}:nearest", "effort"]
    one, two = (pp.sweep(scenario, vary, runs=6, workers=n, metrics=metrics) for n in (0, 2))
    for name in metrics:
        assert np.array_equal(one[name], two[name])
    assert len(set(one[metrics[0]])) == 6
    assert one[metrics[0]][4] == one.trace(4)["sensor.eye"][:, 0].min()


def test_a_machine_without_the_file_gets_its_text(folder: Folder) -> None:
    metric = f"{folder.module}:nearest"
    from palpate.tools.study.planning import make_plan
    from palpate.tools.study.running.pool import LocalPool
    from palpate.tools.study.running.worker import Job, RunTask, run_chunk

    plan = make_plan(written(folder), {"run.seed": "0,1"}, SHORT, runs=2, metrics=[metric])
    here = Job(plan.scenario, plan.metrics, files=plan.files, contents=texts_of(plan.scenario["modules"]))
    elsewhere = f"/no/such/folder/{folder.module}.py"
    scenario = {**here.scenario, "modules": {folder.module: elsewhere}}
    there = Job(scenario, plan.metrics, files={elsewhere: "0"}, contents={elsewhere: here.contents[str(folder.file)]})
    pool = LocalPool(1)
    try:
        [(_, results)] = pool.results(there, [[RunTask(0, ())]])
    finally:
        pool.close()
    assert results[0].row[metric] == run_chunk(here, [RunTask(0, ())])[0].row[metric]


def test_run_design_study_tune_report_and_compare_take_it(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [word for text in SHORT for word in ("--set", text)]
    scenario, metric = written(folder, law="FastCareful"), f"{folder.module}:nearest"
    free = [f"metrics.{name}=" for name in ("joint_error_max", "position_final_error", "saturation_time")]
    bounds = [word for text in [*free, f'metrics."{metric}".least=-1'] for word in ("--set", text)]
    assert main(["run", scenario, *sets, *bounds, "--out", "a"]) == 0
    assert main(["run", scenario, *sets, *bounds, "--set", "control.soft=20", "--out", "b", "--no-report"]) == 0
    assert metric in capsys.readouterr().out
    assert main(["report", "a", "--out", "again.html"]) == 0
    assert "sensor.eye" in Path("again.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["compare", "a", "b", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["metrics"][metric]["values"]
    assert first != second
    assert main(["design", scenario, *sets, "--poles"]) in (0, 3)
    assert "pole" in capsys.readouterr().out
    some = ["--runs", "3", "--workers", "0", "--no-report"]
    assert main(["sweep", scenario, "--uncertain", *sets, *bounds, *some, "--no-map", "--out", "studied"]) in (0, 1)
    pytest.importorskip("optuna")
    over = ["--over", "control.soft=20:80", "--minimise", metric]
    assert main(["tune", scenario, *sets, *bounds, *some, *over, "--out", "tuned"]) in (0, 1)


def test_a_sensor_that_no_law_reads_is_recorded_and_said(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", written(folder), "--no-report", "--set", "run.duration=0.01"]
    assert main(words) in (0, 1)
    said = capsys.readouterr().err
    assert "recorded only: joint-impedance reads no" in said
    assert f"this scenario runs code from {folder.module}.py" in said
    assert main([*words, "--no-code"]) == 2


@pytest.mark.parametrize(
    ("kind", "more", "told"),
    [
        ("Plain", "nosie = 1.0\n", "nosie"),
        ("Plain", "noise = -1.0\n", "noise"),
        ("Nowhere", "", "has no 'Nowhere'"),
        ("Gains", "", "a Sensor is needed"),
        ("Plain", "delay = 1\ndelay_time = 0.1\n", "not both"),
    ],
)
def test_a_mistake_in_the_scenario_is_told(folder: Folder, kind: str, more: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        pp.load_scenario(written(folder, kind, more=more)).with_code()


def test_a_bad_name_a_missing_kind_and_too_many_numbers_are_told(folder: Folder) -> None:
    with pytest.raises(ScenarioError, match="the key 'kind' is missing; module:Class"):
        pp.load_scenario(folder.write(CODE, "[world.sensors.custom.eye]\nnoise = 1\n", law="", base=BASE))
    text = '[world.sensors.custom."a b"]\nkind = "MODULE:Fast"\n'
    with pytest.raises(ScenarioError, match=r"a sensor's.*letters"):
        pp.load_scenario(folder.write(CODE, text, law="", base=BASE))
    many = "".join(f'[world.sensors.custom.s{k}]\nkind = "MODULE:Fast"\n' for k in range(17))
    with pytest.raises(InvalidInput, match=r"34 numbers.*most 32"):
        pp.simulate(pp.load_scenario(folder.write(CODE, many, law="", base=BASE), SHORT))


def test_a_mistake_in_the_class_is_told_with_file_and_line(folder: Folder) -> None:
    line = CODE.splitlines().index("        return truth.position / nothing") + 1
    with pytest.raises(InvalidInput, match=rf"{folder.module}.py, line {line}: NameError"):
        trace_of(folder, kind="Wrong")
    with pytest.raises(InvalidInput, match=r"sensor 'eye' must read 2 number\(s\), got float64 of shape \(\)"):
        trace_of(folder, kind="Short")
    late = trace_of(folder, kind="NotANumber")
    assert late.outcome.kind != "completed"
    assert "the sensor raised InvalidInput: sensor 'eye' read [nan]" in str(late.outcome)


@pytest.fixture
def registered() -> Iterator[None]:
    yield
    SENSORS.registered.clear()


def test_a_sensor_of_a_notebook_is_registered(registered: None) -> None:
    @SENSORS.register
    class Height(Sensor):
        """Height of the tool."""

        def read(self, truth: object, memory: object) -> float:
            return float(truth.position[2])  # pyright: ignore[reportAttributeAccessIssue]

    scenario = pp.load_scenario(BASE, [*SHORT, 'world.sensors.custom.up.kind="height"'])
    trace = pp.simulate(scenario)
    assert np.array_equal(trace["sensor.up"], trace["tool_position"][:, 2])
    with pytest.raises(StudyError, match="height"):
        pp.sweep(scenario, {"run.seed": "0,1"}, runs=2, workers=2)
