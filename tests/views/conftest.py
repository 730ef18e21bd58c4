from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from moments import ENDLESS
from palpate.robot import load_robot
from palpate.run.after.scene import scene_of
from palpate.trace import Channel, Event, Outcome, RunFacts, Trace
from palpate.world.config import Surface, World
from palpate.world.plants.plant import build_plant

Axe = Callable[..., list[list[str]]]
SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
_WRENCH, _TWIST = ("N",) * 3 + ("N·m",) * 3, ("m/s",) * 3 + ("rad/s",) * 3


def pressing(name: str = "panda", label: str = "joint", samples: int = 401, robot_name: str | None = None) -> Trace:
    """A made-up run of 2 s with every channel: the arm swings, touches a wall at 0.5 s, is pushed, and is guarded."""
    robot = load_robot(name)
    wall = Surface(name="wall", position=(0.35, 0.0, 0.3), normal=(-1.0, 0.0, 0.0))
    scene = scene_of(build_plant(robot, World(surfaces=(wall,)), 1e-3))
    time, n = np.linspace(0.0, 2.0, samples), robot.nv
    q = robot.home + 0.4 * np.outer(np.sin(np.pi * time / 2), np.linspace(1.0, 0.5, n))
    poses = [robot.pose(row) for row in q]
    force = np.maximum(time - 0.5, 0.0) * 20.0
    wrench, push, one = np.zeros((samples, 6)), np.zeros((samples, 6)), np.ones((samples, 1))
    wrench[:, 0], push[(time > 1.0) & (time < 1.2), 1] = -force, 5.0
    labels = tuple(f"{label}{i}" for i in range(n))
    joint: dict[str, Any] = {"shape": (n,), "labels": labels}
    position = np.array([pose.position for pose in poses])
    data = {
        Channel("q", "rad", **joint): q,
        Channel("target_q", "rad", **joint): q + 0.01,
        Channel("v", "rad/s", **joint): np.gradient(q, time, axis=0),
        Channel("tau", "N·m", **joint): 3 * np.cos(q),
        Channel("command", "N·m", **joint): 3 * np.cos(q),
        Channel("tau.spring", "N·m", **joint): 2 * np.cos(q),
        Channel("tau.damper", "N·m", **joint): np.cos(q),
        Channel("tool_position", "m", (3,), labels=("x", "y", "z")): position,
        Channel("target_position", "m", (3,), labels=("x", "y", "z")): position + 0.02 * one,
        Channel("tool_quat_wxyz", "1", (4,)): np.array([pose.quat_wxyz for pose in poses]),
        Channel("target_quat_wxyz", "1", (4,)): np.array([pose.quat_wxyz for pose in poses]),
        Channel("tool_twist", _TWIST, (6,)): np.zeros((samples, 6)),
        Channel("contact_wrench", _WRENCH, (6,)): wrench,
        Channel("measured_wrench", _WRENCH, (6,)): wrench + push,
        Channel("target_wrench", _WRENCH, (6,)): np.zeros((samples, 6)),
        Channel("push_wrench", _WRENCH, (6,)): push,
        Channel("contact_force", "N"): force,
        Channel("penetration", "m"): force * 1e-4,
        Channel("energy.kinetic", "J"): time**2,
        Channel("guard", "1"): (time > 1.7).astype(float),
        Channel("surface.wall", "m", (3,)): np.tile(wall.position, (samples, 1)),
    }
    events = [Event(1.7, 1700, "guard", "intervention", f"torque limit changed the command {label}")]
    info = {
        "scenario": {"name": f"pressing {label}", "text": f"name = '{label}'"},
        "robot": robot_name or name, "law": f"law {label}", "seed": 7, "duration": 2.0, "timestep": 1e-3,
        "period": 1e-3, "integrator": "euler", "versions": {"palpate": "0.1.0"}, "warnings": [f"beware of {label}"],
        "assumptions": [f"assume {label}"], "guard_ticks": {"torque limit": 300}, "scene": scene,
        "world": {"surfaces": [{"name": label}]},
    }  # fmt: skip
    return Trace(time, data, Outcome("completed", f"ran its 2 s {label}", 2.0, 2000), events, RunFacts.from_data(info))


@pytest.fixture(scope="session")
def trace() -> Trace:
    return pressing()


@pytest.fixture(scope="session")
def hostile() -> Trace:
    """The same run with a script in every name it can carry."""
    return pressing(label=SCRIPT, robot_name=SCRIPT)


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Axe:
    """What axe-core, from its npm package, finds serious or critical in an open page; with `strict` everything."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here to get axe-core with")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "axe-core@4"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=ENDLESS)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not script.is_file():
        pytest.skip("axe-core cannot be had here")
    text = script.read_text("utf-8")

    def findings(page: Any, strict: bool = False) -> list[list[str]]:
        page.evaluate(text)
        found = page.evaluate(
            "async () => (await axe.run(document)).violations.map(v => [v.id, v.impact, v.nodes[0].html])"
        )
        return found if strict else [one for one in found if one[1] in ("serious", "critical")]

    return findings
