"""Removals of a run's plant, limits and driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from palpate.control.guards import GUARD_NAMES
from palpate.run.after.removals.removal import Removal, with_part, with_world, without_item
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop.state import RATE_LIMITED, TORQUE_LIMITED
from palpate.world.config import PlantChange, World
from palpate.world.driver import Driver

_MASSES = ("mass_scale", "link_mass_scale", "com_offset")
_FRAMES = {"base_position": "base", "tool_offset": "tool frame"}
_NO_RATES = {"torque_rate_limit": False, "joint_speed_limit": 0.0, "joint_acceleration_limit": 0.0}
_DRIVER = {
    "cutoff": ("the driver's filter of {:g} Hz", {"cutoff": 0.0}),
    "loss": ("lost commands", {"loss": 0.0}),
    "jitter": ("the driver's jitter", {"jitter": 0.0}),
}


def of_plant(world: World) -> Iterator[Removal]:
    """Loads, masses, frames and rotors that the law's model lacks, and another gravity."""
    plant, none = world.plant, PlantChange()
    for load in world.attachments:
        yield Removal(f"load {load.name!r} of {load.mass:g} kg", without_item("attachments", load), load=True)
    if any(getattr(plant, name) != getattr(none, name) for name in _MASSES):
        yield Removal("the plant's other masses", with_part("plant", **{name: getattr(none, name) for name in _MASSES}))
    for name, words in _FRAMES.items():
        if any(getattr(plant, name)):
            yield Removal(f"the offset of the {words}", with_part("plant", **{name: getattr(none, name)}))
    if np.any(plant.rotor_inertia):
        yield Removal("rotors that the law's model lacks", with_part("plant", rotor_inertia=0.0))
    if world.gravity is not None:
        words = "({})".format(", ".join(f"{g:.6g}" for g in world.gravity))
        yield Removal(f"the world's gravity of {words} m/s²", with_world(gravity=None))


def of_limits(assembly: Assembly) -> Iterator[Removal]:
    """Limits and guards that have changed a command."""
    counts = assembly.loop.guard_steps

    def changed(bit: int) -> bool:
        return bool(counts[bit.bit_length() - 1])

    if changed(TORQUE_LIMITED):
        yield Removal("the torque limits", with_part("driver", torque_limit=False))
    if changed(RATE_LIMITED):
        yield Removal("the driver's rate limits", with_part("driver", **_NO_RATES, joint_jerk_limit=0.0))
    if (names := [name for bit, name in GUARD_NAMES.items() if changed(bit)]) and assembly.run.guards is not None:
        yield Removal(f"the guards ({', '.join(names)})", lambda run: replace(run, guards=None))
    if assembly.run.around is not None and np.any(assembly.loop.row.terms[-1 - assembly.law.compensates]):
        yield Removal("what stands around the law", lambda run: replace(run, around=None))


def of_driver(driver: Driver) -> Iterator[Removal]:
    """Filter, losses, jitter, limits and delay of the driver."""
    facts = driver.facts
    for name, (words, off) in _DRIVER.items():
        if getattr(facts, name):
            yield Removal(words.format(getattr(facts, name)), with_part("driver", **off))
    if driver.preset != "ideal":
        yield Removal(f"the driver {driver.preset!r}", with_world(driver=Driver(delay=driver.delay)))
    if driver.delay:
        yield Removal(f"the driver's delay of {driver.delay} ticks", with_part("driver", delay=0))
