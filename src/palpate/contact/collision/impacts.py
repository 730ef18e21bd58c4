"""Impacts: velocities after a collision with friction, by Poisson's, Stronge's or Newton's restitution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.contact.collision.impulse_path import ImpulsePath
from palpate.contact.modes.complementarity import Problem, distinct, solutions
from palpate.contact.modes.dynamics import GAP, SPEED, contact_force, refuse_overlap
from palpate.contact.modes.model import ContactModel, Snapshot
from palpate.contact.modes.settling import Rows, rows_of
from palpate.contact.touch.contacts import LAWS, Contact, Law, Pin, Touch, checked_friction, checked_restitution
from palpate.contact.touch.records import PIN
from palpate.errors import EnergyCreated, InvalidInput, NoSolution, UnknownName
from palpate.robot.robot import Robot

_MOST_ROUNDS = 30


@dataclass(frozen=True)
class Impact:
    """What a collision does.

    Attributes:
        velocity: v after it.
        impulses: contact × 3, of the surface on the robot, N·s, world axes.
        normal_impulses: one per contact, N·s.
        energy_before, energy_after: kinetic energy, J.
        dissipated: energy the contacts took, J; with surfaces that move it is not the difference of the two.
        phases: (contact, what its slip did), in order, such as ("floor", "slip −"), ("floor", "stick").
        law: of restitution, by contact that collided.
        names: of the contacts.
    """

    velocity: Array
    impulses: Array
    normal_impulses: Array
    energy_before: float
    energy_after: float
    dissipated: float
    phases: tuple[tuple[str, str], ...]
    law: Mapping[str, Law]
    names: tuple[str, ...]


def impact(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Sequence[Touch],
    restitution: float | None = None,
    friction: float | None = None,
    law: Law | None = None,
    *,
    time: float = 0.0,
) -> Impact:
    """Velocities after the collision of every contact that touches and closes.

    M (v⁺ − v⁻) = Σ J_cᵀ P. The impulse is followed as it grows (Routh): slip may slow down, stop, stick or reverse.
    Compression ends where the closing velocity is 0; then Poisson's law gives back e times its impulse, Stronge's e²
    times its work. Newton's law asks for u_n⁺ = −e u_n⁻ with Coulomb's law on the whole impulse; with friction it can
    create energy, and is then refused. Contacts that touch at rest answer without rebound. Several colliding ones
    are brought to rest in proportion. Without friction all laws agree: ΔT = −½ (1 − e²) u_nᵀ Λ u_n.

    Args:
        robot: the robot.
        q, v: its state before; every colliding contact's gap is 0 to 1e-9 m.
        contacts: what it may touch.
        restitution, friction, law: instead of the contacts' own.
        time: when, for surfaces that ride, s.

    Raises:
        InvalidInput: a contact penetrates; e or μ out of range.
        EnergyCreated: Newton's law would raise the kinetic energy.
    """
    touches = [_overridden(touch, restitution, friction, law) for touch in contacts]
    model = ContactModel(robot, touches)
    y = model.stack(q, v)
    q, v = y[: robot.nq], y[robot.nq :]
    model.pin_here(q, time)
    snap = model.survey(time, q, v)
    for i in range(model.count):
        if model.records[i]["kind"] != PIN:
            refuse_overlap(model, i, float(snap.found[i]["gap"]))
    colliding, resting = who_collides(model, snap)
    return strike(model, snap, colliding, resting)


def who_collides(model: ContactModel, snap: Snapshot) -> tuple[list[int], list[int]]:
    """Contacts that close, and those that touch at rest."""
    colliding, resting = [], []
    for i, (record, kinematics) in enumerate(zip(model.records, snap.found)):
        if record["kind"] == PIN or record["two_sided"]:
            resting.append(i)
        elif abs(kinematics["gap"]) <= GAP and kinematics["rate"] <= SPEED:
            (colliding if kinematics["rate"] < -SPEED else resting).append(i)
    return colliding, resting


def strike(
    model: ContactModel,
    snap: Snapshot,
    colliding: Sequence[int],
    resting: Sequence[int],
    paradox: bool = False,
) -> Impact:
    """The impact of some contacts while others rest; with `paradox` an impact without collision of one contact."""
    closed = [*colliding, *resting]
    rows = rows_of(model, snap, closed, np.inf)
    u = row_velocities(model, snap, closed)
    e = {k: _restitution(model.contacts[i]) for k, i in enumerate(colliding)}
    laws: dict[str, Law] = {model.names[i]: _law(model.contacts[i]) for i in colliding}
    path = ImpulsePath(rows.G, rows.candidates, rows.scale, u.copy())
    if "newton" in laws.values():
        if set(laws.values()) != {"newton"}:
            raise InvalidInput("Newton's law cannot be mixed with others in one impact", hint="name one law for all")
        _newton(path, u, e)
    elif e:
        _rounds(path, e, list(laws.values()), paradox)
    return _result(model, snap, rows, path, u, laws)


def _overridden(touch: Touch, restitution: float | None, friction: float | None, law: Law | None) -> Touch:
    if law is not None and law not in LAWS:
        raise UnknownName("impact law", str(law), LAWS)
    if isinstance(touch, Pin):
        return touch
    if restitution is not None:
        touch = replace(touch, restitution=checked_restitution(restitution))
    if friction is not None and isinstance(touch, Contact):
        touch = replace(touch, friction=checked_friction(friction), static_friction=None)
    return touch if law is None else replace(touch, law=law)


def _restitution(touch: Touch) -> float:
    return 0.0 if isinstance(touch, Pin) else touch.restitution


def _law(touch: Touch) -> Law:
    return "poisson" if isinstance(touch, Pin) else touch.law


def row_velocities(model: ContactModel, snap: Snapshot, closed: Sequence[int], exact: bool = False) -> Array:
    """Velocities along the rows, over the surfaces; those that are held count as 0 unless `exact`."""
    parts = [np.zeros(0)]
    for i in closed:
        record, kinematics = model.records[i], snap.found[i]
        count = int(record["freedoms"])
        if record["kind"] == PIN:
            parts.append(record["directions"][:count] @ kinematics["slide"] if exact else np.zeros(count))
        else:
            rate = 0.0 if record["two_sided"] and not exact else float(kinematics["rate"])
            parts.append(np.concatenate([[rate], kinematics["tangents"][:count] @ kinematics["slide"]]))
    return np.concatenate(parts)


def _rounds(path: ImpulsePath, e: dict[int, float], laws: Sequence[Law], paradox: bool) -> None:
    """Compression and release; once more without rebound for whatever still closes."""
    by = dict(zip(e, laws))
    for _ in range(_MOST_ROUNDS):
        _one_round(path, e, by, paradox)
        closing = [k for k, c in enumerate(path.candidates) if c.normal is not None and path.u[c.normal] < -path.still]
        if not closing:
            return
        e, paradox = {k: 0.0 for k in closing}, False
    raise NoSolution(
        "simultaneous impacts do not come to an end", hint="contacts that strike each other's bodies in turn"
    )


def _one_round(path: ImpulsePath, e: dict[int, float], laws: Mapping[int, Law], paradox: bool) -> None:
    before, work = path.Z.copy(), path.work.copy()
    if len(e) == 1:
        path.compress_one(next(iter(e)), paradox)
    else:
        path.compress_together(list(e))
    normals = {k: path._normal(k) for k in e}
    gained = {k: float(path.Z[n] - before[n]) for k, n in normals.items()}
    works = {k: float(work[n] - path.work[n]) for k, n in normals.items()}
    impulses = {k: e[k] * gained[k] for k in e if laws.get(k, "poisson") == "poisson" and e[k] * gained[k] > 0.0}
    if impulses:
        path.release_impulse(impulses)
    stored = {k: e[k] ** 2 * works[k] for k in e if laws.get(k) == "stronge" and e[k] * gained[k] > 0.0}
    if sum(stored.values()) > 0.0:
        path.release_work({k: gained[k] for k in stored}, sum(stored.values()))


def _newton(path: ImpulsePath, u: Array, e: Mapping[int, float]) -> None:
    """u_n⁺ = −e u_n⁻ and Coulomb's law on the whole impulse, as one complementarity problem."""
    b = u.copy()
    for k, value in e.items():
        b[path._normal(k)] *= 1.0 + value
    problem = Problem(path.G, b, path.candidates, path.scale)
    outcomes = distinct(solutions(problem), problem)
    if not outcomes:
        raise NoSolution("Newton's law with friction has no answer here", hint="use Poisson's or Stronge's law")
    best = min(outcomes, key=lambda s: float(np.abs(s.z).sum()))
    path.Z, path.u = best.z, u + path.G @ best.z


