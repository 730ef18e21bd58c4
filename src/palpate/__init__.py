"""Design, simulate and prove controllers for robots that touch things."""

import sys
from typing import TYPE_CHECKING

from palpate.lazy import MovedPackages, lazy_names

if TYPE_CHECKING:
    from palpate import (
        control as control,
        errors as errors,
        metrics as metrics,
        robot as robot,
        run as run,
        spatial as spatial,
        tools as tools,
        trace as trace,
        views as views,
        world as world,
    )
    from palpate.robot.load import load_robot as load_robot
    from palpate.robot.robot import Robot as Robot
    from palpate.run.run import Run as Run
    from palpate.run.simulate import simulate as simulate
    from palpate.scenario.file.load import load_scenario as load_scenario
    from palpate.scenario.model import Scenario as Scenario
    from palpate.tools import contact as contact, review as review, sheets as sheets, study as study
    from palpate.tools.derive.start import derive as derive
    from palpate.tools.exporting.folder import export as export
    from palpate.tools.exporting.load import load_exported as load_exported
    from palpate.tools.study.laws import compare as compare
    from palpate.tools.study.sweeps import sweep as sweep
    from palpate.tools.study.tuning import tune as tune
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
    "tools.contact": "Contact HybridSystem JointStop Pin constrained_dynamics impact linearise_state reduced_dynamics"
    " linearise",
    "control": "torques_for_force",
    "tools.derive": "Derivation derive_from_energy",
    "tools.review": "check_derivation",
    "robot": "DHLink",
    "run": "simulate_many",
    "spatial": "Pose",
    "tools.study": "robustness",
    "trace": "Recording StopWhen",
    "world": "Clock Push Surface",
}

__getattr__, __dir__, _ = lazy_names(
    __name__, moved={name: f"palpate.{package}" for package, names in _MOVED.items() for name in names.split()}
)

# Packages that were beside the core until 0.2 and are tools now: the same.
# First in line: a module inside of one must not be found on its path and loaded twice.
sys.meta_path.insert(
    0, MovedPackages("palpate", "contact derive exporting gym logs play review serving sheets study", "palpate.tools")
)
