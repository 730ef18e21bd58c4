"""A machine with a free base stands on its feet: inverse dynamics with contact constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import setting
from palpate.control.law import BoundLaw, Law, Shown, Tick, law_kernel
from palpate.control.promise import Promise
from palpate.control.solve.hierarchy import solve_hierarchy
from palpate.control.solve.stance import BASE, PER_FOOT, Footing, make_footing, solve_stance
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.engine.views import flat, part
from palpate.errors import InvalidInput, check_names
from palpate.robot.robot import Robot, Terms as RobotTerms
from palpate.spatial import kernels as spatial, matrix_from_quat, rotation_error

_SHORT = 1e-6  # m/s², rad/s²: the trunk's wish counts as met to this


@dataclass(frozen=True)
class Stance:
    """Torques and contact forces that move a trunk while its feet stand still.

    Attributes:
        support: −Σ Jᵢᵀ fᵢ, N·m, one per degree of freedom; the base's six are 0.
        motion: M v̇ + b, the same.
        forces: N, (feet × 3), of the ground on each foot, world axes.
        acceleration: [v̇; ω̇] of the trunk that results, world axes.
        relaxation: by how much limits had to give way because they conflict: in N of a contact, or as a share of a
            torque limit; 0 otherwise.
        conflict: the limits that then hold each other.
    """

    support: Array
    motion: Array
    forces: Array
    acceleration: Array
    relaxation: float
    conflict: tuple[str, ...]

    @property
    def torque(self) -> Array:
        """Joint torques, N·m; the base's six are 0."""
        return self.support + self.motion


def stand(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    acceleration: ArrayLike,
    *,
    feet: tuple[str, ...] = (),
    friction: float = 0.5,
    least_force: float = 1.0,
) -> Stance:
    """Torques and forces that accelerate the trunk as wanted while the feet stand still, or as nearly as they can.

    M v̇ + b = Sᵀ τ + Σ Jᵢᵀ fᵢ and Jᵢ v̇ + J̇ᵢ v = 0, Jᵢ of the point under foot i. Feet at rest leave v̇ = v̇₀ + N a for a
    trunk acceleration a, and the base's six rows, which no motor drives, make a = B f + c. All follows from f:

        level 1   min |B f + c − a_d|²
        level 2   min |f|²
        within    |f_x|, |f_y| ≤ (μ/√2) f_z (a pyramid inside the friction cone), f_z ≥ least_force, |τ| ≤ limits

    Level ground (normal +z). Arguments as the settings of `Standing`.
    """
    a = finite_array(acceleration, "acceleration", (6,))
    finite_number(friction, "friction", above=0.0)
    finite_number(least_force, "least_force", least=0.0)
    return _solve(robot, np.asarray(q, float), np.asarray(v, float), robot.terms(q, v), a,
                  feet_of(robot, feet), friction, least_force)  # fmt: skip


