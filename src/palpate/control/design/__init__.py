"""Gain design: from what a person knows to gains with units, and whether they will be stable.

Each function states its assumption and returns its gains with a readable `account`.

    stiffness_from_force      k = f / x, b = 2 ζ √(k m)                       (document 004)
    coincident_poles          K = M λ², D = 2 M λ                             (document 001)
    damping_from_inertia      D for a full stiffness and the arm's inertia    (double diagonalisation)
    damping_over_workspace    one D for many postures
    force_gain_from_settling  k = ln(1/band) / t_s                            (document 002)
    lqr                       optimal state feedback, continuous or sampled
    contact_loop, check_contact, largest_stable
                              poles, passivity and stability limits of a sampled, delayed contact
    sampled_loop              a law and an arm around rest, from one control tick to the next
"""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.control.design.contact import (
        ContactCheck,
        ContactLoop,
        Limit,
        check_contact,
        contact_loop,
        force_loop,
        largest_stable,
    )
    from palpate.control.design.damping import (
        DampingDesign,
        WorkspaceDamping,
        damping_from_inertia,
        damping_over_workspace,
    )
    from palpate.control.design.gains import (
        ForceGain,
        LinearRegulator,
        SpringDamper,
        coincident_poles,
        force_gain_from_settling,
        lqr,
        stiffness_from_force,
    )
    from palpate.control.design.pole import PoleModel
    from palpate.control.design.sampled import SampledLoop, sampled_loop

__all__ = [
    "ContactCheck",
    "ContactLoop",
    "DampingDesign",
    "ForceGain",
    "Limit",
    "LinearRegulator",
    "PoleModel",
    "SampledLoop",
    "SpringDamper",
    "WorkspaceDamping",
    "check_contact",
    "coincident_poles",
    "contact_loop",
    "damping_from_inertia",
    "damping_over_workspace",
    "force_gain_from_settling",
    "force_loop",
    "largest_stable",
    "lqr",
    "sampled_loop",
    "stiffness_from_force",
]

_MODULES = {
    "contact": (
        "ContactCheck",
        "ContactLoop",
        "Limit",
        "check_contact",
        "contact_loop",
        "force_loop",
        "largest_stable",
    ),
    "damping": ("DampingDesign", "WorkspaceDamping", "damping_from_inertia", "damping_over_workspace"),
    "gains": (
        "ForceGain",
        "LinearRegulator",
        "SpringDamper",
        "coincident_poles",
        "force_gain_from_settling",
        "lqr",
        "stiffness_from_force",
    ),
    "pole": ("PoleModel",),
    "sampled": ("SampledLoop", "sampled_loop"),
}

__getattr__, __dir__ = lazy_names(
    __name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
