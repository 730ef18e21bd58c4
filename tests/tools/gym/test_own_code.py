"""Laws, metrics and sensors of one's own in the Gymnasium environment: as the shipped ones that they copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.scenario.test_user_code import METRIC, PLAIN, Folder, compiled_twin
from tests.world.test_custom import CODE as SENSOR

from palpate import user_code
from palpate.scenario.file.load import load_scenario

pytest.importorskip("gymnasium")

from palpate.tools.gym import ContactEnv, ThreadedEnvs

SHORT = ["run.duration=0.1"]
BOUND = '[metrics."MODULE:peak_torque"]\nmost = 1000\n'
STILL = np.zeros(6, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_code, "_allowed", "all")
    return Folder(tmp_path)


def episode(scenario: str) -> tuple[ContactEnv, list[Any], dict[str, Any]]:
    """An agent that pushes the first joint's target: the environment, its observations, what the last step told."""
    env = ContactEnv(load_scenario(scenario, SHORT), observed=("tool_position", "tool_twist"))
    seen, over, info = [env.reset(seed=3)[0]], False, {}
    while not over:
        env.steps.target.q[0] += 0.01
        observation, _, terminated, truncated, info = env.step(STILL)
        seen.append(observation)
        over = terminated or truncated
    return env, seen, info


@pytest.mark.parametrize(("code", "tolerance"), [(compiled_twin(), 0.0), (PLAIN, 1e-9)], ids=["compiled", "plain"])
def test_an_own_law_and_an_own_metric_are_those_they_copy(folder: Folder, code: str, tolerance: float) -> None:
    env, mine, told = episode(folder.write(code + METRIC.replace('"largest', 'r"largest'), BOUND))
    _, shipped, reference = episode("panda-joint-impedance")
    assert len(mine) == 6
    assert abs(shipped[-1] - shipped[0]).max() > 1e-3  # the agent moved the arm
    assert np.allclose(mine, shipped, rtol=0, atol=tolerance)
    assert told["metrics"][f"{folder.module}:peak_torque"] == abs(env.steps.trace()["tau"]).max()
    assert told["metrics"]["effort"] == pytest.approx(reference["metrics"]["effort"], rel=1e-9)


def test_an_own_sensor_is_observed_and_many_environments_take_it(folder: Folder) -> None:
    text = '[world.sensors.custom.eye]\nkind = "MODULE:Fast"\n'
    scenario = load_scenario(folder.write(SENSOR, text, law=""), SHORT)
    observed = ("sensor.eye", "tool_position")
    envs = ThreadedEnvs([lambda: ContactEnv(scenario, observed=observed) for _ in range(2)])
    try:
        envs.reset(seed=0)
        many = envs.step(np.zeros((2, 6), dtype=np.float32))[0]
    finally:
        envs.close()
    assert np.array_equal(many[:, 0], 0.35 - many[:, 2])  # a gap to the plane x = 0.35 m
    assert np.array_equal(many[0], many[1])
