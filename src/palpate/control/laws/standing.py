"""A machine with a free base stands on its feet: inverse dynamics with contact constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import setting
from palpate.control.bound_law import BoundLaw
from palpate.control.law import Law
from palpate.control.promise import Promise
from palpate.control.report import LawReport
from palpate.control.shown import Shown
from palpate.control.solve.stance import BASE, Footing, make_footing, solve_stance
from palpate.control.tick import Tick, law_kernel, sizes_of
from palpate.control.traits import LawTraits
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import flat, part
from palpate.errors import InvalidInput, NoSolution, check_names
from palpate.robot.robot import Robot
from palpate.spatial import kernels as spatial

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
    frames, terms = feet_of(robot, feet), robot.terms(q, v)
    footing = _footing(robot, frames)
    x = Tick(sizes_of(robot), M=terms.M, bias=terms.bias, J=terms.J, drift=terms.drift, q=q, v=v)
    support, motion = np.zeros(robot.nv), np.zeros(robot.nv)
    relaxation, solved = solve_stance(x, footing, a, friction, least_force, support, motion)
    if not solved:
        raise NoSolution(f"no forces were found with which {robot.name} stands", hint="are its feet under its trunk?")
    conflict = _names(robot, frames, footing) if relaxation > 0 else ()
    return Stance(
        support, motion, footing.stack.search.x.reshape(-1, 3).copy(), footing.acceleration.copy(), relaxation, conflict
    )


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


def _footing(robot: Robot, feet: tuple[str, ...]) -> Footing:
    """The problem of standing; a foot is the sphere that its name gives to a geom, or a point where there is none."""
    geoms = [mujoco.mj_name2id(robot.model, mujoco.mjtObj.mjOBJ_GEOM, foot) for foot in feet]
    return make_footing(robot, feet, [float(robot.model.geom_size[geom, 0]) if geom >= 0 else 0.0 for geom in geoms])


def _names(robot: Robot, feet: tuple[str, ...], footing: Footing) -> tuple[str, ...]:
    """The limits that hold each other, from the search for the least common violation: upper sides, then lower ones."""
    names = [f"{kind} of {foot}" for foot in feet for kind in ("load", *["friction"] * 4)]
    names += [f"torque of {joint}" for joint in robot.dof_names[BASE:]]
    active = np.abs(footing.stack.wide.active).reshape(2, -1).max(axis=0)
    return tuple(dict.fromkeys(name for name, on in zip(names, active) if on))


class Gains(Record):
    """K_p and K_d of the trunk, μ, and the smallest normal force of each foot."""

    kp: float
    kd: float
    friction: float
    least_force: float


class Memory(Record):
    """Ticks at which limits decided, forces and torques of the last tick, and scratch."""

    conflict: Kept[int] = 0
    short: Kept[int] = 0  # the trunk's wish was not met in full
    silent: Kept[int] = 0  # no answer
    forces: Kept[Matrix] = sized("feet", 3)
    support: State[Vector] = sized("nv")
    motion: State[Vector] = sized("nv")
    wanted: Vector = sized(6)
    goal: Matrix = sized(3, 3)
    R_error: Matrix = sized(3, 3)
    footing: Footing


class Terms(Record):
    """Terms of the torque: −Σ Jᵢᵀ fᵢ, and M v̇ + b."""

    support: Vector = sized("nv")
    motion: Vector = sized("nv")


@kernel
def _wanted_acceleration(x: Tick, k: Gains, m: Memory) -> None:
    """wanted = a_ref + K_p e − K_d (V − V_ref), e = [p_d − p; log(R_d Rᵀ)]."""
    spatial.matrix_from_quat(x.target.quat_wxyz, m.goal)
    for i in range(3):
        m.wanted[i] = x.target.position[i] - x.position[i]
        for j in range(3):
            m.R_error[i, j] = dot(m.goal[i], x.rotation[j], 3)
    spatial.rotation_vector_from_matrix(m.R_error, part(m.wanted, 3, 3))
    for i in range(6):
        rate = -x.target.twist[i]
        for j in range(x.v.size):
            rate += x.J[i, j] * x.v[j]
        m.wanted[i] = x.target.acceleration[i] + k.kp * m.wanted[i] - k.kd * rate


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    _wanted_acceleration(x, k, m)
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
    """

    name: ClassVar[str] = "standing"
    kernel = _kernel

    feet: tuple[str, ...] = setting((), "1", "frames that stand on the ground; all named foot_… if not given")
    friction: float = setting(0.5, "1", "μ assumed by the law", gt=0)
    least_force: float = setting(1.0, "N", "smallest normal force of each foot", ge=0)
    frequency: float = setting(12.0, "rad/s", "ω of the trunk, K_p = ω²", gt=0)
    damping_ratio: float = setting(1.0, "1", "ζ, K_d = 2 ζ ω", ge=0)

    @property
    def traits(self) -> LawTraits:
        """It promises the trunk at its target."""
        return replace(super().traits, promises=self.promises_for)

    @property
    def report(self) -> LawReport:
        """How often limits shaped the command."""
        return LawReport(remarks=self.remarks_of)

    def promises_for(self, robot: Robot) -> tuple[Promise, ...]:
        """The trunk at its target."""
        rate = self.frequency * min(self.damping_ratio, 1.0)
        return (Promise(motion=("x", "y", "z", "rx", "ry", "rz"), rate=rate, yields=False, what="the trunk"),)

    def gains(self, robot: Robot) -> Gains:
        """K_p, K_d, μ, least force."""
        feet_of(robot, self.feet)
        w = self.frequency
        return Gains(kp=w * w, kd=2 * self.damping_ratio * w, friction=self.friction, least_force=self.least_force)

    def memory(self, robot: Robot) -> Memory:
        """Counters, the forces of the last tick, and scratch."""
        feet = feet_of(robot, self.feet)
        return Memory({"feet": len(feet), "nv": robot.nv}, footing=_footing(robot, feet))

    def remarks_of(self, memory: Memory) -> list[str]:
        """How often limits shaped the command."""
        counts = {
            "friction cones and torque limits conflicted and were relaxed": memory.conflict,
            "the trunk's desired acceleration was beyond friction cones or torque limits": memory.short,
            "no solution, so the torques of the previous tick were kept,": memory.silent,
        }
        return [f"{text} at {count} ticks" for text, count in counts.items() if count]

    def bound_to(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; the trace shows the forces it counts on as `law.forces`."""
        feet = feet_of(robot, self.feet)
        labels = tuple(f"{foot}.{axis}" for foot in feet for axis in "xyz")
        shown = Shown("forces", "forces", "N", labels, "world", "of the ground on the feet, as planned")
        return replace(super().bound_to(robot), shown=(shown,))
