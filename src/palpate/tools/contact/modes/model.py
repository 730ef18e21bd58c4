"""A robot and its contacts, ready to be evaluated: checked input on one side, records for a kernel on the other."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.engine.physics import Physics
from palpate.equations.code.tree_program import FrameTerms, TreeCode, TreeTerms
from palpate.errors import InvalidInput, ModelError, NotFinite, check_names
from palpate.forking import cached_property
from palpate.robot.frames import Frame
from palpate.robot.joints.coupled import coupled_model
from palpate.robot.robot import Robot
from palpate.tools.contact.modes import accelerations as kernels
from palpate.tools.contact.modes.complementarity import Candidate, ContactProblem
from palpate.tools.contact.touch import records as tables
from palpate.tools.contact.touch.contacts import (
    FREE,
    LOCKED,
    SLIDING,
    STICKING,
    Contact,
    DryJoint,
    JointStop,
    Pin,
    Plane,
    Ride,
    Touch,
    names_of,
)
from palpate.tools.contact.touch.records import ContactState, Machine, RobotTree, Touching, Work, rows_over

_STILL = Ride()


@dataclass(frozen=True)
class ContactRows:
    """The closed contacts' rows R over v, their drifts, M⁻¹ Rᵀ as columns, the candidates, forces before."""

    R: Array
    drift: Array
    inverse: Array
    G: Array
    candidates: list[Candidate]
    scale: float
    anchor: Array

    def problem(self, free_rates: Array) -> ContactProblem:
        """rates = R·free_rates + drift + G z."""
        return ContactProblem(self.G, self.R @ free_rates + self.drift, self.candidates, self.scale, self.anchor)


@dataclass(frozen=True)
class Snapshot:
    """A state and everything the contacts need to know of it.

    Attributes:
        t, q, v: the state.
        M: mass matrix; bias: C v + g + losses.
        records: the contacts as they are now (see `records.CONTACT`), shared with the model.
        states: what was found of each contact (see `records.CONTACT_STATE`).
        Jc: contact × 3 × nv, the touching points' velocities over v, world axes.
    """

    t: float
    q: Array
    v: Array
    M: Array
    bias: Array
    records: Array
    states: Array
    Jc: Array

    @cached_property
    def normals(self) -> Array:
        """One row per contact: ġ = row·v − n·v_surface."""
        return np.einsum("ki,kij->kj", self.states["normal"], self.Jc)

    @property
    def y(self) -> Array:
        """[q; v]."""
        return np.concatenate([self.q, self.v])

    def energy(self, v: Array) -> float:
        """½ vᵀ M v."""
        return float(0.5 * v @ self.M @ v)

    def directions(self, i: int) -> Array:
        """World directions of a contact's rows: normal and tangents, or all that a pin holds."""
        record, state = self.records[i], self.states[i]
        if record["kind"] == tables.PIN:
            return record["directions"][: record["freedoms"]]
        if record["kind"] == tables.DRY:
            return state["tangents"][:1]
        return np.vstack([state["normal"], state["tangents"][: record["freedoms"]]])

    def rows(self, closed: Sequence[int], slow: float) -> ContactRows:
        """Rows of the closed contacts; a slip slower than `slow`, m/s, counts as none."""
        blocks, drifts, anchors, candidates = [np.zeros((0, len(self.v)))], [np.zeros(0)], [np.zeros(0)], []
        start = 0
        for i in closed:
            D, record, state = self.directions(i), self.records[i], self.states[i]
            drift = D @ state["drift"]
            if record["kind"] == tables.PIN:
                candidate = Candidate(i, None, list(range(start, start + len(D))))
            elif record["kind"] == tables.DRY:
                slip = _slip_direction(D @ state["slide"], slow)
                candidate = Candidate(i, None, [start], slip=slip, limit=float(record["grip"]))
            else:
                drift[0] = state["bend"]
                candidate = _surface_candidate(i, start, record, D[1:] @ state["slide"], slow)
            blocks.append(D @ self.Jc[i])
            drifts.append(drift)
            anchors.append(D @ state["force"])
            candidates.append(candidate)
            start += len(D)
        R = np.vstack(blocks)
        inverse = np.linalg.solve(self.M, R.T)
        scale = float(max((self.records[i]["mobility"] for i in closed), default=1.0))
        anchor = np.concatenate(anchors)
        return ContactRows(R, np.concatenate(drifts), inverse, R @ inverse, candidates, scale, anchor)

    def row_velocities(self, closed: Sequence[int], exact: bool = False) -> Array:
        """Velocities along the rows, over the surfaces; those that are held count as 0 unless `exact`."""
        parts = [np.zeros(0)]
        for i in closed:
            record, u = self.records[i], self.directions(i) @ self.states[i]["slide"]
            if record["kind"] not in (tables.PIN, tables.DRY):
                u[0] = self.states[i]["rate"] if exact or not record["two_sided"] else 0.0
            parts.append(u if exact or record["kind"] != tables.PIN else np.zeros(len(u)))
        return np.concatenate(parts)


