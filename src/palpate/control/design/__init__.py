"""Gain design: from what a person knows to gains with units, and whether they will be stable.

Each function states its assumption and returns its gains with a readable `account`, or its prediction with `sentences`.

    stiffness_from_force      k = f / x, b = 2 ζ √(k m)
    coincident_poles          K = M λ², D = 2 M λ
    damping_from_inertia      D for a full stiffness and the arm's inertia    (double diagonalisation)
    damping_by_ratio          the same for an arm that may be singular, D alone
    damping_over_workspace    one D for many postures
    force_gain_from_settling  k = ln(1/band) / t_s
    force_defaults            gains of direct and parallel force control for an arm and a period
    lqr                       optimal state feedback, continuous or sampled
    predict_contact           one axis on a wall: poles, largest wall stiffness, delay and gains, passivity
    predict_for_arm           the same for an arm at a posture, under each law
    stability_map             the largest stable wall stiffness over a setting
    hold_error                what a simulation's physics step hides of the command's hold
    hold_error_for_arm        the same for an arm at a posture
    period_warnings           whether a law without memory suits a control period, in free motion
"""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.control.design.arm import (
        Wall,
        hold_error_for_arm,
        period_warnings,
        predict_for_arm,
        predictable,
        why_unpredicted,
    )
    from palpate.control.design.case import (
        ContactCase,
    )
    from palpate.control.design.damping import (
        DampingDesign,
        WorkspaceDamping,
        damping_by_ratio,
        damping_from_inertia,
        damping_over_workspace,
    )
    from palpate.control.design.force_gains import (
        ForceDefaults,
        force_defaults,
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
    from palpate.control.design.linear.closed_loop import (
        ClosedLoop,
    )
    from palpate.control.design.linear.law_models import (
        ADMITTANCE,
        DIRECT_FORCE,
        HYBRID_FORCE,
        IMPEDANCE,
        INTEGRAL_FORCE,
        PARALLEL_FORCE,
        SERVO_FORCE,
        SHAPED_IMPEDANCE,
        LawModel,
        LinearModel,
    )
    from palpate.control.design.linear.loop_model import (
        Timing,
    )
    from palpate.control.design.pole import (
        PoleModel,
    )
    from palpate.control.design.prediction import (
        STEPS_PER_PERIOD,
        ContactPrediction,
        HoldError,
        StabilityMap,
        hold_error,
        predict_contact,
        stability_map,
    )

__all__ = [
    "ADMITTANCE",
    "DIRECT_FORCE",
    "HYBRID_FORCE",
    "IMPEDANCE",
    "INTEGRAL_FORCE",
    "PARALLEL_FORCE",
    "SERVO_FORCE",
    "SHAPED_IMPEDANCE",
    "STEPS_PER_PERIOD",
    "ClosedLoop",
    "ContactCase",
    "ContactPrediction",
    "DampingDesign",
    "ForceDefaults",
    "ForceGain",
    "HoldError",
    "LawModel",
    "LinearModel",
    "LinearRegulator",
    "PoleModel",
    "SpringDamper",
    "StabilityMap",
    "Timing",
    "Wall",
    "WorkspaceDamping",
    "coincident_poles",
    "damping_by_ratio",
    "damping_from_inertia",
    "damping_over_workspace",
    "force_defaults",
    "force_gain_from_settling",
    "hold_error",
    "hold_error_for_arm",
    "lqr",
    "period_warnings",
    "predict_contact",
    "predict_for_arm",
    "predictable",
    "stability_map",
    "stiffness_from_force",
    "why_unpredicted",
]

_MODULES = {
    "arm": (
        "Wall",
        "hold_error_for_arm",
        "period_warnings",
        "predict_for_arm",
        "predictable",
        "why_unpredicted",
    ),
    "case": ("ContactCase",),
    "linear.closed_loop": ("ClosedLoop",),
    "damping": (
        "DampingDesign",
        "WorkspaceDamping",
        "damping_by_ratio",
        "damping_from_inertia",
        "damping_over_workspace",
    ),
    "force_gains": (
        "ForceDefaults",
        "force_defaults",
    ),
    "gains": (
        "ForceGain",
        "LinearRegulator",
        "SpringDamper",
        "coincident_poles",
        "force_gain_from_settling",
        "lqr",
        "stiffness_from_force",
    ),
    "linear.law_models": (
        "ADMITTANCE",
        "DIRECT_FORCE",
        "HYBRID_FORCE",
        "IMPEDANCE",
        "INTEGRAL_FORCE",
        "PARALLEL_FORCE",
        "SERVO_FORCE",
        "SHAPED_IMPEDANCE",
        "LawModel",
        "LinearModel",
    ),
    "linear.loop_model": ("Timing",),
    "pole": ("PoleModel",),
    "prediction": (
        "STEPS_PER_PERIOD",
        "ContactPrediction",
        "HoldError",
        "StabilityMap",
        "hold_error",
        "predict_contact",
        "stability_map",
    ),
}

__getattr__, __dir__ = lazy_names(
    __name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
