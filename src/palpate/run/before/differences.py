"""Declared differences between the world and the law's model of it, each with what it does to an arm at rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from palpate.checks import Array
from palpate.control.law import Law
from palpate.control.promise import promise_axes
from palpate.robot.robot import Robot
from palpate.run.assemble.assemble import Assembly
from palpate.run.run import Run
from palpate.run.tangent.edge import affordable_state
from palpate.run.tangent.rest import Compliance, compliance_here, farthest
from palpate.world.config import Attachment, PlantChange, World
from palpate.world.plants.plant import dry_friction, true_robot

_MASSES = ("mass_scale", "link_mass_scale", "com_offset")


@dataclass(frozen=True)
class ModelDifference:
    """One difference at a posture.

    Attributes:
        what: in words.
        cause: "friction", "model" or "sensor".
        torque: joint torques that it adds, N·m or N; of friction, the largest that it can.
        reading: what it adds to the measured wrench beside what acts, N and N·m, world axes at the tool's origin.
        shift: of the tool from where the law takes it to be, m.
        since, until: s.
        contradicts: whether two settings state the same thing differently, which is worth a warning.
    """

    what: str
    cause: str
    torque: Array
    reading: Array = field(default_factory=lambda: np.zeros(6))
    shift: Array = field(default_factory=lambda: np.zeros(3))
    since: float = 0.0
    until: float = np.inf
    contradicts: bool = False

    def moves(self, compliance: Compliance, rows: Array) -> Array:
        """How far it moves what the rows over the joints give, at rest; nothing is known of friction's direction."""
        if self.cause == "friction":
            return np.zeros(len(rows))
        return rows @ (compliance.torque @ self.torque + compliance.reading @ self.reading)

    def moves_at_most(self, compliance: Compliance, rows: Array) -> float:
        """The length of that; of friction, how far it can hold it off."""
        if self.cause == "friction":
            return farthest(rows @ compliance.torque, self.torque)
        return float(np.linalg.norm(self.moves(compliance, rows)))


def differences(assembly: Assembly, q: Array) -> list[ModelDifference]:
    """Everything that the world declares to be other than the law's model has it, at a posture."""
    run = assembly.run
    robot, world = run.robot, run.world
    if (
        robot.unresisted or robot.coordinates.coupled or not run.law.traits.holds
    ):  # a law that holds nothing has no model
        return []
    listed = [_gravity(assembly, q), _masses(run, q), *_loads(assembly, q), _friction(assembly), *_frames(robot, world)]
    listed.append(_gears(assembly, q))
    return [each for each in [*listed, _bias(run)] if each is not None]


def _weight_difference(robot: Robot, world: World, q: Array) -> Array:
    """The torque that the plant's weight adds beside what the nominal model holds up."""
    return robot.gravity(q) - _true_robot(robot, world.model_dump_json()).gravity(q)


@lru_cache(maxsize=4)
def _true_robot(robot: Robot, world: str) -> Robot:
    """The robot as a world has it, kept from the start of a run to its end: it takes as long as the forecast."""
    return true_robot(robot, World.model_validate_json(world))


def _gravity(assembly: Assembly, q: Array) -> ModelDifference | None:
    run = assembly.run
    true, known = run.gravity, run.robot.model.opt.gravity
    if np.abs(true - known).max() <= 1e-9 * max(float(np.abs(known).max()), 1.0):
        return None
    words = ["({})".format(", ".join(f"{g:.6g}" for g in each)) for each in (true, known)]
    reading = np.zeros(6)
    wrist = assembly.loop.wrist
    if wrist.compensate:  # it takes off the weight that the law's model gives the tool
        carried = sum(float(assembly.plant.model.body_mass[b]) for b, own in zip(wrist.beyond, wrist.known) if own >= 0)
        reading[:3] = carried * (true - known)
    return ModelDifference(
        f"the world's gravity is {words[0]} m/s², the law's model has {words[1]} m/s²",
        "model",
        _weight_difference(run.robot, World(gravity=tuple(true)), q),
        reading,
        contradicts=True,
    )


