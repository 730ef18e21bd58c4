"""Peers in an environment of their own, whose versions are not ours: asked line by line, timed by their own CPU clock.

`make bench` makes the environment, build/peers-venv; PALPATE_PEERS names the Python of another one.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from palpate.checks import Array
from palpate.robot.robot import Robot

FOLDER = Path(__file__).parent
PYTHON = Path(os.environ.get("PALPATE_PEERS", FOLDER.parents[1] / "build" / "peers-venv" / "bin" / "python"))
NOT_COMPARED = "so not compared"
_VERSIONS = "import importlib.metadata as m, json; print(json.dumps({n: m.version(n) for n in ('placo', 'pin',"
_VERSIONS += " 'roboticstoolbox-python', 'numpy') if any(d.metadata['Name'] == n for d in m.distributions())}))"


class Elsewhere:
    """A peer's script, started with a job.

    Attributes:
        answers: what its calls returned.
    """

    def __init__(self, script: str, job: Mapping[str, Any]) -> None:
        self._process = subprocess.Popen(
            [str(PYTHON), str(FOLDER / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answers: dict[str, Any] = json.loads(self._ask(json.dumps(job)))["answers"]

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the peer ended with exit code {self._process.wait()}")
        return answer

    def seconds(self, call: str, count: int = 1) -> float:
        """CPU seconds of one of so many calls."""
        return float(self._ask(f"{call} {count}"))

    def close(self) -> None:
        """End the conversation."""
        self._process.communicate()


def started(name: str, script: str, job: Mapping[str, Any]) -> Elsewhere | None:
    """A peer that is there; None, and a note of why, where it is not."""
    if not PYTHON.exists():
        print(f"{name} has no environment of its own here (`make bench` makes it), {NOT_COMPARED}")
        return None
    try:
        return Elsewhere(script, job)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"{name} did not start ({error}), {NOT_COMPARED}")
        return None


def taking_turns(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Median CPU seconds of both, each timed by its own process's clock."""
    taken = np.array([(ours(), theirs()) for _ in range(rounds + 1)])[1:]  # the first warms up
    return float(np.median(taken[:, 0])), float(np.median(taken[:, 1]))


def versions_elsewhere() -> dict[str, str]:
    """What is installed in the peers' environment."""
    try:
        done = subprocess.run([str(PYTHON), "-c", _VERSIONS], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return json.loads(done.stdout)


def urdf_of(robot: Robot) -> str:
    """A chain of hinges with its tool as URDF: kinematics and limits; links of one kilogram, which does not matter."""
    m, limits, zero = robot.model, robot.limits, np.zeros(robot.nq)
    moving = [int(body) for body in m.jnt_bodyid]
    poses = [_matrix(robot, zero, m.body(body).name) for body in moving]
    parts, before, parent = [f'<robot name="{robot.name}"><link name="base"/>'], np.eye(4), "base"
    for j, (name, pose) in enumerate(zip(robot.dof_names, poses)):
        bounds = f'lower="{limits.lower[j]:.17g}" upper="{limits.upper[j]:.17g}" velocity="{limits.velocity[j]:.17g}"'
        inner = f'<axis xyz="{_words(m.jnt_axis[j])}"/><limit {bounds} effort="100"/>'
        parts.append(_joint(name, "revolute", parent, f"link{j}", np.linalg.solve(before, pose), inner))
        before, parent = pose, f"link{j}"
    tool = np.linalg.solve(before, _matrix(robot, zero, None))
    return "".join([*parts, _joint("fixed to the last", "fixed", parent, "tool", tool, ""), "</robot>"])


def _joint(name: str, kind: str, parent: str, child: str, X: Array, inner: str) -> str:
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    turn = Rotation.from_matrix(X[:3, :3]).as_euler("xyz")  # about the fixed axes, as URDF has it
    return (
        f'<link name="{child}">{mass}</link><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{_words(X[:3, 3])}" rpy="{_words(turn)}"/>{inner}</joint>'
    )


def _matrix(robot: Robot, q: Array, frame: str | None) -> Array:
    pose, X = robot.pose(q, frame), np.eye(4)
    X[:3, :3], X[:3, 3] = pose.rotation, pose.position
    return X


def _words(numbers: Array) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)
