"""Every removal of a run that has ended."""

from __future__ import annotations

from collections.abc import Mapping

from palpate.checks import Array
from palpate.run.after.removals.joints import of_joints
from palpate.run.after.removals.plant import of_driver, of_limits, of_plant
from palpate.run.after.removals.removal import Removal
from palpate.run.after.removals.surroundings import of_clock, of_sensors, of_world
from palpate.run.assemble.assemble import Assembly


def removals(assembly: Assembly, named: Mapping[str, Array]) -> list[Removal]:
    """Everything that can be taken away from a run that has ended, one by one."""
    run = assembly.run
    return [
        *of_joints(assembly),
        *of_plant(run.world),
        *of_limits(assembly),
        *of_driver(run.world.driver),
        *of_sensors(run.world.sensors),
        *of_world(run.world, named),
        *of_clock(run),
    ]