def _masses(run: Run, q: Array) -> ModelDifference | None:
    change = run.world.plant
    masses = {name: getattr(change, name) for name in _MASSES}
    if masses == {name: getattr(PlantChange(), name) for name in _MASSES}:
        return None
    every = {"every link": change.mass_scale} if change.mass_scale != 1.0 else {}
    scaled = [f"{name} {scale:g} times" for name, scale in {**every, **change.link_mass_scale}.items()]
    words = [f"the plant's masses differ from the law's model: {', '.join(scaled)} as heavy"] if scaled else []
    if any(change.com_offset):
        words.append("the links' centres of mass are shifted by ({:g}, {:g}, {:g}) m".format(*change.com_offset))
    torque = _weight_difference(run.robot, World(gravity=run.world.gravity, plant=PlantChange(**masses)), q)
    if run.world.gravity is not None:
        torque = torque - _weight_difference(run.robot, World(gravity=run.world.gravity), q)
    return ModelDifference(" and ".join(words), "model", torque)


def _loads(assembly: Assembly, q: Array) -> list[ModelDifference]:
    run, felt = assembly.run, set(assembly.loop.wrist.beyond.tolist())
    return [
        _load(run, load, body in felt, q)
        for load, body in zip(run.world.attachments, assembly.plant.attachment_bodies)
    ]  # fmt: skip


def _load(run: Run, load: Attachment, felt: bool, q: Array) -> ModelDifference:
    robot, gravity = run.robot, run.gravity
    frame = robot.pose(q, load.frame)
    com = frame.position + frame.rotation @ np.array(load.com)
    J = robot.jacobian(q, load.frame)
    arm = com - frame.position
    weight = load.mass * gravity
    torque = J[:3].T @ weight + J[3:].T @ np.cross(arm, weight)
    reading = np.zeros(6)
    if felt:
        reading = np.r_[weight, np.cross(com - robot.pose(q).position, weight)]
    when = f" from {load.attach:g} s on" if load.attach > 0 else ""
    when += f" until {load.release:g} s" if load.release is not None else ""
    what = f"load {load.name!r} of {load.mass:g} kg{when} is not in the law's model"
    until = np.inf if load.release is None else load.release
    return ModelDifference(what, "model", torque, reading, since=load.attach, until=until)


def _friction(assembly: Assembly) -> ModelDifference | None:
    """Dry friction of the joints, which no law's model has."""
    robot = assembly.run.robot
    friction = dry_friction(robot, assembly.run.world)
    if not friction.any():
        return None
    most = int(np.argmax(friction))
    unit = "N" if robot.dof_units[most] == "m" else "N·m"
    return ModelDifference(
        f"the joints have dry friction of up to {friction[most]:.3g} {unit} ({robot.dof_names[most]}), which is not"
        " compensated at rest",
        "friction",
        friction,
    )


def _gears(assembly: Assembly, q: Array) -> ModelDifference | None:
    """Gears that give under the arm's weight, where the law reads its motors' angles as the links'."""
    run, elastic = assembly.run, assembly.plant.elastic
    if elastic is None or run.world.sensors.encoders != "motor":
        return None
    bent = -run.robot.gravity(q) / elastic.stiffness
    most = int(np.argmax(np.abs(bent)))
    return ModelDifference(
        f"gears give under the arm's weight by up to {1e3 * abs(bent[most]):.3g} m{run.robot.dof_units[most]}"
        f" ({run.robot.dof_names[most]}), and encoders are at the motors",
        "model",
        np.zeros(run.robot.nv),
        shift=run.robot.jacobian(q)[:3] @ bent,
    )


def _frames(robot: Robot, world: World) -> list[ModelDifference]:
    change, none = world.plant, np.zeros(robot.nv)
    return [
        ModelDifference(
            "the {} of the plant is ({:g}, {:g}, {:g}) m off its position in the law's model".format(what, *offset),
            "model", none, shift=np.array(offset),
        )
        for what, offset in (("base", change.base_position), ("tool frame", change.tool_offset))
        if any(offset)
    ]  # fmt: skip


