"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate import contact, control, errors, metrics, spatial, trace, views, world
    from palpate.contact.contacts import Contact, JointStop, Pin
    from palpate.contact.dynamics import constrained_dynamics
    from palpate.contact.hybrid import HybridSystem
    from palpate.contact.impacts import impact
    from palpate.contact.linearise import linearise_state
    from palpate.contact.reduce import reduced_dynamics
    from palpate.robot.dh import DHLink
    from palpate.robot.load import load_robot
    from palpate.robot.robot import Robot
    from palpate.run.parts import Parts, StopWhen
    from palpate.run.simulate import simulate, simulate_many
    from palpate.scenario.load import load_scenario
    from palpate.scenario.model import Scenario
    from palpate.spatial.pose import Pose
    from palpate.trace.load import load_trace
    from palpate.trace.trace import Trace
    from palpate.views.page import report
    from palpate.world.config import Push, Surface, World

__version__ = "0.1.0"
__all__ = [
    "Contact",
    "DHLink",
    "HybridSystem",
    "JointStop",
    "Parts",
    "Pin",
    "Pose",
    "Push",
    "Robot",
    "Scenario",
    "StopWhen",
    "Surface",
    "Trace",
    "World",
    "constrained_dynamics",
    "contact",
    "control",
    "errors",
    "impact",
    "linearise_state",
    "load_robot",
    "load_scenario",
    "load_trace",
    "metrics",
    "reduced_dynamics",
    "report",
    "simulate",
    "simulate_many",
    "spatial",
    "trace",
    "views",
    "world",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Contact": "palpate.contact.contacts",
        "DHLink": "palpate.robot.dh",
        "HybridSystem": "palpate.contact.hybrid",
        "JointStop": "palpate.contact.contacts",
        "Parts": "palpate.run.parts",
        "Pin": "palpate.contact.contacts",
        "Pose": "palpate.spatial.pose",
        "Push": "palpate.world.config",
        "Robot": "palpate.robot.robot",
        "Scenario": "palpate.scenario.model",
        "StopWhen": "palpate.run.parts",
        "Surface": "palpate.world.config",
        "Trace": "palpate.trace.trace",
        "World": "palpate.world.config",
        "constrained_dynamics": "palpate.contact.dynamics",
        "contact": "palpate.contact",
        "control": "palpate.control",
        "errors": "palpate.errors",
        "impact": "palpate.contact.impacts",
        "linearise_state": "palpate.contact.linearise",
        "load_robot": "palpate.robot.load",
        "load_scenario": "palpate.scenario.load",
        "load_trace": "palpate.trace.load",
        "metrics": "palpate.metrics",
        "reduced_dynamics": "palpate.contact.reduce",
        "report": "palpate.views.page",
        "simulate": "palpate.run.simulate",
        "simulate_many": "palpate.run.simulate",
        "spatial": "palpate.spatial",
        "trace": "palpate.trace",
        "views": "palpate.views",
        "world": "palpate.world",
    },
)
