"""Admittance control: a measured wrench moves a compliant pose, and a joint servo follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import Quaternion, setting
from palpate.control.commands import CommandKind
from palpate.control.design.damping import damping_by_ratio
from palpate.control.fitting import refuse_free_base
from palpate.control.law import Law
from palpate.control.promise import Promise
from palpate.control.report import LawReport, sentences_that_hold
from palpate.control.shown import Shown
from palpate.control.steps.compliance import (
    AXES,
    AdmittanceAxes,
    Compliant,
    EquationGains,
    advance_admittance,
    set_compliant_pose,
)
from palpate.control.steps.frames import (
    BodyMotions,
    BodyTree,
    frame_pose,
    motion_of,
    move_tree,
    point_jacobian,
    tree_of,
)
from palpate.control.steps.linear_algebra import damped_step, product
from palpate.control.steps.reach import reachable, rotation_of
from palpate.control.steps.task_space import DIRECTIONS, Direction, Gain6, checked_directions, symmetric6
from palpate.control.tick import Tick, law_kernel, sizes_of
from palpate.control.traits import LawTraits
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.maths import sin
from palpate.engine.records import Cube, Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import flat, part
from palpate.errors import InvalidInput
from palpate.robot.mechanics.kernels import FrameOnBody
from palpate.robot.robot import Robot
from palpate.spatial import Pose
from palpate.spatial.kernels import matrix_from_quat, quat_error_world, quat_from_matrix
from palpate.spatial.vector_kernels import cross

_BEHIND, _ASKEW = 5e-3, 0.05  # m and rad from the compliant pose that are worth a remark
_STEEP = 0.5  # sin ϑ, 30°: from there on an Euler admittance turns by less than half of μ/K, or by more than half again


class Gains(EquationGains):
    """The equations' gains, the servo's, and the arm."""

    trim: float
    most_trim: float
    singular_damping: float
    velocity_servo: bool
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")
    speed: Vector = sized("nv")
    rows: Integers = sized("k")  # indices of the directions that the arm follows, the yielding ones first


class Memory(Record):
    """The compliant frame, the posture commanded now and a tick ago, and the trim; then scratch."""

    started: Kept[bool] = False
    slowed: Kept[int] = 0  # ticks at which a joint's speed,
    stopped: Kept[int] = 0  # or its range held the command back
    behind: Kept[float] = 0.0  # m, the farthest that the commanded posture stayed from the compliant pose,
    askew: Kept[float] = 0.0  # and rad
    distance: Kept[float] = 0.0  # m, of the tool from the compliant frame along the directions that the arm follows,
    angle: Kept[float] = 0.0  # and rad;
    farthest: Kept[float] = 0.0  # at most
    widest: Kept[float] = 0.0
    steepest: Kept[float] = 0.0  # |sin ϑ| at worst while a moment acted on the Euler form
    c: Compliant
    command: State[Vector] = sized("nv")
    command_before: Vector = sized("nv")
    trim: State[Vector] = sized("nv")
    R_d: Matrix = sized(3, 3)
    F: Vector = sized(6)  # the wrench as the equations want it
    e: Vector = sized(6)  # from the commanded pose to the compliant one
    quat_wxyz: Vector = sized(4)
    axes: Kept[Matrix] = sized(3, 3)  # of rotation, in the world
    J: Matrix = sized("k", "nv")  # rows that the arm follows,
    short: Vector = sized("k")  # and what is left of e along them
    step: Vector = sized("nv")
    A: Matrix = sized("k", "k")  # of the damped least squares,
    y: Vector = sized("k")
    tool: FrameOnBody
    tree: BodyTree
    motion: BodyMotions  # of the arm at the commanded posture,
    still: Vector = sized("nv")  # where it rests,
    position: Vector = sized(3)  # and its tool
    rotation: Matrix = sized(3, 3)
    J_tool: Matrix = sized(6, "nv")


class Terms(Record):
    """Terms of the command."""

    compliant: Vector = sized("nv")
    trim: Vector = sized("nv")


@kernel
def _integrate_trim(x: Tick, k: Gains, m: Memory) -> None:
    """trim += dt k (q_c − q), within its bound, and not while the servo's error is beyond that bound too."""
    most = k.most_trim
    for i in range(x.v.size):
        late = m.command[i] - x.q[i]
        if abs(late) <= most:  # beyond, something else holds the arm back
            m.trim[i] += x.dt * k.trim * late
        m.trim[i] = min(max(m.trim[i], -most), most)


