"""What can keep a run from what its law promises, each with the run that lacks it.

A removal is offered only where there is something to remove: a limit that changed a command, a load, a filter. They are
tried in reruns; see `causes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.config import Config
from palpate.control.guards import GUARD_NAMES
from palpate.robot.robot import Robot
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop.state import RATE_LIMITED, TORQUE_LIMITED
from palpate.run.run import Run
from palpate.world.config import Camera, PlantChange, Sensors, World
from palpate.world.driver import Driver
from palpate.world.plants.plant import dry_friction

_FINER = 10  # times shorter: the control period and physics step of a run that lacks the hold of its commands
_MOST_FINE_STEPS = 200_000
_MASSES = ("mass_scale", "link_mass_scale", "com_offset")
_FRAMES = {"base_position": "base", "tool_offset": "tool frame"}
_NO_RATES = {"torque_rate_limit": False, "joint_speed_limit": 0.0, "joint_acceleration_limit": 0.0}
_DRIVER = {
    "cutoff": ("the driver's filter of {:g} Hz", {"cutoff": 0.0}),
    "loss": ("lost commands", {"loss": 0.0}),
    "jitter": ("the driver's jitter", {"jitter": 0.0}),
}
_JOINT_NOISE = ("encoder_resolution", "encoder_noise", "velocity_noise")


@dataclass(frozen=True)
class Removal:
    """Something that a run has, and the run without it.

    Attributes:
        what: in words.
        without: the same run without it, given a run.
        load: whether it is a load on the tool.
    """

    what: str
    without: Callable[[Run], Run]
    load: bool = False


def removals(assembly: Assembly, named: Mapping[str, Array]) -> list[Removal]:
    """Everything that can be taken away from a run that has ended, one by one."""
    run = assembly.run
    return [
        *_of_joints(assembly),
        *_of_plant(run.world),
        *_of_limits(assembly),
        *_of_driver(run.world.driver),
        *_of_sensors(run.world.sensors),
        *_of_world(run.world, named),
        *_of_clock(run),
    ]


def _world(**update: Any) -> Callable[[Run], Run]:
    """A run with other parts of its world."""
    return lambda run: replace(run, world=run.world.model_copy(update=update))


def _part(name: str, **update: Any) -> Callable[[Run], Run]:
    """A run with other settings of a part of its world; as read from a file, so that they are checked."""

    def without(run: Run) -> Run:
        part = getattr(run.world, name)
        return _world(**{name: type(part).model_validate({**_given(part), **update})})(run)

    return without


def _except(name: str, item: Any) -> Callable[[Run], Run]:
    """A run whose world lacks one of its loads, pushes or faults."""
    return lambda run: _world(**{name: tuple(x for x in getattr(run.world, name) if x is not item)})(run)


def _given(part: Config) -> dict[str, Any]:
    """The settings of a part that are given."""
    return {key: getattr(part, key) for key in part.model_fields_set}


# ------------------------------------------------------------------ joints


def _of_joints(assembly: Assembly) -> Iterator[Removal]:
    run, watch = assembly.run, assembly.loop.watch
    friction = dry_friction(run.robot, World(plant=run.world.plant))  # compensated or not: another driver may not be
    if friction.any():
        most = int(np.argmax(friction))
        unit = "N" if run.robot.dof_units[most] == "m" else "N·m"
        size = f"up to {friction[most]:.3g} {unit}, {run.robot.dof_names[most]}"
        yield Removal(f"friction of the joints ({size})", _frictionless)
    if watch.on and watch.beyond_steps.any():
        names = [name for name, steps in zip(run.robot.dof_names, watch.beyond_steps) if steps]
        yield Removal(f"the joint stops ({', '.join(names)})", _without_stops)


def _frictionless(run: Run) -> Run:
    changed = _part("plant", joint_friction=0.0, joint_damping=0.0)(run)

    def smooth(joint: Any) -> None:
        joint.frictionloss, joint.damping = 0.0, 0.0 * np.asarray(joint.damping)

    return replace(changed, robot=_with_joints(run.robot, smooth))


def _without_stops(run: Run) -> Run:
    def unlimited(joint: Any) -> None:
        joint.limited = False

    return replace(run, robot=_with_joints(run.robot, unlimited), q_start=run.start()[0])


def _with_joints(robot: Robot, change: Callable[[Any], None]) -> Robot:
    spec = robot.spec()
    for joint in spec.joints:
        change(joint)
    return Robot(spec, name=robot.name, tool_frame=robot.tool_frame, warnings=robot.warnings)


# ------------------------------------------------------------------ plant, limits, driver


def _of_plant(world: World) -> Iterator[Removal]:
    plant, none = world.plant, PlantChange()
    for load in world.attachments:
        yield Removal(f"load {load.name!r} of {load.mass:g} kg", _except("attachments", load), load=True)
    if any(getattr(plant, name) != getattr(none, name) for name in _MASSES):
        yield Removal("the plant's other masses", _part("plant", **{name: getattr(none, name) for name in _MASSES}))
    for name, words in _FRAMES.items():
        if any(getattr(plant, name)):
            yield Removal(f"the offset of the {words}", _part("plant", **{name: getattr(none, name)}))
    if np.any(plant.rotor_inertia):
        yield Removal("rotors that the law's model lacks", _part("plant", rotor_inertia=0.0))
    if world.gravity is not None:
        words = "({})".format(", ".join(f"{g:.6g}" for g in world.gravity))
        yield Removal(f"the world's gravity of {words} m/s²", _world(gravity=None))


def _of_limits(assembly: Assembly) -> Iterator[Removal]:
    """Limits and guards that have changed a command."""
    counts = assembly.loop.guard_steps

    def changed(bit: int) -> bool:
        return bool(counts[bit.bit_length() - 1])

    if changed(TORQUE_LIMITED):
        yield Removal("the torque limits", _part("driver", torque_limit=False))
    if changed(RATE_LIMITED):
        yield Removal("the driver's rate limits", _part("driver", **_NO_RATES, joint_jerk_limit=0.0))
    if (names := [name for bit, name in GUARD_NAMES.items() if changed(bit)]) and assembly.run.guards is not None:
        yield Removal(f"the guards ({', '.join(names)})", lambda run: replace(run, guards=None))


def _of_driver(driver: Driver) -> Iterator[Removal]:
    facts = driver.facts
    for name, (words, off) in _DRIVER.items():
        if getattr(facts, name):
            yield Removal(words.format(getattr(facts, name)), _part("driver", **off))
    if driver.preset != "ideal":
        yield Removal(f"the driver {driver.preset!r}", _world(driver=Driver(delay=driver.delay)))
    if driver.delay:
        yield Removal(f"the driver's delay of {driver.delay} ticks", _part("driver", delay=0))


# ------------------------------------------------------------------ sensors, world, clock


def _of_sensors(sensors: Sensors) -> Iterator[Removal]:
    wrench = sensors.wrench
    if any(getattr(sensors, name) for name in _JOINT_NOISE):
        yield Removal("noise and resolution of the joint sensors", _part("sensors", **dict.fromkeys(_JOINT_NOISE, 0.0)))
    if sensors.velocity != "measured" or sensors.velocity_cutoff:
        yield Removal(
            "the differences or the filter of the joint velocities",
            _part("sensors", velocity="measured", velocity_cutoff=None),
        )
    if sensors.delay:
        yield Removal(f"the joint sensors' delay of {sensors.delay} ticks", _part("sensors", delay=0))
    if any(wrench.bias):
        yield Removal("the wrench sensor's bias", _wrist(bias=(0.0,) * 6))
    lags = {"noise_force": 0.0, "noise_torque": 0.0, "cutoff": None, "delay": 0}
    if any(getattr(wrench, name) for name in lags):
        yield Removal("noise, filter and delay of the wrench sensor", _wrist(**lags))
    if not sensors.camera.ideal:
        yield Removal("delay and noise of the camera", _part("sensors", camera=Camera()))


def _wrist(**update: Any) -> Callable[[Run], Run]:
    """A run with other settings of its wrench sensor."""
    return lambda run: _part("sensors", wrench=run.world.sensors.wrench.model_copy(update=update))(run)


def _of_world(world: World, named: Mapping[str, Array]) -> Iterator[Removal]:
    for fault in world.faults:
        yield Removal(f"the fault {fault.what!r}", _except("faults", fault))
    for push in world.pushes:
        yield Removal(f"push {push.name!r}", _except("pushes", push))
    if not np.any(named.get("contact_force", 0.0)):
        return
    if any(surface.friction for surface in world.surfaces):
        yield Removal("friction of the surfaces", _with_smooth_surfaces)
    if world.surfaces and not world.contact_points:
        yield Removal("the surfaces that it touched", _world(surfaces=()))


def _with_smooth_surfaces(run: Run) -> Run:
    smooth = tuple(surface.model_copy(update={"friction": 0.0}) for surface in run.world.surfaces)
    return _world(surfaces=smooth)(run)


def _of_clock(run: Run) -> Iterator[Removal]:
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
            "driver": type(driver).model_validate({**_given(driver), "delay": _FINER * driver.delay, "rate": 0.0}),
            "sensors": sensors.model_copy(update={"delay": _FINER * sensors.delay, "wrench": wrench}),
        }
    )
    finer = clock.model_copy(
        update={"timestep": clock.timestep / _FINER, "period": clock.control_period / _FINER, "rate": None}
    )
    return replace(run, clock=finer, world=world, record=replace(run.record, stride=_FINER * run.record.stride))
