"""Whether a contact will last once it is made: a simulated press on every surface that the target leads into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import axis_of
from palpate.control.design.case import ContactCase
from palpate.control.design.press import Press, PressedPlant, cost_of_press, pressed_arm, simulated_press
from palpate.control.law import Target, sizes_of
from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.demands import TargetPath
from palpate.run.before.foresee import contact_of, wall_of
from palpate.spatial.shapes import SHAPES
from palpate.world.config import Surface
from palpate.world.plants.plant import dry_friction, surface_rotation
from palpate.world.surfaces.forms import form_of

MOST_CPU = 1.0  # s, of one press
_SAMPLES, _FINE = 400, 2000  # of the reference, and of what follows its passing a surface
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


def foretold_presses(assembly: Assembly, path: TargetPath | None) -> dict[str, Press | str]:
    """A press by surface, or why none was simulated; nothing for surfaces that the target does not lead into."""
    presses = {}
    if path is None:
        return {}
    for surface in assembly.run.world.surfaces:
        if surface.contact != "compliant" or surface.motion is not None:
            continue
        try:
            press = _press_on(assembly, path, surface)
        except (PalpateError, np.linalg.LinAlgError):
            continue  # what cannot be predicted is said with the loop's poles
        if press is not None:
            presses[surface.name] = press
    return presses


def presses_in_words(presses: Mapping[str, Press | str]) -> tuple[list[str], list[str]]:
    """What was foretold of the presses, and the warnings among it."""
    said = {f"on {name!r}: {p if isinstance(p, str) else p.sentence}": p for name, p in presses.items()}
    return list(said), [text for text, press in said.items() if isinstance(press, Press) and press.bounces]


def _press_on(assembly: Assembly, path: TargetPath, surface: Surface) -> Press | str | None:
    run, way = assembly.run, _approach(assembly, path, surface)
    contact = contact_of(run, way.q, wall_of(surface, run.robot.pose(way.q).position))
    case = axis_of(contact)
    if not case.loop.stable:
        return None
    plant = pressed_arm(contact, dry_friction(run.robot, run.world))
    if plant.controls_force and way.force > 0.0:
        return _pressed(plant, way, _speed_of(assembly, case, way), np.zeros(1))
    if plant.controls_force or way.depth <= 0.0 or way.time < _SHORTEST:
        return None
    return _pressed(plant, way, way.speed, way.behind)


def _pressed(plant: PressedPlant, way: Approach, speed: float, behind: Array) -> Press | str:
    cost = cost_of_press(plant, way.time)
    if cost > MOST_CPU:
        return f"whether the contact lasts is not foretold: a simulated press would take about {cost:.2g} s"
    return simulated_press(plant, speed=speed, duration=way.time, depth=way.depth, behind=behind, force=way.force)


def _speed_of(assembly: Assembly, case: ContactCase, way: Approach) -> float:
    """At which a law of force meets a surface: its approach speed, or what its damping leaves of the wanted force."""
    if way.gap <= _TOUCHING:
        return 0.0
    free = (1.0 + case.proportional) * way.force / max(case.damping, 1e-9)
    return float(getattr(assembly.run.law, "approach_speed", free))


def _approach(assembly: Assembly, path: TargetPath, surface: Surface) -> Approach:
    run = assembly.run
    times = np.linspace(0.0, run.clock.duration, _SAMPLES)
    inside, wanted = _target_depths(assembly, surface, times)
    gap = -float(np.max([_depths(assembly, surface, tool[None], *point) for tool, point in _at_start(assembly)]))
    passes = np.flatnonzero((inside[1:] > 0.0) & (inside[:-1] <= 0.0))
    depth, duration = float(inside[-1]), run.clock.duration
    if not len(passes):
        return Approach(depth, 0.0, np.zeros(1), wanted, gap, duration, run.start()[0])
    k = int(passes[-1])
    share = inside[k] / (inside[k] - inside[k + 1])
    passed = float(times[k] + share * (times[k + 1] - times[k]))
    way, _ = _target_depths(assembly, surface, np.linspace(passed, duration, _FINE))
    left = duration - passed
    speed = float((way[1] - way[0]) * (_FINE - 1) / left)
    return Approach(depth, speed, depth - way, wanted, gap, left, path.posture_at(passed))


def _target_depths(assembly: Assembly, surface: Surface, times: Array) -> tuple[Array, float]:
    """How deep behind a surface the target takes the robot's deepest point, m, and the largest wanted force, N."""
    run = assembly.run
    rows = np.asarray(run.reference.sample(times, run.robot, run.start()[0]))
    target = Target.columns(rows, sizes_of(run.robot))
    inside = np.max([_depths(assembly, surface, target["position"], *point) for point in _points(assembly)], axis=0)
    return inside, float(np.linalg.norm(target["wrench"][:, :3], axis=1).max())


def _points(assembly: Assembly) -> list[tuple[Array, float]]:
    """Of every point of contact of the robot: its place from the tool's origin at the start, and its radius."""
    return [point for _, point in _at_start(assembly)]


def _at_start(assembly: Assembly) -> list[tuple[Array, tuple[Array, float]]]:
    plant = assembly.plant
    data = mujoco.MjData(plant.model)
    data.qpos[:] = assembly.data.qpos
    mujoco.mj_kinematics(plant.model, data)

    def place(body: int, offset: Array) -> Array:
        return data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset

    tool = place(plant.tool.body, plant.tool.offset)
    return [(tool, (place(p.body, p.offset) - tool, p.radius)) for p in plant.points if p.on_robot]


def _depths(assembly: Assembly, surface: Surface, tool: Array, offset: Array, radius: float) -> Array:
    """How deep a point at an offset from the tool is behind a surface, m; negative outside."""
    axes, distance, form = surface_rotation(surface), SHAPES[surface.shape].distance, form_of(surface)
    local, normal = (tool + offset - np.array(surface.position)) @ axes, np.zeros(3)
    return np.array([radius - distance(form, np.ascontiguousarray(x), normal) for x in local])
