"""Hostile sequences against compiled libraries: never beyond the arm's limits, a named code, a ramp without a jump."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.tools.exporting import export
from palpate.tools.exporting.code.native import host
from palpate.tools.exporting.code.records import INPUT_HEAD, OUTPUT_HEAD, Code
from tools.exporting.matrix import compiled_laws, scenario_of
from tools.exporting.test_folder import needs, run

HERE = Path(__file__).parent
ARMS = ("panda", "ur5e", "iiwa14")
EXPECTED = {
    "none": Code.OK, "q-nan": Code.NOT_FINITE, "v-inf": Code.NOT_FINITE, "wrench-inf": Code.NOT_FINITE,
    "nan-for-ever": Code.NOT_FINITE, "nan-now-and-then": Code.NOT_FINITE, "t-nan": Code.NOT_FINITE,
    "q-jumps": Code.JOINT_JUMP, "q-jumps-back": Code.JOINT_JUMP, "q-steps": Code.JOINT_JUMP,
    "target-jumps": Code.TARGET_JUMP,
    "target-turns": Code.TARGET_JUMP, "quaternion-long": Code.QUATERNION, "time-back": Code.TIME,
    "time-stands": Code.TIME, "late": Code.LATE, "early": Code.EARLY, "slow-clock": Code.INTERVAL,
    "fast-clock": Code.INTERVAL, "to-the-stop": Code.JOINT_RANGE, "too-fast": Code.JOINT_SPEED,
    "drifts-away": Code.OK, "wrong-size": Code.SIZE, "wrong-version": Code.VERSION, "null": Code.NULL,
    "stop": Code.STOPPED, "v-jumps": Code.STOPPED, "v-rattles": Code.STOPPED,
    "first-q-nan": Code.NO_POSTURE, "first-q-nan-a-while": Code.NO_POSTURE, "first-q-nan-for-ever": Code.NO_POSTURE,
    "first-v-nan": Code.NOT_FINITE, "first-v-nan-for-ever": Code.NOT_FINITE, "first-tau-nan": Code.NOT_FINITE,
    "first-wrench-nan-for-ever": Code.NOT_FINITE, "first-target-nan": Code.NOT_FINITE,
    "first-beyond-range": Code.JOINT_RANGE, "first-stop": Code.STOPPED, "first-wrong-size": Code.SIZE,
}  # fmt: skip


def places(fields: list[dict], first: int) -> dict[str, int]:
    at = {}
    for field in fields:
        at[field["name"]] = first
        first += math.prod(field["shape"])
    return at


def braces(values: Sequence[float | None], sign: float = 1.0) -> str:
    return "{" + ", ".join(f"{sign:+g} * INFINITY" if x is None else repr(x) for x in values) + "}"


def limits_header(folder: Path) -> str:
    """Where things stand in the structs, and the limits as the robot's model has them, not as the library does."""
    facts = json.loads((folder / "manifest.json").read_text())
    name, period, robot = facts["name"], facts["clock"]["period"], facts["robot"]
    given, answer = places(facts["input"], INPUT_HEAD), places(facts["output"], OUTPUT_HEAD)
    n, limits = len(robot["joints"]), robot["limits"]
    torque, servo = "torque" in answer, "set_q" in answer
    rates = [x and x * period for x in (limits["torque_rate"] if torque else limits["velocity"])]
    position = facts["law"]["command"] == "position"
    most = limits["torque"] if torque else [None] * n if position else limits["velocity"]
    command = answer["torque" if torque else "set_q" if position else "set_v"]
    values = {
        "N": n, "HEADER": f'"{name}.h"', "STATE": f"{name}_state", "INPUT": f"{name}_input",
        "OUTPUT": f"{name}_output", "INIT": f"{name}_init", "STEP": f"{name}_step", "STOP": f"{name}_stop",
        "VERSION_OF": f"{name.upper()}_VERSION", "PERIOD": repr(period),
        "WIDTH": INPUT_HEAD + OUTPUT_HEAD + sum(math.prod(f["shape"]) for f in facts["input"] + facts["output"]),
        "Q_AT": given["q"], "V_AT": given["v"], "WRENCH_AT": given["wrench"], "COMMAND_AT": command,
        "GRAVITY_AT": answer["gravity"] if torque else -1,
        "COMMAND_LIMIT": braces(most), "STEP_LIMIT": braces([None] * n if servo and not position else rates),
        "RATED": braces(limits["velocity"]), "LOWER": braces(limits["position"][0], -1.0),
        "DAMPING": braces(facts["protection"]["ramp"]["damping"]), "UPPER": braces(limits["position"][1]),
    }  # fmt: skip
    values["TARGET_AT"] = min((at for name, at in given.items() if name.startswith("target_")), default=-1)
    values |= {"SERVO": 0 if torque else 1 if position else 2, "NO_POSTURE": int(Code.NO_POSTURE)}
    values["WRONG_SIZE"] = int(Code.SIZE)
    for field in ("target_q", "target_position", "target_quat_wxyz"):
        label = "QUATERNION" if field == "target_quat_wxyz" else field.upper()
        values[f"{label}_AT"] = given.get(field, -1)
    return "#include <math.h>\n" + "".join(f"#define {key} {value}\n" for key, value in values.items())


