"""What to expect of a run before it starts: its law in free motion and on every surface that its tool can meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import Wall, hold_error_for_arm, predict_for_arm, predictable, push_direction
from palpate.control.design.loop_model import Timing
from palpate.control.design.prediction import ContactPrediction, HoldError
from palpate.errors import PalpateError
from palpate.run.run import Run
from palpate.spatial.shapes import SHAPES
from palpate.world.config import Surface
from palpate.world.forms import form_of
from palpate.world.plant import surface_rotation

_FORCE = 10.0  # N, at which the slope of a contact that stiffens is taken


@dataclass(frozen=True)
class Expectation:
    """What is expected of the law on one surface, or in free motion where `surface` is None."""

    surface: str | None
    prediction: ContactPrediction
    hold: HoldError | None

    @property
    def place(self) -> str:
        """Where it holds, in words."""
        return "in free motion" if self.surface is None else f"on {self.surface!r}"

    @property
    def warnings(self) -> list[str]:
        """What should be looked at before the run; a simulation that shows another growth than there is among it."""
        said = [f"{self.place}: {text}" for text in self.prediction.warnings]
        if self.hold is not None and self.hold.matters:
            said.append(f"{self.place}: {self.hold.sentence}")
        return said


def foresee(run: Run, *, limits: bool = True) -> list[Expectation]:
    """Predict the sampled loop of the run at its start posture; empty for laws and robots without a prediction.

    Args:
        run: what is to be simulated.
        limits: whether to look for the largest stable wall, delay and gains too.
    """
    unpredictable = run.world.is_exact or run.robot.nq != run.robot.nv or run.robot.unresisted
    if unpredictable or not predictable(run.law):
        return []
    surfaces = [s for s in run.world.surfaces if s.contact == "compliant" and s.motion is None]
    if surfaces:
        tool = run.robot.pose(run.start()[0]).position
        return [_expect(run, surface.name, wall_of(surface, tool), limits) for surface in surfaces]
    normal = push_direction(run.law, run.robot, run.start()[0], timing_of(run))
    return [] if normal is None else [_expect(run, None, Wall(0.0, normal=normal), limits)]


def foretell(run: Run) -> tuple[list[str], list[str]]:
    """What to expect in words, and the warnings among it; limits are looked for only where something is wrong."""
    found = foresee(run, limits=False)
    if any(expectation.warnings for expectation in found):
        found = foresee(run)
    said = [f"{expectation.place}: {text}" for expectation in found for text in expectation.prediction.sentences[:1]]
    return said, [warning for expectation in found for warning in expectation.warnings]


def _expect(run: Run, surface: str | None, wall: Wall, limits: bool) -> Expectation:
    q, _ = run.start()
    contact = {
        "wall": wall,
        "timing": timing_of(run),
        "rotor_inertia": run.world.actuators.rotor_inertia,
        "joint_damping": run.world.plant.joint_damping,
    }
    prediction = predict_for_arm(run.robot, q, run.law, limits=limits, **contact)
    hold = None if prediction.stable is None else _hold(run, q, contact)
    return Expectation(surface, prediction, hold)


def _hold(run: Run, q: Array, contact: dict[str, Any]) -> HoldError | None:
    try:
        return hold_error_for_arm(run.robot, q, run.law, physics_step=run.clock.timestep, **contact)
    except (PalpateError, np.linalg.LinAlgError):  # gains or masses beyond all numbers
        return None


def timing_of(run: Run) -> Timing:
    """The run's clock, delays and sensors."""
    sensors, actuators = run.world.sensors, run.world.actuators
    return Timing(
        period=run.clock.control_period,
        joint_delay=sensors.delay,
        wrench_delay=sensors.wrench.delay,
        command_delay=actuators.delay,
        velocity=sensors.velocity,
        velocity_cutoff=sensors.velocity_cutoff,
        wrench_cutoff=sensors.wrench.cutoff,
        servo_bandwidth=actuators.servo_bandwidth,
        integrator=run.clock.integrator,
    )


def wall_of(surface: Surface, tool: Array) -> Wall:
    """A surface as a linear wall where the tool would meet it: its slope at some newtons, its normal near the tool."""
    axes, shape, normal = surface_rotation(surface), SHAPES[surface.shape], np.zeros(3)
    local = axes.T @ (tool - np.array(surface.position))
    shape.distance(form_of(surface), local, normal)
    stiffness, damping = surface.stiffness, surface.damping
    if surface.model == "hunt-crossley":
        depth = (_FORCE / surface.stiffness) ** (1.0 / surface.exponent)
        stiffness = surface.stiffness * surface.exponent * depth ** (surface.exponent - 1.0)
        damping = _FORCE * surface.dissipation
    return Wall(stiffness, damping, axes @ normal)
