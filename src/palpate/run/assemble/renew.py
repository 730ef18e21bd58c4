"""An assembled run that is run again with other numbers: robot and scene are built once and changed in place.

The parts of an assembly declare which settings may change (`parts.py`): the law's gains, the numbers of still compliant
surfaces, pushes, sensors, the driver, masses and joint friction of the plant, the reference, the seed. Everything else
is another structure and another assembly. The numbers that go into the loop are made by the functions that assemble
it, so that both ways give the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import mujoco

from palpate.control.bound_law import BoundLaw
from palpate.run.assemble.assemble import (
    assemble,
    begun,
    can_share,
    felt_bodies,
    law_fields,
    outside_fields,
    sensor_fields,
    set_state,
    suited,
    wanted_axes,
    writing_to,
)
from palpate.run.assemble.numbers import Numbers
from palpate.run.assemble.parts import are_alike, fixed_in_runs
from palpate.run.assemble.recording import kept_fields
from palpate.run.run import Run
from palpate.trace import Channel, named_channels
from palpate.world.forces.contact import surface_numbers
from palpate.world.plants.joint_friction import joint_friction
from palpate.world.plants.plant import change_in_place, place_surface, places_of
from palpate.world.plants.tree_plant import LinkMasses
from palpate.world.rigid.stops import read_mobility
from palpate.world.sensing.custom import bound_sensors

_PLACED = ("position", "quat_wxyz", "normal", "friction")  # of a surface, in the compiled scene
_LOOKED_AT = (
    "q", "v", "tau", "command", "tool_", "target_", "energy.", "guard", "surface.", "push_wrench", "contact_wrench",
    "contact_force", "measured_wrench", "penetration",
)  # fmt: skip
_LAW_FIELDS = ("needs", "gains", "memory", "terms", "compensation", "shows")


class Renewable:
    """A run, assembled; `renew` makes it ready for another one of the same structure."""

    def __init__(self, run: Run) -> None:
        """Assemble a run, which is then ready to start."""
        self.first, self.assembly = run, assemble(run)
        self._law, self._plant = self.assembly.law, self.assembly.plant
        self._chosen = self.assembly.run.law  # with its open settings chosen
        records = (self._law.gains, self._law.memory) if self._law.compiled else ()
        self.numbers = Numbers(self.assembly.loop, *records)
        self._world = self.assembly.run.world  # with the rotors that a servo is assumed to have
        self._change, self._surfaces = self._world.plant, run.world.surfaces
        self._places = places_of(run.robot, self._plant.model)
        self._fixed = fixed_in_runs()
        tree = self.assembly.loop.tree
        self._offered, self._kept = named_channels(self.assembly.chosen), None
        self._masses = LinkMasses(tree, self._plant.model) if tree.on else None

    def renew(self, run: Run) -> bool:
        """Make the assembly ready for a run; False, and nothing promised, where that needs another assembly."""
        if not self._fits(run):
            return False
        if self.first.fitted.fits(run.law, run.robot, run.rig):
            run.__dict__["fitted"] = self.first.fitted
        run, law = suited(run), self._law
        if run.law != self._chosen:
            law = begun(run)
            if law.terms != self._law.terms:
                return False
            law = writing_to(law, self.assembly.layout)
        if _interface(law) != _interface(self._law) or can_share(run, self._plant) != self.assembly.loop.shared:
            return False
        self.numbers.restore()
        self._change_scene(run)
        self.assembly.run, self.assembly.law = run, law
        self._change_loop(run, law)
        return True

    def keep_channels(self, names: Collection[str] | None = None) -> Mapping[str, Channel]:
        """Let the runs from now on keep some of the channels, all if not given; return those that the run has, by name.

        Nothing else changes in a run, its energies are watched at the same steps, too. A trace ends before its first
        number that is none: channels that the loop does not look at itself, such as what a law shows, are always kept.
        """
        kept = None if names is None else frozenset(names)
        if kept != self._kept:
            self._kept, loop = kept, self.assembly.loop
            _, *offered = self._offered.values()  # time is always kept
            chosen = tuple(c for c in offered if kept is None or c.name in kept or not _looked_at(c.name))
            fields = kept_fields(self.first, self.assembly.layout, chosen)
            loop.replace_all(fields)
            self.numbers.take_over(loop, fields)
            self.assembly.chosen = chosen
        return self._offered

    def _fits(self, run: Run) -> bool:
        first = self.first
        same = all(getattr(run, name) is getattr(first, name) for name in self._fixed)
        start = run.starts_like(first)
        sections = all(are_alike(name, getattr(run, name), getattr(first, name)) for name in ("world", "clock"))
        plain = not run.robot.coordinates.coupled and not run.robot.unresisted and not run.world.attachments
        plain = plain and not run.world.is_exact
        plain = plain and (self._plant.elastic is None or run.world.plant == first.world.plant)
        still = plain and self.assembly.compiled and type(run.law) is type(first.law)
        return same and start and sections and still

    def _change_scene(self, run: Run) -> None:
        """The compiled scene and its data as if they were built for this run."""
        model, data = self._plant.model, self.assembly.data
        if not _same(run.world.plant, self._change):
            change_in_place(self._plant, run.world, data, self._places)
            self._change = run.world.plant
        if self._masses is not None and not _same(run.world.plant, self._world.plant):
            self._masses.read()
            read_mobility(self.assembly.loop.holding.stops, model)
        for surface, last in zip(run.world.surfaces, self._surfaces):
            if surface is not last and any(getattr(surface, name) != getattr(last, name) for name in _PLACED):
                place_surface(model, surface)
        self._surfaces = run.world.surfaces
        if not _same(run.world.surfaces, self.assembly.plant.surfaces):
            self.assembly.plant = self._plant.with_surfaces(run.world.surfaces)
        mujoco.mj_resetData(model, data)
        set_state(self.assembly.plant, data, *run.start())

    def _change_loop(self, run: Run, law: BoundLaw) -> None:
        loop, plant, rows = self.assembly.loop, self.assembly.plant, self.assembly.layout
        loop.seed = run.clock.seed
        changed: dict[str, Any] = {}
        if loop.friction.on and plant.friction.any():
            loop.friction.coulomb[:], loop.friction.damping[:] = plant.friction, plant.model.dof_damping
        elif loop.friction.on or plant.friction.any():
            changed["friction"] = joint_friction(plant.model, plant.friction, False)
        if law is not self._law:
            of_law = law_fields(run, law)
            changed |= {name: of_law[name] for name in _LAW_FIELDS}
        first = self.first.world
        worlds = run.world, first
        other = {name for name in ("sensors", "driver", "pushes") if not _same(*(getattr(w, name) for w in worlds))}
        if other & {"sensors", "driver"}:
            changed |= sensor_fields(run, plant, law, loop.shared)
        if custom := run.world.sensors.custom:  # with a memory that has not run
            self.assembly.sensors = bound_sensors(custom, run.robot)
            changed["custom"] = [sensor.record for sensor in self.assembly.sensors]
        if anew := other & {"pushes", "sensors"}:
            changed |= outside_fields(run, plant, loop.plant, rows, felt_bodies(run, plant), self.assembly.carrier)
        if run.reference is not self.first.reference:
            changed["wanted"] = wanted_axes(run)
        if changed:
            loop.replace_all(changed)
        for state, surface, old in zip(loop.surfaces, run.world.surfaces, first.surfaces):
            if surface is not old and not anew:
                state.write(surface_numbers(surface))


def _same(one: Any, other: Any) -> bool:
    return one is other or one == other


def _looked_at(channel: str) -> bool:
    """Whether a run ends, as diverged, where a number of a channel is none."""
    return channel.startswith(_LOOKED_AT)


def _interface(law: BoundLaw) -> tuple[Any, ...]:
    """Properties of a law that loop and row depend on, besides its records."""
    return law.terms, law.command, law.shown, law.compiled, law.needs, law.ending
