"""The conditions that every answer of exact contact must meet, checked where the answer is made.

Accelerations a and multipliers z of closed contacts, and velocities v⁺ and impulses Z after an impact, are tested from
the equations of motion themselves, not from the reduced problem that gave them:

- momentum: M a = τ − bias + Rᵀ z, or M (v⁺ − v) = Rᵀ Z;
- no penetration: normal rates of closed contacts are not negative; what is held has rate 0;
- no pull: normal multipliers of one-sided contacts are not negative;
- complementarity: a contact that presses stays closed;
- Coulomb: |f_t| ≤ μ_s |f_n|; a slip u has f_t = −μ |f_n| u/|u|, so f_t·u ≤ 0 (the same with F for a joint's friction);
- an impact takes energy: friction's work along the path of the impulse is not positive.

Each residual is compared with RESIDUAL times the size of the rates or forces at play. A violation is a fault of the
solver and ends the call with `InconsistentContact`, which names the contact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from palpate.checks import Array
from palpate.errors import InconsistentContact
from palpate.tools.contact.modes.complementarity import Candidate, ContactProblem

RESIDUAL = 1e-8  # of the sizes at play: rates of the free motion plus those the multipliers make, multipliers
IMPACT_RESIDUAL = 1e-7  # of the same: velocities below 1e-8 of the largest are set to 0 on the way


def check_accelerations(
    problem: ContactProblem, z: Array, rates: Array, imbalance: float, names: Sequence[str], t: float
) -> None:
    """Check multipliers z against rates R a + drift of the accelerations that were found with them.

    Args:
        problem: the contacts.
        z: multipliers of its rows.
        rates: of its rows, from the accelerations.
        imbalance: |M a − τ + bias − Rᵀ z| over the size of its terms.
        names: of the contacts.
        t: when, s.

    Raises:
        InconsistentContact: a condition is violated.
    """
    rate_slack = RESIDUAL * (problem.rate_size + float((np.abs(problem.G) @ np.abs(z)).max(initial=0.0)))
    force_slack = RESIDUAL * max(problem.force_size, float(np.abs(z).max(initial=0.0)))
    if not imbalance <= RESIDUAL:
        raise InconsistentContact(", ".join(names), "the equation of motion", imbalance, RESIDUAL, t)
    for c in problem.candidates:
        for condition, value, slack in _conditions(c, z, rates, rate_slack, force_slack):
            if not value <= slack:
                raise InconsistentContact(names[c.index], condition, value, slack, t)


def _conditions(
    c: Candidate, z: Array, rates: Array, rate_slack: float, force_slack: float
) -> list[tuple[str, float, float]]:
    """(condition, by how much it is violated, what rounding allows) of one contact."""
    grip, along = z[c.tangents], rates[c.tangents]
    if c.normal is None:
        held = [] if c.limit is not None else [("held directions", float(np.abs(along).max(initial=0.0)), rate_slack)]
        return held + _friction(c, c.limit or 0.0, c.limit or 0.0, (grip, along), rate_slack, force_slack)
    press, opening = float(z[c.normal]), float(rates[c.normal])
    conditions = [("no penetration", -opening, rate_slack)]
    if c.one_sided:
        conditions.append(("no pull", -press, force_slack))
        conditions.append(("complementarity", min(press / force_slack, opening / rate_slack), 1.0))
    else:
        conditions.append(("closed slot", abs(opening), rate_slack))
    size = abs(press)
    return conditions + _friction(c, c.friction * size, c.hold * size, (grip, along), rate_slack, force_slack)


def _friction(
    c: Candidate, sliding: float, sticking: float, motion: tuple[Array, Array], rate_slack: float, force_slack: float
) -> list[tuple[str, float, float]]:
    """Coulomb's law of one contact or joint: `sliding` and `sticking` are the largest forces of friction."""
    grip, along = motion
    if not c.tangents or (c.normal is None and c.limit is None):
        return []
    size = math.sqrt(float(grip @ grip))
    conditions = [("Coulomb's cone", size - sticking, force_slack)]
    if c.slip is not None:
        off = grip + sliding * np.array(c.slip)
        return [*conditions, ("friction against the slip", math.sqrt(float(off @ off)), force_slack)]
    speed = math.sqrt(float(along @ along))
    if speed > rate_slack:
        off = grip + sliding * along / speed
        allowed = force_slack + sliding * rate_slack / speed
        conditions.append(("friction against the slip that begins", math.sqrt(float(off @ off)), allowed))
    return conditions


def check_impact(
    candidates: Sequence[Candidate], before: Array, after: Array, Z: Array, work: Array, imbalance: float,
    names: Sequence[str], t: float,
) -> None:  # fmt: skip
    """Check the velocities and impulses of an impact.

    Args:
        candidates: the contacts that touch.
        before, after: velocities of their rows over the surfaces; `after` from the velocities v⁺ themselves.
        Z: impulses of the rows.
        work: done by each row's impulse on the way, J.
        imbalance: |M (v⁺ − v) − Rᵀ Z| over the size of its terms.
        names: of the contacts.
        t: when, s.

    Raises:
        InconsistentContact: a condition is violated.
    """
    speed = 1e-3 + max(float(np.abs(before).max(initial=0.0)), float(np.abs(after).max(initial=0.0)))
    slow, least = IMPACT_RESIDUAL * speed, IMPACT_RESIDUAL * float(np.abs(Z).max(initial=0.0))
    if not imbalance <= IMPACT_RESIDUAL:
        raise InconsistentContact(", ".join(names), "the balance of momentum", imbalance, IMPACT_RESIDUAL, t)
    for c in candidates:
        grip = Z[c.tangents]
        conditions = [("friction takes energy", float(work[c.tangents].sum()), least * speed)]
        if c.normal is None:
            conditions.append(("held directions", float(np.abs(after[c.tangents]).max(initial=0.0)), slow))
        else:
            conditions.append(("no penetration", -float(after[c.normal]), slow))
        if c.normal is not None and c.one_sided:
            press = float(Z[c.normal])
            conditions.append(("no pull", -press, least))
            conditions.append(("Coulomb's cone", math.sqrt(float(grip @ grip)) - c.hold * press, least))
        for condition, value, slack in conditions:
            if not value <= slack:
                raise InconsistentContact(names[c.index], condition, value, slack, t)


def imbalance_of(left: Array, *terms: Array) -> float:
    """|left − Σ terms| over the largest entry of any of them; 0 where all are 0."""
    size = max(float(np.abs(left).max(initial=0.0)), *(float(np.abs(term).max(initial=0.0)) for term in terms))
    return float(np.abs(left - sum(terms)).max(initial=0.0)) / size if size > 0.0 else 0.0
