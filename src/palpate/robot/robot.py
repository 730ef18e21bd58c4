"""Robot: what the arm is, and every term of its kinematics and dynamics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.engine.physics import Physics
from palpate.errors import (
    BadRotation,
    BadShape,
    InvalidInput,
    ModelError,
    NotFinite,
    SingularTask,
    UnknownName,
)
from palpate.robot import kernels
from palpate.robot.build import set_inertia, spec_from_tree
from palpate.robot.coupling import coupling_from_model, friction_slopes
from palpate.robot.floating import quaternion_places, velocity_map
from palpate.robot.frames import Frame, default_tool, frames_of
from palpate.robot.limits import JointLimits, clipped_zero, limits_from_model
from palpate.robot.readers.dh import Convention, DHLink, checked_inertia, tree_from_dh
from palpate.robot.tree import Tree
from palpate.spatial import Pose, quat_from_matrix

_DISABLED = (
    mujoco.mjtDisableBit.mjDSBL_CONTACT
    | mujoco.mjtDisableBit.mjDSBL_LIMIT
    | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    | mujoco.mjtDisableBit.mjDSBL_AUTORESET
    | mujoco.mjtDisableBit.mjDSBL_WARMSTART  # results must not depend on earlier calls
)
# By joint type: free, ball, slide, hinge.
_VELOCITY_LABELS = {0: ("vx", "vy", "vz", "wx", "wy", "wz"), 1: ("wx", "wy", "wz"), 2: ("",), 3: ("",)}
_POSITION_LABELS = {0: ("x", "y", "z", "qw", "qx", "qy", "qz"), 1: ("qw", "qx", "qy", "qz"), 2: ("",), 3: ("",)}
_UNITS = {0: ("m",) * 3 + ("rad",) * 3, 1: ("rad",) * 3, 2: ("m",), 3: ("rad",)}


@dataclass(frozen=True)
class Terms:
    """Everything a controller asks of a model at (q, v), for one frame E.

    Attributes:
        M: mass matrix, n×n.
        bias: C(q, v) v + g(q).
        gravity: g(q).
        position, rotation: pose of E in the world.
        J: geometric Jacobian 6×n, rows [linear; angular], world axes.
        drift: J̇ v.
    """

    M: Array
    bias: Array
    gravity: Array
    position: Array
    rotation: Array
    J: Array
    drift: Array


class _Workspace(threading.local):
    """One thread's engine data and scratch: a Robot is shared between threads, its data never is."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.data = mujoco.MjData(model)
        self.physics = Physics.of(model, self.data)
        sizes = {"nv": model.nv}
        self.terms, self.coriolis = kernels.ModelTerms(sizes), kernels.CoriolisWork(sizes)


