"""Constrained dynamics at one state: accelerations, contact forces and modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput, Painleve
from palpate.forking import cached_property
from palpate.robot.robot import Robot
from palpate.tools.contact.modes.complementarity import Candidate, ContactProblem, ModeOption, Solution
from palpate.tools.contact.modes.model import ContactModel, ContactRows, Snapshot
from palpate.tools.contact.modes.truth import check_accelerations, imbalance_of
from palpate.tools.contact.touch.contacts import FREE, LOCKED, MODES, SLIDING, STICKING, Mode, Touch
from palpate.tools.contact.touch.records import DRY, PIN, STOP

Preferred = Mapping[int, int]  # contact → the mode to prefer where others would be as good
_NONE: Preferred = MappingProxyType({})
Wrench = ArrayLike | Mapping[str, ArrayLike]
GAP, SPEED = 1e-9, 1e-9  # m, m/s: closer and slower than this counts as touching and at rest


def close_gaps(model: ContactModel, t: float, q: Array, v: Array, closed: Sequence[int], rounds: int = 3) -> Array:
    """q moved by the least amount (in the metric M) that closes the gaps of contacts: a few Newton steps."""
    for _ in range(rounds):
        here = model.survey(t, q, v)
        rows, gaps = [np.zeros((0, model.robot.nv))], [np.zeros(0)]
        for i in (i for i in closed if model.records[i]["kind"] != DRY):
            D, pinned = here.directions(i), model.records[i]["kind"] == PIN
            rows.append((D if pinned else D[:1]) @ here.Jc[i])
            gaps.append(D @ here.states[i]["normal"] if pinned else here.states["gap"][i : i + 1])
        A, gap = np.vstack(rows), np.concatenate(gaps)
        if np.abs(gap).max(initial=0.0) < 1e-15:
            break
        inverse = np.linalg.solve(here.M, A.T)
        q = model.robot.integrate(q, -inverse @ np.linalg.lstsq(A @ inverse, gap, rcond=1e-12)[0], 1.0)
    return q


@dataclass(frozen=True)
class Settled:
    """The answer taken, the problem it solves, how many different answers there are, and the accelerations."""

    solution: Solution
    problem: ContactProblem
    rows: ContactRows
    answers: int
    acceleration: Array

    @cached_property
    def options(self) -> dict[int, ModeOption]:
        """The mode of each closed contact, by its number."""
        return {c.index: option for c, option in zip(self.rows.candidates, self.solution.options)}


def settle(
    model: ContactModel, snap: Snapshot, force: Array, closed: Sequence[int], slow: float, prefer: Preferred = _NONE
) -> Settled:
    """Modes and accelerations of the closed contacts, and of the joints with dry friction, under a generalised force.

    Where answers with different accelerations exist, a body at rest stays at rest if forces inside all friction cones
    can hold it; else the one with the least contact force is taken. Where labels alone differ, the one whose modes
    `prefer` names.

    Raises:
        Painleve: there is no answer.
        InconsistentContact: the answer breaks a condition (see `truth`).
    """
    rows = snap.rows([*closed, *range(model.given, model.count)], slow)
    free = np.linalg.solve(snap.M, force - snap.bias)
    problem = rows.problem(free)
    solutions = problem.solve(prefer)
    if not solutions:
        raise painleve(model, snap, problem, "inconsistent")
    solutions = _by_hysteresis(rows.candidates, solutions, prefer)
    answers = problem.distinct(solutions)
    best = min(answers, key=lambda s: (not problem.rests(s), float(np.abs(s.z).sum())))
    alike = [s for s in solutions if np.abs(s.rates - best.rates).max(initial=0.0) < 1e-7 * problem.rate_size]
    chosen = min(alike, key=lambda s: _rank(rows.candidates, s, prefer))
    acceleration = free + rows.inverse @ chosen.z
    imbalance = imbalance_of(snap.M @ acceleration, force - snap.bias, rows.R.T @ chosen.z)
    rates = rows.R @ acceleration + rows.drift
    check_accelerations(problem, chosen.z, rates, imbalance, model.names, snap.t)
    return Settled(chosen, problem, rows, len(answers), acceleration)


def _by_hysteresis(candidates: Sequence[Candidate], solutions: list[Solution], prefer: Preferred) -> list[Solution]:
    """Where static friction exceeds sliding friction both may hold: a contact sticks until it is made to slip."""
    for index, c in enumerate(candidates):
        if c.hold <= c.friction or c.slip is not None:
            continue
        wanted = SLIDING if prefer.get(c.index) == SLIDING else STICKING
        solutions = [s for s in solutions if s.options[index].mode == wanted] or solutions
    return solutions


def _rank(candidates: Sequence[Candidate], solution: Solution, prefer: Preferred) -> tuple[int, int, int]:
    """Which of an answer's labels: wishes first, then what rests is said to stick, then few dependent rows."""
    pairs = list(zip(candidates, solution.options))
    unmet = sum(c.index in prefer and prefer[c.index] != o.mode for c, o in pairs)
    loose = sum(o.mode != STICKING for c, o in pairs if c.index not in prefer and c.slip is None)
    return unmet, loose, solution.deficiency


