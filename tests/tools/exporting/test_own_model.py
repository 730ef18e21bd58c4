"""The model inside: gravity of an exported library beside MuJoCo's, and terms beside the loop's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from palpate.scenario.file.load import load_scenario
from palpate.tools.exporting import export
from palpate.tools.exporting.code.records import INPUT_HEAD, OUTPUT_HEAD
from palpate.tools.exporting.draft import draft
from palpate.tools.exporting.interface import ranges
from tools.exporting.conftest import SCENARIO


def test_gravity_of_the_model_inside_is_the_robot_s(tmp_path: Path) -> None:
    done = export(SCENARIO, tmp_path / "out", model="own", ticks=700)
    assert done.difference < 1e-12
    made = draft(load_scenario(SCENARIO), "own")
    head = np.fromfile(done.folder / "vectors.bin", dtype="<i8", count=4)
    rows = np.fromfile(done.folder / "vectors.bin", dtype="<f8")[4:].reshape(head[0], -1)
    given, answers = np.split(rows, [head[1] // 8], axis=1)
    (q0, q1), (g0, g1) = ranges(made.inputs)["q"], ranges(made.outputs)["gravity"]
    for row, answer in zip(given[::50], answers[::50]):
        expected = made.run.robot.gravity(row[INPUT_HEAD + q0 : INPUT_HEAD + q1])
        np.testing.assert_allclose(answer[OUTPUT_HEAD + g0 : OUTPUT_HEAD + g1], expected, rtol=1e-11, atol=1e-11)