def _no_tree() -> RobotTree:
    """Where the engine's terms are taken."""
    sizes = {"nv": 0, "links": 0}
    code = TreeCode(sizes, constants=0, terms=0, p=np.zeros(0), k=np.zeros(0))
    return RobotTree(on=False, code=code, terms=TreeTerms(sizes), places=[], frame=FrameTerms(sizes))


def _slip_direction(slip: Array, slow: float) -> tuple[float, ...] | None:
    speed = float(np.linalg.norm(slip))
    return tuple(slip / speed) if speed > slow else None


def _surface_candidate(i: int, start: int, record: np.void, slip: Array, slow: float) -> Candidate:
    direction = _slip_direction(slip, slow)
    tangents = list(range(start + 1, start + 1 + len(slip)))
    friction, hold = float(record["friction"]), float(record["hold"])
    return Candidate(i, start, tangents, not record["two_sided"], friction, hold, direction)


class ContactModel:
    """A robot and its contacts.

    Args:
        robot: any robot.
        contacts: what may hold it.
        losses: whether joint damping, springs and dry friction of the model act.
        equations: take the terms from the robot's compiled equations where they carry it, else from the engine.

    Attributes:
        contacts, names: of the given contacts, then of the joints with dry friction, which are records of their own.
        given: how many contacts were given.
        count: how many there are with the joints.

    Raises:
        InvalidInput: a contact that can never act, more held directions than freedoms, dry friction of a tendon.
    """

    def __init__(
        self, robot: Robot, contacts: Sequence[Touch], *, losses: bool = True, equations: bool = False
    ) -> None:
        _refuse_what_is_not_exact(robot, losses)
        dry = dry_joints(robot) if losses else ()
        self.robot, self.given, self.count = robot, len(contacts), len(contacts) + len(dry)
        self.contacts: tuple[Touch | DryJoint, ...] = (*contacts, *dry)
        self.names = (*names_of(tuple(contacts)), *(joint.joint for joint in dry))
        self._model = _without_dry_friction(robot) if dry else robot.model
        self._data = mujoco.MjData(self._model)
        self.work = Work(
            {"nq": robot.nq, "nv": robot.nv, "NV": robot.model.nv}
            | {"contacts": max(self.count, 1), "rows": max(3 * len(contacts) + len(dry), 1)}
        )
        self.states = np.zeros(len(self.contacts), tables.CONTACT_STATE)
        self.records = np.zeros(len(self.contacts), tables.CONTACT)
        self.machine = self._build_machine(losses)
        for index in range(len(self.contacts)):
            self._fill_record(index)
        if equations and not self.machine.lossy and not robot.coordinates.coupled:
            self._take_equations()
        self.reset(0.0)
        self._refuse_too_many()

    def survey(self, t: float, q: Array, v: Array) -> Snapshot:
        """Everything about every contact at a state."""
        work = self.work
        status = kernels.update_kinematics(self.machine.address, t, np.concatenate([q, v]), True)
        if status != kernels.OK:
            self.raise_for_status(status, t)
        M, bias, Jc = work.M.copy(), work.bias.copy(), work.Jc[: self.count].copy()
        return Snapshot(t, q, v, M, bias, self.records, self.states.copy(), Jc)

    def rate(self, t: float, y: Array, tau: Array) -> Array:
        """dy/dt in the present modes."""
        self.machine.tau[:] = tau
        slope, margins = np.empty(len(y) + 2), np.empty(tables.MARGINS * self.count + 1)
        status = kernels.slope(self.machine.address, t, y, slope, margins)
        if status != kernels.OK:
            self.raise_for_status(status, t)
        return slope[:-2]

    def raise_for_status(self, status: int, t: float) -> None:
        """Turn a kernel's bad status into an error."""
        if status == kernels.NOT_DEFINITE:
            raise ModelError(f"the mass matrix of {self.robot.name} is not positive definite at t = {t:g} s")
        raise NotFinite(f"the state of {self.robot.name} is not finite at t = {t:g} s")

    def reset(self, t: float) -> None:
        """Every contact as it is before anything is known of it."""
        records, held = self.records, self.records["kind"] == tables.PIN
        records["mode"] = np.select([held, records["two_sided"] > 0], [LOCKED, SLIDING], FREE)
        records["side"], records["sign"], records["feature"] = 1.0, 1.0, -1
        records["moving"] = (records["start"] <= t) & (t < records["stop"])
        records["mode"][records["kind"] == tables.DRY] = STICKING
        records["coast"], records["creep"], records["wedged"], records["anchor"] = 0, 0, 0, 0.0
        self.states["force"] = 0.0

    def begin_at(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Snapshot:
        """A state, checked, with every pin's point held where it is."""
        q, v = self.robot._checked_q(q).copy(), self.robot._plain(v, "v", self.robot.nv, finite=True).copy()
        self.reset(t)
        pinned, at_rest = self.records["kind"] == tables.PIN, self.survey(t, q, np.zeros(self.robot.nv))
        self.records["origin"][pinned] += at_rest.states["normal"][pinned]  # how far it is from where it was held
        return self.survey(t, q, v)

    # ------------------------------------------------------------------ building

    def _build_machine(self, losses: bool) -> Machine:
        robot, model, kept = self.robot, self._model, self.robot.coordinates
        joints = robot._independent
        starts = np.searchsorted(kept.kept_position, model.jnt_qposadr[joints])
        dofs = np.searchsorted(kept.kept, model.jnt_dofadr[joints])
        return Machine(
            handle=Physics.of(model, self._data), coupled=coupled_model(robot), tree=_no_tree(),
            lossy=int(losses and _has_losses(robot)),
            joints=np.column_stack([model.jnt_type[joints], starts, dofs]).astype(np.int64),
            tau=np.zeros(robot.nv), work=self.work,
            contacts=rows_over(Touching, self.records), states=rows_over(ContactState, self.states),
        )  # fmt: skip

    def _take_equations(self) -> None:
        """Take M, C v + g and the contacts' motion from the robot's equations, if there are any."""
        try:
            program = self.robot.program
        except InvalidInput:
            return
        work, sizes = self.work, program.record_sizes
        places = [
            program.place(program.mechanism.placed(Frame("", int(record["body"]), record["offset"], np.eye(3))))
            for record in self.records
        ]
        tree = RobotTree(
            on=True, code=program.code, terms=TreeTerms(sizes, M=work.M, bias=work.bias), places=places,
            frame=FrameTerms(sizes, J=work.J),
        )  # fmt: skip
        self.machine.replace("tree", tree)

    def _fill_record(self, index: int) -> None:
        touch, record = self.contacts[index], self.records[index]
        if isinstance(touch, JointStop):
            self._fill_stop(touch, record)
            return
        if isinstance(touch, DryJoint):
            self._fill_dry(touch, record)
            return
        frame = self.robot.frame(touch.frame)
        offset = frame.offset + frame.rotation @ finite_array(touch.offset, "offset", (3,))
        record["body"], record["offset"] = frame.body, offset
        ride = touch.ride or _STILL
        record["velocity"], record["amplitude"], record["frequency"] = ride.velocity, ride.amplitude, ride.frequency
        record["start"], record["stop"] = ride.start, ride.stop
        if isinstance(touch, Pin):
            record["kind"] = tables.PIN
        else:
            _fill_surface(touch, record)
        self._fill_motion(index, touch, record)

    def _fill_stop(self, touch: JointStop, record: np.void) -> None:
        robot = self.robot
        check_names("joint", [touch.joint], robot.joint_names)
        if touch.joint not in robot.dof_names:
            raise InvalidInput(f"joint {touch.joint!r} has no single coordinate to stop")
        record["kind"] = tables.STOP
        record["joint"] = robot.coordinate_names.index(touch.joint)
        record["dof"] = robot.dof_names.index(touch.joint)
        record["limit"], record["direction"] = touch.at, 1.0 if touch.side == "lower" else -1.0
        inverse = np.linalg.inv(robot.mass_matrix(robot.home))
        record["mobility"] = inverse[record["dof"], record["dof"]]

    def _fill_dry(self, touch: DryJoint, record: np.void) -> None:
        """A joint's friction F as a brake of F/lever at a lever arm that makes it as mobile as the contacts are."""
        mobility = float(np.linalg.inv(self.robot.mass_matrix(self.robot.home))[touch.dof, touch.dof])
        wanted = float(self.records["mobility"][: self.given].max(initial=0.0)) or 1.0
        model = self.robot.model
        joint = model.dof_jntid[self.robot.coordinates.kept[touch.dof]]
        record["kind"], record["dof"], record["freedoms"] = tables.DRY, touch.dof, 1
        record["body"], record["offset"] = model.jnt_bodyid[joint], model.jnt_pos[joint]
        record["lever"], record["mobility"] = math.sqrt(wanted / mobility), wanted
        record["grip"] = touch.friction / record["lever"]

    def _fill_motion(self, index: int, touch: Contact | Pin, record: np.void) -> None:
        """Along which directions the point can move at all, and how easily."""
        columns, mobility = self._sampled_velocities(touch, float(record["radius"]))
        U, sizes, _ = np.linalg.svd(columns)
        dimension = int((sizes > 1e-9 * max(sizes[0], 1e-300)).sum()) if sizes[0] > 1e-12 else 0
        if dimension == 0:
            name = touch.frame or self.robot.tool_frame
            raise InvalidInput(
                f"contact {self.names[index]!r}: frame {name!r} of {self.robot.name} cannot move,"
                " so no contact can hold it"
            )
        record["mobility"] = mobility
        if isinstance(touch, Pin):
            record["freedoms"], record["directions"][:dimension] = dimension, _aligned_basis(U[:, :dimension])
            return
        record["freedoms"] = dimension - 1
        if dimension == 2:
            record["plane"] = U[:, 2]
        self._refuse_normal_out_of_reach(index, touch, U[:, :dimension])

    def _sampled_velocities(self, touch: Contact | Pin, radius: float) -> tuple[Array, float]:
        """Velocities the touching point can have at some postures, as columns; a typical J M⁻¹ Jᵀ."""
        robot, random = self.robot, np.random.default_rng(0)
        columns, sizes = [], []
        for _ in range(4):
            q = _random_posture(robot, random)
            J = robot.jacobian(q, touch.frame)
            arm = robot.pose(q, touch.frame).rotation @ np.asarray(touch.offset, dtype=float)
            Jp = J[:3] + np.cross(J[3:].T, arm).T
            columns += [Jp] + [radius * np.cross(np.eye(3)[k], J[3:].T).T for k in range(3) if radius > 0]
            sizes.append(np.linalg.eigvalsh(Jp @ np.linalg.solve(robot.mass_matrix(q), Jp.T))[-1])
        return np.hstack(columns), float(np.median(sizes))

    def _refuse_normal_out_of_reach(self, index: int, touch: Contact, reach: Array) -> None:
        normal = touch.surface.form.rotation[:, 2]
        if isinstance(touch.surface, Plane) and np.linalg.norm(reach.T @ normal) < 1e-9:
            raise InvalidInput(
                f"contact {self.names[index]!r}: the point never moves along the plane's normal {normal.round(6)}",
                hint="a planar arm can only touch planes that stand across its own plane",
            )

    def _refuse_too_many(self) -> None:
        held = sum(int(r["freedoms"]) if r["kind"] == tables.PIN else int(r["two_sided"]) for r in self.records)
        if held > self.robot.nv:
            raise InvalidInput(
                f"{held} directions are held by pins and two-sided surfaces, but {self.robot.name} has"
                f" {self.robot.nv} freedoms",
                hint="leave some out: the rest follow, or contradict them",
            )


def _aligned_basis(U: Array) -> Array:
    """An orthonormal basis of U's columns, as rows, that follows the world's axes where it can."""
    rows: list[Array] = []
    for shadow in (U @ U.T).T:
        left = shadow - sum((row * (row @ shadow) for row in rows), start=np.zeros(3))
        if len(rows) < U.shape[1] and np.linalg.norm(left) > 1e-6:
            rows.append(left / np.linalg.norm(left))
    return np.array(rows)


def _fill_surface(touch: Contact, record: np.void) -> None:
    form = touch.surface.form
    record["kind"], record["form"], record["lengths"] = tables.SURFACE, form.code, form.size
    record["rotation"] = form.rotation
    record["origin"], record["outward"], record["radius"] = form.position, form.outward, touch.radius
    record["friction"], record["two_sided"] = touch.friction, int(touch.two_sided)
    record["hold"] = touch.friction if touch.static_friction is None else touch.static_friction


def _random_posture(robot: Robot, random: np.random.Generator) -> Array:
    q = np.concatenate([robot.home, np.zeros(robot.nv)])[: robot.nq]
    low, high = robot.limits.lower, robot.limits.upper
    low, high = np.where(np.isfinite(low), low, -math.pi), np.where(np.isfinite(high), high, math.pi)
    centre, half = 0.5 * (low + high), 0.5 * np.minimum(high - low, 2 * math.pi)
    if robot.nq == robot.nv:
        return centre + half * random.uniform(-1, 1, robot.nv)
    return robot.integrate(q, random.uniform(-1, 1, robot.nv), 1.0)


def _has_losses(robot: Robot) -> bool:
    """Whether the model's joints have damping, springs or the like: what inverse dynamics takes beyond C v + g."""
    random = np.random.default_rng(1)
    q, v = _random_posture(robot, random), random.uniform(0.5, 1.0, robot.nv)
    full, bare = robot.inverse_dynamics(q, v, np.zeros(robot.nv)), robot.bias(q, v)
    return bool(np.abs(full - bare).max() > 1e-12 * (1 + np.abs(bare).max()))


def dry_joints(robot: Robot) -> tuple[DryJoint, ...]:
    """The joints with dry friction: F per independent velocity, N·m or N."""
    friction = np.abs(robot.coordinates.map).T @ robot.model.dof_frictionloss
    return tuple(DryJoint(robot.dof_names[k], k, float(friction[k])) for k in np.flatnonzero(friction > 0.0).tolist())


def _without_dry_friction(robot: Robot) -> mujoco.MjModel:
    """The engine's model without the friction that is carried by modes of its own."""
    model = copy.copy(robot.model)
    model.dof_frictionloss[:] = 0.0
    return model


def refuse_dry_friction(robot: Robot, what: str) -> None:
    """Refuse a robot whose joints have dry friction where that has no meaning."""
    if dry_joints(robot):
        raise InvalidInput(
            f"{robot.name} has dry friction in its joints, so that {what} is not defined: a joint at rest sticks",
            hint='take ideal joints: load_robot(…, joints="ideal"), in a scenario robot.joints = "ideal"',
        )


def _refuse_what_is_not_exact(robot: Robot, losses: bool) -> None:
    model = robot.model
    if losses and model.tendon_frictionloss.any():
        raise InvalidInput(
            f"{robot.name} has dry friction in tendons, which the exact equations do not hold",
            hint='take ideal joints: load_robot(…, joints="ideal"), in a scenario robot.joints = "ideal"',
        )
    if (model.eq_type != mujoco.mjtEq.mjEQ_JOINT).any():
        raise InvalidInput(f"{robot.name} has closed loops or welds, which the exact equations do not hold")
