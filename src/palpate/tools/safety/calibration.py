"""False alarms, set on some seeds and counted on others: random motions without contact under errors of the model.

A motion goes from the scenario's start posture to a random one and back to rest, under computed torque, with the
scenario's arm, clock, sensors and driver; surfaces, objects and pushes are taken away. Each has a plant of its own:
masses of every link off by up to `mass_error`, Coulomb and viscous friction larger by up to twice `friction_error` of
the model's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.control.laws.computed_torque import ComputedTorque
from palpate.control.references.motions import JointMotion
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.run.assemble.renew import Renewable
from palpate.run.run import Run
from palpate.run.simulate import execute_bare
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import StatedRate, expected_alarms, interval_of_probability, scale_for
from palpate.trace import Recording
from palpate.world.config import PlantChange, World

SECONDS = 2.0  # of a motion
_AT_REST = 0.1  # share of it at its end
_REACH, _PACE = 0.4, 0.5  # of the joint ranges, of the rated speeds
_WIDEST = 1.2  # rad or m
_NEVER = 1e9  # scale at which nothing alarms, so that nothing that an alarm changes is in a peak
_PEAK = 1.875  # of a minimum-jerk motion: its fastest over its mean speed


@dataclass(frozen=True)
class ModelErrors:
    """How far a plant may be from the model."""

    mass: float = 0.05
    friction: float = 0.05


@dataclass(frozen=True)
class Counted:
    """False alarms in motions whose seeds the threshold was not set on.

    Attributes:
        alarms, motions: how many.
        ticks: of all motions.
        expected: between which numbers of alarms the stated rate lets 95 % of all counts lie.
        interval: 95 % interval of the probability behind the count alone.
        peaks: the statistic's largest value of each motion.
    """

    alarms: int
    motions: int
    ticks: int
    expected: tuple[int, int]
    interval: tuple[float, float]
    peaks: Array

    @property
    def holds(self) -> bool:
        """Whether the count is as the stated rate lets expect."""
        return self.expected[0] <= self.alarms <= self.expected[1]


def free_run(run: Run, errors: ModelErrors) -> Run:
    """The run's arm, clock, sensors and driver in a world without anything to touch, watched and not reacted to."""
    around = run.around
    if not isinstance(around, Reactions):
        raise InvalidInput("the scenario has no [reactions]", hint="add a section [reactions], or --observe")
    world = World(sensors=run.world.sensors, driver=run.world.driver, plant=_plant(run.robot, errors, None))
    return replace(
        run,
        law=ComputedTorque(),
        world=world,
        reference=_motion(run, np.random.default_rng(0)),
        clock=run.clock.model_copy(update={"duration": SECONDS}),
        record=Recording(channels=("reaction.ratio",), stride=1000),
        stop=(),
        guards=None,
        around=watching(around),
        scenario=None,
        changed=None,
    )


def watching(around: Reactions) -> Reactions:
    """The same observer and threshold without a reaction, tank or barrier."""
    off = {"on_contact": "nothing", "tank": None, "passivity": None, "barriers": None, "resume_after": None}
    return around.model_copy(update=off)


def _plant(robot: Robot, errors: ModelErrors, rng: np.random.Generator | None) -> PlantChange:
    """A plant off by random shares; every number present, so that all plants are built alike."""
    links = [robot.model.body(body).name for body in range(1, robot.model.nbody) if robot.model.body_mass[body] > 0]
    shares = np.zeros(len(links)) if rng is None else rng.uniform(-errors.mass, errors.mass, len(links))
    across = np.abs(robot.coordinates.map)
    coulomb, viscous = across.T @ robot.model.dof_frictionloss, (across**2).T @ robot.model.dof_damping
    more = np.full(2, 1e-9) if rng is None else rng.uniform(0.0, 2.0 * errors.friction, 2) + 1e-9
    return PlantChange(
        link_mass_scale={link: 1.0 + float(share) for link, share in zip(links, shares)},
        joint_friction=tuple((more[0] * coulomb).tolist()),
        joint_damping=tuple((more[1] * viscous).tolist()),
    )


def _motion(run: Run, rng: np.random.Generator) -> JointMotion:
    """From the start to a random posture within the middle of the ranges, not faster than half the rated speeds."""
    limits, start = run.robot.limits, run.start()[0]
    time = (1.0 - _AT_REST) * SECONDS
    middle = 0.5 * (limits.upper + limits.lower)
    half = np.where(np.isfinite(limits.upper - limits.lower), _REACH * (limits.upper - limits.lower), np.pi)
    middle = np.where(np.isfinite(middle), middle, start)
    reach = np.minimum(_PACE * limits.velocity * time / _PEAK, _WIDEST)
    wanted = np.clip(start + rng.uniform(-1.0, 1.0, len(start)) * reach, middle - half, middle + half)
    return JointMotion(q=tuple(wanted.tolist()), duration=time)


def peaks(run: Run, motions: int, seed: int, errors: ModelErrors) -> Array:
    """The statistic's largest value in each of so many motions; motion k has the seed `seed + k`."""
    base = free_run(run, errors)
    ready = Renewable(base)
    return np.array([_peak(ready, each) for each in _drawn(base, motions, seed, errors)])


def _drawn(base: Run, motions: int, seed: int, errors: ModelErrors) -> Iterator[Run]:
    for k in range(motions):
        rng = np.random.default_rng(seed + k)
        plant = _plant(base.robot, errors, rng)
        yield replace(
            base,
            world=base.world.model_copy(update={"plant": plant}),
            reference=_motion(base, rng),
            clock=base.clock.model_copy(update={"seed": seed + k}),
        )


def _peak(ready: Renewable, run: Run) -> float:
    if not ready.renew(run):
        ready = Renewable(run)
    execute_bare(ready.assembly)
    return float(ready.assembly.law.memory.around.threshold.peak)


def calibrate(
    run: Run, probability: float = 0.02, motions: int = 500, seed: int = 1, errors: ModelErrors | None = None
) -> StatedRate:
    """The scale of the threshold at which a motion without contact gives an alarm with a probability."""
    run = replace(run, around=_scaled(run.around, _NEVER))
    return scale_for(_NEVER * peaks(run, motions, seed, errors or ModelErrors()), probability, SECONDS)


def count(
    run: Run, stated: StatedRate, motions: int = 500, seed: int = 1_000_001, errors: ModelErrors | None = None
) -> Counted:
    """Alarms of a stated rate's threshold in new motions."""
    run = replace(run, around=_scaled(run.around, stated.scale))
    largest = peaks(run, motions, seed, errors or ModelErrors())
    alarms = int(np.count_nonzero(largest > 1.0))
    ticks = motions * round(SECONDS / run.clock.control_period)
    expected = expected_alarms(stated, motions)
    return Counted(alarms, motions, ticks, expected, interval_of_probability(alarms, motions), largest)


def _scaled(around: object, scale: float) -> Reactions:
    if not isinstance(around, Reactions):
        raise InvalidInput("the scenario has no [reactions]", hint="add a section [reactions]")
    return around.model_copy(update={"threshold": around.threshold.model_copy(update={"scale": scale})})