@kernel
def _set_wrench(x: Tick, k: Gains, m: Memory) -> None:
    """F − F_d; or with the moments that a sensor which reports about the base's origin would say, μ + p × f."""
    for i in range(6):
        m.F[i] = x.wrench[i] - x.target.wrench[i]
    if k.about_base:
        cross(x.position, part(m.F, 0, 3), m.c.vector)
        for i in range(3):
            m.F[3 + i] += m.c.vector[i]


@kernel
def _set_error(position: Vector, rotation: Matrix, m: Memory) -> None:
    """e = [p_c − p; log(R_c Rᵀ)]: from a pose to the compliant one."""
    for i in range(3):
        m.e[i] = m.c.position[i] - position[i]
    quat_from_matrix(rotation, m.quat_wxyz)
    quat_error_world(m.c.quat_wxyz, m.quat_wxyz, part(m.e, 3, 3))


@kernel
def _set_rows(k: Gains, m: Memory) -> None:
    """The rows of the arm's Jacobian that it follows, and e along them."""
    product(m.R_d, m.c.angular, m.axes)
    clear(flat(m.J))
    _set_short(k, m)
    for i in range(k.rows.size):
        direction = k.rows[i]
        half, axes = (0, m.c.linear) if direction < 3 else (3, m.axes)
        for row in range(3):
            share = axes[row, direction - half]
            for j in range(m.step.size):
                m.J[i, j] += share * m.J_tool[half + row, j]


@kernel
def _set_short(k: Gains, m: Memory) -> None:
    """Set `m.short`: the rest of the error e along the directions that the arm follows."""
    for i in range(k.rows.size):
        direction = k.rows[i]
        half, axes = (0, m.c.linear) if direction < 3 else (3, m.axes)
        m.short[i] = 0.0
        for row in range(3):
            m.short[i] += axes[row, direction - half] * m.e[half + row]


@kernel
def _compare_tool(x: Tick, k: Gains, m: Memory) -> None:
    """How far the tool is from where the compliant frame was a tick ago, along the directions that the arm follows."""
    _set_error(x.position, x.rotation, m)
    _set_short(k, m)
    squares = angles = 0.0
    for i in range(k.rows.size):
        if k.rows[i] < 3:
            squares += m.short[i] * m.short[i]
        else:
            angles += m.short[i] * m.short[i]
    m.distance, m.angle = math.sqrt(squares), math.sqrt(angles)
    m.farthest, m.widest = max(m.farthest, m.distance), max(m.widest, m.angle)


@kernel
def _step_towards_pose(k: Gains, m: Memory) -> None:
    """A Newton step of the command, from that of the tick before, towards the posture of the compliant pose."""
    move_tree(m.tree, m.command, m.still, m.motion)
    frame_pose(m.motion, m.tool, m.position, m.rotation)
    point_jacobian(m.tree, m.motion, m.tool.body, m.position, m.J_tool)
    _set_error(m.position, m.rotation, m)
    _set_rows(k, m)
    damped_step(m.J, m.short, k.singular_damping, m.A, m.y, m.step)
    for i in range(m.command.size):
        m.command[i] += m.step[i]
    for i in range(k.rows.size):
        if k.rows[i] < 3:
            m.behind = max(m.behind, abs(m.short[i]))
        else:
            m.askew = max(m.askew, abs(m.short[i]))


