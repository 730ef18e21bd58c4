"""A robot of which only the kinematics are known: its joints go where their servos are told, whatever pushes back."""

from __future__ import annotations

from collections.abc import Iterator

from palpate.control.law import BoundLaw
from palpate.engine.kernels import kernel, put
from palpate.engine.library import mj_integratePos
from palpate.engine.views import address_of
from palpate.errors import MassesMissing
from palpate.run.loop.state import POSITION, Loop
from palpate.run.run import Run
from palpate.world.config import PlantChange

_MASS_TERMS = ("M", "bias", "gravity")
ASSUMED = "the robot's masses are unknown: its joints follow their commands exactly, whatever forces act"


def refuse_what_needs_masses(run: Run, law: BoundLaw) -> None:
    """Refuse by name what a robot without masses cannot be asked for; nothing where masses are known.

    Raises:
        MassesMissing: what it is.
    """
    robot = run.robot
    for what in _asks_for_masses(run, law) if robot.unresisted else ():
        raise MassesMissing(what, robot.name, robot.unresisted)


def _asks_for_masses(run: Run, law: BoundLaw) -> Iterator[str]:
    world = run.world
    if law.command in ("torque", "acceleration"):
        yield f"the {law.command} command of the law {law.name!r}"
    if law.compiled and (needed := [name for name in _MASS_TERMS if name in law.needs]):
        yield f"the law {law.name!r} (it reads {', '.join(needed)})"
    geometry = world.plant.model_copy(
        update={name: PlantChange.model_fields[name].default for name in ("base_position", "tool_offset")}
    )
    asked = {
        "contact with a rigid surface": any(surface.contact == "rigid" for surface in world.surfaces),
        "a free object beside the motion": bool(world.objects),
        "a pole on the tool": world.pole is not None,
        "a load attached during the run": bool(world.attachments),
        "a plant of other masses or losses (world.plant)": geometry != PlantChange(),
    }
    yield from (what for what, is_asked in asked.items() if is_asked)


@kernel
def move_as_told(L: Loop) -> None:
    """One physics step: v as commanded; towards a commanded position so that it is reached when the period ends."""
    p, d = L.plant, L.drives
    left = (L.ratio - L.step % L.ratio) * L.dt
    for j in range(L.dof.size):
        q = p.qpos[L.coordinate[j]]
        p.qvel[L.dof[j]] = (d.set_q[j] - q) / left if d.kind == POSITION else d.set_v[j]
    put(L.v_old, 0, p.qvel)
    mj_integratePos(p.model, address_of(p.qpos), address_of(p.qvel), L.dt)
    p.time = L.step * L.dt + L.dt
