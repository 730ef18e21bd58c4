"""An arm at a posture on a wall: its law in numbers, its loop in joint coordinates, and one axis along the normal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.design.arm_terms import (
    damped_inertia,
    gravity_slope,
    inverse_of,
    joint_damping_of,
)
from palpate.control.design.case import ContactCase, Search, stable_up_to
from palpate.control.design.closed_loop import DENSE_MOST, ClosedLoop
from palpate.control.design.damping import damping_by_ratio
from palpate.control.design.force_gains import force_defaults
from palpate.control.design.law_models import KINDS, SERVO_KINDS, Kind, TaskGains, TaskModel, linear_law
from palpate.control.design.loop_model import LinearLaw, Plant, Timing, close
from palpate.control.design.prediction import (
    ContactPrediction,
    HoldError,
    held_apart,
    predict_contact,
    predicted,
    unknown,
)
from palpate.control.design.sampled import slope_law
from palpate.control.law import Law, Rig
from palpate.control.steps.reach import DIRECTIONS, lost_mass, reachable
from palpate.errors import InvalidInput, NoSolution, UnknownName
from palpate.robot.robot import Robot

FULL_MOST = 60  # states up to which limits are those of the whole arm; beyond, of the axis along the normal
COARSE = Search((1.25, 1.5), 1e-4)  # of an arm's limits
_STANDING = 1e-6  # in z: motion of an arm that nothing holds


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
    kind: Kind
    task: TaskModel
    gains: TaskGains
    mobility: Array  # M⁻¹ of the plant, rotors included
    servo: Array
    damping: Array
    gravity: Array
    J_contact: Array  # 3×n at the point of contact
    lever: Array  # 6×3, a force at the point as a wrench at the tool's origin
    wall: Wall
    timing: Timing
    slopes: LinearLaw | None = None  # of a law without memory that has no equation here
    label: str = ""

    def plant(self) -> Plant:
        """The plant against the wall."""
        K, B = self.wall.matrices()
        J, T = self.J_contact, self.lever
        return Plant(
            self.mobility, self.servo, self.damping, self.gravity, J.T @ K @ J, J.T @ B @ J, -T @ K @ J, -T @ B @ J
        )

    def law(self) -> LinearLaw:
        """The law's matrices over joints and wrench."""
        return self.slopes or linear_law(self.kind, self.task, self.gains, self.timing.period)

    def loop(self, command: float = 1.0) -> ClosedLoop:
        """The closed loop of the whole arm, its command multiplied."""
        return close(self.plant(), self.law().scaled(command), self.timing, standing=_STANDING)

    def with_gain(self, name: str, factor: float) -> ArmContact:
        """The same with one gain multiplied (see `ContactCase.with_gain`)."""
        g = self.gains
        if self.slopes is not None:
            return replace(self, slopes=self._steeper(self.slopes, name, factor))
        if name == "compliance":
            new = replace(g, mass=g.mass / factor, damping=g.damping / factor, stiffness=g.stiffness / factor)
        elif name == "damping":
            new = replace(g, damping=g.damping * factor, joint_damping=g.joint_damping * factor)
        else:
            new = replace(g, **{name: getattr(g, name) * factor})
        return replace(self, gains=new)

    def _steeper(self, slopes: LinearLaw, name: str, factor: float) -> LinearLaw:
        if name == "damping":
            return replace(slopes, v=factor * slopes.v)
        return replace(slopes, q=factor * (slopes.q - self.task.gravity) + self.task.gravity)


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

    Poles are those of the whole arm in joint coordinates, null space and coupling included. Limits are too while the
    loop is small; with long delays they are those of the axis along the normal.
    Assumes: small motion about q, lasting contact at one point of the tool, no friction unless the wall has
    tangential stiffness, the geometry under preload unchanged, a wrench sensor that carries no mass.

    Args:
        robot: as the law knows it.
        q: posture.
        law: settings of a law of `design.KINDS`, such as `CartesianImpedance(stiffness=…)`, or of one without memory.
        wall: what it meets; stiffness 0 for free motion.
        timing: clock, delays, sensors, servo bandwidth.
        plant: the true robot; as the law knows it if not given.
        rotor_inertia: per joint, kg·m², in the plant and known to the servo alone.
        joint_damping: per joint, N·m·s/rad, beyond the plant's own.
        limits: whether to look for the largest wall stiffness, delay and gains too.
    """
    arm = {"plant": plant, "rotor_inertia": rotor_inertia, "joint_damping": joint_damping}
    try:
        return _predicted(arm_contact(robot, q, law, wall=wall, timing=timing, **arm), limits)
    except (NoSolution, np.linalg.LinAlgError) as error:
        case = ContactCase("cartesian-impedance", 1.0, timing, label=law.name)
        return unknown(case, f"{law.name} on {robot.name} at this posture: {error}")


def hold_error_for_arm(robot: Robot, q: ArrayLike, law: Any, *, physics_step: float, **contact: Any) -> HoldError:
    """`hold_error` of a whole arm: the slowest of all its motions, on exact physics and as a simulation steps them.

    Args:
        robot, q, law: as for `predict_for_arm`.
        physics_step: of the simulation, s; its integrator is the timing's.
        contact: wall, timing, plant, rotor_inertia and joint_damping, as for `predict_for_arm`.
    """
    found = arm_contact(robot, q, law, **contact)
    timing = found.timing
    exact = replace(found, timing=replace(timing, physics_step=None)).loop().growth
    shown = replace(found, timing=replace(timing, physics_step=physics_step)).loop().growth
    return held_apart(law.name, exact, shown, physics_step, timing.period)


def _predicted(contact: ArmContact, limits: bool) -> ContactPrediction:
    axis, loop = axis_of(contact), contact.loop()
    joint = _moving_most(contact.robot, loop)
    if limits and loop.states > FULL_MOST:
        return _with_axis_limits(contact, axis, joint)
    return predicted(
        axis,
        lambda case, gain, factor: _loop_of(contact, case, gain, factor),
        limits=limits,
        joint=joint,
        search=COARSE,
        largest_delay=lambda: _largest_delay(contact, axis, loop),
    )


def _largest_delay(contact: ArmContact, axis: ContactCase, loop: ClosedLoop) -> float:
    """Of the whole arm as long as its states are few enough; beyond, that of the axis along the normal, if longer."""
    T = contact.timing.period
    if T == 0:
        return predict_contact(axis).largest_delay
    samples = max(1, int((DENSE_MOST - loop.states) // max(contact.robot.nv, 1)))

    def later(lag: float) -> bool:
        return replace(contact, timing=contact.timing.later(lag)).loop().stable

    found = stable_up_to(later, 0.0, most=samples * T, first=T / 4, search=COARSE)
    return found if np.isfinite(found) else max(samples * T, predict_contact(axis).largest_delay)


def _loop_of(contact: ArmContact, case: ContactCase, gain: str, factor: float) -> ClosedLoop:
    wall = replace(contact.wall, stiffness=case.wall_stiffness)
    changed = replace(contact, wall=wall, timing=case.timing)
    if gain == "command":
        return changed.loop(factor)
    return (changed.with_gain(gain, factor) if gain else changed).loop()


def _with_axis_limits(contact: ArmContact, axis: ContactCase, joint: str) -> ContactPrediction:
    whole = predicted(axis, lambda *_: contact.loop(), limits=False, joint=joint)
    along = predict_contact(axis)
    found = replace(
        whole,
        largest_wall_stiffness=along.largest_wall_stiffness,
        largest_delay=along.largest_delay,
        largest_gains=along.largest_gains,
    )
    note = "These limits are those of the one axis along the normal: " + along.sentences[1]
    return replace(found, sentences=(whole.sentences[0], note, *whole.sentences[1:]))


def _moving_most(robot: Robot, loop: ClosedLoop) -> str:
    n = robot.nv
    if not np.isfinite(loop.leading):
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
) -> ArmContact:
    """The matrices of an arm, its law and a wall; see `predict_for_arm`."""
    if isinstance(law, Law):
        law = law.suited(robot, Rig(timing.period or 1e-3, timing.joint_delay + timing.command_delay, q=np.asarray(q)))
    true = robot if plant is None else plant
    if robot.nq != robot.nv or true.nv != robot.nv:
        raise NoSolution(f"{robot.name} has no fixed base, or plant and model differ in their joints")
    q = finite_array(q, "q", (robot.nq,))
    rotor = np.broadcast_to(finite_array(rotor_inertia, "rotor_inertia"), (robot.nv,))
    losses = joint_damping_of(true) + np.broadcast_to(finite_array(joint_damping, "joint_damping"), (robot.nv,))
    mobility = inverse_of(true.mass_matrix(q) + np.diag(rotor), f"mass matrix of {true.name}")
    lever = _lever(true, q, wall)
    slopes = None if law.name in KINDS else _slopes(law, robot, q, timing.period)
    if slopes is None:
        kind, task, gains = law_in_numbers(law, robot, q, timing.period)
    else:
        kind, task, gains = "cartesian-impedance", *_along_normal(robot, q, slopes, lever, wall, mobility)
    return ArmContact(
        robot, kind, task, gains, mobility, mobility @ (task.mass_matrix + np.diag(rotor)), np.diag(losses),
        gravity_slope(true, q), lever.T @ true.jacobian(q), lever, wall, timing, slopes, law.name,
    )  # fmt: skip


def predictable(law: Any) -> bool:
    """Whether `predict_for_arm` knows a law (settings, or bound): one of `KINDS`, or one without memory."""
    return law.name in KINDS or law.memoryless


def _slopes(law: Any, robot: Robot, q: Array, period: float) -> LinearLaw:
    if not predictable(law):
        raise UnknownName("law with a contact prediction", law.name, KINDS)
    return slope_law(law.bind(robot) if hasattr(law, "bind") else law, robot, q, period or 1e-3, wrench=True)


def _along_normal(
    robot: Robot, q: Array, slopes: LinearLaw, lever: Array, wall: Wall, mobility: Array
) -> tuple[TaskModel, TaskGains]:
    """The task and gains that a law of joint slopes amounts to along the wall's normal."""
    J = wall.direction()[None] @ lever.T @ robot.jacobian(q)
    mass = 1.0 / max(float((J @ mobility @ J.T)[0, 0]), 1e-12)
    moved, one, G = mobility @ J.T * mass, np.eye(1), gravity_slope(robot, q)
    K, D = (np.maximum(-moved.T @ X @ moved, 0.0) for X in (slopes.q - G, slopes.v))
    along = np.concatenate([wall.direction(), np.zeros(3)])[None]
    n = robot.nv
    task = TaskModel(J, mass * one, robot.mass_matrix(q), np.zeros((n, n)), G, along, robot.jacobian(q).T)
    return task, TaskGains(K, D, one, force=np.array([False]))


