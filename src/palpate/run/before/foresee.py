"""What to expect of a run before it starts: its law in free motion and on every surface that its tool can meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import (
    NOT_ALONG,
    ArmContact,
    Wall,
    arm_contact,
    axis_of,
    largest_wall_for_arm,
    moves_along,
    moving_most,
    predict_arm_contact,
    predictable,
    push_direction,
    unpredicted,
)
from palpate.control.design.linear.closed_loop import ClosedLoop, eigenvalue_work, encirclement_work
from palpate.control.design.linear.law_models import joint_damping_of
from palpate.control.design.linear.loop_model import Timing
from palpate.control.design.prediction import RIGID, ContactPrediction, HoldError, hold_error, predict_contact
from palpate.control.design.statics import friction_sentences
from palpate.control.law import Target, sizes_of
from palpate.control.references.reference import ReferenceSettings
from palpate.errors import NoSolution, PalpateError
from palpate.forking import cached_property
from palpate.run.assemble.assemble import Assembly
from palpate.run.run import Run
from palpate.spatial.shapes import SHAPES
from palpate.world.config import Surface
from palpate.world.driver import per_joint, uncompensated
from palpate.world.plants.plant import dry_friction, surface_rotation
from palpate.world.surfaces.forms import form_of

Result = TypeVar("Result")
_FORCE = 10.0  # N, at which the slope of a contact that stiffens is taken
WORK_BEFORE_RUN = 1e10  # floating-point operations per loop, about a second; several loops are closed per forecast
WORK_OF_DESIGN = 3e11  # the same where a forecast is all that is asked for
_LOOPS = 5  # of the whole arm in one forecast
FREE = Wall(0.0)
_AT_START = "at the start posture, without friction of the surface, the loop is"
PATH_SAMPLES, BETWEEN = 50, 41  # instants at which a path's postures are found; samples of the reference from each on
_MOST_JOINTS = 400  # whose law and gravity are differentiated before a run; the work grows with their cube


@dataclass(frozen=True)
class Expectation:
    """What is expected of the law on one surface, or in free motion where `surface` is None."""

    surface: str | None
    prediction: ContactPrediction
    hold: HoldError | None
    note: str = ""  # what was left out, and why
    without_driver: float | None = None  # N/m, the largest stable wall if the driver neither filtered nor jittered
    others: tuple[OtherLoop, ...] = ()  # the same law where the contact sticks, at the touch, at the target's end

    @property
    def place(self) -> str:
        """Where it holds, in words."""
        return "in free motion" if self.surface is None else f"on {self.surface!r}"

    @property
    def driver(self) -> str:
        """What the driver's filter and jitter cost, in words; empty without them, or without limits."""
        with_it, without = self.prediction.largest_wall_stiffness, self.without_driver
        if without is None or not np.isfinite([with_it, without]).any() or np.isnan(with_it):
            return ""
        return f"With the driver: largest stable wall {_stiffness(with_it)}, without {_stiffness(without)}."

    @property
    def warnings(self) -> list[str]:
        """What should be looked at before the run; a simulation that shows another growth than there is among it."""
        if self.prediction.stable is None and self.note:  # it is known why, and nothing is wrong
            return []
        sentences = [f"{self.place}: {text}" for text in self.prediction.warnings]
        unstable = sorted((x for x in self.others if not x.loop.stable), key=lambda x: -x.loop.growth)
        if self.prediction.stable and unstable:
            also = "".join(f"; {other.where}" for other in unstable[1:])
            sentences.append(f"{self.place}: {_AT_START} stable, but UNSTABLE {unstable[0].in_words}{also}")
        if self.hold is not None and self.hold.matters:
            sentences.append(f"{self.place}: {self.hold.sentence}")
        return sentences

    @property
    def elsewhere(self) -> str:
        """Whether the loop is stable where it sticks and at the other postures, in words; empty where neither is."""
        parts = {
            "Stable too": [other.where for other in self.others if other.loop.stable],
            "UNSTABLE": [
                f"{other.where} (largest pole {other.loop.radius:.6g})"
                for other in self.others
                if not other.loop.stable
            ],
        }
        if not self.prediction.stable:
            parts = {"Stable": parts["Stable too"], "UNSTABLE too": parts["UNSTABLE"]}
        return " ".join(f"{verdict}: {'; '.join(where)}." for verdict, where in parts.items() if where)