@kernel
def _keep_limits(dt: float, k: Gains, m: Memory) -> None:
    """The command moves no joint faster than its speed, all slowed alike, nor out of its range; both are counted."""
    share, out = 1.0, 0
    for i in range(m.command.size):
        moved = abs(m.command[i] - m.command_before[i])
        if moved > k.speed[i] * dt:
            share = min(share, k.speed[i] * dt / moved)
    m.slowed += 1 if share < 1.0 else 0
    for i in range(m.command.size):
        wanted = m.command_before[i] + share * (m.command[i] - m.command_before[i])
        m.command[i] = min(max(wanted, k.lower[i]), k.upper[i])
        out = 1 if m.command[i] != wanted else out
    m.stopped += out


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    if not m.started:
        m.started = True
        put(m.command, 0, x.q)
    else:
        _compare_tool(x, k, m)
    _integrate_trim(x, k, m)
    matrix_from_quat(x.target.quat_wxyz, m.R_d)
    _set_wrench(x, k, m)
    advance_admittance(m.F, x.target.position, m.R_d, x.dt, k, m.c)
    set_compliant_pose(x.target.position, m.R_d, k, m.c)
    if k.euler and (m.c.moment[0] != 0.0 or m.c.moment[1] != 0.0 or m.c.moment[2] != 0.0):
        m.steepest = max(m.steepest, abs(sin(m.c.euler_xyz[1])))
    put(m.command_before, 0, m.command)
    _step_towards_pose(k, m)
    _keep_limits(x.dt, k, m)
    for i in range(x.v.size):
        if k.velocity_servo:
            out.compliant[i] = (m.command[i] - m.command_before[i]) / x.dt
            out.trim[i] = k.trim * (m.command_before[i] - x.q[i])
        else:
            out.compliant[i], out.trim[i] = m.command[i], m.trim[i]


class _Response(Record):
    """The compliant frame at the start and after every step."""

    displacement: Matrix = sized("count", 3)
    speed: Matrix = sized("count", 3)
    turn_wxyz: Matrix = sized("count", 4)
    angles: Matrix = sized("count", 3)
    position: Matrix = sized("count", 3)
    quat_wxyz: Matrix = sized("count", 4)
    c: Compliant


@kernel
def _respond(k: EquationGains, F: Matrix, p_d: Matrix, R_d: Cube, dt: float, out: _Response) -> None:
    """The equations alone: row i of the answer is the compliant frame after i steps."""
    c, steps = out.c, F.shape[0]
    for i in range(steps + 1):
        d = min(i, steps - 1)
        set_compliant_pose(p_d[d], R_d[d], k, c)
        put(out.displacement[i], 0, c.displacement)
        put(out.speed[i], 0, c.speed)
        put(out.turn_wxyz[i], 0, c.turn_wxyz)
        put(out.angles[i], 0, c.angles)
        put(out.position[i], 0, c.position)
        put(out.quat_wxyz[i], 0, c.quat_wxyz)
        if i < steps:
            advance_admittance(F[i], p_d[i], R_d[i], dt, k, c)


_SHOWN = (
    Shown("compliant_position", "c.position", "m", ("x", "y", "z"), "world", "position of the compliant frame"),
    Shown("compliant_quat_wxyz", "c.quat_wxyz", "1", ("w", "x", "y", "z"), "world", "its orientation"),
    Shown("compliant_euler", "c.euler_xyz", "rad", ("phi", "theta", "psi"), "world", "its XYZ Euler angles"),
    Shown("compliant_distance", "distance", "m", help="of the tool from its compliant frame, as far as it follows"),
    Shown("compliant_angle", "angle", "rad", help="of the tool from its compliant frame, as far as it follows"),
)