def build(folder: Path, where: Path) -> Path:
    facts = json.loads((folder / "manifest.json").read_text())
    where.mkdir(parents=True, exist_ok=True)
    (where / "limits.h").write_text(limits_header(folder))
    words = ["cc", "-std=c99", "-O1", "-Wall", "-Wno-unused-variable", f"-I{where}", f"-I{folder}"]
    library = folder / host().name / f"lib{facts['name']}.a"
    run(*words, str(HERE / "hostile.c"), str(library), "-lm", "-o", str(where / "hostile"), cwd=where)
    return where / "hostile"


def check(folder: Path, where: Path) -> dict[str, list[float]]:
    """Run every sequence and look at what came out; the numbers by the sequence's name."""
    said = run(str(build(folder, where)), str(folder / "vectors.bin"), cwd=where)
    facts = json.loads((folder / "manifest.json").read_text())
    inputs = {field["name"] for field in facts["input"]}
    results = {line.split()[0]: [float(word) for word in line.split()[1:]] for line in said.splitlines()}
    assert set(results) == set(EXPECTED)
    own = facts["replay"]["stopped"].partition(" ")[0]  # a guard that ends the run; the other sequences begin before
    for name, (code, last, _, most, step, bend, end) in results.items():
        expected = Code[own] if name == "none" and own else EXPECTED[name]
        if name in ("target-turns", "quaternion-long") and "target_quat_wxyz" not in inputs:
            expected = Code.OK
        if name == "first-target-nan" and not any(field.startswith("target_") for field in inputs):
            expected = Code.OK
        if name == "target-jumps" and not {"target_q", "target_position"} & inputs:
            expected = Code.OK
        assert Code(int(code)) == expected, (facts["name"], name, Code(int(code)))
        recovered = name in ("first-q-nan", "first-q-nan-a-while")  # q came later: the ramp, with the code of the cause
        assert Code(int(last)) == (Code.NOT_FINITE if recovered else expected), (facts["name"], name, Code(int(last)))
        assert most <= 1.0 + 1e-12, (facts["name"], name, most)
        assert step <= 1.0 + 1e-9, (facts["name"], name, step)
        if code:
            assert bend <= 1.0, (facts["name"], name, bend)
        if code and facts["law"]["command"] in ("torque", "acceleration"):
            assert end < 0.05, (facts["name"], name, end)
    return results


@needs("cc")
def test_hostile_sequences_end_in_a_named_code_within_the_arm_s_limits(
    folder: Path, pressing: Path, tmp_path: Path
) -> None:
    check(folder, tmp_path / "given")
    results = check(pressing, tmp_path / "own")
    assert results["drifts-away"][2] == 1  # bits: torque limits at work
    assert results["to-the-stop"][3] == 1.0  # the torque limit is reached, not passed


@pytest.mark.slow
@needs("cc")
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("law", [law for law in compiled_laws() if law != "standing"])
def test_hostile_sequences_of_every_law_on_three_arms(law: str, arm: str, tmp_path: Path) -> None:
    try:
        export(scenario_of(law, arm), tmp_path / "arm", model="given", ticks=400, sheet=False)
    except (PalpateError, StopIteration) as error:
        pytest.skip(str(error))
    check(tmp_path / "arm", tmp_path / "build")


def ramp(folder: Path, where: Path, sequence: str) -> np.ndarray:
    """The commands of a sequence, tick by tick, and the code in the last column."""
    table = where / "table.txt"
    run(str(where / "hostile"), str(folder / "vectors.bin"), sequence, str(table), cwd=where)
    return np.loadtxt(table)
