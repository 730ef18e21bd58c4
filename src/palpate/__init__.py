"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate import control
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
    "DHLink",
    "Parts",
    "Pose",
    "Push",
    "Robot",
    "Scenario",
    "StopWhen",
    "Surface",
    "Trace",
    "World",
    "control",
    "load_robot",
    "load_scenario",
    "load_trace",
    "report",
    "simulate",
    "simulate_many",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DHLink": "palpate.robot.dh",
        "Pose": "palpate.spatial.pose",
        "Robot": "palpate.robot.robot",
        "Scenario": "palpate.scenario.model",
        "Trace": "palpate.trace.trace",
        "control": "palpate.control",
        "load_robot": "palpate.robot.load",
        "load_scenario": "palpate.scenario.load",
        "load_trace": "palpate.trace.load",
        "report": "palpate.views.page",
        "simulate": "palpate.run.simulate",
        "Parts": "palpate.run.parts",
        "StopWhen": "palpate.run.parts",
        "Surface": "palpate.world.config",
        "World": "palpate.world.config",
        "Push": "palpate.world.config",
        "simulate_many": "palpate.run.simulate",
    },
)
