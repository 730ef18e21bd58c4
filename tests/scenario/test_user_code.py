"""Own laws, references and metrics in a file beside the scenario: the same as the shipped ones that they copy."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from moments import ENDLESS
from palpate import user_code
from palpate.cli.main import main
from palpate.control.laws import joint_impedance
from palpate.errors import InvalidInput, ScenarioError

_NUMBERS = count()
SHORT = ["run.duration=0.4", "reference.start=0.05", "reference.duration=0.3"]
GAINS = "stiffness = [300, 300, 300, 300, 60, 60, 20]\nfeed_forward = true\n"
PLAIN = '''
from typing import ClassVar
import numpy as np
from palpate.config import setting
from palpate.control import PlainLaw

class Mine(PlainLaw):
    """Springs at the joints."""
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "feed_forward", "gravity")
    memoryless: ClassVar[bool] = True
    stiffness: tuple[float, ...] = setting((200.0,) * 7, "N·m/rad", "K")
    feed_forward: bool = setting(False, "1", "as joint-impedance has it")

    def gains(self, robot):
        damping = 1.4 * np.sqrt(np.array(self.stiffness) * np.diag(robot.mass_matrix(robot.home)))
        object.__setattr__(self, "_damping", damping)
        return self

    def decide(self, tick, memory):
        return {
            "spring": np.array(self.stiffness) * (tick.target.q - tick.q),
            "damper": self._damping * (tick.target.v - tick.v),
            "feed_forward": tick.bias - tick.gravity + tick.M @ tick.target.a,
            "gravity": tick.gravity,
        }
'''

METRIC = """
import numpy as np
from palpate.metrics import Metric

def peak_torque(trace):
    "largest torque of any joint"
    return abs(trace["tau"]).max()

final_error = Metric("final_error", "m", "distance from the target at the end",
    lambda trace: np.linalg.norm(trace["tool_position"][-1] - trace["target_position"][-1]))

def wrong(trace):
    return trace["tau"] / nothing
"""
REFERENCE = """
from palpate.config import setting
from palpate.control.references.reference import ReferenceSettings
from palpate.control.references.motions import TimedPath
from palpate.control.references.joint_path import follow_joints

class Motion(TimedPath):
    "All joints by an offset."
    offset: tuple[float, ...] = setting((0.1,) * 7, "rad", "of each joint")

    def fill(self, targets, times, robot, q_start):
        s, rate, acceleration = self.progress(times)
        way = robot.home * 0 + self.offset
        targets.q[:], targets.v[:], targets.a[:] = q_start + s * way, rate * way, acceleration * way
        follow_joints(targets, robot)

class Wrong(ReferenceSettings):
    "Fails."
    def fill(self, targets, times, robot, q_start):
        targets.q[:] = nothing
"""


def compiled_twin() -> str:
    """The text of the shipped joint impedance as somebody's own law."""
    text = Path(joint_impedance.__file__).read_text()
    return text.replace("class JointImpedance", "class Mine").replace('name: ClassVar[str] = "joint-impedance"', "")


class Folder:
    """A folder with a scenario and a module that only this test has."""

    def __init__(self, path: Path) -> None:
        self.path, self.module = path, f"own_module_{next(_NUMBERS)}"
        self.file, self.scenario = path / f"{self.module}.py", path / "own.toml"

    def write(self, code: str, text: str = "", law: str = "Mine", base: str = "panda-joint-impedance") -> str:
        """Write both; the scenario's path."""
        self.file.write_text(code)
        named = f'[control]\nlaw = "{self.module}:{law}"\n{GAINS}' if law else ""
        self.scenario.write_text(f'name = "own"\nextends = "{base}"\n{named}{text}'.replace("MODULE", self.module))
        return str(self.scenario)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_code, "_allowed", "all")
    return Folder(tmp_path)


def test_a_compiled_law_of_ones_own_gives_the_numbers_of_the_shipped_one_that_it_copies(folder: Folder) -> None:
    mine = pp.simulate(pp.load_scenario(folder.write(compiled_twin()), SHORT))
    shipped = pp.simulate(pp.load_scenario("panda-joint-impedance", SHORT))
    for channel in ("q", "tau", "tau.spring"):
        assert np.array_equal(mine[channel], shipped[channel])


