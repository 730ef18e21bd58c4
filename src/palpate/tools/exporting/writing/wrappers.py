"""Programs around the library: which there can be, and their files."""

from __future__ import annotations

from palpate.tools.exporting.draft import Draft
from palpate.tools.exporting.interface import Item

# Folder of a program around the library: what the README says of it.
WRAPPER_LINES = {
    "franka": "- `franka/`: callback and active control of libfranka; gravity, filter and rates are dealt with.\n",
    "ros2_control": "- `ros2_control/`: a package with this law as a chainable controller; build it with colcon.\n",
}
INTERFACES = {"torque": "effort", "acceleration": "effort", "velocity": "velocity", "position": "position"}
_MEASURED = ("q", "v", "tau", "wrench")  # fields of a tick that a driver measures
WRAPPER_FILES = {
    "franka": {"{}_franka.h": "franka.h", "{}_franka.hpp": "franka.hpp"},
    "ros2_control": {
        "{}_controller.cpp": "controller.cpp",
        "{}_controller.xml": "controller.xml",
        "package.xml": "package.xml",
        "CMakeLists.txt": "controller_CMakeLists.txt",
        "{}_parameters.yaml": "parameters.yaml",
        "config/{}_controllers.yaml": "controllers.yaml",
        "launch/{}.launch.py": "launch.txt",
    },
}


def target_items(draft: Draft) -> list[Item]:
    """Inputs of a tick that are targets."""
    return [each for each in draft.inputs if each.name.startswith("target_")]


def can_be_wrapped(draft: Draft) -> bool:
    """A program knows measurements and targets: terms of a given model, or a pole, it does not."""
    known = all(each.name in _MEASURED or each.name.startswith("target_") for each in draft.inputs)
    return draft.model == "own" and known and draft.run.robot.nq == draft.run.robot.nv
