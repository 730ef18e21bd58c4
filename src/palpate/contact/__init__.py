"""Exact hybrid dynamics: contacts that slide, stick, strike and part, without regularisation."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.contact.analysis.ellipsoids import (
        Ellipsoid as Ellipsoid,
        Polytope as Polytope,
        force_ellipsoid as force_ellipsoid,
        force_polytope as force_polytope,
        velocity_ellipsoid as velocity_ellipsoid,
    )
    from palpate.contact.analysis.linearise import Linearised as Linearised, linearise_state as linearise_state
    from palpate.contact.analysis.reduce import Reduced as Reduced, reduced_dynamics as reduced_dynamics
    from palpate.contact.analysis.statics import (
        Equilibrium as Equilibrium,
        TipForce as TipForce,
        holding_torque as holding_torque,
        static_equilibrium as static_equilibrium,
        tip_force_from_torque as tip_force_from_torque,
        torque_from_tip_force as torque_from_tip_force,
    )
    from palpate.contact.collision.impacts import Impact as Impact, impact as impact
    from palpate.contact.modes.dynamics import Constrained as Constrained, constrained_dynamics as constrained_dynamics
    from palpate.contact.motion.events import Event as Event
    from palpate.contact.motion.hybrid import (
        Advance as Advance,
        HybridState as HybridState,
        HybridSystem as HybridSystem,
        Samples as Samples,
    )
    from palpate.contact.touch.contacts import Contact as Contact, JointStop as JointStop, Pin as Pin
    from palpate.contact.touch.shapes import (
        Box as Box,
        Cylinder as Cylinder,
        Plane as Plane,
        Ride as Ride,
        Sphere as Sphere,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)
