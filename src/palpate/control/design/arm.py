"""An arm at a posture on a wall: its law in numbers, its loop in joint coordinates, and one axis along the normal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design import prediction
from palpate.control.design.case import ContactCase, LimitSearch, stable_up_to
from palpate.control.design.linear.closed_loop import ClosedLoop
from palpate.control.design.linear.law_models import (
    IMPEDANCE,
    LinearModel,
    TaskModel,
    ToolGains,
    gravity_slope,
    inverse_of,
    joint_damping_of,
    slope_law,
)
from palpate.control.design.linear.loop_model import LinearPlant, Timing, close
from palpate.control.design.prediction import ContactPrediction, HoldError
from palpate.control.law import BoundLaw, Law, Rig
from palpate.errors import InvalidInput, NoSolution
from palpate.forking import cached_property
from palpate.robot.robot import Robot

MOST_STATES = 160  # of the arm's loop, up to which its limits are searched for
_MOST_LATE_STATES = 300  # the same of its largest delay, which takes fewer loops
COARSE = LimitSearch((1.15, 1.5), 1e-4)  # of an arm's limits
_COARSER, _FEW_STATES = LimitSearch((1.5, 1.5), 1e-3), 60  # the same of a loop with more states than these
_STANDING = 1e-6  # in z: motion of an arm that nothing holds
_MOVES = 1e-9  # of the largest mobility: less is no motion


NOT_ALONG = "the arm does not move along the wall's normal at this posture"


@dataclass(frozen=True)
class Wall:
    """A linear wall at a point of the tool.

    Attributes:
        stiffness, damping: along the normal, N/m and N·s/m; stiffness 0 for free motion.
        normal: outward, world axes.
        point: of contact, world axes, m; the tool's origin if not given.
        tangential_stiffness, tangential_damping: across the normal, N/m and N·s/m: of a sticking contact.
    """

    stiffness: float
    damping: float = 0.0
    normal: ArrayLike = (0.0, 0.0, 1.0)
    point: ArrayLike | None = None
    tangential_stiffness: float = 0.0
    tangential_damping: float = 0.0

    def matrices(self) -> tuple[Array, Array]:
        """Stiffness and damping, 3×3, world axes."""
        n = self.direction()
        along, across = np.outer(n, n), np.eye(3) - np.outer(n, n)
        numbers = [
            finite_number(getattr(self, name), f"wall's {name}", least=0.0)
            for name in ("stiffness", "damping", "tangential_stiffness", "tangential_damping")
        ]
        return numbers[0] * along + numbers[2] * across, numbers[1] * along + numbers[3] * across

    def direction(self) -> Array:
        """The normal with length 1."""
        n = finite_array(self.normal, "normal", (3,))
        if not np.linalg.norm(n) > 0:
            raise InvalidInput("normal must have a direction, got zero")
        return n / np.linalg.norm(n)


@dataclass(frozen=True)
class ArmContact:
    """Everything about an arm, its law and a wall that the loop needs; see `arm_contact`."""

    robot: Robot
    model: LinearModel  # the law about rest
    mobility: Array  # M⁻¹ of the plant, rotors included
    servo: Array
    damping: Array
    gravity: Array
    J_contact: Array  # 3×n at the point of contact
    lever: Array  # 6×3, a force at the point as a wrench at the tool's origin
    wall: Wall
    timing: Timing
    label: str = ""

    @property
    def tool_mobility(self) -> Array:
        """J M⁻¹ Jᵀ of the point of contact, 3×3, 1/kg."""
        return self.J_contact @ self.mobility @ self.J_contact.T

    def plant(self) -> LinearPlant:
        """The plant against the wall."""
        K, B = self.wall.matrices()
        J, T = self.J_contact, self.lever
        return LinearPlant(
            self.mobility, self.servo, self.damping, self.gravity, J.T @ K @ J, J.T @ B @ J, -T @ K @ J, -T @ B @ J
        )

    @cached_property
    def loop(self) -> ClosedLoop:
        """The closed loop of the whole arm."""
        return close(self.plant(), self.model.law(), self.timing, standing=_STANDING)

    def loop_at(
        self, *, wall: float | None = None, lag: float = 0.0, gain: str = "", factor: float = 1.0
    ) -> ClosedLoop:
        """The loop on another wall, later, with a gain multiplied: see `ContactCase.loop_at`."""
        if wall is None and lag == 0.0 and gain == "":
            return self.loop
        arm = self if wall is None else self.on(replace(self.wall, stiffness=wall))
        model = self.model if gain in ("", "command") else self.model.with_gain(gain, factor)
        law = model.law().scaled(factor) if gain == "command" else model.law()
        return close(arm.plant(), law, self.timing.later(lag), standing=_STANDING)

    def on(self, wall: Wall) -> ArmContact:
        """The same against another wall at the same point."""
        return replace(self, wall=wall)

    def timed(self, timing: Timing) -> ArmContact:
        """The same with another clock, delays or filters."""
        return replace(self, timing=timing)


def predict_for_arm(
    robot: Robot,
    q: ArrayLike,
    law: Any,
    *,
    wall: Wall,
    timing: Timing,
    plant: Robot | None = None,
    rotor_inertia: ArrayLike = 0.0,
    joint_damping: ArrayLike = 0.0,
    limits: bool = True,
) -> ContactPrediction:
    """What to expect of an arm under a law that meets a wall at a posture; never raises for gains or masses.

    Poles and limits are those of the whole arm in joint coordinates, null space and coupling included. Limits of a loop
    with more than 160 states (of long delays) are not searched for, and a sentence says so.
    Assumes: small motion about q, lasting contact at one point of the tool, no friction unless the wall has
    tangential stiffness, the geometry under preload unchanged, a wrench sensor that carries no mass.

    Args:
        robot: as the law knows it.
        q: posture.
        law: settings of a law with a `linear` model, such as `CartesianImpedance(stiffness=…)`; or of one without
            memory, which is measured by differences of its ticks.
        wall: what it meets; stiffness 0 for free motion.
        timing: clock, delays, sensors, servo bandwidth.
        plant: the true robot; as the law knows it if not given.
        rotor_inertia: per joint, kg·m², in the plant and known to the servo alone.
        joint_damping: per joint, N·m·s/rad, beyond the plant's own.
        limits: whether to look for the largest wall stiffness, delay and gains too.
    """
    arm = {"plant": plant, "rotor_inertia": rotor_inertia, "joint_damping": joint_damping}
    try:
        return predict_arm_contact(arm_contact(robot, q, law, wall=wall, timing=timing, **arm), limits=limits)
    except (NoSolution, np.linalg.LinAlgError) as error:
        return unpredicted(law, timing, f"{law.name} on {robot.name} at this posture: {error}")


def unpredicted(law: Any, timing: Timing, why: str) -> ContactPrediction:
    """The prediction of an arm of which nothing can be predicted."""
    return prediction.unknown(ContactCase(IMPEDANCE, 1.0, timing, label=law.name), why)


def largest_wall_for_arm(contact: ArmContact) -> float | None:
    """The largest stable wall stiffness of the whole arm, N/m; None where its loop is too large to be searched."""
    if contact.loop.states > MOST_STATES:
        return None
    start = contact.wall.stiffness
    most = max(prediction.RIGID, 2 * start)
    return stable_up_to(lambda k: contact.loop_at(wall=k).stable, start, most=most, first=1.0, search=_search(contact))


def hold_error_for_arm(robot: Robot, q: ArrayLike, law: Any, *, physics_step: float, **contact: Any) -> HoldError:
    """`hold_error` of a whole arm: the slowest of all its motions, on exact physics and as a simulation steps them.

    Args:
        robot, q, law: as for `predict_for_arm`.
        physics_step: of the simulation, s; its integrator is the timing's.
        contact: wall, timing, plant, rotor_inertia and joint_damping, as for `predict_for_arm`.
    """
    return prediction.hold_error(arm_contact(robot, q, law, **contact), physics_step)


def predict_arm_contact(contact: ArmContact, *, limits: bool = True) -> ContactPrediction:
    """`predict_for_arm` of an arm whose matrices are known."""
    axis, loop = axis_of(contact), contact.loop
    joint, searched = moving_most(contact.robot, loop), limits and loop.states <= MOST_STATES
    whole = prediction.predicted(
        axis,
        contact.loop_at,
        limits=searched,
        joint=joint,
        search=_search(contact),
        longest_delay=_longest_delay(contact),
    )
    *rest, passive = whole.sentences
    if loop.stable:  # one axis of it says nothing of the others
        passive = f"Along the normal alone: {passive[0].lower()}{passive[1:]}"
    whole = replace(whole, sentences=(*rest, passive))
    if searched or not limits:
        return whole
    note = f"Limits of wall, delay and gains were not searched for: the loop has {loop.states:.0f} states."
    return replace(whole, sentences=(whole.sentences[0], note, *whole.sentences[1:]))


def _search(contact: ArmContact) -> LimitSearch:
    return COARSE if contact.loop.states <= _FEW_STATES else _COARSER


def _longest_delay(contact: ArmContact) -> float:
    """Up to which a delay of the command is searched for, s: so that the loop's states stay few enough."""
    samples = (_MOST_LATE_STATES - contact.loop.states) // max(contact.robot.nv, 1)
    return max(1.0, samples) * contact.timing.period