@dataclass(frozen=True)
class OtherLoop:
    """The closed loop of a run elsewhere than where it slides at the start posture.

    Attributes:
        where: in words.
        loop: its closed loop.
        joint: that moves most in the leading pole's motion.
    """

    where: str
    loop: ClosedLoop
    joint: str

    @property
    def in_words(self) -> str:
        """Where, and how it grows."""
        joint = f", mostly of {self.joint}" if self.joint else ""
        grows = f"it grows by e^({self.loop.growth:.3g} t/s) and oscillates at {self.loop.frequency:.3g} Hz"
        return f"{self.where} ({grows}, largest pole {self.loop.radius:.6g}{joint})"


@dataclass(frozen=True)
class LoopSize:
    """How large the sampled loop of a run's whole arm is, known before anything is computed.

    Attributes:
        joints: of the robot.
        states: of the loop, with those under way in delays.
        work: floating-point operations for its poles, roughly.
    """

    joints: int
    states: int
    work: float

    @property
    def seconds(self) -> float:
        """Of a forecast, on a processor of 1e10 operations in a second."""
        return _LOOPS * self.work / 1e10

    def exceeds(self, most_work: float) -> bool:
        """Whether a forecast of the whole arm is more than `most_work`."""
        return self.work > most_work or self.joints > _MOST_JOINTS * (most_work / WORK_BEFORE_RUN) ** (1 / 3)


def _stiffness(value: float) -> str:
    """A wall's stiffness in words."""
    if not np.isfinite(value):
        return f"beyond {RIGID / 1e6:.3g} MN/m"
    return f"{value / 1e6:.3g} MN/m" if value >= 1e5 else f"{value / 1e3:.3g} kN/m"


def loop_size(run: Run) -> LoopSize:
    """The size of the loop that `foresee` closes around the run's arm."""
    n, timing = run.robot.nv, timing_of(run)
    longest = max(timing.joint_delay, timing.wrench_delay) + timing.command_delay
    size = 2 * n + (n if timing.velocity_cutoff else 0) + (6 if timing.wrench_cutoff else 0)
    size += n if timing.command_cutoff else 0
    states = size + n * longest
    return LoopSize(n, states, min(eigenvalue_work(states), encirclement_work(size, longest)))


class Forecast:
    """What the forecasts of a run share: its arm at the start, its reference, and its linear loop at each posture.

    Attributes:
        q: posture at the start.
        timing: clock, delays and sensors.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.assembly, self.run, self.robot, self.law = assembly, assembly.run, assembly.run.robot, assembly.run.law
        self.q, self.timing = self.run.start()[0], timing_of(self.run)
        self._contacts: dict[bytes, ArmContact] = {}

    def contact(self, q: Array, wall: Wall = FREE) -> ArmContact:
        """The linear loop of the arm at a posture, on a wall at its tool's origin."""
        key = q.tobytes()
        if key not in self._contacts:
            self._contacts[key] = arm_contact(
                self.robot, q, self.law, wall=FREE, timing=self.timing, bound=self.assembly.law,
                rotor_inertia=self.run.world.plant.rotor_inertia, joint_damping=_added_damping(self.run),
            )  # fmt: skip
        return self._contacts[key].on(wall)

    @cached_property
    def tool(self) -> Array:
        """Position of the tool at the start, m."""
        return self.robot.pose(self.q).position

    @cached_property
    def still_surfaces(self) -> list[tuple[Surface, Wall]]:
        """Surfaces that do not move, each as a wall where the tool would meet it from its start."""
        return [(s, wall_of(s, self.tool)) for s in self.run.world.surfaces if s.motion is None]

    @cached_property
    def reference(self) -> tuple[Array, Array]:
        """Instants spread evenly over the run, s, and the rows of the target there."""
        end = max(self.run.clock.duration, self.run.clock.timestep)
        times = np.linspace(0.0, end, (PATH_SAMPLES - 1) * BETWEEN + 1)
        return times, np.asarray(self.run.reference.sample(times, self.robot, self.q))

    @property
    def target(self) -> dict[str, Array]:
        """The columns of the target by name."""
        return Target.columns(self.reference[1], sizes_of(self.robot))

    @property
    def knows_target(self) -> bool:
        """Whether the target along the run means something for a law and an arm that can be predicted."""
        known = isinstance(self.run.reference, ReferenceSettings) and predictable(self.law)
        return known and not self.run.world.is_exact and not self.robot.unresisted and self.robot.nq == self.robot.nv


