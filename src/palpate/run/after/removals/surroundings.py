"""Removals of a run's sensors, world and clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.run.after.removals.removal import Removal, given_settings, with_part, with_world, without_item
from palpate.run.run import Run
from palpate.world.config import Camera, Sensors, World

_FINER = 10  # times shorter: the control period and physics step of a run that lacks the hold of its commands
_MOST_FINE_STEPS = 200_000
_JOINT_NOISE = ("encoder_resolution", "encoder_noise", "velocity_noise")


def of_sensors(sensors: Sensors) -> Iterator[Removal]:
    """Noise, filters and delays of the sensors."""
    wrench = sensors.wrench
    if any(getattr(sensors, name) for name in _JOINT_NOISE):
        yield Removal(
            "noise and resolution of the joint sensors", with_part("sensors", **dict.fromkeys(_JOINT_NOISE, 0.0))
        )
    if sensors.velocity != "measured" or sensors.velocity_cutoff:
        yield Removal(
            "the differences or the filter of the joint velocities",
            with_part("sensors", velocity="measured", velocity_cutoff=None),
        )
    if sensors.delay:
        yield Removal(f"the joint sensors' delay of {sensors.delay} ticks", with_part("sensors", delay=0))
    if any(wrench.bias):
        yield Removal("the wrench sensor's bias", _wrist(bias=(0.0,) * 6))
    lags = {"noise_force": 0.0, "noise_torque": 0.0, "cutoff": None, "delay": 0}
    if any(getattr(wrench, name) for name in lags):
        yield Removal("noise, filter and delay of the wrench sensor", _wrist(**lags))
    if not sensors.camera.ideal:
        yield Removal("delay and noise of the camera", with_part("sensors", camera=Camera()))


def _wrist(**update: Any) -> Callable[[Run], Run]:
    """A run with other settings of its wrench sensor."""
    return lambda run: with_part("sensors", wrench=run.world.sensors.wrench.model_copy(update=update))(run)


def of_world(world: World, named: Mapping[str, Array]) -> Iterator[Removal]:
    """Faults, pushes, and the friction or the presence of surfaces that were touched."""
    for fault in world.faults:
        yield Removal(f"the fault {fault.what!r}", without_item("faults", fault))
    for push in world.pushes:
        yield Removal(f"push {push.name!r}", without_item("pushes", push))
    if not np.any(named.get("contact_force", 0.0)):
        return
    if any(surface.friction for surface in world.surfaces):
        yield Removal("friction of the surfaces", _with_smooth_surfaces)
    if world.surfaces and not world.contact_points:
        yield Removal("the surfaces that it touched", with_world(surfaces=()))


def _with_smooth_surfaces(run: Run) -> Run:
    smooth = tuple(surface.model_copy(update={"friction": 0.0}) for surface in run.world.surfaces)
    return with_world(surfaces=smooth)(run)


def of_clock(run: Run) -> Iterator[Removal]:
    """The control period, where a rerun with a shorter one is not too long."""
    long = _FINER * run.clock.steps > _MOST_FINE_STEPS
    if run.world.sensors.custom or long:
        return
    period = run.clock.control_period
    yield Removal(f"a control period of {1e3 * period:g} ms (with {1e3 * period / _FINER:g} ms)", _finer)


def _finer(run: Run) -> Run:
    """The same with a shorter period and physics step, and delays of as many seconds as before."""
    clock, driver, sensors = run.clock, run.world.driver, run.world.sensors
    wrench = sensors.wrench.model_copy(update={"delay": _FINER * sensors.wrench.delay})
    world = run.world.model_copy(
        update={
            "driver": type(driver).model_validate(
                {**given_settings(driver), "delay": _FINER * driver.delay, "rate": 0.0}
            ),
            "sensors": sensors.model_copy(update={"delay": _FINER * sensors.delay, "wrench": wrench}),
        }
    )
    finer = clock.model_copy(
        update={"timestep": clock.timestep / _FINER, "period": clock.control_period / _FINER, "rate": None}
    )
    return replace(run, clock=finer, world=world, record=replace(run.record, stride=_FINER * run.record.stride))