def _bias(run: Run) -> ModelDifference | None:
    wrench = run.world.sensors.wrench
    if not any(wrench.bias) or not (isinstance(run.law, Law) and run.law.reads.wrench):
        return None
    words = ", ".join(f"{b:g}" for b in wrench.bias)
    return ModelDifference(
        f"the wrench sensor is off by ({words}) N, N·m", "sensor", np.zeros(run.robot.nv), np.array(wrench.bias)
    )


def model_differences(assembly: Assembly, *, friction: bool = False) -> tuple[list[str], list[str]]:
    """Every difference at the start posture in words, and those among them that are worth a warning.

    A plant change, a load or friction is there to be tried; a gravity that world and model give differently is not.

    Args:
        assembly: at its start.
        friction: whether to ask the loop how far friction can hold the tool off, too.
    """
    run, q = assembly.run, assembly.run.start()[0]
    mismatches = differences(assembly, q)
    if not mismatches:
        return [], []
    acting = friction or any(d.cause != "friction" and (d.torque.any() or d.reading.any()) for d in mismatches)
    compliance, force = _compliance_at_start(assembly) if acting else None, _force_directions(run, q)
    words = [in_words(each, compliance, run.robot, q, force) for each in mismatches]
    # The law that has a gravity of its own has compared it already.
    warned = [text for each, text in zip(mismatches, words) if each.contradicts and not assembly.law.warnings]
    return [f"declared difference: {text}" for text in words], warned


def _compliance_at_start(assembly: Assembly) -> Compliance | None:
    """How the arm gives way at the start, under the law that holds it; None where that takes long, or is not known."""
    pressing = bool(assembly.run.law.traits.force_directions)
    state = affordable_state(assembly)
    return None if state is None else compliance_here(assembly, pressing=pressing, state=state)


def _force_directions(run: Run, q: Array) -> Array:
    """The rows over [f; n], world axes, along which the law controls a wrench."""
    promises = run.law.traits.promises(run.robot)
    rows = [promise_axes(each, run.robot.pose(q).rotation, each.force) for each in promises]
    return np.vstack([np.zeros((0, 6)), *rows])


def in_words(each: ModelDifference, compliance: Compliance | None, robot: Robot, q: Array, force: Array) -> str:
    """A difference with its static effect: on the tool where the law holds the arm, else on the joints.

    Args:
        each: the difference.
        compliance: of the arm under its law; None where it is not known.
        robot, q: as the law knows it, and the posture.
        force: m×6, the directions along which the law controls a wrench; no rows if it controls none.
    """
    effects = list(
        filter(None, [_on_joints(each, robot), _on_tool(each, compliance, robot, q), _on_force(each, force)])
    )
    if not effects and compliance is None and each.cause == "friction":  # nobody has asked
        return each.what
    return f"{each.what}: {'; '.join(effects) or 'no effect at rest'}"


def _on_joints(each: ModelDifference, robot: Robot) -> str:
    if not each.torque.any() or each.cause == "friction":
        return ""
    most = int(np.argmax(np.abs(each.torque)))
    unit = "N" if robot.dof_units[most] == "m" else "N·m"
    return f"up to {abs(each.torque[most]):.3g} {unit} more at {robot.dof_names[most]}"


def _on_tool(each: ModelDifference, compliance: Compliance | None, robot: Robot, q: Array) -> str:
    if each.shift.any():
        return f"the tool is {1e3 * np.linalg.norm(each.shift):.3g} mm away from its position in the law's model"
    if compliance is None:
        return ""
    if each.cause != "friction" and np.abs(each.torque[~compliance.held]).max(initial=0.0) > 1e-9:
        return "the law has no stiffness against it"
    moved = each.moves_at_most(compliance, robot.jacobian(q)[:3])
    if moved < 1e-7:
        return ""
    verb = "steady-state error of the tool of up to" if each.cause == "friction" else "moves the tool by"
    size = f"{1e3 * moved:.3g} mm" if moved < 1.0 else f"{moved:.3g} m"
    return f"{verb} {size} {'in free motion' if each.cause == 'friction' else 'at rest'}"


def _on_force(each: ModelDifference, force: Array) -> str:
    off = np.abs(force @ each.reading)
    return f"the force has an error of {off.max():.3g} N or N·m" if off.max(initial=0.0) > 1e-9 else ""
