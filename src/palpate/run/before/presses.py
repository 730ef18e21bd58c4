"""Whether a contact will last once it is made: a simulated press on every surface that the target leads into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import axis_of
from palpate.control.design.case import ContactCase
from palpate.control.design.press import Press, cost_of_press, pressed_arm, simulated_press
from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.demands import TargetPath
from palpate.run.before.foresee import Forecast, depths, wall_of
from palpate.run.run import Run
from palpate.world.config import Surface
from palpate.world.plants.plant import dry_friction

MOST_CPU = 1.0  # s, of one press
_TOUCHING = 1e-4  # m: a gap that is none
_SHORTEST = 0.2  # s of a press


@dataclass(frozen=True)
class Approach:
    """How the target meets a surface.

    Attributes:
        depth: behind the surface at the end, m.
        speed: towards it when it passes, m/s.
        behind: how far it is from its last position, m, from then on at equal times.
        force: the largest that is wanted, N.
        gap: between surface and robot at the start, m.
        time: left of the run then, s.
        q: posture then.
    """

    depth: float
    speed: float
    behind: Array
    force: float
    gap: float
    time: float
    q: Array


def foretold_presses(forecast: Forecast, path: TargetPath | None) -> dict[str, Press | str]:
    """A press by surface, or why none was simulated; nothing for surfaces that the target does not lead into."""
    presses = {}
    for surface, _ in forecast.still_surfaces if path is not None else ():
        if surface.contact != "compliant":
            continue
        try:
            press = _press_on(forecast, path, surface)  # pyright: ignore[reportArgumentType]
        except (PalpateError, np.linalg.LinAlgError):
            continue  # what cannot be predicted is said with the loop's poles
        if press is not None:
            presses[surface.name] = press
    return presses


def presses_in_words(presses: Mapping[str, Press | str]) -> tuple[list[str], list[str]]:
    """What was foretold of the presses, and the warnings among it."""
    said = {f"on {name!r}: {p if isinstance(p, str) else p.sentence}": p for name, p in presses.items()}
    return list(said), [text for text, press in said.items() if isinstance(press, Press) and press.bounces]


def _press_on(forecast: Forecast, path: TargetPath, surface: Surface) -> Press | str | None:
    run, approach = forecast.run, _approach(forecast, path, surface)
    wall = wall_of(surface, run.robot.pose(approach.q).position)
    contact = forecast.contact(approach.q, wall)
    case = axis_of(contact)
    if not case.loop.stable:
        return None
    plant = pressed_arm(contact, dry_friction(run.robot, run.world))
    speed, behind = approach.speed, approach.behind
    if plant.controls_force and approach.force > 0.0:
        speed, behind = _speed_of(run, case, approach), np.zeros(1)
    elif plant.controls_force or approach.depth <= 0.0 or approach.time < _SHORTEST:
        return None
    cost = cost_of_press(plant, approach.time)
    if cost > MOST_CPU:
        return f"whether the contact lasts is not predicted: a simulated press would take about {cost:.2g} s"
    return simulated_press(
        plant, speed=speed, duration=approach.time, depth=approach.depth, behind=behind, force=approach.force
    )


def _speed_of(run: Run, case: ContactCase, approach: Approach) -> float:
    """At which a law of force meets a surface: its approach speed, or what its damping leaves of the wanted force."""
    if approach.gap <= _TOUCHING:
        return 0.0
    free = (1.0 + case.proportional) * approach.force / max(case.damping, 1e-9)
    return float(getattr(run.law, "approach_speed", free))


def _approach(forecast: Forecast, path: TargetPath, surface: Surface) -> Approach:
    (times, _), target, duration = forecast.reference, forecast.target, forecast.run.clock.duration
    offsets, tool = _contact_points(forecast.assembly)
    inside = np.max([depths(surface, target["position"] + offset, radius) for offset, radius in offsets], axis=0)
    gap = -max(float(depths(surface, (tool + offset)[None], radius)[0]) for offset, radius in offsets)
    wanted, depth = float(np.linalg.norm(target["wrench"][:, :3], axis=1).max()), float(inside[-1])
    passes = np.flatnonzero((inside[1:] > 0.0) & (inside[:-1] <= 0.0))
    if not len(passes):
        return Approach(depth, 0.0, np.zeros(1), wanted, gap, duration, forecast.q)
    k = int(passes[-1])
    speed = float((inside[k + 1] - inside[k]) / (times[k + 1] - times[k]))
    passed = float(times[k] - inside[k] / speed)
    left = np.linspace(passed, duration, len(times))
    behind = depth - np.interp(left, times, inside)
    return Approach(depth, speed, behind, wanted, gap, duration - passed, path.posture_at(passed))


def _contact_points(assembly: Assembly) -> tuple[list[tuple[Array, float]], Array]:
    """The robot's points of contact at the start, from the tool's origin, with their radii; and that origin."""
    plant = assembly.plant
    data = mujoco.MjData(plant.model)
    data.qpos[:] = assembly.data.qpos
    mujoco.mj_kinematics(plant.model, data)

    def position(body: int, offset: Array) -> Array:
        return data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset

    tool = position(plant.tool.body, plant.tool.offset)
    return [(position(p.body, p.offset) - tool, p.radius) for p in plant.points if p.on_robot], tool
