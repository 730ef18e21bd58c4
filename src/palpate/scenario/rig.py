"""What a law may know of the loop it will run in, from the world's sensors and the clock."""

from __future__ import annotations

from palpate.checks import Array
from palpate.control.law import Rig
from palpate.world.clock import Clock
from palpate.world.config import World
from palpate.world.sensing.sensors import low_pass_share


def rig_of(world: World, clock: Clock, q: Array | None = None) -> Rig:
    """The rig of a run; a low-pass of share a makes σ √(a / (2 − a)) of a noise of σ per sample."""
    wrench, period = world.sensors.wrench, clock.control_period
    share = low_pass_share(wrench.cutoff, period)
    left = (share / (2.0 - share)) ** 0.5
    delay = world.sensors.delay + world.driver.delay
    return Rig(period, delay, left * wrench.noise_force, left * wrench.noise_torque, q)
