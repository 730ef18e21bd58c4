"""Exact hybrid dynamics: contacts that slide, stick, strike and part, without regularisation."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.contact.analysis.ellipsoids import (
        Ellipsoid,
        Polytope,
        force_ellipsoid,
        force_polytope,
        velocity_ellipsoid,
    )
    from palpate.contact.analysis.linearise import Linearised, linearise_state
    from palpate.contact.analysis.reduce import Reduced, reduced_dynamics
    from palpate.contact.analysis.statics import (
        Equilibrium,
        TipForce,
        holding_torque,
        static_equilibrium,
        tip_force_from_torque,
        torque_from_tip_force,
    )
    from palpate.contact.collision.impacts import Impact, impact
    from palpate.contact.modes.dynamics import Constrained, constrained_dynamics
    from palpate.contact.motion.events import Event
    from palpate.contact.motion.hybrid import Advance, HybridState, HybridSystem, Samples
    from palpate.contact.touch.contacts import Contact, JointStop, Pin
    from palpate.contact.touch.shapes import Box, Cylinder, Plane, Ride, Sphere

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
        "Advance": "palpate.contact.motion.hybrid",
        "Box": "palpate.contact.touch.shapes",
        "Constrained": "palpate.contact.modes.dynamics",
        "Contact": "palpate.contact.touch.contacts",
        "Cylinder": "palpate.contact.touch.shapes",
        "Ellipsoid": "palpate.contact.analysis.ellipsoids",
        "Equilibrium": "palpate.contact.analysis.statics",
        "Event": "palpate.contact.motion.events",
        "HybridState": "palpate.contact.motion.hybrid",
        "HybridSystem": "palpate.contact.motion.hybrid",
        "Impact": "palpate.contact.collision.impacts",
        "JointStop": "palpate.contact.touch.contacts",
        "Linearised": "palpate.contact.analysis.linearise",
        "Pin": "palpate.contact.touch.contacts",
        "Plane": "palpate.contact.touch.shapes",
        "Polytope": "palpate.contact.analysis.ellipsoids",
        "Reduced": "palpate.contact.analysis.reduce",
        "Ride": "palpate.contact.touch.shapes",
        "Samples": "palpate.contact.motion.hybrid",
        "Sphere": "palpate.contact.touch.shapes",
        "TipForce": "palpate.contact.analysis.statics",
        "constrained_dynamics": "palpate.contact.modes.dynamics",
        "force_ellipsoid": "palpate.contact.analysis.ellipsoids",
        "force_polytope": "palpate.contact.analysis.ellipsoids",
        "holding_torque": "palpate.contact.analysis.statics",
        "impact": "palpate.contact.collision.impacts",
        "linearise_state": "palpate.contact.analysis.linearise",
        "reduced_dynamics": "palpate.contact.analysis.reduce",
        "static_equilibrium": "palpate.contact.analysis.statics",
        "tip_force_from_torque": "palpate.contact.analysis.statics",
        "torque_from_tip_force": "palpate.contact.analysis.statics",
        "velocity_ellipsoid": "palpate.contact.analysis.ellipsoids",
    },
)
