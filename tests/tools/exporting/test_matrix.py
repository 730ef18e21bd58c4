"""Whole runs, every guard and every function on every machine that can be had here: `make export-matrix`."""

from __future__ import annotations

import inspect
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from moments import ENDLESS
from palpate.control.guards import GUARD_NAMES, GUARD_NOT_FINITE, GUARD_SINGULAR
from palpate.engine import maths
from palpate.engine.kernels import Kernel
from palpate.run.simulate import as_run
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.scenario.model import Scenario
from palpate.tools.exporting import export
from palpate.tools.exporting.code.native import LawSession, Native, host
from palpate.tools.exporting.code.records import INPUT_HEAD, Code
from palpate.tools.exporting.draft import Draft, draft
from palpate.tools.exporting.folder import Model
from palpate.tools.exporting.interface import ranges
from palpate.tools.exporting.vectors import packed, record_run, step_answers, vector_file
from tools.exporting import every_function

SCENARIOS = [
    "panda-wall", "panda-joint-impedance", "iiwa14-computed-torque", "iiwa14-push", "panda-operational-space",
    "panda-slide", "panda-shaped-mass", "ur5e-admittance", "panda-priorities", "iiwa14-pole", "floating-stand",
    "cartesian2-press", "cartesian2-parallel", "pendulum", "panda-blind-touch", "iiwa14-stop",
]  # fmt: skip
OWN = {"panda-wall", "ur5e-admittance", "cartesian2-press"}  # with the model inside, too
MACHINES = {
    "x86-64": ("cc", []),
    "aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64"]),
    "riscv64": ("riscv64-linux-gnu-gcc", ["qemu-riscv64"]),
}
pytestmark = pytest.mark.slow


def exportable(name: str) -> Scenario:
    """A shipped scenario without the friction term, which the loop adds and an export refuses."""
    scenario = load_scenario(name)
    without = ["control.friction_compensation=0"] if scenario.control.friction_compensation else []
    return load_scenario(name, without)


def tools_of(target: str) -> list[str]:
    compiler, emulator = MACHINES[target]
    return [compiler, *emulator]


def available() -> list[str]:
    """The targets that can be run here."""
    targets = [target for target in MACHINES if all(map(shutil.which, tools_of(target)))]
    linkers = ("wasm-ld", *(f"wasm-ld-{n}" for n in range(12, 23)))
    return targets + (["wasm32"] if any(map(shutil.which, linkers)) and shutil.which("node") else [])


def replayed(folder: Path, name: str, target: str) -> str:
    if target == "wasm32":
        words = ["node", "replay.mjs"]
    else:
        compiler, emulator = MACHINES[target]
        library = f"{target}/lib{name}.a"
        subprocess.run([compiler, "-O2", "-static", "main.c", library, "-o", f"r-{target}"], cwd=folder, check=True)
        words = [*emulator, f"./r-{target}"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"{target}: {done.stdout.splitlines()[0]}")
    return done.stdout.split("hash")[1].split()[0]


def same_everywhere(folder: Path, name: str) -> None:
    targets = available()
    assert len({replayed(folder, name, target) for target in targets}) == 1
    if len(targets) < 4:
        pytest.skip(f"compared on {', '.join(targets)} only: tools of the others are missing")


@pytest.mark.parametrize(
    ("scenario", "model"), [(s, "given") for s in SCENARIOS] + [(s, "own") for s in SCENARIOS if s in OWN]
)
def test_every_machine_gives_the_bits_of_the_run(tmp_path: Path, scenario: str, model: Model) -> None:
    done = export(exportable(scenario), tmp_path / "out", targets=available(), model=model, ticks=20_000)
    assert done.difference == 0.0 or model == "own"
    print(f"{scenario}, {model}: {done.ticks} ticks, stack frame {done.frame} bytes")
    same_everywhere(done.folder, done.name)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_exported_law_in_the_loop_gives_the_same_trace(tmp_path: Path, scenario: str) -> None:
    export(exportable(scenario), tmp_path / "out", model="given", ticks=10)
    run = as_run(exportable(scenario))
    ours, theirs = pp.simulate(run), pp.simulate(replace(run, law=pp.load_exported(tmp_path / "out")))
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours.channels)


# --------------------------------------------------------------------------------------------- vectors of our own


def with_vectors(scenario: Scenario, folder: Path, rows: np.ndarray) -> tuple[str, np.ndarray]:
    """Export, and put inputs of our own with this machine's answers in place of the run's."""
    done = export(scenario, folder, targets=available(), ticks=5)
    made = draft(scenario, "own")
    code = Native((folder / host().name / f"{done.name}.o").read_bytes())
    session = LawSession(code, made.name, made.plan.state_bytes, made.plan.version)
    answers = step_answers(session.step, rows, made.plan.output_bytes)
    (folder / "vectors.bin").write_bytes(vector_file(rows, answers))
    return done.name, answers


class Script:
    """Rows of inputs, tick after tick, with some numbers replaced."""

    def __init__(self, made: Draft) -> None:
        self.made, self.rows, self.at = made, [], ranges(made.inputs)
        self.first, self.t = packed(made, record_run(made, 1))[0], 0.0

    def tick(self, times: int = 1, period: float = 1.0, **values: Any) -> None:
        for k in range(times):
            row, self.t = self.first.copy(), self.t + period * self.made.run.clock.control_period
            row[1] = self.t
            for name, value in values.items():
                first, last = self.at[name]
                row[INPUT_HEAD + first : INPUT_HEAD + last] = value(k) if callable(value) else value
            self.rows.append(row)

    def given(self, name: str) -> np.ndarray:
        """A field of the run's first tick."""
        first, last = self.at[name]
        return self.first[INPUT_HEAD + first : INPUT_HEAD + last]


