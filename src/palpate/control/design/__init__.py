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
        Wall as Wall,
        hold_error_for_arm as hold_error_for_arm,
        period_warnings as period_warnings,
        predict_for_arm as predict_for_arm,
        predictable as predictable,
        why_unpredicted as why_unpredicted,
    )
    from palpate.control.design.case import ContactCase as ContactCase
    from palpate.control.design.force_gains import ForceDefaults as ForceDefaults, force_defaults as force_defaults
    from palpate.control.design.gains import (
        DampingDesign as DampingDesign,
        ForceGain as ForceGain,
        LinearRegulator as LinearRegulator,
        SpringDamper as SpringDamper,
        WorkspaceDamping as WorkspaceDamping,
        coincident_poles as coincident_poles,
        damping_by_ratio as damping_by_ratio,
        damping_from_inertia as damping_from_inertia,
        damping_over_workspace as damping_over_workspace,
        force_gain_from_settling as force_gain_from_settling,
        lqr as lqr,
        stiffness_from_force as stiffness_from_force,
    )
    from palpate.control.design.linear.closed_loop import ClosedLoop as ClosedLoop
    from palpate.control.design.linear.law_models import (
        ADMITTANCE as ADMITTANCE,
        DIRECT_FORCE as DIRECT_FORCE,
        HYBRID_FORCE as HYBRID_FORCE,
        IMPEDANCE as IMPEDANCE,
        INTEGRAL_FORCE as INTEGRAL_FORCE,
        PARALLEL_FORCE as PARALLEL_FORCE,
        SERVO_FORCE as SERVO_FORCE,
        SHAPED_IMPEDANCE as SHAPED_IMPEDANCE,
        LawModel as LawModel,
        LinearModel as LinearModel,
    )
    from palpate.control.design.linear.loop_model import Timing as Timing
    from palpate.control.design.pole import PoleModel as PoleModel
    from palpate.control.design.prediction import (
        STEPS_PER_PERIOD as STEPS_PER_PERIOD,
        ContactPrediction as ContactPrediction,
        HoldError as HoldError,
        StabilityMap as StabilityMap,
        hold_error as hold_error,
        predict_contact as predict_contact,
        stability_map as stability_map,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)
