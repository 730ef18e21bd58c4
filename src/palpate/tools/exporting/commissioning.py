"""Steps in which an exported law is put on its arm, and what the loop says of each: runs with those very settings.

Every step is run as the scenario is and with two changes that cannot be known beforehand: joint friction that is
compensated whole, and a command that acts two periods later. The band of a number is its least and its largest value
in these runs; it is what the loop did, no bound of what the arm will do. A law that controls a force does not move in
air: it would look for a contact there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.references.reference import Hold, Reference
from palpate.control.tick import Target, sizes_of
from palpate.errors import PalpateError
from palpate.robot.robot import Robot
from palpate.run.assemble.assemble import assemble, suited
from palpate.run.build import build
from palpate.run.run import Run
from palpate.run.simulate import execute_bare
from palpate.scenario.model import Scenario
from palpate.trace import Recording, Trace
from palpate.world.driver import PRESETS
from palpate.world.plants.plant import dry_friction, true_robot

SLOW, SOFT = 0.05, 0.1  # of the speed and of the stiffness
_LONGEST, _HOLD, _END = 60.0, 2.0, 0.2  # s: of a run, of a hold, of its end that counts as steady
SHOWN = 5e-3  # mm, N, %: smaller numbers are written as 0.00
_MARGIN, _LEAST = 1.5, 5.0  # above the largest of the runs; N or mm
FORCE, ERROR = "force, largest, N", "tool error, largest, mm"
_DAMPED = ("damping", "kd")
_STIFF = ("stiffness", "kp")  # settings that are turned down
_LATER = 2  # periods
_SENSING = PRESETS["ur-direct-torque"].arms  # arms with a force sensor at the wrist
_SINGULAR = 0.02  # of the largest singular value of J, below which a direction is not estimated
_TOUCHED = {"surfaces": (), "pins": (), "objects": (), "pushes": ()}
_CHANNELS = ("q", "v", "tau", "tool_position", "target_q", "target_position", "contact_force")


@dataclass(frozen=True)
class Slowed:
    """A reference at a share of its speed: x(s t), with s v and s² a."""

    reference: Reference
    share: float

    def sample(self, times: Array, robot: Robot, q_start: Array) -> Array:
        """Targets, one row per time."""
        array = self.reference.sample(self.share * np.asarray(times), robot, q_start)
        views = Target.columns(array, sizes_of(robot))
        for name, power in (("v", 1), ("twist", 1), ("a", 2), ("acceleration", 2)):
            views[name] *= self.share**power
        return array


@dataclass(frozen=True)
class Step:
    """One step of a commissioning: in air or not, moving or not, with a share of stiffness and speed."""

    title: str
    touches: bool
    moves: bool
    stiffness: float = 1.0
    speed: float = 1.0


STEPS = (
    Step("Hold in air, 10 % stiffness", False, False, SOFT),
    Step("Hold in air, full stiffness", False, False),
    Step("Motion in air, 10 % stiffness, 5 % speed", False, True, SOFT, SLOW),
    Step("Motion in air, full stiffness, full speed", False, True),
    Step("Contact, 10 % stiffness, 5 % speed", True, True, SOFT, SLOW),
    Step("Contact, full stiffness, full speed: the scenario", True, True),
)

Band = tuple[float, float]


@dataclass(frozen=True)
class Expected:
    """Results of the runs of a step.

    Attributes:
        step: which.
        seconds: how long the run was.
        whole: how long the motion is at that speed.
        bands: least and largest of each number, by its name with unit.
        ended: how runs ended that did not finish, by the change they had; they are in no band.
        runs: how many there were.
        gains: stiffness and damping of the step, by the setting's name.
        friction: N that joint friction counts as, at most, where an arm estimates the force from its joint torques.
    """

    step: Step
    seconds: float
    whole: float
    bands: dict[str, Band] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    gains: dict[str, tuple[float, ...]] = field(default_factory=dict)
    friction: float = 0.0

    def end_at(self, name: str) -> float:
        """Where a step is to be ended beside the guards: well above the largest of its runs, and of its friction."""
        most = self.bands.get(name, (0.0, 0.0))[1]
        return max(_MARGIN * most, most + _LEAST) + (self.friction if name == FORCE else 0.0)

    def as_data(self) -> dict[str, Any]:
        """The step for the manifest."""
        ends = {"force": self.end_at(FORCE), "tool_error": 1e-3 * self.end_at(ERROR)}  # N, m
        numbers = {"seconds": self.seconds, "whole": self.whole, "runs": self.runs, "ended": self.ended}
        numbers |= {"gains": self.gains, "friction": self.friction}
        return asdict(self.step) | numbers | {"bands": {k: list(v) for k, v in self.bands.items()}, "end_above": ends}


def expectations(scenario: Scenario) -> list[Expected]:
    """Every step that suits a scenario, with what its runs gave: contact only where the world has any."""
    variants = list(_variants(scenario))
    touches = any(getattr(variants[0][1].world, name) for name in ("surfaces", "pins", "objects"))
    law = variants[0][1].law
    seeks = isinstance(law, Law) and bool(law.traits.force_directions)
    steps = [step for step in STEPS if (touches or not step.touches) and (step.touches or not (step.moves and seeks))]
    return [_expected(step, variants) for step in steps]


def _variants(scenario: Scenario) -> Iterator[tuple[str, Run]]:
    """The scenario, without joint friction, and with commands that act later."""
    run = suited(build(scenario))
    yield "as the scenario", run
    yield "without joint friction", _driven(run, viscous_compensation=1.0, coulomb_compensation=1.0)
    yield f"commands {_LATER} periods later", _driven(run, delay=run.world.driver.delay + _LATER)


def _driven(run: Run, **changes: Any) -> Run:
    """The run behind a driver with some other settings."""
    driver = run.world.driver.model_copy(update=changes)
    return replace(run, world=run.world.model_copy(update={"driver": driver}))


def _expected(step: Step, variants: list[tuple[str, Run]]) -> Expected:
    numbers: list[Mapping[str, float]] = []
    ended: dict[str, str] = {}
    seconds = friction = 0.0
    for name, run in variants:
        try:
            changed = _changed(run, step)
            seconds = changed.clock.duration
            trace = execute_bare(assemble(changed), singular=False)
        except PalpateError as error:
            ended[name] = " ".join(str(error).split())
            continue
        if trace.outcome.ok:
            numbers.append(dict(numbers_of(trace, changed)))
            friction = max(friction, _friction_as_force(trace, changed))
        else:
            ended[name] = str(trace.outcome)
    names = numbers[0] if numbers else {}
    bands = {name: (min(each[name] for each in numbers), max(each[name] for each in numbers)) for name in names}
    whole = variants[0][1].clock.duration / step.speed if step.moves else seconds
    return Expected(step, seconds, whole, bands, ended, len(numbers), _gains(variants[0][1].law, step), friction)


def _friction_as_force(trace: Trace, run: Run) -> float:
    """N that joint friction counts as, at most, where the force is estimated as (Jᵀ)⁺ τ: at both ends of the motion.

    0 for an arm with a sensor of its own at the wrist (a UR), and where the friction is not known.
    """
    robot = run.robot
    if robot.name in _SENSING or robot.nq != robot.nv or robot.unresisted:
        return 0.0
    true = true_robot(robot, run.world)
    viscous = np.abs(true.coordinates.map).T @ true.model.dof_damping
    torque = dry_friction(robot, run.world) + viscous * np.abs(trace["v"]).max(axis=0)
    seen = [np.abs(np.linalg.pinv(robot.jacobian(q).T, rcond=_SINGULAR)[:3]) @ torque for q in trace["q"][[0, -1]]]
    return max(float(np.linalg.norm(force)) for force in seen)


def _changed(run: Run, step: Step) -> Run:
    """The run of a step, with what its numbers need in its trace."""
    changed = run_of_step(run, step)
    stride = max(run.clock.ratio, round(5e-3 / run.clock.timestep))
    return replace(changed, record=Recording(channels=_CHANNELS, stride=stride))


def run_of_step(run: Run, step: Step) -> Run:
    """The run of a step: its world, law, reference and duration."""
    world = run.world if step.touches else run.world.model_copy(update=_TOUCHED)
    reference = Slowed(run.reference, step.speed) if step.moves and step.speed < 1.0 else run.reference
    seconds = min(run.clock.duration / step.speed, _LONGEST) if step.moves else min(run.clock.duration, _HOLD)
    law = run.law
    assert isinstance(law, Law)
    return replace(
        run,
        world=world,
        law=turned_down(law, step.stiffness),
        reference=reference if step.moves else Hold(),
        clock=run.clock.model_copy(update={"duration": seconds}),
        stop=(),
    )


def turned_down(law: Law, share: float) -> Law:
    """The law with its stiffness times a share, and a given damping times its root, so that the ratio stays."""
    changes: dict[str, Any] = {}
    for name in _STIFF:
        if getattr(law, name, None) is not None:
            changes[name] = _times(getattr(law, name), share)
    for name in _DAMPED:
        if changes and getattr(law, name, None) is not None:
            changes[name] = _times(getattr(law, name), share**0.5)
    return law if share == 1.0 else law.model_copy(update=changes)


def _gains(law: Any, step: Step) -> dict[str, tuple[float, ...]]:
    """Stiffness and damping with which a step is run."""
    soft = turned_down(law, step.stiffness)
    given = {name: getattr(soft, name, None) for name in (*_STIFF, *_DAMPED)}
    return {name: tuple(np.ravel(value).tolist()) for name, value in given.items() if value is not None}


def _times(value: Any, factor: float) -> Any:
    return tuple(_times(x, factor) for x in value) if isinstance(value, tuple | list) else factor * value


def numbers_of(trace: Trace, run: Run, force: Array | None = None) -> Iterator[tuple[str, float]]:
    """Errors, forces and torques of a run; steady values are means of its last 0.2 s.

    `force` is what was measured in place of the contact's own force, N, one number for each instant.
    """
    time, limits = trace["time"], run.robot.limits.torque
    force = trace["contact_force"] if force is None else force
    steady = time >= time[-1] - _END
    error = np.linalg.norm(trace["target_position"] - trace["tool_position"], axis=1)
    yield "tool error, steady, mm", 1e3 * float(error[steady].mean())
    yield ERROR, 1e3 * float(error.max())
    joints = np.abs(trace["target_q"] - trace["q"]).max(axis=1)
    if isinstance(run.law, Law) and run.law.traits.follows == "joints":
        yield "joint error, steady, mrad", 1e3 * float(joints[steady].mean())
    yield "force, steady, N", float(np.abs(force[steady]).mean())
    yield FORCE, float(np.abs(force).max())
    if np.isfinite(limits).all():
        yield "torque, largest, % of the limit", 100.0 * float((np.abs(trace["tau"]) / limits).max())