def guarded(name: str, tool_speed: float, *more: str) -> Scenario:
    """All guards on, a joint at the edge of what they leave of its range."""
    run = as_run(name)
    q, limits = run.start()[0], run.robot.limits
    margin = float(np.minimum(limits.upper - q, q - limits.lower).min()) - 1e-3
    settings = [
        f"joint_margin={margin}",
        f"tool_speed={tool_speed}",
        "contact_force=40",
        'on_contact_force="retreat"',
        "stale_ticks=20",
        "singular_value=0.05",
    ]
    return load_scenario(name, [*more, *(f"guards.{text}" for text in settings)])


def guard_script(made: Draft) -> np.ndarray:
    """Each guard not at work, then at work; a tick of each kind that is refused; then what stops the arm for good."""
    robot, q = made.run.robot, made.run.start()[0]
    limits, n, script = robot.limits, robot.nv, Script(made)
    script.tick(20)
    if "target_position" in script.at:
        near, (w, x, y, z) = script.given("target_position"), script.given("target_quat_wxyz")
        turned = np.array([w - z, x + y, y - x, z + w]) / np.sqrt(2.0)  # by 90° about the tool's z: its point stays
        script.tick(30, target_quat_wxyz=turned, q=q - 0.3 * np.eye(n)[-1])
        script.tick(60, target_position=near + 0.5)
        script.tick(120, target_position=near - 0.5)
        script.tick(3, target_quat_wxyz=[2.0, 0.0, 0.0, 0.0])
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
    script.tick(10, q=upper - 1e-4, v=0.3)
    script.tick(10, q=np.minimum(q, upper), v=0.99 * limits.velocity)
    script.tick(10, v=-0.99 * limits.velocity)
    script.tick(10, v=np.linspace(0.5, -0.5, n))
    script.tick(10, q=np.zeros(n), v=0.1)
    script.tick(3, v=np.nan)
    script.tick(3, period=-1.0)
    script.tick(20, period=2.0)
    script.tick(30, wrench=[10.0, 20.0, 60.0, 0.0, 0.0, 0.0], v=0.01)
    script.tick(30, wrench=[1.0, 2.0, 3.0, 0.0, 0.0, 0.0], q=lambda k: q + 1e-3 * k)
    script.tick(40, v=1.0)
    script.tick(3, period=1000.0)
    return np.array(script.rows)


GUARDED = {
    "torques": lambda: guarded("panda-wall", 0.1),
    "positions": lambda: guarded("ur5e-admittance", 0.5),
    "velocities": lambda: guarded("ur5e-admittance", 0.5, 'control.servo="velocity"'),
}


@pytest.mark.parametrize("command", GUARDED)
def test_every_machine_takes_both_branches_of_every_guard(tmp_path: Path, command: str) -> None:
    scenario = GUARDED[command]()
    made = draft(scenario, "own")
    prefix, answers = with_vectors(scenario, tmp_path / "out", guard_script(made))
    codes, bits = answers[:, 0].view(np.int64), answers[:, 1].view(np.int64)
    assert {Code.OK, Code.NOT_FINITE, Code.TIME, Code.LATE, Code.QUATERNION} <= set(map(Code, codes))
    never = {GUARD_NOT_FINITE}  # NaN is refused before a guard sees it
    never |= set() if command == "torques" else {GUARD_SINGULAR}  # it bends accelerations, which set points have not
    for bit in GUARD_NAMES.keys() - never:
        assert np.any(bits[codes == 0] & bit), GUARD_NAMES[bit]
        assert np.any(bits[codes == 0] & bit == 0), GUARD_NAMES[bit]
    same_everywhere(tmp_path / "out", prefix)


def arguments(count: int) -> np.ndarray:
    """Finite numbers of every size and sign: zeros, subnormals, overflows to be, halves and whole numbers."""
    rng = np.random.default_rng(5)
    wide = rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(-320.0, 308.0, count)
    near, whole = rng.uniform(-12.0, 12.0, count), np.round(rng.uniform(-40.0, 40.0, count)) / 2.0
    large = rng.uniform(-1e6, 1e6, count)
    special = rng.choice([0.0, -0.0, 5e-324, 1.7976931348623157e308, 1.0, -1.0, 2.0**-1022, 710.0, -745.5], count)
    return np.choose(rng.integers(0, 5, count), [wide, near, whole, large, special])


def test_every_machine_has_the_bits_of_every_function(tmp_path: Path) -> None:
    data = load_scenario("panda-joint-impedance", ["run.duration=0.01"]).as_data()
    scenario = scenario_from_data({**data, "control": {"law": "tools.exporting.every_function:EveryFunction"}})
    source = inspect.getsource(every_function)
    kernels = {name: value for name, value in vars(maths).items() if isinstance(value, Kernel)}
    own = {name for name, value in kernels.items() if value.py_func.__module__ == maths.__name__}
    public = sorted(name for name in own if not name.startswith("_"))
    assert {"sin", "atan2", "power"} <= set(public)
    assert [name for name in public if f"maths.{name}(" not in source] == []
    made = draft(scenario, "own")
    script = Script(made)
    for a, b in zip(arguments(7 * 3000).reshape(-1, 7), arguments(7 * 6000)[7 * 3000 :].reshape(-1, 7)):
        script.tick(target_q=a, target_v=b)
    name, answers = with_vectors(scenario, tmp_path / "out", np.array(script.rows))
    codes = answers[:, 0].view(np.int64)
    assert np.mean(codes == 0) > 0.5  # in the others the sum of the terms overflows
    same_everywhere(tmp_path / "out", name)