class Admittance(Law):
    """A wrench moves the set point of a stiff arm: M Δẍ + D Δẋ + K Δx = F − F_d, followed through inverse kinematics.

    F is the measured and F_d the desired wrench of the environment on the robot (`reference.wrench`, 0 by default).
    Translation (31): M Δp̈ + D Δṗ + K Δp = f, world axes, Δp = p_c − p_d.
    Rotation, `rotation = "quaternion"` (32): M ω̇ + D ω + 2 Eᵀ(η, ε) K ε = μ in the desired frame, with
    q_cd = q_d* ⊗ q_c = (η, ε), E = η 1 − S(ε); q_cd ← exp(½ dt ω) ⊗ q_cd (46), q_c = q_d ⊗ q_cd (48). The stiffness
    moment decreases beyond 90° and is zero at 180°.
    Rotation, `rotation = "euler"` (33): M Δφ̈ + D Δφ̇ + K Δφ = Tᵀ(φ_c) μ, XYZ angles, T's entry (2, 3) = −cos ϑ sin φ.
    At rest a moment turns by T K⁻¹ Tᵀ μ, 1 ∓ |sin ϑ| times what K says: off by half from |ϑ| = 30° on, a warning,
    and singular at ±90°; prefer the quaternion there.
    Full matrices couple both: the spring is then K [Δp; 2 ε], its moment under Eᵀ, which has a potential.
    Directions that are not chosen are not compliant: the arm holds them at X_d, as far as the chosen ones allow.
    Semi-implicit Euler (49), (50). Closed loop: the tool shows mass M, damping D and stiffness K to a measured wrench;
    at rest Δp = K⁻¹ (f − f_d) and, about one axis, sin θ = μ / K; with K = 0 it rests where F = F_d.
    The compliant pose becomes joint angles by Newton steps on the arm's own kinematics (damped least squares near a
    singular posture, joint speeds and ranges kept); an integral trim removes the servo's steady-state error.
    Assumes: a wrench sensor; a servo much faster than √(K/M); only forces that the sensor measures.
    """

    name: ClassVar[str] = "admittance"
    kernel = _kernel

    mass: Gain6 = setting((5.0,) * 6, "kg, kg·m²", "M, apparent inertia: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; critical if not given")
    stiffness: Gain6 = setting((10.0,) * 6, "N/m, N·m/rad", "K: six numbers or 6×6; 0 for free guiding by hand")
    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "compliant directions; in the others the arm is stiff")
    axes: AdmittanceAxes = setting(
        "document",
        "1",
        "whose axes directions and gains are along: the world's for translation and the desired frame's for rotation"
        ", or the world's, tool's (the compliant frame's) or target's for both",
    )
    axes_quat_wxyz: Quaternion = setting((1.0, 0.0, 0.0, 0.0), "1", "rotates these axes")
    rotation: Literal["quaternion", "euler"] = setting("quaternion", "1", "how the rotational part is written")
    moment_about: Literal["tool", "base"] = setting(
        "tool",
        "1",
        "point of the moment: the tool's origin, or the base's, moved to the desired frame's origin by (42)",
    )
    servo: Literal["position", "velocity"] = setting("position", "1", "kind of inner servo")
    trim: float = setting(10.0, "1/s", "gain of the integral trim on the servo's error; 0 for none", ge=0)
    most_trim: float = setting(0.02, "rad or m", "largest trim of a joint, and largest error that it counts", ge=0)
    singular_damping: float = setting(1e-2, "1", "λ of the damped least squares", gt=0)

    def _refuse_unphysical(self) -> None:
        for name, strictly in (("mass", True), ("stiffness", False), ("damping", False)):
            value = getattr(self, name)
            if value is not None and np.ndim(value) == 1:
                _refuse_negative(name, value, strictly)
        if self.rotation == "euler" and (self.axes != "document" or self.axes_quat_wxyz != (1.0, 0.0, 0.0, 0.0)):
            raise InvalidInput(
                f"admittance: Euler angles have no other axes than their own, got axes = {self.axes!r}",
                hint='use rotation = "quaternion"',
            )

    def matrices(self) -> tuple[Array, Array, Array]:
        """M, D and K as used, 6×6; D given, or critical."""
        self._refuse_unphysical()
        M, K = symmetric6(self.mass, "mass", definite=True), symmetric6(self.stiffness, "stiffness")
        if self.damping is not None:
            D = symmetric6(self.damping, "damping")
        elif np.ndim(self.mass) == 1 and np.ndim(self.stiffness) == 1:
            D = np.diag(2.0 * np.sqrt(np.diag(M) * np.diag(K)))
        else:
            D = damping_by_ratio(K, np.linalg.inv(M), 1.0)
        return M, D, K

    def equation(self) -> dict[str, Any]:
        """The fields of `EquationGains`."""
        M, D, K = self.matrices()
        chosen = np.array([d in self.directions for d in DIRECTIONS])
        _refuse_restless(M, D, K, chosen)
        yields, both = np.zeros((6, 6)), np.outer(chosen, chosen)
        yields[both] = np.linalg.inv(M[np.ix_(chosen, chosen)]).ravel()
        return {
            "yields": yields,
            "damping": np.where(both, D, 0.0),
            "stiffness": np.where(both, K, 0.0),
            "chosen": chosen.astype(int),
            "axes": AXES.index(self.axes),
            "rotation": rotation_of(self.axes_quat_wxyz).copy(),
            "euler": self.rotation == "euler",
            "about_base": self.moment_about == "base",
        }

    def axes_at(self, rotation: Array) -> Array:
        """The axes where the tool is turned so, and the target with it; columns in the world."""
        axes_rotation = rotation_of(self.axes_quat_wxyz)
        if self.axes == "document":  # the world's for translation, the desired frame's for rotation
            return np.array([axes_rotation, rotation @ axes_rotation])
        return axes_rotation if self.axes == "world" else rotation @ axes_rotation

    @property
    def traits(self) -> LawTraits:
        """Its compliant frame presses; the arm follows that along the directions it can."""
        return replace(
            super().traits, yields=True, task_directions=self.followed_directions, promises=self.promises_for
        )

    @property
    def report(self) -> LawReport:
        """The compliant frame, and where the arm did not follow it."""
        return LawReport(
            shown=_SHOWN,
            remarks=self.remarks_of,
            alarms=self.alarms_of,
            figure="compliant-frame",
            literature=("10.1109/70.760350",),
        )

    def followed_directions(self, robot: Robot) -> tuple[str, ...]:
        """The directions that the arm follows: those that yield, then the others as far as it can hold them."""
        checked_directions(robot, self.directions, self.name, self.axes_at)
        others = tuple(d for d in DIRECTIONS if d not in self.directions)
        return reachable(robot, self.directions + others, self.axes_at)

    def promises_for(self, robot: Robot) -> tuple[Promise, ...]:
        """The tool where the compliance has it: at the target, moved by the wrench along the chosen directions.

        Along a direction without stiffness nothing leads back to the target: there it rests where the wanted wrench
        is felt.
        """
        held = np.any(self.matrices()[2], axis=1)
        free = tuple(d for d in self.directions if not held[DIRECTIONS.index(d)])
        followed = tuple(d for d in self.followed_directions(robot) if d not in free)
        pressing = (Promise(force=free, axes=self.axes_at),) if free else ()
        return (Promise(motion=followed, axes=self.axes_at), *pressing)

    def gains(self, robot: Robot) -> Gains:
        """The equations, the servo, and the joints' ranges and speeds."""
        refuse_free_base(robot, self.name)
        return Gains(
            **self.equation(),
            trim=self.trim,
            most_trim=self.most_trim,
            singular_damping=self.singular_damping,
            velocity_servo=self.servo == "velocity",
            lower=robot.limits.lower,
            upper=robot.limits.upper,
            speed=robot.limits.velocity,
            rows=[DIRECTIONS.index(d) for d in self.followed_directions(robot)],
        )

    def memory(self, robot: Robot) -> Memory:
        """The compliant frame, the commanded posture and the trim, and scratch."""
        tool = robot.frame()
        sizes = {**sizes_of(robot), "k": len(self.followed_directions(robot))}
        return Memory(sizes, tool=tool.record, tree=tree_of(robot, [tool.body]), motion=motion_of(robot))

    def remarks_of(self, memory: Memory) -> list[str]:
        """Whether joints' speeds, ranges or a singular posture kept the arm from following the compliant pose."""
        speeds = f"joint speeds limited the command at {memory.slowed} ticks"
        ranges = f"joint ranges limited the command at {memory.stopped} ticks"
        why = " and ".join(sentences_that_hold({speeds: memory.slowed, ranges: memory.stopped}))
        held_back = f"{self.name}: {why}: the arm did not follow the compliant pose then"
        behind = (
            f"{self.name}: the commanded posture was up to {memory.behind:.3g} m and {memory.askew:.3g} rad from"
            " the compliant pose: out of reach, or near a singular posture"
        )
        return sentences_that_hold({held_back: why, behind: memory.behind > _BEHIND or memory.askew > _ASKEW})

    def alarms_of(self, memory: Memory) -> list[str]:
        """Where the arm left its compliant frame, and an Euler form so near its singularity that K means little."""
        s = memory.steepest
        apart = (
            f"{self.name}: the tool was up to {memory.farthest:.3g} m and {memory.widest:.3g} rad from its"
            " compliant frame: the joint servo did not follow it; see law.compliant_distance and"
            " law.compliant_angle, and try a faster servo (world.driver.servo_bandwidth), a slower compliant frame"
            " (mass, damping) or a softer push"
        )
        steep = (
            f"{self.name}: Euler angles came to |ϑ| = {math.degrees(math.asin(min(s, 1.0))):.3g}° while a moment"
            f" acted: there it turns the tool by {1 - s:.2g} to {1 + s:.2g} times what K says, depending on the"
            f" moment's axis (1 ∓ |sin ϑ|: off by half from {math.degrees(math.asin(_STEEP)):.3g}° on, singular at"
            ' 90°); use rotation = "quaternion"'
        )
        return sentences_that_hold({apart: memory.farthest > _BEHIND or memory.widest > _ASKEW, steep: s > _STEEP})

    @property
    def command(self) -> CommandKind:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The kind of command that the servo behind the law takes."""
        return self.servo


@dataclass(frozen=True)
class AdmittanceResponse:
    """The compliant frame over time, from the equations alone.

    Attributes:
        time: s, one more than the wrenches given.
        displacement, speed: Δp (m) and Δṗ (m/s), world axes.
        angles: Δφ (rad) of the Euler form, or ε_cd's rotation vector (rad, desired-frame axes).
        position, quat_wxyz: the compliant pose in the world.
    """

    time: Array
    displacement: Array
    speed: Array
    angles: Array
    position: Array
    quat_wxyz: Array


def admittance_response(
    law: Admittance, wrenches: ArrayLike, dt: float, desired: Pose | list[Pose] | None = None
) -> AdmittanceResponse:
    """Drive the equations of an admittance law alone, without an arm.

    Args:
        law: its gains.
        wrenches: (steps × 6) [f; μ], world axes, held over each step; μ about the point the law states.
        dt: s.
        desired: the desired pose, or one per step; the base frame if not given.
    """
    h = finite_array(wrenches, "wrenches", (None, 6))
    dt = finite_number(dt, "dt", above=0.0)
    steps = len(h)
    poses = desired if isinstance(desired, list) else [desired or Pose(np.zeros(3), np.eye(3))] * steps
    if len(poses) != steps or not steps:
        raise InvalidInput(f"need at least one wrench and one desired pose per step, got {steps} and {len(poses)}")
    positions, rotations = np.array([x.position for x in poses]), np.array([x.rotation for x in poses])
    r = _Response({"count": steps + 1})
    _respond(EquationGains(**law.equation()), h, positions, rotations, dt, r)
    angles = r.angles if law.rotation == "euler" else _rotation_vectors(r.turn_wxyz)
    return AdmittanceResponse(np.arange(steps + 1) * dt, r.displacement, r.speed, angles, r.position, r.quat_wxyz)


def _rotation_vectors(quats: Array) -> Array:
    norm = np.linalg.norm(quats[:, 1:], axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(norm, quats[:, :1])
    return quats[:, 1:] * np.where(norm > 0, angle / np.where(norm > 0, norm, 1.0), 2.0)


def _refuse_restless(M: Array, D: Array, K: Array, chosen: np.ndarray) -> None:
    """Refuse a compliant frame that yields along no direction, or that nothing damps along one."""
    if not chosen.any():
        raise InvalidInput("directions is empty: no direction would be compliant", hint='such as directions = ["z"]')
    for axis in np.flatnonzero(chosen):
        m, d, k = M[axis, axis], D[axis, axis], K[axis, axis]
        if d == 0.0:
            raise InvalidInput(
                f"damping[{axis}] = 0 with mass {m:g} and stiffness {k:g}: the compliant frame would never rest",
                hint=f"critical damping is {2 * np.sqrt(m * k):g}; with stiffness 0 give a damping above 0",
            )
    least = float(np.linalg.eigvalsh(D[np.ix_(chosen, chosen)])[0])
    if least <= 0.0:
        raise InvalidInput(f"damping must be positive definite, or the compliant frame never rests; it has {least:g}")


def _refuse_negative(name: str, values: tuple[float, ...], strictly: bool) -> None:
    for axis, value in enumerate(values):
        if value < 0.0 or (strictly and value == 0.0):
            raise InvalidInput(f"{name}[{axis}] must be {'above' if strictly else 'at least'} 0, got {value:g}")
