"""Whether a contact will last once it is made: a simulated press on every surface that the target leads into."""

from __future__ import annotations

from collections.abc import Mapping

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


def foretold_presses(forecast: Forecast, path: TargetPath | None) -> dict[str, Press | str]:
    """A press by surface, or why none was simulated; nothing for surfaces that the target does not lead into."""
    presses = {}
    for surface, _ in forecast.still_surfaces if path is not None else ():
        if surface.contact != "compliant":
            continue
        try:
            press = _press_on(forecast, path, surface)  # pyright: ignore[reportArgumentType]
        except (PalpateError, np.linalg.LinAlgError):
            continue  # the prediction of the loop's poles says why
        if press is not None:
            presses[surface.name] = press
    return presses


def presses_in_words(presses: Mapping[str, Press | str]) -> tuple[list[str], list[str]]:
    """What was foretold of the presses, and the warnings among it."""
    sentences = {f"on {name!r}: {p if isinstance(p, str) else p.sentence}": p for name, p in presses.items()}
    return list(sentences), [text for text, press in sentences.items() if isinstance(press, Press) and press.bounces]


def _press_on(forecast: Forecast, path: TargetPath, surface: Surface) -> Press | str | None:
    """A press on a surface, from the posture at which the target passes it for the last time."""
    run, (times, _), target, left = forecast.run, forecast.reference, forecast.target, forecast.run.clock.duration
    offsets, tool = _contact_points(forecast.assembly)
    way = target["position"]
    if forecast.law.follows != "tool":  # then the tool goes where the joints' targets lead it
        way = np.column_stack([np.interp(times, path.t, along) for along in path.positions.T])
    inside = np.max([depths(surface, way + offset, radius) for offset, radius in offsets], axis=0)
    force, depth = float(np.linalg.norm(target["wrench"][:, :3], axis=1).max()), float(inside[-1])
    q, speed, behind = forecast.q, 0.0, np.zeros(1)
    if len(passes := np.flatnonzero((inside[1:] > 0.0) & (inside[:-1] <= 0.0))):
        k = int(passes[-1])
        speed = float((inside[k + 1] - inside[k]) / (times[k + 1] - times[k]))
        passed = float(times[k] - inside[k] / speed)
        behind = depth - np.interp(np.linspace(passed, left, len(times)), times, inside)
        q, left = path.posture_at(passed), left - passed
    contact = forecast.contact(q, wall_of(surface, run.robot.pose(q).position))
    case = axis_of(contact)
    if not contact.loop.stable:  # it is warned of already
        return None
    plant = pressed_arm(contact, dry_friction(run.robot, run.world))
    if plant.controls_force and force > 0.0:
        touching = max(float(depths(surface, (tool + offset)[None], radius)[0]) for offset, radius in offsets)
        speed, behind = 0.0 if touching >= -_TOUCHING else _approach_speed(run, case, force), np.zeros(1)
    elif plant.controls_force or depth <= 0.0 or left < _SHORTEST:
        return None
    cost = cost_of_press(plant, left)
    if cost > MOST_CPU:
        return f"whether the contact lasts is not predicted: a simulated press would take about {cost:.2g} s"
    return simulated_press(plant, speed=speed, duration=left, depth=depth, behind=behind, force=force)


def _approach_speed(run: Run, case: ContactCase, force: float) -> float:
    """At which a law of force meets a surface: its approach speed, or what its damping leaves of the wanted force."""
    free = (1.0 + case.proportional) * force / max(case.damping, 1e-9)
    return float(getattr(run.law, "approach_speed", free))


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
