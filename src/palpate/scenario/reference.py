"""What the law of a scenario is given: its reference on the surface that it names, and what it may know of the loop."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.law import Rig
from palpate.control.references.reference import ReferenceSettings
from palpate.control.references.surface_path import CURVED, FieldPath, SurfacePath
from palpate.errors import InvalidInput, check_names
from palpate.spatial import quat_from_matrix
from palpate.world.clock import Clock
from palpate.world.config import World
from palpate.world.plants.plant import surface_rotation
from palpate.world.sensing.sensors import low_pass_share
from palpate.world.surfaces.forms import form_of


def placed(reference: ReferenceSettings, world: World) -> ReferenceSettings:
    """The reference itself; a path on a named surface with that surface's shape and place.

    Raises:
        UnknownName: the world has no such surface.
        InvalidInput: the surface moves, or is of a shape without such paths.
    """
    if not isinstance(reference, SurfacePath) or reference.surface is None:
        return reference
    known = {surface.name: surface for surface in world.surfaces}
    check_names("surface", [reference.surface], known)
    surface = known[reference.surface]
    if surface.motion is not None or surface.shape not in ("plane", "height-field", *CURVED):
        what = "moves" if surface.motion is not None else f"is a {surface.shape}"
        raise InvalidInput(
            f"a path runs on a plane, cylinder, sphere or height field that stands still; {surface.name!r} {what}"
        )
    quat = np.asarray(quat_from_matrix(surface_rotation(surface)))
    given = {"position": surface.position, "quat_wxyz": tuple(quat.tolist())}
    if surface.shape == "height-field":
        settings = {**dict(reference), **given, "surface": None, "form": tuple(form_of(surface).tolist())}
        return FieldPath.model_construct(**settings)
    given["shape"] = surface.shape
    radius = surface.size[0] if surface.shape in CURVED else 0.0
    return reference.model_copy(update={**given, "radius": radius, "surface": None})


def rig_of(world: World, clock: Clock, q: Array | None = None) -> Rig:
    """The rig of a run; a low-pass of share a makes σ √(a / (2 − a)) of a noise of σ per sample."""
    wrench, period = world.sensors.wrench, clock.control_period
    share = low_pass_share(wrench.cutoff, period)
    left = (share / (2.0 - share)) ** 0.5
    delay = world.sensors.delay + world.driver.delay
    return Rig(period, delay, left * wrench.noise_force, left * wrench.noise_torque, q)
