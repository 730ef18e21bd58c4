"""What decides: control laws with their gains beside them, references, guards and gain design."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
from palpate.lazy import lazy_names
from palpate.plugins import Table, of_kind
from palpate.user_code import is_address

if TYPE_CHECKING:
    from palpate.control import design, references, solve
    from palpate.control.design.pole import PoleModel
    from palpate.control.guards import Guards
    from palpate.control.law import Law, PythonLaw
    from palpate.control.laws.admittance import Admittance, admittance_response
    from palpate.control.laws.cartesian_impedance import CartesianImpedance
    from palpate.control.laws.computed_torque import ComputedTorque
    from palpate.control.laws.direct_force import DirectForce
    from palpate.control.laws.fastest_stop import FastestStop
    from palpate.control.laws.gravity_compensation import GravityCompensation
    from palpate.control.laws.hybrid_force import HybridForce
    from palpate.control.laws.integral_force import IntegralForce
    from palpate.control.laws.joint_impedance import JointImpedance
    from palpate.control.laws.operational_space import OperationalSpace
    from palpate.control.laws.parallel_force import ParallelForce
    from palpate.control.laws.passive import Passive
    from palpate.control.laws.pole_balance import PoleBalance
    from palpate.control.laws.priorities import Priorities
    from palpate.control.laws.shaped_impedance import ShapedImpedance
    from palpate.control.laws.standing import Stance, Standing, stand
    from palpate.control.plain_law import PlainLaw
    from palpate.control.solve.force_torques import torques_for_force
    from palpate.control.solve.stop import Stop, TorqueBounds, fastest_stop
    from palpate.control.steps.force_loop import force_loop_poles


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

__all__ = [
    "LAWS",
    "Admittance",
    "CartesianImpedance",
    "ComputedTorque",
    "DirectForce",
    "FastestStop",
    "GravityCompensation",
    "Guards",
    "HybridForce",
    "IntegralForce",
    "JointImpedance",
    "Law",
    "OperationalSpace",
    "ParallelForce",
    "Passive",
    "PlainLaw",
    "PoleBalance",
    "PoleModel",
    "Priorities",
    "PythonLaw",
    "ShapedImpedance",
    "Stance",
    "Standing",
    "Stop",
    "TorqueBounds",
    "admittance_response",
    "design",
    "fastest_stop",
    "force_loop_poles",
    "references",
    "register",
    "solve",
    "stand",
    "torques_for_force",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{class_name: module for module, class_name in _shipped().values()},
        "Guards": "palpate.control.guards",
        "Law": "palpate.control.law",
        "torques_for_force": "palpate.control.solve.force_torques",
        "admittance_response": "palpate.control.laws.admittance",
        "force_loop_poles": "palpate.control.steps.force_loop",
        "PoleModel": "palpate.control.design.pole",
        "PlainLaw": "palpate.control.plain_law",
        "PythonLaw": "palpate.control.law",
        **{name: f"{__name__}.{name}" for name in ("design", "references", "solve")},
        **dict.fromkeys(("Stance", "stand"), "palpate.control.laws.standing"),
        **dict.fromkeys(("Stop", "TorqueBounds", "fastest_stop"), "palpate.control.solve.stop"),
    },
)