def feet_of(robot: Robot, feet: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The frames of the feet: those named, or all whose names begin with `foot_`."""
    model = robot.model
    if model.njnt == 0 or int(model.jnt_type[0]) != int(mujoco.mjtJoint.mjJNT_FREE) or robot.nq != robot.nv + 1:
        raise InvalidInput(
            f"{robot.name} has no free base, or more than one", hint="standing is for machines such as quadruped"
        )
    check_names("frame", feet, robot.frame_names)
    foot_names = feet or tuple(name for name in robot.frame_names if name.startswith("foot_"))
    if len(foot_names) < 3:
        raise InvalidInput(
            f"{robot.name} needs at least 3 feet to stand on, got {len(foot_names)}: {', '.join(foot_names)}"
        )
    return foot_names


def _radius(robot: Robot, foot: str) -> float:
    """Of the sphere that is a foot, the geom of the same name; 0 where there is none."""
    geom = mujoco.mj_name2id(robot.model, mujoco.mjtObj.mjOBJ_GEOM, foot)
    return float(robot.model.geom_size[geom, 0]) if geom >= 0 else 0.0


def _touching(robot: Robot, q: Array, v: Array, foot: str) -> tuple[Array, Array]:
    """J and J̇ v of the foot's contact point, under the centre of its sphere.

    The point stays under a rolling sphere, o = (0, 0, −r): J_p = J_v − [o]× J_ω, and the same for J̇ v.
    """
    radius = _radius(robot, foot)
    cross = np.array([[0.0, radius, 0.0], [-radius, 0.0, 0.0], [0.0, 0.0, 0.0]])
    J, drift = robot.jacobian(q, foot), robot.jacobian_drift(q, v, foot)
    return J[:3] - cross @ J[3:], drift[:3] - cross @ drift[3:]


def _solve(
    robot: Robot, q: Array, v: Array, x: RobotTerms, wanted: Array, feet: tuple[str, ...], friction: float, least: float
) -> Stance:
    rows = [_touching(robot, q, v, foot) for foot in feet]
    Jf, drift = np.vstack([J for J, _ in rows]), np.concatenate([x.drift, *(d for _, d in rows)])
    lift = np.linalg.pinv(np.vstack([x.J, Jf]))  # v̇ = lift ([a; 0] − drift)
    still, moving = -lift @ drift, lift[:, :6]
    inertia = np.linalg.inv(x.M[:BASE] @ moving)
    B = inertia @ Jf[:, :BASE].T
    c = -inertia @ (x.M[:BASE] @ still + x.bias[:BASE])
    # τ = T f + t, all joints; their base rows vanish by the choice of a.
    T = (x.M @ moving @ B - Jf.T)[BASE:]
    t = (x.M @ (still + moving @ c) + x.bias)[BASE:]
    C, lower, upper, width = _limits(len(feet), friction, least, T, t, robot.limits.torque[BASE:])
    solution = solve_hierarchy(B, wanted - c, np.array([0, BASE], dtype=np.int64), C, lower, upper, width)
    conflict = _names(robot, feet, solution.active) if solution.relaxation > 0 else ()
    support = -Jf[:, BASE:].T @ solution.x
    motion = T @ solution.x + t - support
    return Stance(
        _joints(support), _joints(motion), solution.x.reshape(-1, 3), B @ solution.x + c, solution.relaxation, conflict
    )


def _joints(torque: Array) -> Array:
    """With the base's six, which no motor drives."""
    return np.concatenate([np.zeros(BASE), torque])


def _limits(feet: int, friction: float, least: float, T: Array, t: Array, most: Array) -> tuple[Array, ...]:
    """lower ≤ C f ≤ upper: five rows per foot, then a row per motor; widths in which a conflict is shared."""
    k = friction / np.sqrt(2.0)
    cone = np.array([[0.0, 0, 1], [1, 0, -k], [-1, 0, -k], [0, 1, -k], [0, -1, -k]])
    C = np.vstack([np.kron(np.eye(feet), cone), T])
    lower = np.concatenate([np.tile([least, *[-np.inf] * 4], feet), -most - t])
    upper = np.concatenate([np.tile([np.inf, 0.0, 0.0, 0.0, 0.0], feet), most - t])
    width = np.concatenate([np.ones(PER_FOOT * feet), np.where(np.isfinite(most), most, 1.0)])
    return C, lower, upper, width


def _names(robot: Robot, feet: tuple[str, ...], active: Array) -> tuple[str, ...]:
    names = [f"{kind} of {foot}" for foot in feet for kind in ("load", *["friction"] * 4)]
    names += [f"torque of {joint}" for joint in robot.dof_names[BASE:]]
    return tuple(dict.fromkeys(name for name, on in zip(names, active) if on))


class Gains(Record):
    """K_p and K_d of the trunk, μ, and the load that each foot keeps."""

    kp: float
    kd: float
    friction: float
    least_force: float


class Counts(Record):
    """Ticks at which limits decided, and the forces of the last tick."""

    conflict: int = 0
    short: int = 0  # the trunk's wish was not met in full
    silent: int = 0  # no answer
    forces: Matrix = sized("feet", 3)


class Memory(Counts):
    """The same, then the torques of the last tick, and room for one."""

    support: Vector = sized("nv")
    motion: Vector = sized("nv")
    wanted: Vector = sized(6)
    goal: Matrix = sized(3, 3)
    turn: Matrix = sized(3, 3)
    footing: Footing


class Terms(Record):
    """What the torque is made of: −Σ Jᵢᵀ fᵢ, and M v̇ + b."""

    support: Vector = sized("nv")
    motion: Vector = sized("nv")


@kernel
def _wish(x: Tick, k: Gains, m: Memory) -> None:
    """wanted = a_ref + K_p e − K_d (V − V_ref), e = [p_d − p; log(R_d Rᵀ)]."""
    spatial.matrix_from_quat(x.target.quat_wxyz, m.goal)
    for i in range(3):
        m.wanted[i] = x.target.position[i] - x.position[i]
        for j in range(3):
            m.turn[i, j] = 0.0
            for n in range(3):
                m.turn[i, j] += m.goal[i, n] * x.rotation[j, n]
    spatial.rotation_vector_from_matrix(m.turn, part(m.wanted, 3, 3))
    for i in range(6):
        rate = -x.target.twist[i]
        for j in range(x.v.size):
            rate += x.J[i, j] * x.v[j]
        m.wanted[i] = x.target.acceleration[i] + k.kp * m.wanted[i] - k.kd * rate


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    _wish(x, k, m)
    relaxed, solved = solve_stance(x, m.footing, m.wanted, k.friction, k.least_force, out.support, out.motion)
    if not solved:
        m.silent += 1
        put(out.support, 0, m.support)
        put(out.motion, 0, m.motion)
        return
    miss = 0.0
    for i in range(6):
        miss = max(miss, abs(m.footing.acceleration[i] - m.wanted[i]))
    m.conflict += relaxed > 0.0
    m.short += miss > _SHORT
    put(m.support, 0, out.support)
    put(m.motion, 0, out.motion)
    put(flat(m.forces), 0, m.footing.stack.search.x)


class Standing(Law):
    """Hold the trunk of a machine with a free base by forces of its feet on the ground.

    a_d = a_ref + K_p e − K_d (V − V_ref), e = [p_d − p; log(R_d Rᵀ)] the pose error of the trunk (the tool frame).
    Torques and contact forces that give it, feet at rest, forces inside the friction cones and torques within their
    limits: see `palpate.control.stand`. The base's six torques are exactly 0.

    Closed loop: ë + K_d ė + K_p e = the push over the machine's inertia, while no cone or torque limit is met; then the
    trunk yields by the least |a − a_d|. Limits that conflict give way together, by the least amount, and that is said.
    Without an answer the torques of the tick before are kept, and that is counted and said.
    Assumes: every foot touches level ground and stays, friction at least `friction`, a true model.
    With coupled joints it is plain Python.
    """

    name: ClassVar[str] = "standing"
    kernel = _kernel

    feet: tuple[str, ...] = setting((), "1", "frames that stand on the ground; all named foot_… if not given")
    friction: float = setting(0.5, "1", "μ that the law counts on", gt=0)
    least_force: float = setting(1.0, "N", "load that each foot keeps", ge=0)
    frequency: float = setting(12.0, "rad/s", "ω of the trunk, K_p = ω²", gt=0)
    damping_ratio: float = setting(1.0, "1", "ζ, K_d = 2 ζ ω", ge=0)

    def promises(self, robot: Robot) -> tuple[Promise, ...]:
        """The trunk at its target."""
        rate = self.frequency * min(self.damping_ratio, 1.0)
        return (Promise(motion=("x", "y", "z", "rx", "ry", "rz"), rate=rate, yields=False, what="the trunk"),)

    def gains(self, robot: Robot) -> Gains:
        """K_p, K_d, μ, least force."""
        feet_of(robot, self.feet)
        w = self.frequency
        return Gains(kp=w * w, kd=2 * self.damping_ratio * w, friction=self.friction, least_force=self.least_force)

    def memory(self, robot: Robot) -> Memory:
        """Counters, the forces of the last tick, and room for a tick."""
        feet = feet_of(robot, self.feet)
        footing = make_footing(robot, feet, [_radius(robot, foot) for foot in feet])
        return Memory({"feet": len(feet), "nv": robot.nv}, footing=footing)

    def remarks(self, memory: Counts) -> list[str]:
        """How often limits shaped the command."""
        said = {
            "friction cones and torque limits conflicted and gave way": memory.conflict,
            "the trunk's wanted acceleration was beyond friction cones or torque limits": memory.short,
            "no answer, so that the torques of the tick before were kept,": memory.silent,
        }
        return [f"{text} at {count} ticks" for text, count in said.items() if count]

    def bound_to(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; the trace shows the forces it counts on as `law.forces`."""
        feet = feet_of(robot, self.feet)
        labels = tuple(f"{foot}.{axis}" for foot in feet for axis in "xyz")
        shown = Shown("forces", "forces", "N", labels, "world", "of the ground on the feet, as planned")
        bound = self.bind_python(robot) if robot.coordinates.coupled else super().bound_to(robot)
        return replace(bound, shown=(shown,))

    def bind_python(self, robot: Robot) -> BoundLaw:
        """The law in plain Python; it asks the robot for the Jacobians of its feet."""
        feet = feet_of(robot, self.feet)

        def law(tick: Any, gains: Gains, memory: Counts) -> dict[str, Array]:
            x = RobotTerms(tick.M, tick.bias, tick.gravity, tick.position, tick.rotation, tick.J, tick.drift)
            wanted = _wanted(x, tick.v, tick.target, gains)
            stance = _solve(robot, tick.q, tick.v, x, wanted, feet, gains.friction, gains.least_force)
            memory.conflict += stance.relaxation > 0
            memory.short += bool(np.abs(stance.acceleration - wanted).max() > _SHORT)
            memory.forces[:] = stance.forces
            return {"support": stance.support, "motion": stance.motion}

        terms, counts = tuple(Terms.fields), Counts({"feet": len(feet)})
        return BoundLaw(
            self.name, law, terms, self.command, self.gains(robot), counts, np.zeros((len(terms), robot.nv)),
            needs=self.needed(), remarks=self.remarks,
        )  # fmt: skip


def _wanted(x: RobotTerms, v: Array, target: Any, gains: Gains) -> Array:
    """a_d = a_ref + K_p e − K_d (V − V_ref)."""
    angular_error = rotation_error(matrix_from_quat(target.quat_wxyz), x.rotation)
    error = np.concatenate([target.position - x.position, angular_error])
    return target.acceleration + gains.kp * error - gains.kd * (x.J @ v - target.twist)
