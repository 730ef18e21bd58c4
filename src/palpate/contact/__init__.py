"""Exact hybrid dynamics: contacts that slide, stick, strike and part, without regularisation."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.contact.contacts import Contact, JointStop, Pin
    from palpate.contact.dynamics import Constrained, constrained_dynamics
    from palpate.contact.ellipsoids import Ellipsoid, Polytope, force_ellipsoid, force_polytope, velocity_ellipsoid
    from palpate.contact.events import Event
    from palpate.contact.hybrid import Advance, HybridState, HybridSystem, Samples
    from palpate.contact.impacts import Impact, impact
    from palpate.contact.linearise import Linearised, linearise_state
    from palpate.contact.reduce import Reduced, reduced_dynamics
    from palpate.contact.shapes import Box, Cylinder, Plane, Ride, Sphere
    from palpate.contact.statics import (
        Equilibrium,
        TipForce,
        holding_torque,
        static_equilibrium,
        tip_force_from_torque,
        torque_from_tip_force,
    )

__all__ = [
    "Advance",
    "Box",
    "Constrained",
    "Contact",
    "Cylinder",
    "Ellipsoid",
    "Equilibrium",
    "Event",
    "HybridState",
    "HybridSystem",
    "Impact",
    "JointStop",
    "Linearised",
    "Pin",
    "Plane",
    "Polytope",
    "Reduced",
    "Ride",
    "Samples",
    "Sphere",
    "TipForce",
    "constrained_dynamics",
    "force_ellipsoid",
    "force_polytope",
    "holding_torque",
    "impact",
    "linearise_state",
    "reduced_dynamics",
    "static_equilibrium",
    "tip_force_from_torque",
    "torque_from_tip_force",
    "velocity_ellipsoid",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Advance": "palpate.contact.hybrid",
        "Box": "palpate.contact.shapes",
        "Constrained": "palpate.contact.dynamics",
        "Contact": "palpate.contact.contacts",
        "Cylinder": "palpate.contact.shapes",
        "Ellipsoid": "palpate.contact.ellipsoids",
        "Equilibrium": "palpate.contact.statics",
        "Event": "palpate.contact.events",
        "HybridState": "palpate.contact.hybrid",
        "HybridSystem": "palpate.contact.hybrid",
        "Impact": "palpate.contact.impacts",
        "JointStop": "palpate.contact.contacts",
        "Linearised": "palpate.contact.linearise",
        "Pin": "palpate.contact.contacts",
        "Plane": "palpate.contact.shapes",
        "Polytope": "palpate.contact.ellipsoids",
        "Reduced": "palpate.contact.reduce",
        "Ride": "palpate.contact.shapes",
        "Samples": "palpate.contact.hybrid",
        "Sphere": "palpate.contact.shapes",
        "TipForce": "palpate.contact.statics",
        "constrained_dynamics": "palpate.contact.dynamics",
        "force_ellipsoid": "palpate.contact.ellipsoids",
        "force_polytope": "palpate.contact.ellipsoids",
        "holding_torque": "palpate.contact.statics",
        "impact": "palpate.contact.impacts",
        "linearise_state": "palpate.contact.linearise",
        "reduced_dynamics": "palpate.contact.reduce",
        "static_equilibrium": "palpate.contact.statics",
        "tip_force_from_torque": "palpate.contact.statics",
        "torque_from_tip_force": "palpate.contact.statics",
        "velocity_ellipsoid": "palpate.contact.ellipsoids",
    },
)