class Robot:
    """An arm, or a machine with a free base: description, kinematics and dynamics.

    Coordinates q (n_q) and velocities v (n_v) are in joint order, rad and m. A free base comes first: q holds its
    position and quaternion (wxyz), v its linear velocity in world axes and its angular velocity in body axes. Joints
    that mimic another are not coordinates.

    The equation of motion is M(q) v̇ + C(q, v) v + g(q) = τ + Jᵀ F + losses, where F is the wrench of the
    environment on the robot.

    A Robot never changes (`with_payload`, `with_tool`, `with_base`, `with_free_base`, `with_gravity` return a new
    one), and may be used from many threads at once.
    """

    def __init__(self, spec: mujoco.MjSpec, *, name: str | None = None, tool_frame: str | None = None) -> None:
        self._spec = _named(spec.copy())
        self.model = _compile(self._spec)
        self.name = name or spec.modelname
        self._coupling = coupling_from_model(self.model)
        self._work = _Workspace(self.model)
        self._frames = frames_of(self.model)
        self.tool_frame = tool_frame or default_tool(self.model)
        self.frame(self.tool_frame)

    # ------------------------------------------------------------------ construction

    @classmethod
    def from_tree(cls, tree: Tree, *, tool_frame: str | None = None) -> Self:
        """A robot from a tree of links and joints."""
        return cls(spec_from_tree(tree), name=tree.name, tool_frame=tool_frame)

    @classmethod
    def from_dh(cls, rows: Sequence[DHLink], convention: Convention = "standard", *, name: str = "dh-arm") -> Self:
        """A robot from a DH table; its links' frames are the DH frames, `tool` is the last."""
        return cls.from_tree(tree_from_dh(rows, convention, name))

    @classmethod
    def from_mjcf_text(cls, text: str, *, name: str | None = None) -> Self:
        """A robot from an MJCF document held in a string."""
        try:
            spec = mujoco.MjSpec.from_string(text)
        except (ValueError, mujoco.FatalError) as error:
            raise ModelError(f"the MJCF text cannot be read: {error}") from error
        return cls(spec, name=name)

    def spec(self) -> mujoco.MjSpec:
        """A fresh copy of the MuJoCo description, to build a world around."""
        return self._spec.copy()

    def with_payload(
        self,
        mass: float,
        com: ArrayLike = (0, 0, 0),
        inertia: ArrayLike | None = None,
        *,
        frame: str | None = None,
    ) -> Self:
        """The robot carrying a rigid load.

        Args:
            mass: kg.
            com: the load's centre of mass in `frame`, m.
            inertia: 3×3 about that centre, axes of `frame`, kg·m²; a point mass if None.
            frame: where it is fixed; the tool frame by default.
        """
        return self.with_tool(mass, com, inertia, frame=frame, tip=None)

    def with_tool(
        self,
        mass: float,
        com: ArrayLike = (0, 0, 0),
        inertia: ArrayLike | None = None,
        *,
        frame: str | None = None,
        tip: Pose | None = None,
        name: str = "tool_tip",
    ) -> Self:
        """The robot with a tool fixed at `frame`; `tip`, a pose in that frame, becomes its new tool frame `name`."""
        mass = finite_number(mass, "mass", above=0.0)
        tensor = np.zeros((3, 3)) if inertia is None else checked_inertia(inertia, "inertia")
        spec, place = self.spec(), self.frame(frame)
        body = spec.body(self.model.body(place.body).name).add_body(
            name=_unused(f"{name}_body", self._frames), pos=place.offset, quat=quat_from_matrix(place.turn)
        )
        set_inertia(body, mass, finite_array(com, "com", (3,)), tensor)
        if tip is None:
            return type(self)(spec, name=self.name, tool_frame=self.tool_frame)
        site = _unused(name, self._frames)
        body.add_site(name=site, pos=tip.position, quat=tip.quat_wxyz)
        return type(self)(spec, name=self.name, tool_frame=site)

    def with_base(self, pose: Pose) -> Self:
        """The robot with its base standing at `pose` in the world; gravity stays where it was."""
        spec = self.spec()
        frame = spec.worldbody.add_frame(pos=pose.position, quat=pose.quat_wxyz)
        for body in spec.worldbody.bodies:
            if any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints):
                raise InvalidInput(f"the base of {self.name} is free: its pose is part of q")
            _outermost(body).set_frame(frame)
        return type(self)(spec, name=self.name, tool_frame=self.tool_frame)

    def with_free_base(self) -> Self:
        """The robot with its base free to move: six more velocities, seven more coordinates, unactuated."""
        spec = self.spec()
        root = spec.worldbody.first_body()
        if list(root.joints):
            raise InvalidInput(f"the base {root.name!r} of {self.name} already moves")
        here = self.model.body(root.name)
        if here.mass[0] <= 0:
            raise InvalidInput(f"the base {root.name!r} of {self.name} has no mass, so it cannot float")
        root.add_freejoint(name="base_free")
        for number, key in enumerate(spec.keys):
            key.qpos = np.concatenate([here.pos, here.quat, self.model.key_qpos[number]])
            key.qvel = np.concatenate([np.zeros(6), self.model.key_qvel[number]])
        return type(self)(spec, name=self.name, tool_frame=self.tool_frame)

    def with_gravity(self, acceleration: ArrayLike) -> Self:
        """The robot under another gravity, m/s² in world axes."""
        spec = self.spec()
        spec.option.gravity = finite_array(acceleration, "gravity", (3,))
        spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        return type(self)(spec, name=self.name, tool_frame=self.tool_frame)

    # ------------------------------------------------------------------ description

    @cached_property
    def nq(self) -> int:
        """How many coordinates."""
        return self.model.nq if self._coupling is None else self._coupling.count

    @cached_property
    def nv(self) -> int:
        """How many velocities (degrees of freedom)."""
        return self.model.nv if self._coupling is None else self._coupling.count

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of q, mimicking ones left out."""
        names = tuple(self.model.joint(j).name for j in range(self.model.njnt))
        return names if self._coupling is None else tuple(names[j] for j in self._coupling.kept)

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """A label for each velocity: the joint's name, or base_vx… for a free base."""
        return self._labels(_VELOCITY_LABELS)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """A label for each coordinate: the joint's name, or base_x…base_qz for a free base (quaternion wxyz)."""
        return self._labels(_POSITION_LABELS)

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """The unit of each velocity's displacement: rad, or m for a sliding joint."""
        return tuple(unit for name in self.joint_names for unit in _UNITS[self._joint_type(name)])

    @property
    def limits(self) -> JointLimits:
        """Position, velocity, acceleration, torque and torque-rate limits per degree of freedom; a copy."""
        return self._limits.copy()

    @property
    def home(self) -> Array:
        """The keyframe `home` of the model, or else its zero position clipped into the limits; a copy."""
        return self._home.copy()

    @cached_property
    def _limits(self) -> JointLimits:
        limits = limits_from_model(self.model)
        return limits if self._coupling is None else self._coupling.reduce_limits(limits)

    @cached_property
    def _home(self) -> Array:
        key = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_KEY, "home")
        full = self.model.key_qpos[key] if key >= 0 else clipped_zero(self.model)
        return full if self._coupling is None else full[self._coupling.kept]

    @cached_property
    def mass(self) -> float:
        """Total mass, kg."""
        return float(self.model.body_mass.sum())

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every frame that can be named: links and sites."""
        return tuple(self._frames)

    def frame(self, name: str | None = None) -> Frame:
        """Look a frame up by name; the tool frame by default."""
        found = self._frames.get(self.tool_frame if name is None else name)
        if found is None:
            raise UnknownName("frame", str(name if name is not None else self.tool_frame), self._frames)
        return found

    def text(self, name: str) -> str | None:
        """A note carried by the model: provenance, licence, summary."""
        found = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_TEXT, name)
        if found < 0:
            return None
        start, size = self.model.text_adr[found], self.model.text_size[found]
        return bytes(self.model.text_data[start : start + size]).rstrip(b"\0").decode()

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, {self.nv} degrees of freedom, {self.mass:.4g} kg, tool frame {self.tool_frame!r})"

    # ------------------------------------------------------------------ dynamics

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q): n×n, kg·m² (revolute) and kg (prismatic), rotor inertia included."""
        M = np.empty((self.model.nv, self.model.nv))
        self._run(kernels.mass_matrix, self._q(q), M)
        return M if self._coupling is None else self._coupling.reduce_matrix(M)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) v + g(q), N·m or N."""
        out = np.empty(self.model.nv)
        self._run(kernels.bias, self._q(q), self._v(v), out)
        return self._reduced_force(out)

    def gravity(self, q: ArrayLike) -> Array:
        """g(q) = ∂V/∂q, N·m or N: the torque that holds the robot against gravity."""
        out = np.empty(self.model.nv)
        self._run(kernels.gravity, self._q(q), out)
        return self._reduced_force(out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) = Σ m Jpᵀ J̇p + Jrᵀ (Θ J̇r + [ω]× Θ Jr), for which Ṁ − 2C is skew-symmetric."""
        C = np.empty((self.model.nv, self.model.nv))
        self._run(kernels.coriolis_matrix, self._q(q), self._v(v), self._work.coriolis.address, C)
        return C if self._coupling is None else self._coupling.reduce_matrix(C)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, losses: bool = True) -> Array:
        """τ = M a + C v + g, plus what joint damping, springs and friction take unless `losses` is False."""
        if not losses:
            return self.mass_matrix(q) @ self._plain(a, "a", self.nv, finite=True) + self.bias(q, v)
        out = np.empty(self.model.nv)
        self._run(kernels.inverse_dynamics, self._q(q), self._v(v), self._v(a, "a"), out)
        return self._reduced_force(out)

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, losses: bool = True) -> Array:
        """v̇ = M⁻¹ (τ − C v − g − losses), losses as the plant has them unless `losses` is False."""
        if self._coupling is None and losses:
            out = np.empty(self.model.nv)
            self._run(kernels.forward_dynamics, self._q(q), self._v(v), self._v(tau, "tau"), out)
            return out
        force, M = self._plain(tau, "tau", self.nv, finite=True), self.mass_matrix(q)
        rest = self.inverse_dynamics(q, v, np.zeros(self.nv), losses=losses)
        start = np.linalg.solve(M, force - rest)
        if self._coupling is None or not losses or not self.model.dof_frictionloss.any():
            return start
        return self._coupling.accelerate(
            M, start, lambda a: self.inverse_dynamics(q, v, a) - force, lambda: friction_slopes(self._work.data)
        )

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """½ vᵀ M(q) v, J."""
        speed = self._plain(v, "v", self.nv, finite=True)
        return float(0.5 * speed @ self.mass_matrix(q) @ speed)

    def potential_energy(self, q: ArrayLike) -> float:
        """Energy of gravity (zero at the world's origin) and of springs in the model, J."""
        out = np.empty(1)
        self._run(kernels.potential_energy, self._q(q), out)
        return float(out[0])

    # ------------------------------------------------------------------ kinematics

    def pose(self, q: ArrayLike, frame: str | None = None) -> Pose:
        """X_WE: pose of a frame in the world."""
        place = self.frame(frame)
        position, rotation = np.empty(3), np.empty((3, 3))
        self._run(kernels.pose, self._q(q), place.place.address, position, rotation)
        return Pose(position, rotation)

    def jacobian(self, q: ArrayLike, frame: str | None = None) -> Array:
        """J_WE: 6×n, rows [linear; angular], world axes, at the frame's origin, so that V_WE = J v."""
        return self._pose_and_jacobian(q, frame)[2]

    def analytical_jacobian(self, q: ArrayLike, frame: str | None = None, *, euler: str = "XYZ") -> Array:
        """J_A: 6×n with [ṗ; φ̇] = J_A v, φ the Euler angles of sequence `euler`. J = blkdiag(1, E(φ)) J_A."""
        from palpate.spatial import euler_from_matrix, euler_rate_from_angular_velocity

        _, rotation, J = self._pose_and_jacobian(q, frame)
        angles = euler_from_matrix(rotation, euler)
        rates = np.column_stack([euler_rate_from_angular_velocity(angles, w, euler) for w in J[3:].T])
        return np.vstack([J[:3], rates])

    def jacobian_drift(self, q: ArrayLike, v: ArrayLike, frame: str | None = None) -> Array:
        """J̇ v: the acceleration [linear; angular] a frame has when v̇ = 0."""
        return self.terms(q, v, frame).drift

    def terms(self, q: ArrayLike, v: ArrayLike, frame: str | None = None) -> Terms:
        """Mass matrix, bias, gravity, pose, Jacobian and drift in one cheap pass."""
        place, work = self.frame(frame).place, self._work
        status = kernels.terms(work.physics.address, self._q(q), self._v(v), place.address, work.terms.address)
        if status:
            self._refuse(status, (np.asarray(q, dtype=float), np.asarray(v, dtype=float)))
        x = work.terms
        out = Terms(*(part.copy() for part in (x.M, x.bias, x.gravity, x.position, x.rotation, x.J, x.drift)))
        return out if self._coupling is None else self._coupling.reduce_terms(out)

    def task_inertia(
        self,
        q: ArrayLike,
        frame: str | None = None,
        *,
        directions: ArrayLike | None = None,
        damping: float = 0.0,
    ) -> Array:
        """Λ(q) = (J M⁻¹ Jᵀ + damping² 1)⁻¹: the inertia felt at a frame, also of a redundant arm.

        Args:
            q: coordinates.
            frame: where; the tool frame by default.
            directions: rows of the task, k×6 over [linear; angular] world axes; all six by default. A planar arm
                needs this: `np.eye(6)[:2]` are its x and y.
            damping: regularisation in the units of √(J M⁻¹ Jᵀ); 0 refuses a singular posture instead.
        """
        S = np.eye(6) if directions is None else finite_array(directions, "directions", (None, 6))
        J = S @ self.jacobian(q, frame)
        mobility = J @ np.linalg.solve(self.mass_matrix(q), J.T)
        eigenvalues = np.linalg.eigvalsh(mobility)
        damping = finite_number(damping, "damping", least=0.0)
        if damping == 0.0 and eigenvalues[0] <= 1e-12 * max(eigenvalues[-1], 1e-300):
            raise SingularTask(frame or self.tool_frame, self.smallest_singular_value(q, frame, directions=S))
        return np.linalg.inv(mobility + damping**2 * np.eye(len(S)))

    def smallest_singular_value(
        self, q: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None
    ) -> float:
        """σ_min of the task Jacobian: how far the posture is from singular (0).

        A task of more directions than the robot has joints is always singular.
        """
        return float(self._singular_values(q, frame, directions)[-1])

    def manipulability(self, q: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None) -> float:
        """√det(J Jᵀ), the volume of the velocity ellipsoid; 0 for more directions than joints."""
        return float(np.prod(self._singular_values(q, frame, directions)))

    def inverse_kinematics(
        self,
        pose: Pose | ArrayLike,
        frame: str | None = None,
        *,
        seed: ArrayLike | None = None,
        restarts: int = 100,
        position_tolerance: float = 1e-9,
        angle_tolerance: float = 1e-9,
    ) -> Array:
        """Coordinates that bring a frame to a pose, or to a position if three numbers are given.

        Respects joint limits; joints that mimic others follow them, a free base stays where `seed` has it. Starts
        from `seed` (home by default), then from random postures, the same ones at every call.

        Raises:
            Unreachable: with the nearest posture found and how far it stays away.
        """
        from palpate.robot.ik import solve

        return solve(self, pose, frame, seed, restarts, position_tolerance, angle_tolerance)

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float) -> Array:
        """q ⊕ v dt: coordinates after moving at v for dt; on the rotation group for a free base."""
        dt = finite_number(dt, "dt")
        if self._coupling is not None:
            return self._plain(q, "q", self.nq, finite=True) + self._plain(v, "v", self.nv, finite=True) * dt
        out = self._checked_q(q).copy()
        mujoco.mj_integratePos(self.model, out, self._plain(v, "v", self.nv, finite=True), dt)
        return out

    def velocity_map(self, q: ArrayLike) -> Array:
        """E(q), n_v × n_q, with v = E(q) q̇: identity for joints; a free base's quaternion rates become body ω."""
        return velocity_map(self, self._checked_q(q))

    # ------------------------------------------------------------------ internals

    def _pose_and_jacobian(self, q: ArrayLike, frame: str | None) -> tuple[Array, Array, Array]:
        place = self.frame(frame)
        position, rotation, J = np.empty(3), np.empty((3, 3)), np.empty((6, self.model.nv))
        self._run(kernels.pose_and_jacobian, self._q(q), place.place.address, position, rotation, J)
        return position, rotation, J if self._coupling is None else J @ self._coupling.map

    def _singular_values(self, q: ArrayLike, frame: str | None, directions: ArrayLike | None) -> Array:
        J = self.jacobian(q, frame)
        if directions is not None:
            J = finite_array(directions, "directions", (None, 6)) @ J
        values = np.linalg.svd(J, compute_uv=False)
        return np.concatenate([values, np.zeros(len(J) - len(values))])

    def _labels(self, kinds: dict[int, tuple[str, ...]]) -> tuple[str, ...]:
        named = [(name, suffix) for name in self.joint_names for suffix in kinds[self._joint_type(name)]]
        return tuple(f"{name}_{suffix}" if suffix else name for name, suffix in named)

    def _joint_type(self, name: str) -> int:
        return int(self.model.joint(name).type[0])

    def _plain(self, value: ArrayLike, name: str, size: int, *, finite: bool = False) -> Array:
        """`value` as the contiguous float64 array the kernels take."""
        try:
            array = np.ascontiguousarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{name} of {self.name} must be numbers, got {value!r}") from error
        if array.shape != (size,):
            raise BadShape(f"{name} of {self.name} must have shape ({size},), got {np.shape(value)}")
        if finite and not np.isfinite(array).all():
            self._refuse_not_finite(name, array)
        return array

    def _q(self, q: ArrayLike, name: str = "q") -> Array:
        if self._coupling is None:
            return self._plain(q, name, self.nq)
        return self._coupling.expand_position(self._plain(q, name, self.nq, finite=True))

    def _checked_q(self, q: ArrayLike) -> Array:
        """q itself, refused like the kernels refuse it."""
        array = self._plain(q, "q", self.nq, finite=True)
        for place in quaternion_places(self.model):
            if abs(np.linalg.norm(array[place : place + 4]) - 1.0) > kernels.QUAT_TOLERANCE:
                raise self._bad_quaternion()
        return array

    def _v(self, v: ArrayLike, name: str = "v") -> Array:
        if self._coupling is None:
            return self._plain(v, name, self.nv)
        return self._coupling.map @ self._plain(v, name, self.nv, finite=True)

    def _reduced_force(self, force: Array) -> Array:
        return force if self._coupling is None else self._coupling.map.T @ force

    def _run(self, function: Callable[..., int], *arguments: Any) -> None:
        status = function(self._work.physics.address, *arguments)
        if status != kernels.OK:
            self._refuse(status, arguments, "tau" if function is kernels.forward_dynamics else "a")

    def _refuse(self, status: int, arguments: Sequence[Array], third: str = "") -> NoReturn:
        if status == kernels.BAD_QUATERNION:
            raise self._bad_quaternion()
        place = {kernels.BAD_POSITION: 0, kernels.BAD_VELOCITY: 1, kernels.BAD_INPUT: 2}[status]
        self._refuse_not_finite(("q", "v", third)[place], arguments[place])

    def _bad_quaternion(self) -> BadRotation:
        return BadRotation(
            f"q of {self.name} holds a quaternion whose norm is not 1 (wxyz, after the base position)",
            hint="normalise it before calling",
        )

    def _refuse_not_finite(self, name: str, values: Array) -> NoReturn:
        labels = self.coordinate_names if name in ("q", "seed") else self.dof_names
        index = int(np.flatnonzero(~np.isfinite(values))[0])
        raise NotFinite(f"{name} of {self.name} must be finite, got {values[index]} at {labels[index]}")


def _named(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """Give nameless bodies and joints a name: frames and coordinates are looked up by name."""
    for kind, elements in (("body", spec.bodies), ("joint", spec.joints)):
        taken = {element.name for element in elements}
        for number, element in enumerate(elements):
            if not element.name:
                element.name = _unused(f"{kind}_{number}", taken)
    return spec


def _outermost(body: mujoco.MjsBody) -> mujoco.MjsBody | mujoco.MjsFrame:
    """The body, or the outermost of the frames it stands in."""
    found = body
    while found.frame is not None:
        found = found.frame
    return found


def _compile(spec: mujoco.MjSpec) -> mujoco.MjModel:
    try:
        model = spec.copy().compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"robot {spec.modelname!r} cannot be compiled: {error}") from error
    if model.nv == 0:
        raise ModelError(f"robot {spec.modelname!r} has no moving joint")
    model.opt.disableflags |= int(_DISABLED)
    model.opt.tolerance, model.opt.iterations = 0.0, 100  # Coulomb friction is solved to rounding
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        model.opt.gravity[:] = 0.0
    return model


def _unused(name: str, taken: Collection[str]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}{number}"
    return candidate
