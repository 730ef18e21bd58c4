"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names

if TYPE_CHECKING:
    from palpate import control, errors, metrics, spatial, study, trace, views, world
    from palpate.robot.load import load_robot
    from palpate.robot.readers.dh import DHLink
    from palpate.robot.robot import Robot
    from palpate.run.parts import Parts, StopWhen
    from palpate.run.simulate import simulate, simulate_many
    from palpate.scenario.load import load_scenario
    from palpate.scenario.model import Scenario
    from palpate.spatial.pose import Pose
    from palpate.study.robust import robustness
    from palpate.study.sweeps import sweep
    from palpate.study.tuning import tune
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
    "errors",
    "load_robot",
    "load_scenario",
    "load_trace",
    "metrics",
    "report",
    "robustness",
    "simulate",
    "simulate_many",
    "spatial",
    "study",
    "sweep",
    "trace",
    "tune",
    "views",
    "world",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "DHLink": "palpate.robot.readers.dh",
        "Parts": "palpate.run.parts",
        "Pose": "palpate.spatial.pose",
        "Push": "palpate.world.config",
        "Robot": "palpate.robot.robot",
        "Scenario": "palpate.scenario.model",
        "StopWhen": "palpate.run.parts",
        "Surface": "palpate.world.config",
        "Trace": "palpate.trace.trace",
        "World": "palpate.world.config",
        "control": "palpate.control",
        "errors": "palpate.errors",
        "load_robot": "palpate.robot.load",
        "load_scenario": "palpate.scenario.load",
        "load_trace": "palpate.trace.load",
        "metrics": "palpate.metrics",
        "report": "palpate.views.page",
        "robustness": "palpate.study.robust",
        "simulate": "palpate.run.simulate",
        "simulate_many": "palpate.run.simulate",
        "spatial": "palpate.spatial",
        "study": "palpate.study",
        "sweep": "palpate.study.sweeps",
        "trace": "palpate.trace",
        "tune": "palpate.study.tuning",
        "views": "palpate.views",
        "world": "palpate.world",
    },
)