def _lever(robot: Robot, q: Array, wall: Wall) -> Array:
    """A force at the point of contact as a wrench at the tool's origin, 6×3."""
    if wall.point is None:
        return np.eye(6, 3)
    x, y, z = finite_array(wall.point, "wall's point", (3,)) - robot.pose(q).position
    return np.vstack([np.eye(3), [[0, -z, y], [z, 0, -x], [-y, x, 0]]])


def axis_of(contact: ArmContact) -> ContactCase:
    """The contact as one axis along the wall's normal: the mass that a push there feels, and the law's gains there."""
    n, gains, kind = contact.wall.direction(), contact.gains, contact.kind
    J = n @ contact.J_contact
    mass = 1.0 / max(float(J @ contact.mobility @ J), 1e-12)
    moved = contact.mobility @ J * mass  # joint motion per normal motion, the rest left free
    along = contact.task.along[:, :3] @ n
    along = along / max(float(np.linalg.norm(along)), 1e-12)
    K, D, M = (float(along @ X @ along) for X in (gains.stiffness, gains.damping, gains.mass))
    if kind == "admittance" and M <= 0.0:
        raise NoSolution("the law does not yield along the wall's normal; the joint servo alone meets it")
    model = 1.0 / max(float(along @ np.linalg.pinv(contact.task.inertia) @ along), 1e-12)
    if kind == "hybrid-force":
        K, D = model * K, model * D
    if kind == "integral-force":
        D = gains.joint_damping * model
    pressed = float(along[gains.force] @ along[gains.force]) > 0.5
    if kind in ("direct-force", "parallel-force", "hybrid-force") and not pressed:
        kind = "cartesian-impedance"
    return ContactCase(
        kind, mass, contact.timing, stiffness=K, damping=D, shaped_mass=max(M, 1e-12), integral=gains.integral,
        proportional=gains.proportional, own_damping=float(moved @ contact.damping @ moved), model_mass=model,
        wall_stiffness=contact.wall.stiffness, wall_damping=contact.wall.damping,
        servo=gains.servo if kind in SERVO_KINDS else "position", trim=gains.trim, label=contact.label,
    )  # fmt: skip


