"""Robot: what the arm is, and every term of its kinematics and dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, as_numbers, finite_array, finite_number
from palpate.display import shown
from palpate.equations.code.tree_program import TreeProgram
from palpate.equations.model.mechanism import Mechanism, mechanism_from_model
from palpate.errors import BadShape, InvalidInput, MassesMissing, SingularTask, UnknownName, shortened
from palpate.forking import cached_property
from palpate.robot import build, terms
from palpate.robot.forward import ForwardDynamics, accelerated, forward_dynamics_of
from palpate.robot.frames import Frame, ToolChoice, chosen_tool, frames_of
from palpate.robot.gate import refuse_impossible_robot, refuse_too_many, spec_from_text
from palpate.robot.joints.coupling import coordinates_of
from palpate.robot.joints.gears import elastic_numbers
from palpate.robot.joints.locking import lock_joints
from palpate.robot.limits import JointLimits, coordinate_labels, home_position, limits_from_model, rate_labels
from palpate.robot.mechanics import compiled, kernels, motion, queries, tree_kernels, tree_rows
from palpate.robot.mechanics.tensor import checked_inertia
from palpate.robot.mechanics.tree import Tree, massless_movers
from palpate.robot.readers.dh.table import Convention, DHLink, repaired_rows, tree_from_dh
from palpate.robot.readers.findings import TOOL_FRAME, Finding, gravcomp_warning, guessed_tool_warning
from palpate.robot.terms import Equations, Terms, Workspace
from palpate.spatial import Pose


class Robot:
    """An arm, or a machine with a free base: description, kinematics and dynamics.

    Coordinates q (n_q) and velocities v (n_v) are in joint order, rad and m. A free base comes first: q holds its
    position and quaternion (wxyz), v its linear velocity in world axes and its angular velocity in body axes. Joints
    that mimic another are not coordinates.

    The equation of motion is M(q) v̇ + C(q, v) v + g(q) = τ + Jᵀ F + losses, where F is the wrench of the
    environment on the robot.

    A Robot never changes (`with_payload` and all the others return a new one), and may be used from many threads.

    Attributes:
        model: the engine's compiled model of all joints.
        coordinates: how the engine's joints follow the independent coordinates (`Coordinates`).
        tool_frame: the frame meant where none is named; `tool_choice` says why this one, and what else there is.
        warnings: what is doubtful about the file the robot came from, and what was assumed.
        unresisted: joints that move no mass; where there are any, only the kinematics can be asked for.
    """

    def __init__(
        self,
        spec: mujoco.MjSpec,
        *,
        name: str | None = None,
        tool_frame: str | ToolChoice | None = None,
        warnings: Sequence[Finding] = (),
        idle: bool = False,
    ) -> None:
        refuse_too_many(len(spec.bodies), name or spec.modelname)
        self._spec = compiled.name_parts(spec.copy())
        compensated = compiled.without_gravcomp(self._spec)
        self.model = compiled.compiled_model(self._spec)
        self.name = name or spec.modelname
        self.unresisted = compiled.text_lines(self.model, compiled.UNRESISTED)
        refuse_impossible_robot(self.model, self.name, weightless=bool(self.unresisted) or idle)
        self.coordinates = coordinates_of(self.model)
        self._work = Workspace(self.model)
        self._frames = frames_of(self.model)
        self.tool_choice = chosen_tool(tool_frame, self.model)
        self.tool_frame = self.tool_choice.name
        self.frame(self.tool_frame)
        guess = guessed_tool_warning(self.name, self.tool_choice if tool_frame is None else None)
        self.warnings = (*warnings, *gravcomp_warning(self.name, compensated), *guess)

    @classmethod
    def from_tree(cls, tree: Tree, *, tool_frame: str | None = None, warnings: Sequence[Finding] = ()) -> Self:
        """A robot from a tree of links and joints; its kinematics alone, where there are not the masses for more."""
        massless = bool(massless_movers(tree.links, tree.joints))
        robot = cls(build.spec_from_tree(tree), name=tree.name, tool_frame=tool_frame, warnings=warnings, idle=massless)
        if not robot.unresisted and massless and (idle := robot._idle_joints()):
            compiled.set_note(robot._spec, compiled.UNRESISTED, "\n".join(idle))
            return robot._from_spec(robot._spec)
        return robot

    @classmethod
    def from_dh(
        cls, rows: Sequence[DHLink], convention: Convention = "standard", *, name: str = "dh-arm", repair: bool = False
    ) -> Self:
        """A robot from a DH table; its links' frames are the DH frames, `tool` is the last.

        With `repair`, inertias that no body has are replaced by the nearest one; `warnings` tells each. A ModelError
        tells every fault of the table.
        """
        rows, warnings = repaired_rows(rows) if repair else (rows, ())
        return cls.from_tree(tree_from_dh(rows, convention, name), warnings=warnings)

    @classmethod
    def from_mjcf_text(cls, text: str, *, name: str | None = None) -> Self:
        """A robot from an MJCF document held in a string."""
        return cls(spec_from_text(text), name=name)

    def spec(self, *, kinematics: bool = False) -> mujoco.MjSpec:
        """A fresh copy of the MuJoCo description, to build a world around; without masses, for `kinematics` only."""
        if not kinematics:
            self.demand_masses("a simulation")
        return self._spec.copy()

    def with_payload(
        self, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike | None = None, *, frame: str | None = None
    ) -> Self:
        """The robot carrying a rigid load.

        Args:
            mass: kg.
            com: the load's centre of mass in `frame`, m.
            inertia: about that centre, axes of `frame`, kg·m²: three principal moments, six entries
                (xx yy zz xy xz yz) or 3×3; a point mass if None.
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
        """The robot with a tool fixed at `frame`; `tip`, a pose in that frame, becomes its new tool frame `name`.

        The tool may weigh nothing (mass 0), where only its tip matters. Arguments as of `with_payload`.
        """
        weightless = tip is not None and mass == 0 and inertia is None
        load = mass if weightless else finite_number(mass, "mass", above=0.0)
        tensor = np.zeros((3, 3)) if inertia is None else checked_inertia(inertia)
        spec, mount = self._spec.copy(), self.frame(frame)
        body = self.model.body(mount.body).name
        if not weightless:
            build.add_load(spec, body, mount, (load, finite_array(com, "com", (3,)), tensor), name, self._frames)
        if tip is None:
            return self._from_spec(spec)
        site = compiled.unused_name(name, self._frames)
        build.add_tip(spec, body, mount, tip, site)
        return self._from_spec(spec, site)

    def with_tool_frame(self, frame: str) -> Self:
        """The robot with another of its frames as the tool frame."""
        kept = [finding for finding in self.warnings if finding.element != TOOL_FRAME]
        return type(self)(self._spec, name=self.name, tool_frame=self.frame(frame).name, warnings=kept)

    def with_base(self, pose: Pose) -> Self:
        """The robot with its base standing at `pose` in the world; gravity stays where it was."""
        spec = self._spec.copy()
        build.move_base(spec, pose, self.name)
        return self._from_spec(spec)

    def with_free_base(self) -> Self:
        """The robot with its base free to move: six more velocities, seven more coordinates, unactuated."""
        spec = self._spec.copy()
        build.free_base(spec, self.model, self.name)
        floating = type(self)(spec, name=self.name, tool_frame=self.tool_choice, warnings=self.warnings, idle=True)
        if not floating.unresisted and floating._idle_joints():
            base = self._spec.worldbody.first_body().name
            raise InvalidInput(f"the base {base!r} of {self.name} has no mass, so it cannot float")
        return floating

    def with_gravity(self, acceleration: ArrayLike) -> Self:
        """The robot under another gravity, m/s² in world axes."""
        spec = self._spec.copy()
        spec.option.gravity = finite_array(acceleration, "gravity", (3,))
        spec.option.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        return self._from_spec(spec)

    def with_ideal_joints(self) -> Self:
        """The textbook's robot: joints without rotor inertia, viscous and Coulomb friction."""
        spec = self._spec.copy()
        build.ideal_joints(spec)
        return self._from_spec(spec)

    def with_rigid_joints(self) -> Self:
        """The robot with gears that do not give, whatever its model says of their stiffness."""
        if self.joint_stiffness is None:
            return self
        spec = self._spec.copy()
        build.rigid_joints(spec)
        return self._from_spec(spec)

    def with_locked(self, joints: Mapping[str, float]) -> Self:
        """The robot with joints welded at values, rad or m; joints tied to them (mimic) are welded along.

        `warnings` names each value outside a joint's range.

        Raises:
            UnknownName: no such joint.
            InvalidInput: a joint of several freedoms, or values that a tie contradicts.
        """
        spec = self._spec.copy()
        range_warnings = lock_joints(spec, self.model, joints)
        return type(self)(spec, name=self.name, tool_frame=self.tool_choice, warnings=[*self.warnings, *range_warnings])

    def _from_spec(self, spec: mujoco.MjSpec, tool_frame: str | None = None) -> Self:
        return type(self)(spec, name=self.name, tool_frame=tool_frame or self.tool_choice, warnings=self.warnings)

    @cached_property
    def nq(self) -> int:
        """How many coordinates."""
        return len(self.coordinates.kept_position)

    @cached_property
    def nv(self) -> int:
        """How many velocities (degrees of freedom)."""
        return len(self.coordinates.kept)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of q, mimicking ones left out."""
        return tuple(self.model.joint(j).name for j in self._independent)

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """A label for each velocity: the joint's name, or base_vx… for a free base."""
        return rate_labels(self.model, self._independent)[0]

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """A label for each coordinate: the joint's name, or base_x…base_qz for a free base (quaternion wxyz)."""
        return coordinate_labels(self.model, self._independent)[0]

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """The unit of each velocity's displacement: rad, or m for a sliding joint."""
        return tuple(unit.removesuffix("/s") for unit in rate_labels(self.model, self._independent)[1])

    @property
    def limits(self) -> JointLimits:
        """Position, velocity, acceleration, torque and torque-rate limits per degree of freedom; a copy."""
        return self._limits.copy()

    @property
    def home(self) -> Array:
        """The keyframe `home` of the model, or else its zero position clipped into the limits; a copy."""
        return self._home.copy()

    @cached_property
    def _home(self) -> Array:
        return home_position(self.model)[self.coordinates.kept_position]

    @cached_property
    def _limits(self) -> JointLimits:
        return self.coordinates.reduce_limits(limits_from_model(self.model))

    @cached_property
    def mass(self) -> float:
        """Total mass, kg."""
        self.demand_masses("the mass")
        return float(self.model.body_mass.sum())

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every frame that can be named: links and sites."""
        return tuple(self._frames)

    def frame(self, name: str | None = None) -> Frame:
        """Look a frame up by name; the tool frame by default."""
        wanted = self.tool_frame if name is None else name
        if not isinstance(wanted, str) or wanted not in self._frames:
            raise UnknownName("frame", shortened(str(wanted)), self._frames)
        return self._frames[wanted]

    def mechanism(self, frame: str | None = None) -> Mechanism:
        """Moving links, joints and frames, as equations are derived from them; `frame` is the tool frame.

        Raises:
            InvalidInput: there is something that no equations are derived for: ball joints, tendons, closed loops.
        """
        tool, coupling = self.frame(frame).name, self.coordinates if self.coordinates.coupled else None
        return mechanism_from_model(self.model, self.name, self._frames, tool, coupling)

    @cached_property
    def program(self) -> TreeProgram:
        """The equations of motion as machine code, compiled at first use and kept on disk; refused like `mechanism`."""
        return TreeProgram(self.mechanism())

    @cached_property
    def equations(self) -> Equations:
        """The compiled equations with scratch to call them."""
        chain = range(-1, self.nv - 1)  # where joints are coupled
        return Equations(self.program, chain if self.coordinates.coupled else self.model.dof_parentid.tolist())

    @cached_property
    def _forward(self) -> ForwardDynamics | None:
        """Forward dynamics with losses as compiled code; None where the engine has to answer."""
        return forward_dynamics_of(self)

    @cached_property
    def _by_equations(self) -> bool:
        return terms.reason_for_engine(self.model) is None

    def text(self, name: str) -> str | None:
        """A note carried by the model: provenance, licence, summary."""
        return compiled.note(self.model, name)

    @cached_property
    def friction_remains(self) -> bool:
        """Whether its joint friction is what the maker's compensation leaves, and not all that the drives have."""
        return self.text(build.FRICTION_SIDE) == build.BEHIND_COMPENSATION

    @cached_property
    def joint_stiffness(self) -> Array | None:
        """Stiffness of its gears per degree of freedom, N·m/rad or N/m; None where joints are taken as rigid."""
        return elastic_numbers(self.model, build.STIFFNESS)

    @cached_property
    def gear_damping(self) -> Array | None:
        """Damping beside that stiffness, N·m·s/rad or N·s/m; None where joints are taken as rigid."""
        return elastic_numbers(self.model, build.GEAR_DAMPING)

    def __reduce__(self) -> tuple[Any, ...]:
        tool, idle = self.tool_choice, bool(self.unresisted)
        return compiled.robot_again, (type(self), compiled.exact_xml(self._spec), self.name, tool, self.warnings, idle)

    def __repr__(self) -> str:
        weight = "kinematics only" if self.unresisted else f"{self.mass:.4g} kg"
        return f"Robot({self.name!r}, {self.nv} degrees of freedom, {weight}, tool frame {self.tool_frame!r})"

    def _repr_html_(self) -> str:
        return shown("robot_html")(self)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q): n×n, kg·m² (revolute) and kg (prismatic), rotor inertia included."""
        return self.coordinates.reduce_matrix(self._read("the mass matrix", kernels.read_mass_matrix, 2, q))

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) v + g(q), N·m or N."""
        return self.coordinates.reduce_force(self._read("the bias force", kernels.read_bias, 1, q, v))

    def gravity(self, q: ArrayLike) -> Array:
        """g(q) = ∂V/∂q, N·m or N: the torque that holds the robot against gravity."""
        return self.coordinates.reduce_force(self._read("gravity", kernels.read_gravity, 1, q))

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) = Σ m Jpᵀ J̇p + Jrᵀ (Θ J̇r + [ω]× Θ Jr), for which Ṁ − 2C is skew-symmetric."""
        more = self._v(v), self._work.coriolis.address
        C = self._read("the Coriolis matrix", kernels.read_coriolis, 2, q, v, *more)
        return self.coordinates.reduce_matrix(C)

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, losses: bool = True) -> Array:
        """τ = M a + C v + g, plus what joint damping, springs and friction take unless `losses` is False."""
        self.demand_masses("inverse dynamics")
        if not losses:
            return self.mass_matrix(q) @ self._plain(a, "a", self.nv, finite=True) + self.bias(q, v)
        out, state = np.empty(self.model.nv), (self._q(q), self._v(v), self._v(a, "a"))
        status = queries.inverse_dynamics(self._work.physics.address, *state, out)
        if status != kernels.OK:
            raise terms.refusal(self, status, state, "a")
        return self.coordinates.reduce_force(out)

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        wrench: ArrayLike | Mapping[str, ArrayLike] | None = None,
        losses: bool = True,
    ) -> Array:
        """v̇ = M⁻¹ (τ + Jᵀ F − C v − g − losses), losses as the plant has them unless `losses` is False.

        F is the environment's `wrench` [f; n] at the tool frame's origin, world axes, or one per frame in a dict.
        """
        self.demand_masses("forward dynamics")
        known = self._forward.at(q, v, tau) if wrench is None and losses and self._forward is not None else None
        return accelerated(self, q, v, tau, wrench, losses) if known is None else known

    def generalised_force(self, q: ArrayLike, wrench: ArrayLike | Mapping[str, ArrayLike] | None) -> Array:
        """Σ Jᵀ F of a wrench [f; n] on the tool frame, or of one wrench per frame: world axes, at its origin."""
        parts = wrench if isinstance(wrench, Mapping) else {} if wrench is None else {self.tool_frame: wrench}
        pairs = ((frame, finite_array(F, f"wrench at {frame!r}", (6,))) for frame, F in parts.items())
        return sum((self.jacobian(q, frame).T @ F for frame, F in pairs), start=np.zeros(self.nv))

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> float:
        """½ vᵀ M(q) v, J."""
        speed = self._plain(v, "v", self.nv, finite=True)
        return float(0.5 * speed @ self.mass_matrix(q) @ speed)

    def potential_energy(self, q: ArrayLike) -> float:
        """Energy of gravity (zero at the world's origin) and of springs in the model, J."""
        self.demand_masses("potential energy")
        self._stage(q)
        mujoco.mj_energyPos(self.model, self._work.data)
        return float(self._work.data.energy[0]) - build.far_spring_energy(self.model)

    def pose(self, q: ArrayLike, frame: str | None = None) -> Pose:
        """X_WE: pose of a frame in the world."""
        record, position, rotation = self.frame(frame).record, np.empty(3), np.empty((3, 3))
        kernels.read_pose(self._stage(q), record.address, position, rotation)
        return Pose(position, rotation)

    def jacobian(self, q: ArrayLike, frame: str | None = None) -> Array:
        """J_WE: 6×n, rows [linear; angular], world axes, at the frame's origin, so that V_WE = J v."""
        return self._pose_and_jacobian(q, frame)[2]

    def analytical_jacobian(self, q: ArrayLike, frame: str | None = None, *, euler: str = "XYZ") -> Array:
        """J_A: 6×n with [ṗ; φ̇] = J_A v, φ the Euler angles of sequence `euler`. J = blkdiag(1, E(φ)) J_A."""
        _, rotation, J = self._pose_and_jacobian(q, frame)
        return motion.analytical_jacobian(rotation, J, euler)

    def jacobian_drift(self, q: ArrayLike, v: ArrayLike, frame: str | None = None) -> Array:
        """J̇ v: the acceleration [linear; angular] a frame has when v̇ = 0."""
        return self._terms(q, v, frame).drift

    def terms(self, q: ArrayLike, v: ArrayLike, frame: str | None = None) -> Terms:
        """Mass matrix, bias, gravity, pose, Jacobian and drift in one cheap pass."""
        self.demand_masses("the equation of motion")
        return self._terms(q, v, frame)

    def _terms(self, q: ArrayLike, v: ArrayLike, frame: str | None) -> Terms:
        """By the compiled equations, where there are any; by the engine for what they do not hold."""
        name = self.frame(frame).name
        compute = self.equations.terms if self._by_equations else partial(terms.engine_terms, self)
        try:  # plain arrays go straight in
            plain = type(q) is type(v) is np.ndarray
            result: Any = compute(q, v, name) if plain else tree_kernels.BAD_SHAPE  # pyright: ignore[reportArgumentType]
        except InvalidInput:
            result = tree_kernels.BAD_SHAPE
        if result == tree_kernels.BAD_SHAPE:
            result = compute(self._plain(q, "q", self.nq), self._plain(v, "v", self.nv), name)
        if not isinstance(result, Terms):
            raise terms.refusal(self, result, (np.asarray(q, dtype=float), np.asarray(v, dtype=float)))
        return result

    def terms_batch(self, Q: ArrayLike, V: ArrayLike, frame: str | None = None) -> Terms:
        """`terms` of N states, Q (N, n_q) and V (N, n_v): each of the terms has a first axis of length N.

        Compiled equations run on all lanes and cores, each state with the bits it has alone; else refused.
        """
        self.demand_masses("the equation of motion")
        name, layout = self.frame(frame).name, self.equations.layout
        inputs, wanted = terms.checked_states(self, {"Q": Q, "V": V}), slice(0, layout.size)
        return layout.views(terms.checked_rows(self, tree_rows.rows_of_terms, inputs, name, wanted))

    def pose_batch(self, Q: ArrayLike, frame: str | None = None) -> tuple[Array, Array]:
        """Positions (N, 3) and rotations (N, 3, 3) of a frame in the world, for N states."""
        rows = terms.rows_at_rest(self, Q, self.frame(frame).name, "position", "rotation")
        return rows[:, :3], rows[:, 3:].reshape(-1, 3, 3)

    def jacobian_batch(self, Q: ArrayLike, frame: str | None = None) -> Array:
        """`jacobian` of N states, (N, 6, n)."""
        return terms.rows_at_rest(self, Q, self.frame(frame).name, "J", "J").reshape(-1, 6, self.nv)

    def mass_matrix_batch(self, Q: ArrayLike) -> Array:
        """`mass_matrix` of N states, (N, n, n)."""
        self.demand_masses("the mass matrix")
        return terms.rows_at_rest(self, Q, None, "M", "M").reshape(-1, self.nv, self.nv)

    def inverse_dynamics_batch(self, Q: ArrayLike, V: ArrayLike, A: ArrayLike, *, losses: bool = True) -> Array:
        """`inverse_dynamics` of N states, (N, n); what joints lose is computed by the engine, state by state."""
        return terms.rows_of_dynamics(self, {"Q": Q, "V": V, "A": A}, "inverse dynamics", losses)

    def forward_dynamics_batch(self, Q: ArrayLike, V: ArrayLike, T: ArrayLike, *, losses: bool = True) -> Array:
        """`forward_dynamics` of N states under torques T, (N, n), on every core."""
        return terms.rows_of_dynamics(self, {"Q": Q, "V": V, "T": T}, "forward dynamics", losses)

    def task_inertia(
        self, q: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None, damping: float = 0.0
    ) -> Array:
        """Λ(q) = (J M⁻¹ Jᵀ + damping² 1)⁻¹: the inertia felt at a frame, also of a redundant arm.

        Args:
            q: coordinates.
            frame: where; the tool frame by default.
            directions: rows of the task, k×6 over [linear; angular] world axes; all six by default. A planar arm
                needs this: `np.eye(6)[:2]` are its x and y.
            damping: regularisation in the units of √(J M⁻¹ Jᵀ); 0 refuses a singular posture instead.
        """
        J = motion.task_jacobian(self.jacobian(q, frame), directions)
        inertia = motion.task_inertia(self.mass_matrix(q), J, damping)
        if inertia is None:
            raise SingularTask(frame or self.tool_frame, float(motion.singular_values(J)[-1]))
        return inertia

    def smallest_singular_value(
        self, q: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None
    ) -> float:
        """σ_min of the task Jacobian: how far the posture is from singular (0).

        A task of more directions than the robot has joints is always singular.
        """
        return float(motion.singular_values(motion.task_jacobian(self.jacobian(q, frame), directions))[-1])

    def manipulability(self, q: ArrayLike, frame: str | None = None, *, directions: ArrayLike | None = None) -> float:
        """√det(J Jᵀ), the volume of the velocity ellipsoid; 0 for more directions than joints."""
        return float(np.prod(motion.singular_values(motion.task_jacobian(self.jacobian(q, frame), directions))))

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
        c, start, speed = self.coordinates, self._checked_q(q), self._plain(v, "v", self.nv, finite=True)
        moved = c.expand_position(start).copy()
        mujoco.mj_integratePos(self.model, moved, c.expand_velocity(speed), finite_number(dt, "dt"))
        return moved[c.kept_position]

    def velocity_map(self, q: ArrayLike) -> Array:
        """E(q), n_v × n_q, with v = E(q) q̇: identity for joints; a free base's quaternion rates become body ω."""
        return motion.velocity_map(self, self._checked_q(q))

    def _idle_joints(self) -> list[str]:
        """Joints that move together without moving any mass, at home: there the mass matrix is singular."""
        value, motion = compiled.weakest_motion(self.mass_matrix(self.home))
        return [name for name, share in zip(self.dof_names, motion) if value < compiled.SINGULAR and abs(share) > 1e-3]

    def demand_masses(self, what: str) -> None:
        """Refuse what needs masses, where joints move none."""
        if self.unresisted:
            raise MassesMissing(what, self.name, self.unresisted)

    def _pose_and_jacobian(self, q: ArrayLike, frame: str | None) -> tuple[Array, Array, Array]:
        record, pose, J = self.frame(frame).record, (np.empty(3), np.empty((3, 3))), np.empty((6, self.model.nv))
        engine = self._stage(q)
        kernels.read_pose(engine, record.address, *pose)
        kernels.read_jacobian(engine, record.body, pose[0], J)
        return *pose, self.coordinates.reduce_columns(J)

    @cached_property
    def _independent(self) -> list[int]:
        """The joints that mimic no other, by the engine's numbers."""
        return [j for j in range(self.model.njnt) if self.model.jnt_dofadr[j] in self.coordinates.kept]

    def _plain(self, value: ArrayLike, name: str, size: int, *, finite: bool = False) -> Array:
        """`value` as the contiguous float64 array the kernels take."""
        array = as_numbers(value, f"{name} of {self.name}")
        if array.shape != (size,):
            raise BadShape(f"{name} of {self.name} must have shape ({size},), got {np.shape(value)}")
        if finite and not np.isfinite(array).all():
            raise terms.not_finite(self, name, array)
        return array

    def _q(self, q: ArrayLike) -> Array:
        return self.coordinates.expand_position(self._plain(q, "q", self.nq, finite=self.coordinates.coupled))

    def _checked_q(self, q: ArrayLike) -> Array:
        """q as an array, refused where no state has it."""
        self._stage(q)
        return self._plain(q, "q", self.nq)

    def _v(self, v: ArrayLike, name: str = "v") -> Array:
        return self.coordinates.expand_velocity(self._plain(v, name, self.nv, finite=self.coordinates.coupled))

    def _stage(self, q: ArrayLike, v: ArrayLike | None = None) -> int:
        """Bring the engine to a state; the address of what kernels read there."""
        engine, q_all = self._work.physics.address, self._q(q)
        v_all = q_all if v is None else self._v(v)
        status = kernels.stage_position(engine, q_all) if v is None else kernels.stage_state(engine, q_all, v_all)
        if status != kernels.OK:
            raise terms.refusal(self, status, (q_all, v_all))
        return engine

    def _read(
        self, what: str, read: Callable[..., None], axes: int, q: ArrayLike, v: ArrayLike | None = None, *more: Any
    ) -> Array:
        """A vector or matrix over all joints, as a kernel reads it off the engine at a state."""
        self.demand_masses(what)
        out = np.empty((self.model.nv,) * axes)
        read(self._stage(q, v), *more, out)
        return out
