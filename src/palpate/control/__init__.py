"""What decides: control laws with their gains beside them, references, guards and gain design."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.control.admittance import Admittance, admittance_response
    from palpate.control.cartesian_impedance import CartesianImpedance
    from palpate.control.computed_torque import ComputedTorque
    from palpate.control.force import DirectForce, IntegralForce
    from palpate.control.force_loop import force_loop_poles
    from palpate.control.gravity_compensation import GravityCompensation
    from palpate.control.guards import Guards
    from palpate.control.hybrid import HybridForce
    from palpate.control.joint_impedance import JointImpedance
    from palpate.control.law import Law, PythonLaw
    from palpate.control.operational_space import OperationalSpace
    from palpate.control.parallel import ParallelForce
    from palpate.control.passive import Passive
    from palpate.control.pole import PoleModel
    from palpate.control.pole_balance import PoleBalance
    from palpate.control.priorities_law import StrictPriorities
    from palpate.control.shaped_impedance import ShapedImpedance
    from palpate.control.standing import Stance, Standing, stand
    from palpate.control.stop import FastestStop, TorqueBounds, fastest_stop
    from palpate.control.stop_law import StopLaw

# One line per law: add a law by adding its file and its line here.
LAWS = {
    "passive": ("palpate.control.passive", "Passive"),
    "gravity-compensation": ("palpate.control.gravity_compensation", "GravityCompensation"),
    "joint-impedance": ("palpate.control.joint_impedance", "JointImpedance"),
    "computed-torque": ("palpate.control.computed_torque", "ComputedTorque"),
    "operational-space": ("palpate.control.operational_space", "OperationalSpace"),
    "cartesian-impedance": ("palpate.control.cartesian_impedance", "CartesianImpedance"),
    "shaped-impedance": ("palpate.control.shaped_impedance", "ShapedImpedance"),
    "admittance": ("palpate.control.admittance", "Admittance"),
    "integral-force": ("palpate.control.force", "IntegralForce"),
    "direct-force": ("palpate.control.force", "DirectForce"),
    "parallel-force": ("palpate.control.parallel", "ParallelForce"),
    "hybrid-force": ("palpate.control.hybrid", "HybridForce"),
    "pole-balance": ("palpate.control.pole_balance", "PoleBalance"),
    "standing": ("palpate.control.standing", "Standing"),
    "fastest-stop": ("palpate.control.stop_law", "StopLaw"),
    "priorities": ("palpate.control.priorities_law", "StrictPriorities"),
}

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
    "PythonLaw",
    "ShapedImpedance",
    "Stance",
    "Standing",
    "StopLaw",
    "StrictPriorities",
    "TorqueBounds",
    "admittance_response",
    "fastest_stop",
    "force_loop_poles",
    "stand",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{class_name: module for module, class_name in LAWS.values()},
        "Guards": "palpate.control.guards",
        "Law": "palpate.control.law",
        "admittance_response": "palpate.control.admittance",
        "force_loop_poles": "palpate.control.force_loop",
        "PoleModel": "palpate.control.pole",
        "PythonLaw": "palpate.control.law",
        **dict.fromkeys(("Stance", "stand"), "palpate.control.standing"),
        **dict.fromkeys(("FastestStop", "TorqueBounds", "fastest_stop"), "palpate.control.stop"),
    },
)