def moving_most(robot: Robot, loop: ClosedLoop) -> str:
    """The name of the joint that moves most in the leading pole's motion; empty where it dies out at once."""
    n = robot.nv
    if not np.isfinite(loop.leading) or loop.leading == 0.0:
        return ""
    return robot.dof_names[int(np.argmax(np.abs(loop.mode[n : 2 * n])))]


# ------------------------------------------------------------------ from an arm to matrices


def arm_contact(
    robot: Robot,
    q: ArrayLike,
    law: Any,
    *,
    wall: Wall,
    timing: Timing,
    plant: Robot | None = None,
    rotor_inertia: ArrayLike = 0.0,
    joint_damping: ArrayLike = 0.0,
    bound: BoundLaw | None = None,
) -> ArmContact:
    """The matrices of an arm, its law and a wall; see `predict_for_arm`.

    `bound` is the law as it was bound to the robot before: then its settings leave nothing open.
    """
    true = robot if plant is None else plant
    if robot.nq != robot.nv or true.nv != robot.nv:
        raise NoSolution(f"{robot.name} has no fixed base, or plant and model differ in their joints")
    q = finite_array(q, "q", (robot.nq,))
    rotor = np.broadcast_to(finite_array(rotor_inertia, "rotor_inertia"), (robot.nv,))
    losses = joint_damping_of(true) + np.broadcast_to(finite_array(joint_damping, "joint_damping"), (robot.nv,))
    mobility = inverse_of(true.mass_matrix(q) + np.diag(rotor), f"mass matrix of {true.name}")
    lever = _lever(true, q, wall)
    if bound is None and isinstance(law, Law):  # choose what its settings leave open
        law = law.suited(robot, Rig(timing.period or 1e-3, timing.joint_delay + timing.command_delay, q=q))
    model = law.linear(robot, q, timing) if isinstance(law, Law) else None
    model = model or _model_by_differences(law, robot, q, timing, bound)
    # Under a law that does not hold the arm up a posture is no rest, and the pull of gravity there says nothing of it.
    holds = not isinstance(law, Law) or law.holds
    weight = gravity_slope(true, q) if holds else np.zeros((robot.nv, robot.nv))
    return ArmContact(
        robot, model, mobility, mobility @ (model.task.mass_matrix + np.diag(rotor)), np.diag(losses),
        weight, lever.T @ true.jacobian(q), lever, wall, timing, law.name,
    )  # fmt: skip


