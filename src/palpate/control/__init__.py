"""Control: laws with their gains beside them, references, guards and gain design."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names
from palpate.plugins import Table, of_kind
from palpate.user_code import is_address

if TYPE_CHECKING:
    from palpate.control import design as design, references as references, solve as solve
    from palpate.control.design.pole import PoleModel as PoleModel
    from palpate.control.guards import Guards as Guards
    from palpate.control.law import Law as Law
    from palpate.control.laws.admittance import Admittance as Admittance, admittance_response as admittance_response
    from palpate.control.laws.cartesian_impedance import CartesianImpedance as CartesianImpedance
    from palpate.control.laws.computed_torque import ComputedTorque as ComputedTorque
    from palpate.control.laws.direct_force import DirectForce as DirectForce
    from palpate.control.laws.fastest_stop import FastestStop as FastestStop
    from palpate.control.laws.gravity_compensation import GravityCompensation as GravityCompensation
    from palpate.control.laws.hybrid_force import HybridForce as HybridForce
    from palpate.control.laws.integral_force import IntegralForce as IntegralForce
    from palpate.control.laws.joint_impedance import JointImpedance as JointImpedance
    from palpate.control.laws.operational_space import OperationalSpace as OperationalSpace
    from palpate.control.laws.parallel_force import ParallelForce as ParallelForce
    from palpate.control.laws.passive import Passive as Passive
    from palpate.control.laws.pole_balance import PoleBalance as PoleBalance
    from palpate.control.laws.priorities import Priorities as Priorities
    from palpate.control.laws.shaped_impedance import ShapedImpedance as ShapedImpedance
    from palpate.control.laws.standing import Stance as Stance, Standing as Standing, stand as stand
    from palpate.control.plain_law import PlainLaw as PlainLaw
    from palpate.control.python_law import PythonLaw as PythonLaw
    from palpate.control.solve.force_torques import torques_for_force as torques_for_force
    from palpate.control.solve.stop import Stop as Stop, TorqueBounds as TorqueBounds, fastest_stop as fastest_stop
    from palpate.control.steps.force_loop import force_loop_poles as force_loop_poles


def _shipped() -> dict[str, tuple[str, str]]:
    """Name, module and class of every law in `control/laws`: "tip-spring" is TipSpring in tip_spring.py."""
    folder = importlib.import_module(f"{__name__}.laws").__path__
    stems = sorted(module.name for module in pkgutil.iter_modules(folder))
    return {
        stem.replace("_", "-"): (f"{__name__}.laws.{stem}", "".join(part.capitalize() for part in stem.split("_")))
        for stem in stems
    }


def _entered(entry: Any, law: Any) -> tuple[str, str] | type[Law]:
    from palpate.control.law import Law

    if isinstance(law, type) and law.__module__.partition(".")[0] != "palpate" and is_address(entry.name):
        law.name = entry.name  # pyright: ignore[reportAttributeAccessIssue] - however it calls itself
    return of_kind(Law, entry, law)


LAWS: Table[tuple[str, str] | type[Law]] = Table("palpate.laws", _shipped(), _entered)
register = LAWS.register

__getattr__, __dir__, __all__ = lazy_names(__name__, {name: module for module, name in _shipped().values()})
__all__ += ["LAWS", "register"]
