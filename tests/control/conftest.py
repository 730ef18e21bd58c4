"""What tests of closed loops share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from palpate.robot import Robot
from palpate.run.run import Run
from palpate.run.simulate import simulate


@dataclass(frozen=True)
class Extrapolated:
    """Channels of a run as they would be with a control period of zero."""

    time: np.ndarray
    channels: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.channels[name]


def _extrapolate(parts: Run, *names: str, step: float = 2e-4, samples: int = 100) -> Extrapolated:
    """Held torques make a loop's response wrong by c₁ T + c₂ T² + …; three periods remove the first two terms."""
    runs = []
    for divisor in (1, 2, 4):
        stride = round(parts.duration / step) * divisor // samples
        recording = replace(parts.recording, stride=stride)
        trace = simulate(replace(parts, timestep=step / divisor, integrator="rk4", recording=recording))
        assert trace.outcome.kind == "completed", trace.outcome
        runs.append(trace)
    coarse, middle, fine = runs
    found = {name: (coarse[name] - 6 * middle[name] + 8 * fine[name]) / 3 for name in names}
    return Extrapolated(fine.time, found)


@pytest.fixture(scope="session")
def extrapolate() -> Callable[..., Extrapolated]:
    """Run parts at three control periods and return their channels extrapolated to period zero."""
    return _extrapolate


@pytest.fixture(scope="session")
def answer() -> Callable[..., np.ndarray]:
    """answer(law, robot, q, v, **inputs): the tool's acceleration that one tick of a law gives under a wrench."""

    def accelerate(law: Any, robot: Robot, q: np.ndarray, v: np.ndarray, **inputs: Any) -> np.ndarray:
        x = robot.terms(q, v)
        outside = x.J.T @ np.asarray(inputs.get("wrench", np.zeros(6)))
        command = law.tick(robot, q, v, **inputs).command
        return x.J @ np.linalg.solve(x.M, command - x.bias + outside) + x.drift

    return accelerate
