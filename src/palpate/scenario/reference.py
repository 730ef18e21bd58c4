"""Inputs of a scenario's law: its reference on the surface that it names, and facts about the loop."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.law import Law
from palpate.control.python_law import PythonLaw
from palpate.control.references.field_path import FieldPath
from palpate.control.references.reference import ReferenceSettings
from palpate.control.references.surface_path import CURVED, SurfacePath
from palpate.control.rig import Rig
from palpate.control.traits import LawTraits
from palpate.errors import InvalidInput, check_names
from palpate.forking import cached_property
from palpate.robot.robot import Robot
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
    """The rig of a run, delays in periods; a low-pass of share a makes σ √(a / (2 − a)) of a noise of σ per sample."""
    wrench, period = world.sensors.wrench, clock.control_period
    share = low_pass_share(wrench.cutoff, period)
    left = (share / (2.0 - share)) ** 0.5
    delay = world.sensors.delay + world.driver.delay
    return Rig(period, delay, left * wrench.noise_force, left * wrench.noise_torque, q)


_OF_LOOP = [field.name for field in fields(Rig) if field.name != "q"]


class FittedLaw:
    """A law fitted to a robot and the loop it will run in, and bound: once for a scenario's check and its first run.

    Attributes:
        given: as the scenario has it.
        law: the same with everything chosen that its settings leave open.
    """

    def __init__(self, law: Law | PythonLaw, robot: Robot, rig: Rig) -> None:
        self.given, self.robot, self._rig = law, robot, rig
        self.law = law.suited(robot, rig)
        self._bound = [self.law.bound_to(robot)]

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A copied or pickled scenario goes without: a bound law is at addresses of this process."""
        return type(None), ()

    def fits(self, law: Law | PythonLaw, robot: Robot, rig: Rig) -> bool:
        """Whether it is what another law, robot and loop would be fitted to."""
        same_law = law is self.given or (isinstance(law, Law) and law == self.given)
        same_start = rig.q is self._rig.q or np.array_equal(rig.q, self._rig.q)  # pyright: ignore[reportArgumentType]
        same_loop = all(getattr(rig, name) == getattr(self._rig, name) for name in _OF_LOOP)
        return robot is self.robot and same_law and same_start and same_loop

    @cached_property
    def traits(self) -> LawTraits:
        """The law's, worked out once."""
        return self.law.traits

    def law_for_run(self) -> BoundLaw:
        """The bound law for one run, with a memory that has not run: the first time the one that was checked."""
        try:
            return self._bound.pop()
        except IndexError:
            return self.law.bound_to(self.robot)