Postures = Mapping[str, Array]  # joint positions by where they are taken, such as "at the end of the target"


def foresee(forecast: Forecast, postures: Postures | None = None, *, limits: bool = True) -> list[Expectation]:
    """Predict the sampled loop of a run at its start posture; empty for laws and robots without a prediction.

    Args:
        forecast: of what is to be simulated.
        postures: further ones at which to ask whether the loop is stable; see `postures_on`.
        limits: whether to look for the largest stable wall, delay and gains too.
    """
    loops = _walls(forecast)
    return [_expect(forecast, surface, wall, limits, WORK_OF_DESIGN, postures or {}) for surface, wall in loops]


def _walls(forecast: Forecast) -> list[tuple[Surface | None, Wall]]:
    """The walls to predict for with their surfaces, None for free motion; empty where nothing can be predicted."""
    run = forecast.run
    unpredictable = run.world.is_exact or run.robot.nq != run.robot.nv or run.robot.unresisted
    if unpredictable or not predictable(run.law) or reads_custom(run):
        return []
    walls = [(surface, wall) for surface, wall in forecast.still_surfaces if surface.contact == "compliant"]
    if walls:
        return list(walls)
    normal = push_direction(forecast.contact(forecast.q))
    return [] if normal is None else [(None, Wall(0.0, normal=normal))]


def reads_custom(run: Run) -> str | None:
    """The sensors of one's own that the law reads, or may read, in words: no prediction knows what they see."""
    names = run.world.sensors.custom if run.law.reads_sensors else ()
    return f"the law reads custom sensors ({', '.join(names)}), which no linear model includes" if names else None


def foretell(forecast: Forecast, postures: Postures | None = None) -> tuple[list[str], list[str]]:
    """What to expect in words, and the warnings among it; limits are looked for only where something is wrong."""
    size = loop_size(forecast.run)
    if size.joints > _MOST_JOINTS:
        return [f"stability was not predicted: {size.joints} joints, the limit before a run is {_MOST_JOINTS}"], []
    expectations = []
    for surface, wall in _walls(forecast):
        expectation = _expect(forecast, surface, wall, False, WORK_BEFORE_RUN, postures or {})
        if expectation.prediction.warnings:
            expectation = _expect(forecast, surface, wall, True, WORK_BEFORE_RUN, postures or {})
        expectations.append(expectation)
    sentences = [
        f"{e.place}: {text}"
        for e in expectations
        for text in (*e.prediction.sentences[:1], e.elsewhere, e.note)
        if text
    ]
    return sentences, [warning for expectation in expectations for warning in expectation.warnings]


def _added_damping(run: Run) -> Array:
    """Viscous friction that the plant has beyond the robot's own, less what the driver takes off that, N·m·s/rad."""
    left, _ = uncompensated(run.robot, run.world.driver)
    added = per_joint(run.robot, run.world.plant.joint_damping, "joint_damping")
    return added - (1.0 - left) * joint_damping_of(run.robot)


def _expect(
    forecast: Forecast, surface: Surface | None, wall: Wall, limits: bool, most_work: float, postures: Postures
) -> Expectation:
    """A larger loop than `most_work` floating-point operations is predicted along one axis only, and a note says so."""
    run, law, size = forecast.run, forecast.law, loop_size(forecast.run)
    name = None if surface is None else surface.name
    try:
        contact = forecast.contact(forecast.q, wall)
        if not moves_along(contact.tool_mobility, wall.direction()):
            prediction = unpredicted(law, forecast.timing, NOT_ALONG)
            return Expectation(name, prediction, None, "contact there is not predicted")
        if size.exceeds(most_work):
            return Expectation(name, predict_contact(axis_of(contact), limits=False), None, _left_out(size))
        prediction = predict_arm_contact(contact, limits=limits)
    except (NoSolution, np.linalg.LinAlgError) as error:
        why = f"{law.name} on {run.robot.name} at this posture: {error}"
        return Expectation(name, unpredicted(law, forecast.timing, why), None)
    without = _without_driver(contact) if limits and surface is not None else None
    friction = dry_friction(run.robot, run.world)
    sentences = unless_unsolvable(friction_sentences, contact, friction) if limits else None
    hold = unless_unsolvable(hold_error, contact, run.clock.timestep)
    others = tuple(_other_loops(forecast, surface, wall, postures))
    return Expectation(name, prediction, hold, " ".join(sentences or ()), without, others)


