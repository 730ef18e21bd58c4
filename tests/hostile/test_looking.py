"""Looking at a run, a scenario or a model of somebody else runs nothing of theirs; running says so before it does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from moments import ENDLESS
from palpate.errors import InvalidInput, ModelError, PalpateError, ScenarioError
from palpate.tools.study.sweeps import open_sweep
from palpate.user_code import allowing

_NUMBERS = count()
CODE = '''
import pathlib
pathlib.Path(__file__).with_name("marker").touch()
from typing import ClassVar
from palpate.config import setting
from palpate.control import PlainLaw
from palpate.control.references.reference import ReferenceSettings
from palpate.world import Sensor

class Mine(PlainLaw):
    """Springs: tau = K (q_d - q) + g."""
    terms: ClassVar[tuple[str, ...]] = ("spring", "gravity")
    memoryless: ClassVar[bool] = True
    stiffness: float = setting(50.0, "N·m/rad", "K of every joint")
    def decide(self, tick, memory):
        return {"spring": self.stiffness * (tick.target.q - tick.q), "gravity": tick.gravity}

class Stay(ReferenceSettings):
    "Stays."
    def fill(self, targets, times, robot, q_start):
        pass

class Clock(Sensor):
    "Time."
    def read(self, truth, memory):
        return truth.t

def peak(trace):
    "largest torque"
    return abs(trace["tau"]).max()
'''


class Folder:
    """A run of a scenario with a law, a reference, a sensor and a metric of its own; `marker` tells that they ran."""

    def __init__(self, path: Path) -> None:
        self.path, self.module = path, f"theirs_{os.getpid()}_{next(_NUMBERS)}"
        (path / f"{self.module}.py").write_text(CODE)
        self.scenario, self.run = path / "theirs.toml", path / "run"
        self.scenario.write_text(
            'name = "theirs"\n[robot]\nmodel = "planar2"\n[run]\nduration = 0.02\n'
            f'[control]\nlaw = "{self.module}:Mine"\nstiffness = 77\n[reference]\nkind = "{self.module}:Stay"\n'
            f'[world.sensors.custom.clock]\nkind = "{self.module}:Clock"\n[metrics."{self.module}:peak"]\nmost = 500\n'
        )

    @property
    def marked(self) -> bool:
        """Whether the code ran; forgotten once it is told."""
        there = (self.path / "marker").exists()
        (self.path / "marker").unlink(missing_ok=True)
        return there

    def palpate(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command in a process of its own, in this folder."""
        command = [sys.executable, "-m", "palpate", *words]
        environment = {**os.environ, **(env or {})}
        return subprocess.run(command, cwd=self.path, capture_output=True, text=True, timeout=ENDLESS, env=environment)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    folder = Folder(tmp_path_factory.mktemp("theirs"))
    done = folder.palpate("run", "theirs.toml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    assert folder.marked  # the control of the tests below
    assert "runs code" in done.stderr
    return folder


@pytest.fixture
def folder(made: Folder) -> Folder:
    assert not made.marked
    return made


LOOKS = {
    "report": ["report", "run", "--out", "r.html"],
    "report of a trace": ["report", "run/trace.parquet", "--out", "r.html"],
    "compare": ["compare", "run", "run", "--out", "c.html"],
    "compare --json": ["compare", "run", "run", "--out", "c.html", "--json"],
    "show": ["show", "theirs.toml"],
    "show --json": ["show", "theirs.toml", "--json"],
    "show of a run": ["show", "run/scenario.toml"],
    "replay": ["report", "run", "--replay", "--out", "p.html"],
    "list runs": ["list", "runs"],
    "list": ["list"],
    "explain": ["explain", "control"],
    "new --from": ["new", "mine", "--from", "theirs.toml"],
}


@pytest.mark.parametrize("words", LOOKS.values(), ids=list(LOOKS))
def test_looking_runs_nothing(folder: Folder, words: list[str]) -> None:
    (folder.path / "mine.toml").unlink(missing_ok=True)
    done = folder.palpate(*words)
    assert done.returncode == 0, done.stderr
    assert not folder.marked
    assert "runs code from" not in done.stderr
    assert done.stderr.count("--code") <= 1  # one note


@pytest.mark.parametrize("words", [LOOKS["report"], LOOKS["compare"], LOOKS["show"], LOOKS["new --from"]])
def test_looking_runs_the_code_where_it_is_asked_for_and_says_so(folder: Folder, words: list[str]) -> None:
    (folder.path / "mine.toml").unlink(missing_ok=True)
    done = folder.palpate(*words, "--code")
    assert done.returncode == 0, done.stderr
    assert folder.marked
    assert "runs code" in done.stderr


def test_an_own_metric_is_shown_as_recorded_with_its_bound_and_one_note(folder: Folder) -> None:
    name = f"{folder.module}:peak"
    recorded = json.loads((folder.run / "metrics.json").read_text())[name]
    done = folder.palpate("compare", "run", "run", "--out", "c.html", "--json")
    assert json.loads(done.stdout)["metrics"][name]["values"] == [recorded["value"]] * 2
    assert done.stderr.count("note:") == 1
    assert folder.palpate("report", "run", "--out", "r.html").returncode == 0
    page = (folder.path / "r.html").read_text()
    assert "run recorded" in page
    assert "largest torque" in page


@pytest.mark.parametrize(
    "damage", ['{"x', "[]", '{"NAME": 3}', '{"NAME": {"value": "1e3"}}', '{"NAME": {"value": true}}']
)
def test_a_damaged_record_costs_the_own_metric_only(folder: Folder, damage: str, tmp_path: Path) -> None:
    shutil.copytree(folder.run, tmp_path / "run")
    (tmp_path / "run" / "metrics.json").write_text(damage.replace("NAME", f"{folder.module}:peak"))
    (tmp_path / "run" / "scenario.toml").write_bytes(b"\xff")  # nor is this needed
    done = folder.palpate("report", str(tmp_path / "run"), "--out", str(tmp_path / "r.html"))
    assert done.returncode == 0, done.stderr
    assert "as the run recorded it" not in (tmp_path / "r.html").read_text()
    assert not folder.marked


def test_loading_a_scenario_loads_data_and_running_it_loads_its_code(folder: Folder) -> None:
    scenario = pp.load_scenario(folder.scenario)
    assert scenario.control.name == f"{folder.module}:Mine"
    assert scenario.as_data()["control"]["stiffness"] == 77
    assert pp.load_scenario(folder.scenario) == scenario
    assert scenario.replace(run__duration=0.01).run.duration == 0.01
    assert "77" in scenario._repr_html_()
    trace = pp.load_trace(folder.run / "trace.parquet")
    assert "completed" in trace._repr_html_()
    results = {result.name: result for result in pp.metrics.evaluate(trace)}
    assert results[f"{folder.module}:peak"].value is None
    assert not folder.marked
    typed = scenario.with_code()
    assert folder.marked
    assert typed.control.stiffness == 77  # pyright: ignore[reportAttributeAccessIssue]
    assert pp.simulate(scenario).outcome.ok
    assert {r.name: r for r in pp.metrics.evaluate(trace)}[f"{folder.module}:peak"].value is not None


def test_a_run_named_by_python_alone_keeps_its_law_as_data(tmp_path: Path) -> None:
    scenario = pp.load_scenario(Folder(tmp_path).scenario)
    run = pp.Run(pp.load_robot("planar2"), scenario.control, clock=pp.world.Clock(duration=0.01))
    with pytest.raises(InvalidInput, match="with_code"):
        pp.simulate(run)


@pytest.mark.parametrize("command", ["run", "design", "export", "sweep", "sweep --uncertain", "tune", "serve"])
def test_no_code_refuses_before_anything_runs(folder: Folder, command: str) -> None:
    more = {
        "run": ["--out", "x"], "export": ["--out", "x"], "sweep": ["--vary", "control.stiffness=60,70", "--out", "x"],
        "sweep --uncertain": ["--runs", "2", "--no-map", "--out", "x"],
        "tune": ["--over", "control.stiffness=50:60", "--minimise", "effort", "--out", "x"],
    }  # fmt: skip
    done = folder.palpate(*command.split(), "theirs.toml", *more.get(command, []), "--no-code")
    assert done.returncode == 2, done.stderr
    assert "--no-code" in done.stderr
    assert not folder.marked
    assert not (folder.path / "x").exists()


def test_a_sweep_of_somebody_else_is_read_without_its_code_and_goes_on_only_with_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    words = ["sweep", "theirs.toml", "--vary", "control.stiffness=60,70", "--workers", "0", "--out", "s"]
    assert folder.palpate(*words, "--no-report").returncode == 0
    assert folder.marked
    sweep = open_sweep(tmp_path / "s")
    assert len(sweep[f"{folder.module}:peak"]) == 2
    assert sweep._repr_html_()
    assert not folder.marked


@pytest.mark.parametrize("command", ["run", "design", "show --code"])
def test_an_installed_module_is_announced_before_it_is_imported(command: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "installed_theirs.py").write_text(
        "import sys\nprint('IMPORTED', file=sys.stderr, flush=True)\n" + CODE
    )
    text = folder.scenario.read_text().replace(folder.module, "installed_theirs")
    folder.scenario.write_text(text)
    first, *options = command.split()
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = folder.palpate(first, "theirs.toml", *options, env={"PYTHONPATH": path})
    assert done.returncode in (0, 3), done.stderr  # 3: their law has no damping, and design says so
    announced, imported = done.stderr.index("note: this scenario runs code"), done.stderr.index("IMPORTED")
    assert announced < imported


def test_an_address_of_the_standard_library_is_not_called_by_looking(tmp_path: Path) -> None:
    """`antigravity` opens a browser when it is imported; `os` is there already, and its functions could be called."""
    (tmp_path / "s.toml").write_text(
        'name = "s"\n[robot]\nmodel = "planar2"\n[control]\nlaw = "passive"\n[run]\nduration = 0.01\n'
        '[metrics."antigravity:geohash"]\nmost = 1\n[metrics."os:abort"]\nmost = 1\n'
    )
    scenario = pp.load_scenario(tmp_path / "s.toml")
    trace = pp.simulate(scenario.replace(metrics={}))
    results = {r.name: r for r in pp.metrics.evaluate(trace, scenario.metrics)}
    assert results["os:abort"].value is None
    assert "antigravity" not in sys.modules


# ------------------------------------------------------------ xacro

XACRO = """<?xml version="1.0"?>
<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro">
  BEFORE<xacro:property name="m" value="MASS"/>
  <link name="base"/><link name="arm"><inertial><mass value="${m}"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>"""


def xacro_file(folder: Path, mass: str = "2", before: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "arm.xacro").write_text(XACRO.replace("MASS", mass).replace("BEFORE", before))
    return folder / "arm.xacro"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    pytest.importorskip("xacro")
    pytest.importorskip("yaml")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.yaml").write_text("mass: 7\n")
    (tmp_path / "outside" / "inner.xacro").write_text('<robot><xacro:property name="s" value="7"/></robot>')
    return tmp_path / "outside"


READS = {
    "load_yaml": ("${xacro.load_yaml('OUT/secret.yaml')['mass']}", ""),
    "relative": ("${xacro.load_yaml('../outside/secret.yaml')['mass']}", ""),
    "include": ("${s}", '<xacro:include filename="OUT/inner.xacro"/>'),
    "glob": ("${s}", '<xacro:include filename="OUT/*.xacro"/>'),
    "find": ("${xacro.load_yaml('$(find outside)/secret.yaml')['mass']}", ""),
    "find up": ("${xacro.load_yaml('$(find ..)/outside/secret.yaml')['mass']}", ""),
    "link": ("${xacro.load_yaml('link.yaml')['mass']}", ""),
    "linked folder": ("${xacro.load_yaml('linked/secret.yaml')['mass']}", ""),
}


@pytest.mark.parametrize("attempt", READS.values(), ids=list(READS))
def test_xacro_reads_nothing_outside_of_the_models_folders(
    attempt: tuple[str, str], secret: Path, tmp_path: Path
) -> None:
    mass, before = (text.replace("OUT", str(secret)) for text in attempt)
    file = xacro_file(tmp_path / "model", mass, before)
    (tmp_path / "model" / "link.yaml").symlink_to(secret / "secret.yaml")
    (tmp_path / "model" / "linked").symlink_to(secret)
    with pytest.raises(ModelError, match=r"outside.*'s folders|no package|matched no files"):
        pp.load_robot(file, xacro=True)


def test_xacro_reads_the_models_folders_a_declared_root_and_a_package(secret: Path, tmp_path: Path) -> None:
    mass = "${xacro.load_yaml('FILE')['mass']}"
    shutil.copy(secret / "secret.yaml", tmp_path / "own.yaml")
    beside = xacro_file(tmp_path / "model", mass.replace("FILE", "sub/own.yaml"))
    (tmp_path / "model" / "sub").mkdir()
    shutil.copy(secret / "secret.yaml", tmp_path / "model" / "sub" / "own.yaml")
    assert pp.load_robot(beside, xacro=True).mass == 7
    declared = xacro_file(tmp_path / "model", mass.replace("FILE", str(secret / "secret.yaml")))
    assert pp.load_robot(declared, xacro=True, package_roots=[secret]).mass == 7
    found = xacro_file(tmp_path / "model", mass.replace("FILE", "$(find outside)/secret.yaml"))
    (secret / "package.xml").write_text("<package/>")
    assert pp.load_robot(found, xacro=True).mass == 7


@pytest.fixture
def xacro_scenario(tmp_path: Path) -> Folder:
    pytest.importorskip("xacro")
    folder = Folder(tmp_path)
    xacro_file(tmp_path)
    folder.scenario.write_text(
        'name = "theirs"\n[robot]\nmodel = "arm.xacro"\nxacro = true\n[control]\nlaw = "passive"\n'
        "[run]\nduration = 0.01\n"
    )
    return folder


def test_a_scenario_with_xacro_is_data_until_it_runs(xacro_scenario: Folder) -> None:
    scenario = pp.load_scenario(xacro_scenario.scenario)
    assert scenario.robot.xacro is True
    done = xacro_scenario.palpate("show", "theirs.toml")
    assert done.returncode == 0, done.stderr
    assert "runs code from" not in done.stderr
    done = xacro_scenario.palpate("run", "theirs.toml", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "xacro program" in done.stderr
    assert pp.simulate(scenario).outcome.ok


@pytest.mark.parametrize(
    "words",
    [
        ["run", "theirs.toml"],
        ["design", "theirs.toml"],
        ["show", "arm.xacro", "--xacro"],
        ["check", "arm.xacro", "--xacro"],
        ["new", "x", "--robot", "arm.xacro", "--xacro"],
    ],
)
def test_no_code_covers_xacro(words: list[str], xacro_scenario: Folder) -> None:
    done = xacro_scenario.palpate(*words, "--no-code")
    assert done.returncode == 2
    assert "--no-code forbids" in done.stderr
    with allowing("nothing"), pytest.raises((InvalidInput, ScenarioError), match="--no-code forbids"):
        pp.load_scenario(xacro_scenario.scenario).with_code()


# ------------------------------------------------------------ tables


class _Attack:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.marker,)


def test_a_pickled_object_in_a_table_is_not_loaded(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    hostile = np.array([_Attack(marker)] * 4, dtype=object)
    np.savez(tmp_path / "table.npz", time=hostile, q=hostile)
    overrides = ['reference.kind="recorded"', f"reference.file={tmp_path / 'table.npz'}"]
    with pytest.raises(PalpateError):
        pp.load_scenario("panda-joint-impedance", overrides)
    with pytest.raises(PalpateError):
        pp.load_trace(tmp_path / "table.npz")
    assert not marker.exists()
    np.load(tmp_path / "table.npz", allow_pickle=True)["time"]
    assert marker.exists()  # the control: it does something where it is loaded
