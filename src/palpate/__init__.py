"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate.robot.dh import DHLink
    from palpate.robot.load import load_robot
    from palpate.robot.robot import Robot
    from palpate.run.simulate import simulate
    from palpate.scenario.load import load_scenario
    from palpate.scenario.model import Scenario
    from palpate.spatial.pose import Pose
    from palpate.trace.load import load_trace
    from palpate.trace.trace import Trace
    from palpate.views.page import report

__version__ = "0.1.0"
__all__ = [
    "DHLink",
    "Pose",
    "Robot",
    "Scenario",
    "Trace",
    "load_robot",
    "load_scenario",
    "load_trace",
    "report",
    "simulate",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DHLink": "palpate.robot.dh",
        "Pose": "palpate.spatial.pose",
        "Robot": "palpate.robot.robot",
        "Scenario": "palpate.scenario.model",
        "Trace": "palpate.trace.trace",
        "load_robot": "palpate.robot.load",
        "load_scenario": "palpate.scenario.load",
        "load_trace": "palpate.trace.load",
        "report": "palpate.views.page",
        "simulate": "palpate.run.simulate",
    },
)