def _other_loops(forecast: Forecast, surface: Surface | None, wall: Wall, postures: Postures) -> Iterator[OtherLoop]:
    """The loop where friction holds the contact, and at other postures; none where it cannot be computed."""
    for where, q in {"": forecast.q, **postures}.items():
        there = wall if surface is None or not where else wall_of(surface, forecast.robot.pose(q).position)
        contacts = {where: there} if where else {}
        if surface is not None and surface.friction > 0.0:
            contacts[f"{where}, sticking" if where else "where the contact sticks"] = sticking(surface, there)
        for words, met in contacts.items():
            contact = unless_unsolvable(forecast.contact, q, met)
            if contact is not None and moves_along(contact.tool_mobility, met.direction()):
                yield OtherLoop(words, contact.loop, moving_most(forecast.robot, contact.loop))


def unless_unsolvable(compute: Callable[..., Result], *inputs: Any) -> Result | None:
    """compute(*inputs); None where there is no solution: gains or masses beyond all numbers, a singular posture."""
    try:
        return compute(*inputs)
    except (PalpateError, np.linalg.LinAlgError):
        return None


def _without_driver(contact: ArmContact) -> float | None:
    """The largest stable wall if the driver neither filtered commands nor jittered, delays as they are, N/m."""
    timing = contact.timing
    if not timing.command_cutoff and not timing.lag:
        return None
    return largest_wall_for_arm(contact.timed(replace(timing, command_cutoff=None, lag=0.0)))


def _left_out(size: LoopSize) -> str:
    return (
        f"only the axis along the normal was analysed: the loop of the whole arm has {size.states} states and would"
        f" take about {size.seconds:.0f} s; shorten the delays, or run `palpate design`"
    )


def timing_of(run: Run) -> Timing:
    """The run's clock, delays and sensors."""
    sensors, driver = run.world.sensors, run.world.driver
    facts = driver.facts
    return Timing(
        period=run.clock.control_period,
        joint_delay=sensors.delay,
        wrench_delay=sensors.wrench.delay,
        command_delay=driver.delay,
        lag=facts.jitter,
        command_cutoff=facts.cutoff or None,
        adds_gravity=facts.adds_gravity,
        velocity=sensors.velocity,
        velocity_cutoff=sensors.velocity_cutoff,
        wrench_cutoff=sensors.wrench.cutoff,
        servo_bandwidth=facts.servo_bandwidth,
        integrator=run.clock.integrator,
    )


def wall_of(surface: Surface, tool: Array) -> Wall:
    """A surface as a linear wall where the tool would meet it: its slope at some newtons, its normal near the tool."""
    stiffness, damping = surface.stiffness, surface.damping
    if surface.model == "hunt-crossley":
        depth = (_FORCE / surface.stiffness) ** (1.0 / surface.exponent)
        stiffness = surface.stiffness * surface.exponent * depth ** (surface.exponent - 1.0)
        damping = _FORCE * surface.dissipation
    return Wall(stiffness, damping, distance_from(surface, tool)[1])


def sticking(surface: Surface, wall: Wall) -> Wall:
    """The wall while friction holds the contact, with the surface's stiffness and damping across the normal."""
    stiffness, damping = surface.tangential_stiffness, surface.tangential_damping
    return replace(
        wall,
        tangential_stiffness=surface.stiffness if stiffness is None else stiffness,
        tangential_damping=surface.damping if damping is None else damping,
    )


def distance_from(surface: Surface, point: Array) -> tuple[float, Array]:
    """How far a point is from a surface that stands still, m, and the outward normal there, world axes."""
    axes, normal = surface_rotation(surface), np.zeros(3)
    local = axes.T @ (point - np.array(surface.position))
    return SHAPES[surface.shape].distance(form_of(surface), local, normal), axes @ normal


def depths(surface: Surface, points: Array, radius: float) -> Array:
    """How deep spheres about some points, one per row, are behind a surface that stands still, m; negative outside."""
    distance, form, normal = SHAPES[surface.shape].distance, form_of(surface), np.zeros(3)
    local = np.ascontiguousarray((points - np.array(surface.position)) @ surface_rotation(surface))
    if surface.shape == "plane":
        return radius - local[:, 2]
    return np.array([radius - distance(form, point, normal) for point in local])
