"""What Coulomb friction in the joints does to an arm at rest, which no pole knows of.

About rest the joints stand still wherever |S e| ≤ F, joint by joint: S e are the torques that law, gravity and wall
answer a deviation e with, F the friction. The tool is then off by as much as J e can be, the largest of a linear
programme.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import ArmContact
from palpate.control.design.linear.loop_model import LinearLaw

_REACHES = (1.0, 2.0)  # rad or m that joints may go: what grows with it has no bound
_ROUNDING = 1e-9
_INTEGRATES = 1e-9  # how near to 1 (or to 0, without a clock) an eigenvalue of the law's own memory is


def held_off(contact: ArmContact, friction: Array) -> tuple[float, float] | None:
    """How far off friction can hold the tool, m along the worst of x, y and z, and the wall's force, N.

    None where the law integrates, so that no error stays, or where nothing brings the tool back.
    """
    law, plant = contact.model.law(), contact.plant()
    if integrates(law, contact.timing.period):
        return None
    if law.command == "torque":
        S = plant.gravity + plant.wall_stiffness - law.q - law.wrench @ plant.felt_q
    elif np.isfinite(contact.timing.servo_bandwidth):
        S = np.linalg.solve(plant.mobility, plant.servo) * contact.timing.servo_bandwidth**2
    else:
        return None
    off = [_farthest(S, friction, row) for row in contact.J_contact]
    force = _farthest(S, friction, contact.wall.stiffness * contact.wall.direction() @ contact.J_contact)
    return (max(off), force) if np.isfinite([*off, force]).all() else None


def integrates(law: LinearLaw, period: float) -> bool:
    """Whether something in the law's memory neither fades nor grows by itself."""
    if not law.update.size:
        return False
    values = np.linalg.eigvals(law.update)
    return bool((np.abs(values - (1.0 if period else 0.0)) < _INTEGRATES).any())


def _farthest(S: Array, friction: Array, along: Array) -> float:
    """max along · e with |S e| ≤ friction; infinite where nothing bounds it."""
    from scipy.optimize import linprog

    if not np.any(along):
        return 0.0
    bounded = np.vstack([S, -S])
    sides = np.concatenate([friction, friction])
    near, far = (-float(linprog(-along, A_ub=bounded, b_ub=sides, bounds=(-most, most)).fun) for most in _REACHES)
    return near if far < 1.01 * near + _ROUNDING else np.inf


def friction_sentences(contact: ArmContact, friction: Array) -> list[str]:
    """What friction does, and what of it is not foretold; nothing for joints without any."""
    rubs = friction[friction > 0.0]
    if not rubs.size:
        return []
    least, most = f"{rubs.min():.3g}", f"{rubs.max():.3g}"
    said = f"Joint friction ({least if least == most else f'{least} to {most}'} N·m) is not in the poles"
    if integrates(contact.model.law(), contact.timing.period):
        return [f"{said}: the integral action can hunt against it (stick–slip), which is not foretold."]
    held = held_off(contact, friction)
    if held is None:
        return [f"{said}; how far off it holds the arm at rest was not found."]
    force = f" and the force {held[1]:.3g} N" if contact.wall.stiffness > 0 else ""
    off = f"{1e3 * held[0]:.3g} mm{force}"
    return [f"{said}; at rest it can hold the tool {off} off. Nothing integrates, so nothing hunts."]