def law_in_numbers(law: Any, robot: Robot, q: Array, period: float) -> tuple[Kind, TaskModel, TaskGains]:
    """What a law's settings mean for an arm at a posture: its kind, its model of the arm, its gains."""
    if law.name not in KINDS:
        raise UnknownName("law with a contact prediction", law.name, KINDS)
    terms = robot.terms(q, np.zeros(robot.nv))
    axes = _axes(law, terms.rotation)
    force, motion = _split(law, robot)
    rows = [DIRECTIONS.index(d) for d in (*motion, *force)]
    J6 = axes.T @ terms.J
    M, n = terms.M, robot.nv
    J, back = J6[rows], inverse_of(terms.M, f"mass matrix of {robot.name}")
    chosen = (robot, (*motion, *force), lambda turned: _axes(law, turned)[:3, :3])
    inertia = damped_inertia(J, back, rows, getattr(law, "heaviest", None) or lost_mass(*chosen))
    freedoms = len(reachable(*chosen))
    has_null_space = hasattr(law, "posture_stiffness") and freedoms < n
    N = np.eye(n) - J.T @ inertia @ J @ back if has_null_space else np.zeros((n, n))
    task = TaskModel(J, inertia, M, N, gravity_slope(robot, q), axes.T[rows], terms.J.T)
    marked = np.array([False] * len(motion) + [True] * len(force))
    return law.name, task, _gains(law, robot, rows, marked, period)


