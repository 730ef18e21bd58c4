"""Gain design: from what a person knows to gains with units.

Each function states its assumption and returns its gains with a readable `account`. Whether a loop is stable with them,
and how far they may go, is asked of the loop itself: `palpate.run.design`, `palpate.run.poles`.

    stiffness_from_force      k = f / x, b = 2 ζ √(k m)
    coincident_poles          K = M λ², D = 2 M λ
    damping_from_inertia      D for a full stiffness and the arm's inertia    (double diagonalisation)
    damping_by_ratio          the same for an arm that may be singular, D alone
    damping_over_workspace    one D for many postures
    force_gain_from_settling  k = ln(1/band) / t_s
    force_defaults            gains of direct and parallel force control for an arm and a period
    lqr                       optimal state feedback, continuous or sampled
"""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.control.design.damping import (
        DampingDesign as DampingDesign,
        WorkspaceDamping as WorkspaceDamping,
        damping_by_ratio as damping_by_ratio,
        damping_from_inertia as damping_from_inertia,
        damping_over_workspace as damping_over_workspace,
    )
    from palpate.control.design.force_gains import ForceDefaults as ForceDefaults, force_defaults as force_defaults
    from palpate.control.design.gains import (
        ForceGain as ForceGain,
        LinearRegulator as LinearRegulator,
        SpringDamper as SpringDamper,
        coincident_poles as coincident_poles,
        force_gain_from_settling as force_gain_from_settling,
        lqr as lqr,
        stiffness_from_force as stiffness_from_force,
    )
    from palpate.control.design.pole import PoleModel as PoleModel

__getattr__, __dir__, __all__ = lazy_names(__name__)