def why_unpredicted(law: Any) -> str | None:
    """Why `predict_for_arm` cannot predict a law (settings, or bound); None if it can."""
    if law.memoryless or (isinstance(law, Law) and law.about_rest is not None):
        return None
    return f"the law {law.name!r} keeps a memory between ticks and gives no linear model of itself (`Law.linear`)"


def predictable(law: Any) -> bool:
    """Whether `predict_for_arm` knows a law: it has a linear model, or no memory."""
    return why_unpredicted(law) is None


def moves_along(mobility: Array, direction: Array) -> bool:
    """Whether a force along a direction moves a point of this mobility there at all."""
    return bool(direction @ mobility @ direction > _MOVES * max(float(np.linalg.eigvalsh(mobility)[-1]), 1e-300))


def push_direction(contact: ArmContact) -> Array | None:
    """A direction, world axes, along which a push moves what a law controls; None if there is none.

    Up, or the direction along which the arm moves most easily where it does not move up; unless a servo holds the tool
    there: an admittance yields along its chosen directions alone.
    """
    mobility, model = contact.tool_mobility, contact.model
    up = np.array([0.0, 0.0, 1.0])
    if not moves_along(mobility, up):
        up = np.linalg.eigh(mobility)[1][:, -1]
    if not model.model.servo:
        return up
    yielding = model.task.along[np.diag(model.gains.mass) > 0.0, :3]
    yielding = yielding[np.linalg.norm(yielding, axis=1) > 0.5]
    return up if np.abs(yielding @ up).sum() > 0.0 else next(iter(yielding), None)


def _model_by_differences(law: Any, robot: Robot, q: Array, timing: Timing, bound: BoundLaw | None) -> LinearModel:
    """The slopes of a law without memory: an impedance without a task of its own."""
    if (why := why_unpredicted(law)) is not None:
        raise InvalidInput(why)
    bound_law: BoundLaw = bound or (law if isinstance(law, BoundLaw) else law.bind(robot))
    bound_law = bound_law.with_own_memory()  # a run counts in it what its law has done
    slopes, n = slope_law(bound_law, robot, q, timing.period or 1e-3), robot.nv
    M, G, none = robot.mass_matrix(q), gravity_slope(robot, q), np.zeros((0, 0))
    task = TaskModel(np.zeros((0, n)), none, M, np.zeros((n, n)), G, np.zeros((0, 6)), robot.jacobian(q).T)
    return LinearModel(IMPEDANCE, task, ToolGains(none, none, none, np.zeros(0, bool)), timing.period, slopes)