def test_a_law_in_plain_python_gives_the_numbers_of_the_shipped_one_that_it_copies(folder: Folder) -> None:
    mine = pp.simulate(pp.load_scenario(folder.write(PLAIN), SHORT))
    shipped = pp.simulate(pp.load_scenario("panda-joint-impedance", SHORT))
    assert np.ptp(shipped["q"], axis=0).min() > 0.1
    assert np.allclose(mine["q"], shipped["q"], rtol=0, atol=1e-10)
    assert np.allclose(mine["tau.damper"], shipped["tau.damper"], rtol=0, atol=1e-8)


def test_code_of_a_scenario_is_announced_once_and_refused_by_no_code(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = folder.write(PLAIN)
    words = ["run", scenario, "--no-report", "--set", "run.duration=0.01", "--out", "out"]
    assert main([*words, "--no-code"]) == 2
    err = capsys.readouterr().err
    assert f"'{folder.module}:Mine' is code that the scenario brings along, and --no-code forbids to run it" in err
    assert "note: this scenario runs code" not in err
    assert main(["--no-code", *words]) == 2
    capsys.readouterr()
    assert main(words) in (0, 1)
    note = f"note: this scenario runs code from {folder.module}.py\n"
    assert capsys.readouterr().err.count(note) == 1
    assert main(["design", scenario]) == 0
    assert note not in capsys.readouterr().err  # said once


def test_an_unknown_setting_of_an_own_law_is_refused_by_its_name(folder: Folder) -> None:
    with pytest.raises(ScenarioError, match=r"control.stifness: unknown.*'stiffness'\?"):
        pp.load_scenario(folder.write(PLAIN), ["control.stifness=3"]).with_code()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\nclass Mine(\n", "FILE, line 2: "),
        ("\n\nimport palpate_no_such_thing\n", "FILE, line 3: ModuleNotFoundError"),
        ("y = 1 / 0\n", "FILE, line 1: ZeroDivisionError: division by zero"),
        ("class Mime: pass\n", "FILE has no 'Mine' .did you mean 'Mime'"),
        ("class Mine: pass\n", "a Law is needed, got"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_file_and_line(folder: Folder, code: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told.replace("FILE", folder.file.name)):
        pp.load_scenario(folder.write(code)).with_code()


def test_a_mistake_that_shows_at_a_tick_is_told_with_file_and_line(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = folder.write(PLAIN.replace("tick.bias - tick.gravity", "tick.bias - gravity"))
    assert main(["run", scenario, "--no-report", "--out", "out"]) == 2
    line = 1 + PLAIN[: PLAIN.index("tick.bias")].count("\n")
    assert f"{folder.file.name}, line {line}: NameError: name 'gravity' is not defined" in capsys.readouterr().err


def test_a_module_that_is_nowhere_is_named(folder: Folder) -> None:
    with pytest.raises(ScenarioError, match=r"no file no_such.py.*no installed"):
        pp.load_scenario(folder.write(PLAIN), ["control.law=no_such:Mine"]).with_code()


@pytest.mark.parametrize(
    ("code", "line"),
    [(compiled_twin(), "out.gravity[i] = "), (PLAIN, '"gravity": ')],
    ids=["compiled", "plain"],
)
def test_an_edit_of_the_file_is_seen_at_the_next_run(folder: Folder, code: str, line: str) -> None:
    scenario = folder.write(code)
    before = pp.simulate(pp.load_scenario(scenario, ["run.duration=0.1"]))
    assert code.count(line) == 1
    folder.write(code.replace(line, f"{line}0.5 * "))
    after = pp.simulate(pp.load_scenario(scenario, ["run.duration=0.1"]))
    assert np.allclose(after["tau.gravity"][0], 0.5 * before["tau.gravity"][0])
    assert abs(before["q"] - after["q"]).max() > 1e-3


def test_a_law_beside_the_working_folder_replaces_that_of_a_shipped_scenario(folder: Folder) -> None:
    folder.write(PLAIN)
    scenario = pp.load_scenario("panda-joint-impedance", [f"control.law={folder.module}:Mine"])
    assert scenario.control.name == f"{folder.module}:Mine"
    assert scenario.modules == {folder.module: str(folder.file)}
    assert pp.load_scenario(folder.write(PLAIN)).replace(control__stiffness=[1.0] * 7).control.name.endswith(":Mine")


def test_the_scenario_in_the_folder_of_a_run_finds_the_file_again(folder: Folder) -> None:
    assert main(["run", folder.write(PLAIN), "--no-report", "--set", "run.duration=0.01", "--out", "out"]) in (0, 1)
    again = pp.load_scenario(Path("out", "scenario.toml"))
    assert os.path.realpath(again.modules[folder.module]) == os.path.realpath(folder.file)
    assert str(folder.path) not in str(pp.load_trace("out/trace.parquet").facts.scenario)


def test_two_different_files_of_one_name_are_refused(folder: Folder) -> None:
    pp.load_scenario(folder.write(PLAIN)).with_code()
    other = folder.path / "other" / folder.file.name
    other.parent.mkdir()
    other.write_text(PLAIN + "\n# another\n")
    with pytest.raises(InvalidInput, match=r"different.*module"):
        pp.load_scenario(folder.write(PLAIN, f'[modules]\nMODULE = "other/{other.name}"\n')).with_code()


def test_own_metrics_are_those_of_the_shipped_that_they_copy(folder: Folder) -> None:
    bounds = '[metrics."MODULE:peak_torque"]\nmost = 1000\n[metrics."MODULE:final_error"]\nmost = 1e-9\n'
    scenario = pp.load_scenario(folder.write(METRIC, bounds, law=""), SHORT)
    trace = pp.simulate(scenario)
    results = {result.name: result for result in pp.metrics.evaluate(trace, scenario.metrics)}
    own = results[f"{folder.module}:peak_torque"]
    assert own.value == abs(trace["tau"]).max()
    assert own.passed
    assert own.help == "largest torque of any joint"
    error = results[f"{folder.module}:final_error"]
    assert error.value == pytest.approx(results["position_final_error"].value, rel=1e-12)
    assert error.unit == "m"
    assert error.passed is False


def test_an_unknown_or_failing_metric_is_told_with_file_and_line(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", folder.write(METRIC, '[metrics."MODULE:peak_torqe"]\nmost = 1\n', law="")]) == 2
    assert f"{folder.file.name} has no 'peak_torqe'" in capsys.readouterr().err
    bounded = folder.write(METRIC, '[metrics."MODULE:wrong"]\nmost = 1\n', law="")
    assert main(["run", bounded, "--no-report", "--out", "out", "--set", "run.duration=0.01"]) == 2
    line = 1 + METRIC[: METRIC.index("nothing")].count("\n")
    assert f"{folder.file.name}, line {line}: NameError" in capsys.readouterr().err


def test_an_own_reference_gives_the_numbers_of_the_shipped_one_that_it_copies(folder: Folder) -> None:
    text = '[reference]\nkind = "MODULE:Motion"\noffset = [0.3, 0.2, -0.2, 0.2, 0.3, 0.2, 0.3]\n'
    mine = pp.simulate(pp.load_scenario(folder.write(REFERENCE, text, law=""), SHORT))
    shipped = pp.simulate(pp.load_scenario("panda-joint-impedance", SHORT))
    assert np.array_equal(mine["q"], shipped["q"])
    assert np.array_equal(mine["target_position"], shipped["target_position"])
    with pytest.raises(ScenarioError, match=r"reference.ofset: unknown.*'offset'\?"):
        pp.load_scenario(str(folder.scenario), ["reference.ofset=1"]).with_code()


def test_a_mistake_in_an_own_reference_is_told_with_file_and_line(folder: Folder) -> None:
    scenario = folder.write(REFERENCE, '[reference]\nkind = "MODULE:Wrong"\n', law="")
    line = 1 + REFERENCE[: REFERENCE.index("nothing")].count("\n")
    with pytest.raises(InvalidInput, match=f"{folder.file.name}, line {line}: NameError"):
        pp.load_scenario(scenario).with_code()


def test_completion_by_the_shell_runs_no_code(folder: Folder) -> None:
    pytest.importorskip("argcomplete")
    line = f"palpate run {Path(folder.write('open(chr(120), chr(119))' + PLAIN)).name} --set control.sti"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
             "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": "words"}  # fmt: skip
    subprocess.run([sys.executable, "-m", "palpate"], env={**os.environ, **asked}, timeout=ENDLESS, check=False)
    assert not Path("x").exists()
    pp.load_scenario(folder.scenario).with_code()
    assert Path("x").exists()
