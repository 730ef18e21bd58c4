"""Constrained dynamics at one state: accelerations, contact forces and modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.contact.modes.model import ContactModel, Snapshot
from palpate.contact.modes.settling import Settled, least_coefficient, mode_of, settle
from palpate.contact.touch.contacts import FREE, MODES, Mode, Touch
from palpate.contact.touch.records import PIN
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

Wrench = ArrayLike | Mapping[str, ArrayLike]

GAP, SPEED = 1e-9, 1e-9  # m, m/s: closer and slower than this counts as touching and at rest


@dataclass(frozen=True)
class Constrained:
    """What the contacts do at a state.

    Attributes:
        acceleration: v̇.
        modes: of each contact: "free", "sliding", "sticking" or "locked".
        multipliers: contact × 3: normal force (N; of a pin along its first direction), then tangential forces.
        forces: contact × 3: force of the surface on the robot, world axes (a joint stop's torque stands first).
        redundant: how many held directions depend on others; their multipliers are the shortest of many.
        answers: how many different accelerations are consistent: 1 unless friction makes it indeterminate.
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
    pins hold from all sides. Dependent constraints get the shortest multipliers, and `redundant` counts them.

    Args:
        robot: the robot.
        q, v: its state.
        tau: generalised forces, N·m or N.
        contacts: what may hold it; those with a gap of 1e-9 m or more are free. A pin holds its point where q has it.
        wrench: [f; n] of the environment at the tool frame's origin, world axes, or a dict of frames to wrenches.
        losses: whether the model's joint damping and springs act.
        time: when, for surfaces that ride, s.

    Raises:
        InvalidInput: a contact penetrates, or is about to collide (see `impact`).
        Painleve: friction leaves no consistent answer.
    """
    model = ContactModel(robot, contacts, losses=losses)
    y = model.stack(q, v)
    q, v = y[: robot.nq], y[robot.nq :]
    force = robot._plain(tau, "tau", robot.nv, finite=True) + robot.generalised_force(q, wrench)
    model.pin_here(q, time)
    snap = model.survey(time, q, v)
    closed = closed_contacts(model, snap)
    return _result(model, settle(model, snap, force, closed, SPEED), snap)


def closed_contacts(model: ContactModel, snap: Snapshot) -> list[int]:
    """Contacts that touch and neither part nor collide; what cannot be is refused."""
    return [i for i in range(model.count) if _is_closed(model, snap, i)]


def _is_closed(model: ContactModel, snap: Snapshot, i: int) -> bool:
    record, kinematics, name = model.records[i], snap.found[i], model.names[i]
    refuse_start(model, i, kinematics)
    gap, rate = float(kinematics["gap"]), float(kinematics["rate"])
    if record["kind"] == PIN or abs(gap) > GAP:
        return record["kind"] == PIN
    if rate < -1e3 * SPEED:
        raise InvalidInput(
            f"contact {name!r} closes at {-rate:.3g} m/s: an impact is due",
            hint="palpate.contact.impact gives the velocities after it",
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
    count = model.count
    modes, forces, multipliers = [FREE] * count, np.zeros((count, 3)), np.zeros((count, 3))
    coefficients = np.full(count, np.nan)
    for candidate, option in zip(settled.rows.candidates, settled.solution.options):
        i, z = candidate.index, settled.solution.z
        modes[i] = mode_of(option, model.records[i])
        values, ways = contact_force(model, snap, candidate.index, candidate.normal, candidate.tangents, z)
        multipliers[i, : len(values)], forces[i] = values, values @ ways
        if candidate.normal is not None:
            coefficients[i] = least_coefficient(settled.problem, candidate)
    return Constrained(
        settled.acceleration, tuple(MODES[m] for m in modes), multipliers, forces, settled.solution.deficiency,
        settled.answers, coefficients, model.names,
    )  # fmt: skip


def contact_force(
    model: ContactModel, snap: Snapshot, i: int, normal: int | None, tangents: list[int], z: Array
) -> tuple[Array, Array]:
    """A contact's multipliers and the world directions they push along."""
    record, kinematics = model.records[i], snap.found[i]
    if normal is None:
        return z[tangents], record["directions"][: len(tangents)]
    return z[[normal, *tangents]], np.vstack([kinematics["normal"], kinematics["tangents"][: len(tangents)]])
