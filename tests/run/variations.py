"""Random legal variations of the shipped scenarios: nothing in them is wrong, so nothing should be called wrong."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from palpate.errors import PalpateError
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario

# Scenarios that show a fault on purpose.
# Besides: a target beyond the ranges of joints, and a loop 12 ms late that only its tank keeps calm.
FAULTY = {"panda-blind-touch", "panda-fenced", "panda-late-tank", "ur5e-late-admittance"}
# What may be said of a run in which nothing is wrong: a close margin, a slow machine's limits.
GAINS = ("stiffness", "damping", "integral", "kp", "kd", "frequency", "posture_stiffness", "posture_damping")


def _times(value: Any, factor: float) -> Any:
    return [_times(item, factor) for item in value] if isinstance(value, list) else factor * value


def _gains(data: dict[str, Any], rng: np.random.Generator) -> None:
    control, factor = data["control"], float(rng.uniform(0.7, 1.4))
    for key in GAINS:
        if isinstance(control.get(key), int | float | list) and not isinstance(control.get(key), bool):
            control[key] = _times(control[key], factor)


def _reference(data: dict[str, Any], rng: np.random.Generator) -> None:
    reference = data["reference"]
    if isinstance(reference.get("duration"), float):
        reference["duration"] *= float(rng.uniform(0.7, 1.5))
    if isinstance(reference.get("offset"), list):
        reference["offset"] = _times(reference["offset"], float(rng.uniform(0.5, 1.1)))


def _surfaces(data: dict[str, Any], rng: np.random.Generator) -> None:
    for surface in data["world"]["surfaces"]:
        if surface["contact"] == "compliant":
            surface["stiffness"] *= float(10 ** rng.uniform(-0.5, 0.3))
            surface["damping"] *= float(rng.uniform(0.7, 2.0))
        surface["friction"] *= float(rng.uniform(0.5, 1.2))


def _pushes(data: dict[str, Any], rng: np.random.Generator) -> None:
    for push in data["world"]["pushes"]:
        factor = float(rng.uniform(0.3, 1.1))
        push["force"], push["torque"] = _times(push["force"], factor), _times(push["torque"], factor)


def _noise(data: dict[str, Any], rng: np.random.Generator) -> None:
    sensors = data["world"]["sensors"]
    sensors["encoder_noise"] = float(rng.uniform(0, 1e-5))
    sensors["wrench"]["noise_force"] = float(rng.uniform(0, 0.1))
    sensors["wrench"]["noise_torque"] = float(rng.uniform(0, 0.003))
    if sensors["velocity"] == "measured":
        sensors["velocity_noise"] = float(rng.uniform(0, 1e-3))


def _delay(data: dict[str, Any], rng: np.random.Generator) -> None:
    sensors = data["world"]["sensors"]
    if sensors["delay_time"] is None and sensors["wrench"]["delay_time"] is None:
        sensors["delay"] += int(rng.integers(0, 2))
        sensors["wrench"]["delay"] += int(rng.integers(0, 2))


def _clock(data: dict[str, Any], rng: np.random.Generator) -> None:
    data["run"]["duration"] *= float(rng.uniform(0.6, 1.3))
    data["run"]["seed"] = int(rng.integers(0, 1000))


def _start(data: dict[str, Any], rng: np.random.Generator) -> None:
    start = data["robot"].get("start") or {}
    if isinstance(start.get("q"), list) and not data["world"]["surfaces"]:
        start["q"] = [float(q + rng.uniform(-0.02, 0.02)) for q in start["q"]]


CHANGES = (_gains, _reference, _surfaces, _pushes, _noise, _delay, _clock, _start)


def variations(seed: int, count: int) -> Iterator[tuple[str, Scenario]]:
    """So many scenarios, each with one to three changes, and what they are in words."""
    rng, names = np.random.default_rng(seed), [name for name in shipped() if name not in FAULTY]
    while count > 0:
        name = str(rng.choice(names))
        chosen = rng.choice(len(CHANGES), int(rng.integers(1, 4)), replace=False)
        data = deepcopy(load_scenario(name).model_dump(mode="json"))
        data["metrics"] = {}
        for change in chosen:
            CHANGES[change](data, rng)
        try:
            scenario = Scenario.model_validate(data)
        except (PalpateError, ValueError):
            continue
        count -= 1
        yield f"{name}, {', '.join(CHANGES[c].__name__.strip('_') for c in sorted(chosen))}", scenario