def painleve(model: ContactModel, snap: Snapshot, problem: ContactProblem, kind: str) -> Painleve:
    """The error that names the sliding contact with the smallest coefficient."""
    sliding = [c for c in problem.candidates if c.normal is not None and c.tangents]
    worst = min(sliding, key=lambda c: least_coefficient(problem, c), default=None)
    name = model.names[worst.index] if worst else ", ".join(model.names)
    value = least_coefficient(problem, worst) if worst else float("nan")
    return Painleve(name, kind, value, snap.t, snap.q.tolist(), snap.v.tolist())


def least_coefficient(problem: ContactProblem, candidate: Candidate) -> float:
    """The coefficient along the present slip, or the least one over the directions a slip could take."""
    if candidate.slip is not None:
        return problem.coefficient(candidate)
    if len(candidate.tangents) == 1:
        return min(problem.coefficient(candidate, (s,)) for s in (1.0, -1.0))
    pull = problem.G[candidate.normal, candidate.tangents]
    return problem.coefficient(candidate, tuple(pull / max(float(np.linalg.norm(pull)), 1e-300)))


def apply_option(model: ContactModel, snap: Snapshot, index: int, option: ModeOption) -> None:
    """Put a contact into the mode of an option."""
    record, kinematics = model.records[index], snap.states[index]
    record["mode"] = mode_of(option, record)
    if record["kind"] == PIN:
        return
    record["feature"] = -1 if option.mode == FREE else kinematics["feature"]
    record["side"], record["creep"] = option.side, 0
    if option.mode == SLIDING and option.slip is not None:
        record["slip"] = np.array(option.slip) @ kinematics["tangents"][: len(option.slip)]
        record["sign"] = np.sign(option.slip[0]) if len(option.slip) == 1 else 1.0


def mode_of(option: ModeOption, record: np.void) -> int:
    """The mode a contact has under an option."""
    return LOCKED if record["kind"] == STOP and option.mode != FREE else option.mode


@dataclass(frozen=True)
class Constrained:
    """Modes, forces and acceleration at a state with contacts.

    Attributes:
        acceleration: v̇.
        modes: of each contact: "free", "sliding", "sticking" or "locked".
        multipliers: contact × 3: normal force (N; of a pin along its first direction), then tangential forces.
        forces: contact × 3: force of the surface on the robot, world axes (a joint stop's torque stands first).
        redundant: how many held directions depend on others; their multipliers are the shortest of many.
        answers: how many different accelerations were found consistent: 1 unless friction makes it indeterminate (at
            Painlevé's paradox, or a body at rest that forces can hold although it could also begin to slide).
        joint_modes: of each velocity: "sliding" or "sticking" where its joint has dry friction, else "free".
        joint_friction: torque of dry friction on each velocity, N·m or N.
        coefficients: of each closed contact, n·M⁻¹(n − μ d), 1/kg; Painlevé's paradox where it is not positive.
        names: of the contacts.
    """

    acceleration: Array
    modes: tuple[Mode, ...]
    multipliers: Array
    forces: Array
    redundant: int
    answers: int
    coefficients: Array
    names: tuple[str, ...]
    joint_modes: tuple[Mode, ...]
    joint_friction: Array


def constrained_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Sequence[Touch],
    wrench: Wrench | None = None,
    *,
    losses: bool = True,
    time: float = 0.0,
) -> Constrained:
    """Accelerations, contact forces and modes of a robot that touches things.

    M v̇ + C v + g + losses = τ + Jᵀ F + Σ J_cᵀ f, where every closed contact obeys g̈ ≥ 0, f_n ≥ 0, g̈ f_n = 0 and
    Coulomb's law: f_t = −μ f_n u/|u| while it slips at u, |f_t| ≤ μ_s f_n while it does not. Two-sided surfaces and
    pins hold from all sides. Dry friction of joints obeys the same law: −F sign(v) while a joint moves, |f| ≤ F while
    it does not. Dependent constraints get the shortest multipliers, and `redundant` counts them.

    Args:
        robot: the robot.
        q, v: its state.
        tau: generalised forces, N·m or N.
        contacts: what may hold it; those with a gap of 1e-9 m or more are free. A pin holds its point where q has it.
        wrench: [f; n] of the environment at the tool frame's origin, world axes, or a dict of frames to wrenches.
        losses: whether the model's joint damping, springs and dry friction act.
        time: when, for surfaces that ride, s.

    Raises:
        InvalidInput: a contact penetrates, or is about to collide (see `impact`).
        Painleve: friction leaves no consistent answer.
    """
    model = ContactModel(robot, contacts, losses=losses)
    snap = model.begin_at(q, v, time)
    force = robot._plain(tau, "tau", robot.nv, finite=True) + robot.generalised_force(snap.q, wrench)
    return _result(model, settle(model, snap, force, closed_contacts(model, snap), SPEED), snap)


