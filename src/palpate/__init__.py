"""Design, simulate and prove controllers for robots that touch things."""

from typing import TYPE_CHECKING

from palpate.lazy import lazy_names, offer

if TYPE_CHECKING:
    from palpate import contact, control, errors, metrics, spatial, study, trace, views, world
    from palpate.contact.analysis.linearise import linearise_state
    from palpate.contact.analysis.reduce import reduced_dynamics
    from palpate.contact.impact.impacts import impact
    from palpate.contact.modes.dynamics import constrained_dynamics
    from palpate.contact.motion.hybrid import HybridSystem
    from palpate.contact.touch.contacts import Contact, JointStop, Pin
    from palpate.control.solve.force_torques import torques_for_force
    from palpate.derive.derivation import Derivation
    from palpate.derive.start import derive, derive_from_energy
    from palpate.exporting.folder import export
    from palpate.exporting.load import load_exported
    from palpate.review import check_derivation
    from palpate.robot.load import load_robot
    from palpate.robot.readers.dh.table import DHLink
    from palpate.robot.robot import Robot
    from palpate.run.linearise import linearise
    from palpate.run.run import Run
    from palpate.run.simulate import simulate, simulate_many
    from palpate.scenario.file.load import load_scenario
    from palpate.scenario.model import Scenario
    from palpate.spatial.pose import Pose
    from palpate.study.robust import robustness
    from palpate.study.sweeps import sweep
    from palpate.study.tuning import tune
    from palpate.trace.load import load_trace
    from palpate.trace.recording import Recording, StopWhen
    from palpate.trace.trace import Trace
    from palpate.views.pages.page import report
    from palpate.world.clock import Clock
    from palpate.world.config import Push, Surface, World

__version__ = "0.1.0"
__all__ = [
    "Clock",
    "Contact",
    "DHLink",
    "Derivation",
    "HybridSystem",
    "JointStop",
    "Pin",
    "Pose",
    "Push",
    "Recording",
    "Robot",
    "Run",
    "Scenario",
    "StopWhen",
    "Surface",
    "Trace",
    "World",
    "check_derivation",
    "constrained_dynamics",
    "contact",
    "control",
    "derive",
    "derive_from_energy",
    "errors",
    "export",
    "impact",
    "linearise",
    "linearise_state",
    "load_exported",
    "load_robot",
    "load_scenario",
    "load_trace",
    "metrics",
    "reduced_dynamics",
    "report",
    "robustness",
    "simulate",
    "simulate_many",
    "spatial",
    "study",
    "sweep",
    "torques_for_force",
    "trace",
    "tune",
    "views",
    "world",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Clock": "palpate.world.clock",
        "DHLink": "palpate.robot.readers.dh.table",
        "Derivation": "palpate.derive.derivation",
        "Contact": "palpate.contact.touch.contacts",
        "HybridSystem": "palpate.contact.motion.hybrid",
        "JointStop": "palpate.contact.touch.contacts",
        "Pin": "palpate.contact.touch.contacts",
        "Pose": "palpate.spatial.pose",
        "Push": "palpate.world.config",
        "Recording": "palpate.trace.recording",
        "Robot": "palpate.robot.robot",
        "Run": "palpate.run.run",
        "Scenario": "palpate.scenario.model",
        "StopWhen": "palpate.trace.recording",
        "Surface": "palpate.world.config",
        "Trace": "palpate.trace.trace",
        "World": "palpate.world.config",
        "check_derivation": "palpate.review",
        "constrained_dynamics": "palpate.contact.modes.dynamics",
        "contact": "palpate.contact",
        "control": "palpate.control",
        "derive": "palpate.derive",  # the room can be called: palpate.derive(robot)
        "derive_from_energy": "palpate.derive.start",
        "errors": "palpate.errors",
        "export": "palpate.exporting.folder",
        "impact": "palpate.contact.impact.impacts",
        "linearise": "palpate.run.linearise",
        "linearise_state": "palpate.contact.analysis.linearise",
        "load_exported": "palpate.exporting.load",
        "load_robot": "palpate.robot.load",
        "load_scenario": "palpate.scenario.file.load",
        "load_trace": "palpate.trace.load",
        "metrics": "palpate.metrics",
        "reduced_dynamics": "palpate.contact.analysis.reduce",
        "report": "palpate.views.pages.page",
        "robustness": "palpate.study.robust",
        "simulate": "palpate.run.simulate",
        "simulate_many": "palpate.run.simulate",
        "spatial": "palpate.spatial",
        "study": "palpate.study",
        "sweep": "palpate.study.sweeps",
        "torques_for_force": "palpate.control.solve.force_torques",
        "trace": "palpate.trace",
        "tune": "palpate.study.tuning",
        "views": "palpate.views",
        "world": "palpate.world",
    },
)

# What a notebook shows of things from rooms that know nothing of pages.
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