def _result(
    model: ContactModel, snap: Snapshot, rows: Rows, path: ImpulsePath, u: Array, laws: Mapping[str, Law]
) -> Impact:
    velocity = snap.v + rows.inverse @ path.Z
    # ΔT = ½ (v⁺ + v⁻)·Rᵀ Z; over the surfaces' own motion the same with u, which is what the contacts take.
    taken = -0.5 * float(path.Z @ (2.0 * u + rows.G @ path.Z))
    before, after = snap.energy(snap.v), snap.energy(velocity)
    flow = 0.5 * float(np.abs(path.Z) @ np.abs(2.0 * u + rows.G @ path.Z))
    if taken < -1e-12 * (before + flow):
        raise EnergyCreated(next(iter(laws.values()), "poisson"), before, before - taken)
    impulses, normal = np.zeros((model.count, 3)), np.zeros(model.count)
    for c in rows.candidates:
        values, ways = contact_force(model, snap, c.index, c.normal, c.tangents, path.Z)
        impulses[c.index] = values @ ways
        normal[c.index] = 0.0 if c.normal is None else path.Z[c.normal]
    phases = tuple((model.names[rows.candidates[k].index], word) for k, word in path.phases)
    return Impact(velocity, impulses, normal, before, after, taken, phases, laws, model.names)
