"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names, offer

if TYPE_CHECKING:
    from palpate import (
        contact as contact,
        control as control,
        errors as errors,
        metrics as metrics,
        review as review,
        robot as robot,
        run as run,
        sheets as sheets,
        spatial as spatial,
        study as study,
        trace as trace,
        views as views,
        world as world,
    )
    from palpate.derive.start import derive as derive
    from palpate.exporting.folder import export as export
    from palpate.exporting.load import load_exported as load_exported
    from palpate.robot.load import load_robot as load_robot
    from palpate.robot.robot import Robot as Robot
    from palpate.run.run import Run as Run
    from palpate.run.simulate import simulate as simulate
    from palpate.scenario.file.load import load_scenario as load_scenario
    from palpate.scenario.model import Scenario as Scenario
    from palpate.study.laws import compare as compare
    from palpate.study.sweeps import sweep as sweep
    from palpate.study.tuning import tune as tune
    from palpate.trace.load import load_trace as load_trace
    from palpate.trace.trace import Trace as Trace
    from palpate.views.pages.page import report as report
    from palpate.world.config import World as World

__version__ = "0.2.0"
__all__ = [
    "Robot",
    "Run",
    "Scenario",
    "Trace",
    "World",
    "compare",
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

__getattr__, __dir__, _ = lazy_names(
    __name__,
    {"derive": "palpate.derive"},  # the package, which can be called: palpate.derive(robot)
    moved={name: f"palpate.{package}" for package, names in _MOVED.items() for name in names.split()},
)

# What packages call of those above them: pages that a notebook shows, and the derivation behind a review of formulas.
offer(
    {
        "plot of a trace": "palpate.views.notebook:plot",
        "trace as pandas": "palpate.views.notebook:to_pandas",
        "trace as xarray": "palpate.views.notebook:to_xarray",
        "replay of a trace": "palpate.views.notebook:shown_replay",
        "html of a trace": "palpate.views.notebook:trace_html",
        "summary of a trace": "palpate.views.summary:summary_text",
        "html of a scenario": "palpate.views.notebook:scenario_html",
        "html of a robot": "palpate.views.notebook:robot_html",
        "html of metrics": "palpate.views.notebook:metrics_html",
        "derivation of a robot": "palpate.derive.start:derive",
        "html of a sweep": "palpate.views.notebook:sweep_html",
        "html of a derivation": "palpate.views.notebook:derivation_html",
        "progress in a notebook": "palpate.views.notebook:NotebookProgress",
    }
)
