"""Every compiled law at every edge: right to a stated tolerance, refused by name, or warned of by name.

A cell is a law in a run that leaves the ideal case in one way. Its expectation is one of

    Right(tolerance)   the run completes, and what the law promises (`miss`) is off by at most that, m, rad or N
    Refused(words)     the run is refused before it starts, in these words
    Told(words)        one of the run's warnings or remarks says these words
    Designed(words)    the run diverges, or stands exactly where a loop is not disturbed; `design` says these words

Pole balancing, stopping, standing and stacks of tasks have edges of their own kind too, beside their laws:
test_pole_balance.py, test_stop_law.py, test_standing.py, test_priorities_law.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from palpate.control import LAWS
from palpate.control.laws.priorities import Level
from palpate.control.references.reference import Hold
from palpate.engine.kernels import Kernel
from palpate.errors import PalpateError
from palpate.robot import Robot, load_robot
from palpate.run.forecast.design import design
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.scenario.model import law_class
from palpate.scenario.reference import rig_of
from palpate.trace import Trace
from palpate.world.clock import Clock
from palpate.world.config import Attachment, Driver, PlantChange, Pole, Push, Sensors, Surface, World, WrenchSensor
from palpate.world.sensing.faults import Fault

FORCE = 10.0  # N, wanted by the laws of force
REST = ("passive", "gravity-compensation")
JOINTS = ("joint-impedance", "computed-torque")
TOOL = ("operational-space", "cartesian-impedance", "shaped-impedance")
YIELDING = ("admittance",)
PRESSING = ("integral-force", "direct-force", "parallel-force", "hybrid-force")
STACK, STOP, POLE, FEET = ("priorities",), ("fastest-stop",), ("pole-balance",), ("standing",)
ALL = REST + JOINTS + TOOL + YIELDING + PRESSING + STACK + STOP + POLE + FEET
BALANCING = (0.0, -0.8, 0.0, -1.9, 0.0, -1.1, 0.0)  # a posture of the iiwa with room on every side


@dataclass(frozen=True)
class Right:
    tolerance: float


@dataclass(frozen=True)
class Refused:
    words: str


@dataclass(frozen=True)
class Told:
    words: str


@dataclass(frozen=True)
class Designed:
    words: str


Expected = Right | Refused | Told | Designed


@dataclass(frozen=True)
class Place:
    """Where a law is tried: a robot, the directions it is given, and the world of the edge."""

    robot: str = "panda"
    servo: str = "ur5e"  # for laws behind a joint servo
    plane: tuple[str, ...] = ()  # directions to name; the law's own defaults if none
    q: tuple[float, ...] | None = None
    settings: dict[str, Any] = field(default_factory=dict)  # of the world
    sensors: dict[str, Any] = field(default_factory=dict)
    wall: float = 1e4  # N/m; 0 for none
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the target
    duration: float = 1.0


def law_of(name: str, place: Place) -> Any:
    """The law with its defaults, along the directions of the place."""
    cls = law_class(name)
    settings: dict[str, Any] = {}
    if name in ("direct-force", "parallel-force", "hybrid-force") and place.plane:
        settings = {"force": place.plane[:1], "motion": place.plane[1:]}
    elif name == "integral-force":
        settings = {"directions": place.plane[:1] or ("z",)}
    elif name in (*TOOL, *YIELDING) and place.plane:
        settings = {"directions": place.plane}
    elif name in STACK and place.plane:
        settings = {"levels": (Level(kind="position", directions=cast(Any, place.plane)), Level(kind="posture"))}
    elif name in STOP:
        settings = {"acceleration": 10.0, "axes": "".join(place.plane) or "xyz"}
    if name in REST:
        settings["damping"] = 5.0
    return cls(**settings)


def start_of(name: str, place: Place) -> tuple[Robot, np.ndarray, np.ndarray]:
    """Robot, posture and speeds: a pole stands on an iiwa, and what is to be stopped moves."""
    if name in FEET and place.robot == "panda":
        robot = load_robot("quadruped")
        return robot, robot.home, np.zeros(robot.nv)
    if name in POLE and place.robot == "panda":
        return load_robot("iiwa14").with_payload(1.0, (0, 0, 0)), np.array(place.q or BALANCING), np.zeros(7)
    robot = load_robot(place.servo if name in YIELDING else place.robot, joints="ideal")
    q = robot.home if place.q is None else np.array(place.q)
    return robot, q, np.full(robot.nv, 0.3 if name in STOP else 0.0)


def run_of(name: str, place: Place) -> Run:
    robot, q, v = start_of(name, place)
    normal = np.eye(3)["xyz".index(place.plane[0][-1])] if place.plane else np.eye(3)[2]
    pressing = name in PRESSING
    surfaces = (wall_at(robot, q, normal, place.wall),) if pressing and place.wall else ()
    pushes = (Push(force=(0.6, -0.3, -0.5), duration=9.0),) if name in YIELDING else ()
    driver, rotors = (Driver(servo_bandwidth=120.0), 0.1) if name in YIELDING else (Driver(), 0.0)
    driver = place.settings.get("driver", driver)
    if name in FEET:
        surfaces = (Surface(name="floor", friction=0.7, stiffness=2e4, damping=200.0),)
    world = World(
        attachments=place.settings.get("attachments", ()), gravity=place.settings.get("gravity"),
        surfaces=surfaces, pushes=place.settings.get("pushes", pushes), driver=driver,
        plant=place.settings.get("plant", PlantChange()).model_copy(update={"rotor_inertia": rotors}),
        sensors=Sensors(**place.sensors),
        pole=Pole(tilt=(0.03, 0.02)) if name in POLE else None, faults=place.settings.get("faults", ()),
    )  # fmt: skip
    wrench = (*(FORCE * normal), 0.0, 0.0, 0.0) if pressing else (0.0,) * 6
    offset = (0.0, 0.0, 0.0) if pressing or (name in YIELDING and not place.plane) else place.offset
    clock = Clock(duration=max(place.duration, 3.0) if name in POLE else place.duration)
    clock = Clock(duration=1.0, timestep=2.5e-4, rate=1000) if name in FEET else clock
    reference = Hold(offset=(0.0, 0.0, 0.0) if name in POLE + FEET else offset, wrench=wrench)
    return Run(robot, law_of(name, place), world, reference, clock=clock, q_start=q, v_start=v)


def wall_at(robot: Robot, q: np.ndarray, normal: np.ndarray, stiffness: float) -> Surface:
    """A wall that the tip just touches."""
    geoms = [robot.model.geom(g) for g in range(robot.model.ngeom)]
    tip = next((float(geom.size[0]) for geom in geoms if geom.name == "tip"), 0.0)
    place = robot.pose(q).position - tip * normal
    return Surface(position=tuple(place), normal=tuple(normal), stiffness=stiffness, damping=50.0)


def miss(name: str, run: Run, trace: Trace) -> float:
    """How far the law is from its promise at the end."""
    if name == "passive":  # nothing but losses: energy never rises, J
        return float(np.diff(trace["energy.kinetic"] + trace["energy.potential"]).max())
    if name == "gravity-compensation":
        return float(np.abs(trace["v"][-1]).max())  # rest
    if name in JOINTS:
        return float(np.abs(trace["target_q"][-1] - trace["q"][-1]).max())
    if name in STOP:  # the tool and every joint at rest, and the tool on its line
        ways = trace["tool_position"] - trace["tool_position"][0]
        along = trace["tool_twist"][0, :3] / np.linalg.norm(trace["tool_twist"][0, :3])
        aside = np.linalg.norm(ways - np.outer(ways @ along, along), axis=1)
        standing = float(np.abs(trace["v"][-1]).max())
        return max(standing, float(aside.max()))
    if name in POLE:
        return float(trace["pole.tilt"][-1])
    if name in (*TOOL, *STACK, *FEET):
        return float(np.abs(trace["target_position"][-1] - trace["tool_position"][-1]).max())
    if name in YIELDING:  # K Δp + D Δṗ + M Δp̈ = f, started at rest: the solution of (31) at the end
        law: Any = run.law.suited(run.robot, rig_of(run.world, run.clock, run.start()[0]))
        reference: Any = run.reference
        t = float(trace.time[-1])
        w = np.sqrt(10.0 / 5.0)
        rising = 1 - (1 + w * t) * np.exp(-w * t)
        moved = trace["tool_position"][-1] - trace["tool_position"][0] - np.array(reference.offset)
        force = trace["push_wrench"][-1, :3] + np.array(run.world.sensors.wrench.bias[:3])
        kept = [i for i, d in enumerate("xyz") if d in law.directions]
        return float(np.abs(moved - force / 10.0 * rising)[kept].max())
    normal = np.array(run.world.surfaces[0].normal) if run.world.surfaces else np.eye(3)[2]
    return abs(float(normal @ trace["contact_wrench"][-1, :3]) - FORCE)


def everything_said(trace: Trace) -> list[str]:
    return [*trace.warnings, *trace.facts.remarks]


def check(name: str, place: Place, expected: Expected) -> None:
    if isinstance(expected, Refused):
        with pytest.raises(PalpateError, match=expected.words):
            simulate(run_of(name, place))
        return
    run = run_of(name, place)
    if isinstance(expected, Designed):
        known = design(run, limits=False)
        assert known.trace.outcome.kind == "diverged" or miss(name, run, known.trace) == 0.0
        assert any(re.search(expected.words, text) for text in known.warnings), known.warnings
        return
    trace = simulate(run)
    if isinstance(expected, Told):
        said = everything_said(trace)
        assert any(re.search(expected.words, text) for text in said), (trace.outcome, said)
        return
    assert trace.outcome.kind == "completed", trace.outcome
    assert miss(name, run, trace) <= expected.tolerance, everything_said(trace)
    assert name == "passive" or not any("UNSTABLE" in text for text in trace.warnings), trace.warnings


def of(*laws: str, expected: Expected) -> dict[str, Expected]:
    return dict.fromkeys(laws, expected)


NOISE = {"encoder_noise": 1e-5, "velocity_noise": 2e-3, "wrench": WrenchSensor(noise_force=0.3, noise_torque=0.01)}
LATE = {"delay": 25, "wrench": WrenchSensor(delay=25)}
BIASED = {"wrench": WrenchSensor(bias=(0.0, 0.0, 2.0, 0.0, 0.0, 0.0))}
QUIET = {"wrench": WrenchSensor(noise_force=1e-6)}
STUCK = {"faults": (Fault(what="wrench-frozen", at=0.05),)}
STRONG = {"pushes": (Push(force=(0.0, 0.0, -2000.0), duration=0.2),)}
HEAVIER = {"plant": PlantChange(mass_scale=1.05)}
REACH = (0.05, 0.03, -0.04)

REST_AND_JOINTS = {**of(*REST, expected=Right(2e-2)), **of(*JOINTS, expected=Right(1e-3))}
EDGES: dict[str, tuple[Place, dict[str, Expected]]] = {
    "fewer freedoms than directions": (
        Place("planar2", "planar2"),
        {
            **REST_AND_JOINTS,
            **of("operational-space", "shaped-impedance", "admittance", expected=Refused("never moves along .*z")),
            **of("cartesian-impedance", expected=Right(1e-6)),
            **of(*PRESSING, expected=Refused("never moves along .*z")),
            **of(*STACK, expected=Right(1e-6)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Refused("needs.*6 or 7 joints")),
        },
    ),
    "more freedoms than directions": (
        Place(servo="iiwa14", offset=REACH, duration=2.0),
        {
            **REST_AND_JOINTS,
            **of(*TOOL, expected=Right(3e-3)),
            **of(*YIELDING, expected=Right(1e-3)),
            **of(*PRESSING, expected=Right(0.2)),
            **of(*STACK, expected=Right(3e-3)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "singular posture": (
        Place("planar2", "planar2", ("x", "y"), (0.0, 0.0), offset=(0.1, 0.0, 0.0)),
        {
            **REST_AND_JOINTS,
            **of("operational-space", "shaped-impedance", expected=Told("near.*singular")),
            **of("cartesian-impedance", expected=Told("target.*reach")),
            **of("admittance", expected=Told("reach.*near")),
            **of("integral-force", expected=Told("force integral")),
            **of("direct-force", "parallel-force", "hybrid-force", expected=Told("near.*singular")),
            **of(*STACK, expected=Told("relaxed")),
            **of(*STOP, expected=Told("direction")),
            **of(*POLE, expected=Refused("needs.*6 or 7 joints")),
        },
    ),
    "torque limits reached": (
        Place(settings=STRONG, duration=0.3),
        of(*ALL, expected=Told("torque.*changed|rated speed|reached.*stop")),
    ),
    "sensors noisy": (
        Place(sensors=NOISE, offset=REACH, duration=2.0),
        {
            **of(*REST, expected=Right(2e-2)),
            **of(*JOINTS, expected=Right(5e-3)),
            **of(*TOOL, expected=Right(6e-3)),
            **of(*YIELDING, expected=Right(3e-3)),
            **of(*PRESSING, expected=Right(1.0)),
            **of(*STACK, expected=Right(6e-3)),
            **of(*STOP, expected=Right(5e-3)),
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "sensors late": (
        Place(sensors=LATE, offset=REACH, duration=1.5),
        {
            **of(*REST, expected=Designed("UNSTABLE")),
            **of("joint-impedance", "cartesian-impedance", expected=Designed("UNSTABLE")),
            **of("computed-torque", expected=Right(1e-3)),
            **of("operational-space", "shaped-impedance", expected=Right(1e-2)),
            **of(*PRESSING, expected=Right(1.0)),
            **of(*YIELDING, expected=Right(5e-3)),
            **of(*STACK, expected=Right(1e-2)),
            **of(*STOP, expected=Told("had not stopped")),  # its optimum switches; without friction it may swing on
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "wrench sensor biased": (
        Place(sensors=BIASED, duration=2.0),
        {
            **REST_AND_JOINTS,
            **of("operational-space", "cartesian-impedance", expected=Right(1e-6)),
            **of("shaped-impedance", expected=Right(2.0 / 400 + 1e-4)),  # the spring bears the bias
            **of(*YIELDING, expected=Right(1e-3)),  # it yields to the bias as to a push
            **of(*PRESSING, expected=Right(2.0 + 0.2)),  # the reading is held, the force is off by the bias
            **of(*STACK, expected=Right(1e-6)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "wrench sensor stuck": (
        Place(
            sensors={"wrench": WrenchSensor(noise_force=1e-6)}, settings=STUCK, duration=1.0, offset=(0.0, 0.0, 0.02)
        ),
        {
            **REST_AND_JOINTS,
            **of("operational-space", "cartesian-impedance", expected=Right(5e-3)),
            **of("shaped-impedance", expected=Right(5e-3)),
            **of(*YIELDING, *PRESSING, expected=Told("measured.*stuck")),
            **of(*STACK, expected=Right(5e-3)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "wall stiffer than foreseen": (
        Place(wall=1e6, duration=0.5),
        {
            **REST_AND_JOINTS,
            **of(*TOOL, expected=Right(1e-6)),
            **of(*YIELDING, expected=Right(1e-3)),
            **of(*PRESSING, expected=Told("UNSTABLE|close.*unstable|coarse")),
            **of(*STACK, expected=Right(1e-6)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "no contact": (
        Place(wall=0.0, duration=0.5),
        {
            **REST_AND_JOINTS,
            **of(*TOOL, expected=Right(1e-6)),
            **of(*YIELDING, expected=Right(1e-3)),
            **of("integral-force", "direct-force", "parallel-force", expected=Told("no contact")),
            **of("hybrid-force", expected=Told("contact made 0 times")),
            **of(*STACK, expected=Right(1e-6)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
        },
    ),
    "wrong model": (
        Place(settings=HEAVIER, duration=3.0),
        {
            **of(*REST, expected=Right(0.2)),  # the arm sinks by its unknown weight, slowly under its damping
            **of("joint-impedance", expected=Right(0.1)),
            **of("computed-torque", expected=Right(0.2)),
            **of("operational-space", expected=Right(0.02)),
            **of("cartesian-impedance", expected=Right(0.05 * 17 * 9.81 / 400)),  # its weight at the tool
            **of("shaped-impedance", expected=Right(0.05)),
            **of(*YIELDING, expected=Right(1e-3)),
            **of(*PRESSING, expected=Right(0.5)),  # the integral takes the error out
            **of(*STACK, expected=Right(0.02)),
            **of(*STOP, expected=Right(0.1)),  # it stops, and then sinks by its unknown weight
            **of(*POLE, expected=Right(0.02)),
        },
    ),
}


LOAD = {"attachments": (Attachment(mass=2.0, attach=0.3),)}
DEAD = {"faults": (Fault(what="wrench-dropout", at=0.0),)}
MOON = {"gravity": (0.0, 0.0, -1.62)}
SLOW = {"driver": Driver(servo_bandwidth=2.0)}
RUBS = {"plant": PlantChange(joint_friction=3.0)}
EDGES |= {
    "payload on the way": (
        Place(settings=LOAD, duration=2.0),
        {
            **of(*ALL, expected=Told("not keep.*kept without load 'payload'")),
            **of("passive", expected=Told("reached.*stop")),
            **of(*YIELDING, expected=Told("not keep.*kept without load 'payload'")),
        },
    ),
    "wrench sensor dead": (
        Place(settings=DEAD, duration=1.0),
        {
            **REST_AND_JOINTS,
            **of(*TOOL, *STACK, expected=Right(1e-6)),
            **of(*YIELDING, *PRESSING, expected=Told("exactly 0 from 0.*although .* act")),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
            **of(*FEET, expected=Right(1e-4)),
        },
    ),
    "other gravity": (
        Place(settings=MOON, duration=1.0),
        {
            **of(*ALL, expected=Told("the world's gravity is .* the law's model has")),
            **of("passive", expected=Right(2e-2)),  # it has no model that could differ
            **of(*POLE, expected=Told("assumes gravity.*9.81")),
        },
    ),
    "slow servo": (
        Place(settings=SLOW, duration=1.0),
        {
            **REST_AND_JOINTS,
            **of(*TOOL, *STACK, expected=Right(1e-6)),
            **of(*YIELDING, expected=Right(5e-3)),  # behind its frame by less than the law tells; see below
            **of(*PRESSING, expected=Right(1e-3)),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
            **of(*FEET, expected=Right(1e-4)),
        },
    ),
    "joint friction": (
        Place(settings=RUBS, offset=REACH, duration=2.0),
        {
            **REST_AND_JOINTS,
            **of(*TOOL, *STACK, expected=Told("not keep.*promise.*kept without friction")),
            **of(*YIELDING, expected=Right(1e-3)),
            **of("integral-force", expected=Right(1e-3)),
            **of("direct-force", "parallel-force", "hybrid-force", expected=Told("kept without friction")),
            **of(*STOP, expected=Right(1e-3)),
            **of(*POLE, expected=Right(0.02)),
            **of(*FEET, expected=Told("kept without friction")),
        },
    ),
}
STANDS = Right(1e-4)  # these edges are none for a machine that stands: no wrench sensor, and the floor it is given
for edge, expected in {
    "fewer freedoms than directions": Refused("no free base"),
    "more freedoms than directions": STANDS,
    "singular posture": Refused("no free base"),
    "torque limits reached": Told("torque.*changed"),
    "sensors noisy": Refused("noise.*resolution"),
    "sensors late": STANDS,
    "wrench sensor biased": STANDS,
    "wrench sensor stuck": STANDS,
    "wall stiffer than foreseen": STANDS,
    "no contact": STANDS,
    "wrong model": Told("kept without the plant's other masses"),
}.items():
    EDGES[edge][1]["standing"] = expected


def test_the_table_has_a_cell_for_every_compiled_law_at_every_edge() -> None:
    compiled = {name for name in LAWS.shipped if isinstance(getattr(law_class(name), "kernel", None), Kernel)}
    assert compiled <= set(ALL)
    for edge, (_, cells) in EDGES.items():
        assert set(cells) == set(ALL), edge


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", ALL)
def test_a_law_at_an_edge_is_right_or_refused_or_says_so(name: str, edge: str) -> None:
    place, cells = EDGES[edge]
    check(name, place, cells[name])


def test_an_admittance_whose_servo_does_not_follow_its_frame_says_so() -> None:
    """The tool is behind in proportion to the push: 3.5 mm under that of the table, more than 5 mm under twice that."""
    pushes = (Push(force=(1.2, -0.6, -1.0), duration=9.0),)
    check("admittance", Place(settings={**SLOW, "pushes": pushes}), Told("servo.*not follow"))
