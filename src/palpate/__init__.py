"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names, offer

if TYPE_CHECKING:
    from palpate import contact as contact
    from palpate import control as control
    from palpate import errors as errors
    from palpate import metrics as metrics
    from palpate import review as review
    from palpate import robot as robot
    from palpate import run as run
    from palpate import spatial as spatial
    from palpate import study as study
    from palpate import trace as trace
    from palpate import views as views
    from palpate import world as world
    from palpate.derive.start import derive
    from palpate.exporting.folder import export
    from palpate.exporting.load import load_exported
    from palpate.robot.load import load_robot
    from palpate.robot.robot import Robot
    from palpate.run.run import Run
    from palpate.run.simulate import simulate
    from palpate.scenario.file.load import load_scenario
    from palpate.scenario.model import Scenario
    from palpate.study.sweeps import sweep
    from palpate.study.tuning import tune
    from palpate.trace.load import load_trace
    from palpate.trace.trace import Trace
    from palpate.views.pages.page import report
    from palpate.world.config import World

__version__ = "0.2.0"
__all__ = [
    "Robot",
    "Run",
    "Scenario",
    "Trace",
    "World",
    "derive",
    "export",
    "load_exported",
    "load_robot",
    "load_scenario",
    "load_trace",
    "report",
    "simulate",
    "sweep",
    "tune",
]

_PACKAGES = [
    "contact",
    "control",
    "derive",
    "errors",
    "metrics",
    "review",
    "robot",
    "run",
    "spatial",
    "study",
    "trace",
    "views",
    "world",
]
# Names that were here until 0.1 and live one level down: they still work, with a warning, until 0.3.
_MOVED = {
    "contact": "Contact HybridSystem JointStop Pin constrained_dynamics impact linearise_state reduced_dynamics",
    "control": "torques_for_force",
    "derive": "Derivation derive_from_energy",
    "review": "check_derivation",
    "robot": "DHLink",
    "run": "linearise simulate_many",
    "spatial": "Pose",
    "study": "robustness",
    "trace": "Recording StopWhen",
    "world": "Clock Push Surface",
}

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{
            package: f"palpate.{package}" for package in _PACKAGES
        },  # palpate.derive can be called: palpate.derive(robot)
        "Robot": "palpate.robot.robot",
        "Run": "palpate.run.run",
        "Scenario": "palpate.scenario.model",
        "Trace": "palpate.trace.trace",
        "World": "palpate.world.config",
        "export": "palpate.exporting.folder",
        "load_exported": "palpate.exporting.load",
        "load_robot": "palpate.robot.load",
        "load_scenario": "palpate.scenario.file.load",
        "load_trace": "palpate.trace.load",
        "report": "palpate.views.pages.page",
        "simulate": "palpate.run.simulate",
        "sweep": "palpate.study.sweeps",
        "tune": "palpate.study.tuning",
    },
    moved={name: f"palpate.{package}" for package, names in _MOVED.items() for name in names.split()},
)

# What a notebook shows of things from packages that know nothing of pages.
offer(
    {
        "plot of a trace": "palpate.views.notebook:plot",
        "trace as pandas": "palpate.views.frames:to_pandas",
        "trace as xarray": "palpate.views.frames:to_xarray",
        "replay of a trace": "palpate.views.notebook:shown_replay",
        "html of a trace": "palpate.views.notebook:trace_html",
        "html of a scenario": "palpate.views.notebook:scenario_html",
        "html of a robot": "palpate.views.notebook:robot_html",
        "html of metrics": "palpate.views.notebook:metrics_html",
    }
)
