"""What decides: control laws with their gains beside them, references, guards and gain design."""

from typing import TYPE_CHECKING, Any

from palpate.lazy import lazy_names
from palpate.plugins import Table, of_kind

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
    from palpate.control.solve.stop import Stop, TorqueBounds, fastest_stop
    from palpate.control.steps.force_loop import force_loop_poles

# One line per law: add a law by adding its file and its line here. Other packages enter theirs as entry points.
_SHIPPED = {
    "passive": ("palpate.control.laws.passive", "Passive"),
    "gravity-compensation": ("palpate.control.laws.gravity_compensation", "GravityCompensation"),
    "joint-impedance": ("palpate.control.laws.joint_impedance", "JointImpedance"),
    "computed-torque": ("palpate.control.laws.computed_torque", "ComputedTorque"),
    "operational-space": ("palpate.control.laws.operational_space", "OperationalSpace"),
    "cartesian-impedance": ("palpate.control.laws.cartesian_impedance", "CartesianImpedance"),
    "shaped-impedance": ("palpate.control.laws.shaped_impedance", "ShapedImpedance"),
    "admittance": ("palpate.control.laws.admittance", "Admittance"),
    "integral-force": ("palpate.control.laws.integral_force", "IntegralForce"),
    "direct-force": ("palpate.control.laws.direct_force", "DirectForce"),
    "parallel-force": ("palpate.control.laws.parallel_force", "ParallelForce"),
    "hybrid-force": ("palpate.control.laws.hybrid_force", "HybridForce"),
    "pole-balance": ("palpate.control.laws.pole_balance", "PoleBalance"),
    "standing": ("palpate.control.laws.standing", "Standing"),
    "fastest-stop": ("palpate.control.laws.fastest_stop", "FastestStop"),
    "priorities": ("palpate.control.laws.priorities", "Priorities"),
}


def _entered(entry: Any, law: Any) -> tuple[str, str]:
    from palpate.control.law import Law

    return of_kind(Law, entry, law).__module__, law.__name__


LAWS = Table("palpate.laws", _SHIPPED, _entered)

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
    "solve",
    "stand",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{class_name: module for module, class_name in _SHIPPED.values()},
        "Guards": "palpate.control.guards",
        "Law": "palpate.control.law",
        "admittance_response": "palpate.control.laws.admittance",
        "force_loop_poles": "palpate.control.steps.force_loop",
        "PoleModel": "palpate.control.design.pole",
        "PythonLaw": "palpate.control.law",
        **{name: f"{__name__}.{name}" for name in ("design", "references", "solve")},
        **dict.fromkeys(("Stance", "stand"), "palpate.control.laws.standing"),
        **dict.fromkeys(("Stop", "TorqueBounds", "fastest_stop"), "palpate.control.solve.stop"),
    },
)