def _lever(robot: Robot, q: Array, wall: Wall) -> Array:
    """A force at the point of contact as a wrench at the tool's origin, 6×3."""
    if wall.point is None:
        return np.eye(6, 3)
    x, y, z = finite_array(wall.point, "wall's point", (3,)) - robot.pose(q).position
    return np.vstack([np.eye(3), [[0, -z, y], [z, 0, -x], [-y, x, 0]]])


def axis_of(contact: ArmContact) -> ContactCase:
    """The contact as one axis along the wall's normal: the mass that a push there feels, and the law's gains there."""
    n, gains, model = contact.wall.direction(), contact.model.gains, contact.model.model
    task = contact.model.task
    J = n @ contact.J_contact
    if not moves_along(contact.tool_mobility, n):
        raise NoSolution(NOT_ALONG)
    mass = 1.0 / float(J @ contact.mobility @ J)
    motion = contact.mobility @ J * mass  # joint motion per normal motion, the rest left free
    along = task.along[:, :3] @ n
    along = along / max(float(np.linalg.norm(along)), 1e-12)
    if (slopes := contact.model.slopes) is not None:  # what they amount to along that motion
        K, D = (max(float(-motion @ X @ motion), 0.0) for X in (slopes.q - task.gravity, slopes.v))
        M, model_mass = 1.0, mass
    else:
        K, D, M = (float(along @ X @ along) for X in (gains.stiffness, gains.damping, gains.mass))
        model_mass = 1.0 / max(float(along @ np.linalg.pinv(task.inertia) @ along), 1e-12)
    if model.servo and M <= 0.0:
        raise NoSolution("the law does not yield along the wall's normal; the joint servo alone meets it")
    if model.damping == "per mass":
        K, D = model_mass * K, model_mass * D
    elif model.damping == "joints":
        D = gains.joint_damping * model_mass
    pressed = float(along[gains.force] @ along[gains.force]) > 0.5
    return ContactCase(
        model if pressed or model.across is None else model.across, mass, contact.timing, stiffness=K, damping=D,
        shaped_mass=max(M, 1e-12), integral=gains.integral, proportional=gains.proportional,
        own_damping=float(motion @ contact.damping @ motion), model_mass=model_mass,
        wall_stiffness=contact.wall.stiffness, wall_damping=contact.wall.damping,
        servo=gains.servo if model.servo else "position", trim=gains.trim, label=contact.label,
    )  # fmt: skip


def period_warnings(
    law: BoundLaw, robot: Robot, *, period: float, q: ArrayLike, delay: int = 0, rotor_inertia: ArrayLike = 0.0
) -> list[str]:
    """A sentence with the numbers if a law is unstable at this period in free motion; nothing if it has a memory.

    Where nothing can be predicted (a singular mass matrix, gains beyond all numbers) the sentence says so: it never
    raises for what a robot or a law is like.

    Args:
        law: bound to the robot.
        robot: the arm as the law knows it.
        period: s.
        q: posture at rest.
        delay: periods between measurement and torque.
        rotor_inertia: of the drives, kg·m², which the law does not know.
    """
    if not law.memoryless or robot.nq != robot.nv:
        return []
    timing = Timing(finite_number(period, "period", above=0.0), command_delay=delay)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            contact = arm_contact(robot, q, law, wall=Wall(0.0), timing=timing, rotor_inertia=rotor_inertia)
            return free_motion_warnings(contact)
    except (NoSolution, np.linalg.LinAlgError, FloatingPointError) as error:
        return [f"{law.name}: whether its gains suit a control period of {1e3 * period:g} ms is not known: {error}"]


def free_motion_warnings(contact: ArmContact) -> list[str]:
    """A sentence with the numbers if an arm that touches nothing is unstable at its period and delay."""
    loop, robot, delay = contact.loop, contact.robot, contact.timing.command_delay
    if loop.stable or loop.radius <= 1.0 + _STANDING:
        return []
    late = f" and a delay of {delay} ticks" if delay else ""
    return [
        f"{contact.label} is unstable at a control period of {1e3 * contact.timing.period:g} ms{late}: its largest pole"
        f" is {loop.radius:.4g}, mostly of {moving_most(robot, loop) or 'every joint'}; lower its gains there, or"
        " shorten the period"
    ]