def closed_contacts(model: ContactModel, snap: Snapshot) -> list[int]:
    """Contacts that touch and neither part nor collide; what cannot be is refused."""
    return [i for i in range(model.given) if _is_closed(model, snap, i)]


def _is_closed(model: ContactModel, snap: Snapshot, i: int) -> bool:
    record, kinematics, name = model.records[i], snap.states[i], model.names[i]
    refuse_start(model, i, kinematics)
    gap, rate = float(kinematics["gap"]), float(kinematics["rate"])
    if record["kind"] == PIN or abs(gap) > GAP:
        return record["kind"] == PIN
    if rate < -1e3 * SPEED:
        raise InvalidInput(
            f"contact {name!r} closes at {-rate:.3g} m/s: an impact is due",
            hint="palpate.tools.contact.impact gives the velocities after it",
        )
    return rate <= 1e3 * SPEED or bool(record["two_sided"])


def refuse_start(model: ContactModel, i: int, kinematics: np.void) -> None:
    """Refuse a pinned point that moves, a point inside a surface, or one that is off or leaves what holds it."""
    record, name, rate = model.records[i], model.names[i], float(kinematics["rate"])
    if record["kind"] == PIN:
        speed = float(np.linalg.norm(kinematics["slide"]))
        if speed > 1e3 * SPEED:
            raise InvalidInput(f"pin {name!r} holds a point that moves at {speed:.3g} m/s", hint="start it at rest")
        return
    refuse_overlap(model, i, float(kinematics["gap"]))
    if record["two_sided"] and abs(rate) > 1e3 * SPEED:
        raise InvalidInput(
            f"contact {name!r} is two-sided, but its point leaves the surface at {rate:.3g} m/s",
            hint="start with a velocity along the surface",
        )


def refuse_overlap(model: ContactModel, i: int, gap: float) -> None:
    """Refuse a point inside a surface, or off one that should hold it."""
    name, deep = model.names[i], -gap
    if model.records[i]["two_sided"]:
        if abs(gap) > GAP:
            raise InvalidInput(
                f"contact {name!r} is two-sided, but its point is {gap:.6g} m from the surface",
                hint="start on the surface, within 1e-9 m",
            )
    elif deep > GAP:
        raise InvalidInput(
            f"contact {name!r} reaches {deep:.6g} m into its surface",
            hint="move the surface or the posture apart",
        )


def _result(model: ContactModel, settled: Settled, snap: Snapshot) -> Constrained:
    count, given = model.count, model.given
    modes, forces, multipliers = [FREE] * count, np.zeros((count, 3)), np.zeros((count, 3))
    coefficients = np.full(given, np.nan)
    for candidate, option in zip(settled.rows.candidates, settled.solution.options):
        i, values = candidate.index, settled.solution.z[candidate.rows]
        modes[i] = mode_of(option, model.records[i])
        multipliers[i, : len(values)], forces[i] = values, values @ snap.directions(i)
        if candidate.normal is not None:
            coefficients[i] = least_coefficient(settled.problem, candidate)
    return Constrained(
        settled.acceleration, tuple(MODES[m] for m in modes[:given]), multipliers[:given], forces[:given],
        settled.solution.deficiency, settled.answers, coefficients, model.names[:given],
        joint_modes(model, modes), joint_friction(model, forces),
    )  # fmt: skip


def joint_modes(model: ContactModel, modes: Sequence[int]) -> tuple[Mode, ...]:
    """Of each velocity: "sliding" or "sticking" where its joint has dry friction, else "free"."""
    named = dict(zip(model.records["dof"][model.given :].tolist(), modes[model.given :]))
    return tuple(MODES[named.get(k, FREE)] for k in range(model.robot.nv))


def joint_friction(model: ContactModel, forces: Array) -> Array:
    """Torque of dry friction on each velocity, N·m or N, from the forces of all contacts and joints."""
    torques, joints = np.zeros(model.robot.nv), model.records[model.given :]
    torques[joints["dof"]] = joints["lever"] * forces[model.given :, 0]
    return torques