def _axes(law: Any, rotation: Array) -> Array:
    """6×6 of the law's axes at rest, where the target is where the tool is."""
    w, x, y, z = (float(v) for v in getattr(law, "axes_quat_wxyz", (1.0, 0.0, 0.0, 0.0)))
    size = w * w + x * x + y * y + z * z
    turn = np.eye(3) + 2 / size * np.array(
        [[-y * y - z * z, x * y - w * z, x * z + w * y], [x * y + w * z, -x * x - z * z, y * z - w * x],
         [x * z - w * y, y * z + w * x, -x * x - y * y]]
    )  # fmt: skip
    if law.name == "admittance" and getattr(law, "axes", "document") == "document":
        return _twice(turn, rotation @ turn)
    R = turn if getattr(law, "axes", "world") == "world" else rotation @ turn
    return _twice(R, R)


def _twice(linear: Array, angular: Array) -> Array:
    out = np.zeros((6, 6))
    out[:3, :3], out[3:, 3:] = linear, angular
    return out


def _split(law: Any, robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Force- and motion-controlled directions."""
    if law.name == "integral-force":
        return tuple(law.directions), ()
    if hasattr(law, "force") and hasattr(law, "motion"):
        return tuple(law.force), tuple(law.motion)
    if law.name == "admittance" and hasattr(law, "followed"):
        return (), tuple(law.followed(robot))
    return (), tuple(getattr(law, "directions", DIRECTIONS))


def _gains(law: Any, robot: Robot, rows: list[int], force: Array, period: float) -> TaskGains:
    K, D, M = _springs(law, robot, period)
    if law.name == "hybrid-force":
        K, D = np.diag(np.asarray(law.kp, float)), np.diag(np.asarray(law.kd, float))
        for row, pressed in zip(rows, force):
            D[row, row] = law.force_damping if pressed else D[row, row]
    pick = np.ix_(rows, rows)
    numbers = {
        name: _number(getattr(law, name, 0.0))
        for name in (
            "integral", "proportional", "joint_damping", "posture_stiffness", "posture_damping", "trim",
            "friction_feedback",
        )
    }  # fmt: skip
    return TaskGains(K[pick], D[pick], M[pick], force=force, servo=getattr(law, "servo", "position"), **numbers)


def _springs(law: Any, robot: Robot, period: float) -> tuple[Array, Array, Array]:
    """K, D and M of a law, 6×6 in its axes, with what it leaves to defaults."""
    K, M = _six(getattr(law, "stiffness", 0.0)), _six(getattr(law, "mass", 1.0))
    damping = getattr(law, "damping", 0.0)
    if law.name == "admittance" and hasattr(law, "directions"):  # what does not yield has no mass, see law_models
        yielding = np.diag([float(d in law.directions) for d in DIRECTIONS])
        return yielding @ K @ yielding, yielding @ law.matrices()[1] @ yielding, yielding @ M @ yielding
    if damping is not None and getattr(law, "stiffness", 0.0) is not None:
        return K, _six(damping), M
    ratio = float(getattr(law, "damping_ratio", 1.0))
    if law.name in ("shaped-impedance", "admittance"):
        return K, damping_by_ratio(K, np.linalg.inv(M), ratio), M
    if law.name == "cartesian-impedance":
        chosen = np.diag([float(d in law.directions) for d in DIRECTIONS])
        K = chosen @ K @ chosen
        J = _axes(law, robot.pose(robot.home).rotation).T @ robot.jacobian(robot.home)
        return K, damping_by_ratio(K, J @ np.linalg.solve(robot.mass_matrix(robot.home), J.T), ratio), M
    found = force_defaults(robot, robot.home, period, force=tuple(law.force), motion=tuple(law.motion))
    given = K if law.stiffness is not None else np.diag(found.stiffness)
    return given, _six(damping) if damping is not None else found.damping, M


def _number(value: Any) -> Any:
    """A number, or one per joint; nothing is zero."""
    array = np.asarray(0.0 if value is None else value, dtype=float)
    return array if array.ndim else float(array)


def _six(value: Any) -> Array:
    """A number, six numbers or 6×6 as 6×6; nothing is zero."""
    array = np.asarray(0.0 if value is None else value, dtype=float)
    return array if array.ndim == 2 else np.diag(np.broadcast_to(array, 6).astype(float))
