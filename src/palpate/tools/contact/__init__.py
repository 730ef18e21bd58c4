"""Exact hybrid dynamics: contacts that slide, stick, strike and part, without regularisation."""

from typing import TYPE_CHECKING

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.tools.contact.analysis.linearise import (
        Linearised as Linearised,
        Reduced as Reduced,
        linearise_state as linearise_state,
        reduced_dynamics as reduced_dynamics,
    )
    from palpate.tools.contact.analysis.statics import (
        Ellipsoid as Ellipsoid,
        Equilibrium as Equilibrium,
        Polytope as Polytope,
        TipForce as TipForce,
        force_ellipsoid as force_ellipsoid,
        force_polytope as force_polytope,
        holding_torque as holding_torque,
        static_equilibrium as static_equilibrium,
        tip_force_from_torque as tip_force_from_torque,
        torque_from_tip_force as torque_from_tip_force,
        velocity_ellipsoid as velocity_ellipsoid,
    )
    from palpate.tools.contact.collision.impacts import Impact as Impact, impact as impact
    from palpate.tools.contact.linear import linearise as linearise
    from palpate.tools.contact.modes.dynamics import (
        Constrained as Constrained,
        constrained_dynamics as constrained_dynamics,
    )
    from palpate.tools.contact.motion.events import ContactEvent as ContactEvent
    from palpate.tools.contact.motion.hybrid import (
        Advance as Advance,
        HybridState as HybridState,
        HybridSystem as HybridSystem,
        Samples as Samples,
    )
    from palpate.tools.contact.touch.contacts import (
        Box as Box,
        Contact as Contact,
        Cylinder as Cylinder,
        JointStop as JointStop,
        Pin as Pin,
        Plane as Plane,
        Ride as Ride,
        Sphere as Sphere,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)
