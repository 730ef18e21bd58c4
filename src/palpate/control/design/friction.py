"""What Coulomb friction in the joints does to an arm at rest, which no pole knows of.

About rest the joints stand still wherever |S e| ≤ F, joint by joint: S e are the torques that law, gravity and wall
answer a deviation e with, F the friction. The tool is then off by as much as J S⁻¹ f can be with |f| ≤ F
(`statics.farthest`).
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import ArmContact
from palpate.control.design.linear.loop_model import LinearLaw
from palpate.control.design.statics import compliance, farthest

_MOVES = 1e-6  # of the largest lever: less is no motion of the tool
_INTEGRATES = 1e-9  # how near to 1 (or to 0, without a clock) an eigenvalue of the law's own memory is


def held_off(contact: ArmContact, friction: Array) -> tuple[float, float] | None:
    """How far off friction can hold the tool, m, and the wall's force, N.

    None where the law integrates, so that no error stays, or where nothing brings the tool back.
    """
    if integrates(contact.model.law(), contact.timing.period):
        return None
    J, give = contact.J_contact, compliance(contact)
    if np.abs(J @ give.free).max(initial=0.0) > _MOVES * np.abs(J).max():
        return None
    pressed = contact.wall.stiffness * contact.wall.direction()[None] @ J
    return farthest(J @ give.torque, friction), farthest(pressed @ give.torque, friction)


def integrates(law: LinearLaw, period: float) -> bool:
    """Whether something in the law's memory neither fades nor grows by itself."""
    if not law.update.size:
        return False
    values = np.linalg.eigvals(law.update)
    return bool((np.abs(values - (1.0 if period else 0.0)) < _INTEGRATES).any())


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
