"""The arm of which `palpate show` prints terms: a robot with the options of the command line, or a scenario's own."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.check import model_options, model_overrides
from palpate.cli.parameters import JOINT_CHOICES, parameters_from
from palpate.cli.tables import number, numbers
from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from palpate.checks import Array
    from palpate.control.design.pole import PoleModel
    from palpate.robot.robot import Robot
    from palpate.scenario.model import Scenario

END_EFFECTOR = 1.0  # kg, under a pole, where nothing else is said
STATE = {"q": "--q", "v": "--v", "frame": "--frame"}
LOADS = {"payload": "--payload", "sphere": "--sphere"}
# Options that only terms use, by their attributes.
_TERM_OPTIONS = "task limits method tau force plane friction restitution rate pole sphere"
OF_TERMS = {name: f"--{name}" for name in _TERM_OPTIONS.split()}


@dataclass(frozen=True)
class Arm:
    """A robot at a state, with what it carries.

    Attributes:
        robot: with its payload.
        q, v: its state.
        words: which robot, joints, payload and state these are, in one line.
        pole: the pole that stands on its tool; None where only its direction may be given.
        direction: from the pole's foot to its sphere at the start, m; None likewise.
        end_effector_mass: mass on the tool under a pole, kg.
        sphere_mass: of a pole that is given by its direction, kg; the model's default if None.
    """

    robot: Robot
    q: Sequence[float] | Array
    v: Sequence[float] | Array
    words: str
    pole: PoleModel | None = None
    direction: Sequence[float] | None = None
    end_effector_mass: float = END_EFFECTOR
    sphere_mass: float | None = None

    def pole_along(self, direction: Sequence[float]) -> PoleModel:
        """The pole: the scenario's, or one as long as the direction given."""
        if self.pole is not None:
            return self.pole
        from palpate.control.design.pole import PoleModel

        sphere = {} if self.sphere_mass is None else {"sphere_mass": self.sphere_mass}
        down = float(-self.robot.model.opt.gravity[2])
        return PoleModel(math.hypot(*direction), end_effector_mass=self.end_effector_mass, gravity=down, **sphere)


def refuse_unused(args: argparse.Namespace, options: dict[str, str], message: str) -> None:
    """Refuse options that were given and would have no effect."""
    given = [option for name, option in options.items() if getattr(args, name) not in (None, [])]
    if given:
        raise InvalidInput(f"{given[0]} {message}")


def robot_asked(args: argparse.Namespace, terms: Sequence[str]) -> Arm:
    """The robot of the command line; under a pole (the term tauf) with an end-effector."""
    parameters: Any = parameters_from(args.set)
    joints: Any = JOINT_CHOICES[args.joints or "as-built"]
    robot = pp.load_robot(args.robot, **model_options(args), joints=joints, **parameters)
    payload = END_EFFECTOR if args.payload is None and "tauf" in terms else args.payload
    if payload is not None:
        robot = robot.with_payload(payload)
    load = "" if payload is None else f" with {number(payload)} kg on its tool frame"
    assumed = ", the end-effector under the pole (--payload KG sets it)" if payload and args.payload is None else ""
    q, v, at = _state(robot, args, robot.home, [0.0] * robot.nv, "at home")
    return Arm(
        robot, q, v, f"{robot.name}{load}{assumed}, {at}; {joints_in_words(robot)}",
        end_effector_mass=END_EFFECTOR if payload is None else payload,
        sphere_mass=args.sphere,
    )  # fmt: skip


def scenario_shown(args: argparse.Namespace) -> Scenario:
    """The scenario of the command line, with its changes."""
    changes = [*model_overrides(args), *args.set]
    if args.joints is not None:
        changes.append(f"robot.joints={json.dumps(JOINT_CHOICES[args.joints])}")
    return pp.load_scenario(args.robot, changes)


def arm_of_scenario(args: argparse.Namespace, terms: Sequence[str]) -> Arm:
    """A scenario's robot as its law knows it, with tool and payload, at its start; and its pole."""
    from palpate.scenario.robot import build_robot, start_state

    refuse_unused(args, LOADS, "is not for a scenario, which has its own: --set robot.payload.mass=2 or"
                  " world.pole.mass=0.2 changes it")  # fmt: skip
    scenario = scenario_shown(args)
    settings = scenario.robot
    robot = build_robot(settings)
    payload, own = settings.payload, None if settings.payload is None else settings.payload.mass
    carried = [
        f"{name} of {number(load.mass)} kg" for name, load in (("tool", settings.tool), ("payload", payload)) if load
    ]
    if own is None and "tauf" in terms:
        robot, own = robot.with_payload(END_EFFECTOR), END_EFFECTOR
        carried.append(f"{number(own)} kg as end-effector under the pole (--set robot.payload.mass=… sets it)")
    start = start_state(settings.start, robot)
    q, v, at = _state(robot, args, *start, "at the scenario's start")
    load = f" with {' and '.join(carried)}" if carried else ""
    later = "; without world.attachments" if scenario.world.attachments else ""
    words = f"{scenario.name}: {robot.name}{load}, {at}; {joints_in_words(robot)}{later}"
    end_effector = END_EFFECTOR if own is None else own
    return Arm(robot, q, v, words, *_pole(scenario, robot, end_effector), end_effector_mass=end_effector)


def _pole(scenario: Scenario, robot: Robot, end_effector: float) -> tuple[PoleModel | None, Sequence[float] | None]:
    """The world's pole on the scenario's end-effector, and its direction at the start."""
    from palpate.control.design.pole import PoleModel
    from palpate.spatial.euler import matrix_from_euler

    pole = scenario.world.pole
    if pole is None:
        return None, None
    gravity = robot.model.opt.gravity if scenario.world.gravity is None else scenario.world.gravity
    model = PoleModel(pole.length, pole.mass, end_effector, float(-gravity[2]), pole.rod_mass)
    return model, [float(x) for x in pole.length * matrix_from_euler((*pole.tilt, 0.0), "XYZ")[:, 2]]


def _state(robot: Robot, args: argparse.Namespace, q: Any, v: Any, start: str) -> tuple[Any, Any, str]:
    """The state of --q and --v, or the one given here; and which, in words."""
    if args.q is not None:
        q, start = numbers(args.q, "--q"), "at --q"
    if args.v is not None:
        v, start = numbers(args.v, "--v"), f"{start} and --v"
    return q, v, start


def joints_in_words(robot: Robot) -> str:
    """Whether M contains rotor inertia."""
    from palpate.robot.build import JOINTS

    if robot.text(JOINTS) == "ideal":
        return "joints ideal: no rotor inertia in M"
    if robot.joint_stiffness is not None:
        return "joints elastic: rotor inertia in M, as if gears were rigid"
    if robot.model.dof_armature[robot.coordinates.kept].any():
        return "joints as built: rotor inertia in M (--joints ideal: without)"
    return "joints as built: no rotor inertia known, M is that of the links"
