"""From a run to the record its loop works on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.around import Surroundings, surrounded
from palpate.control.bound_law import BoundLaw
from palpate.control.friction import compensation_of, with_friction_term
from palpate.control.guards import GuardMemory, guard_settings
from palpate.control.reads import NEEDS
from palpate.control.references.reference import WRENCH_AXES, Reference
from palpate.control.rig import Beginning
from palpate.control.tick import Target, Tick, sizes_of
from palpate.engine.physics import Physics
from palpate.engine.records import Record
from palpate.equations.code.tree_program import TreeProgram
from palpate.errors import InvalidInput, MassesMissing, TooLarge, UnknownName
from palpate.memory import free_bytes, shown_bytes
from palpate.robot.frames import Frame
from palpate.robot.joints.coupled import coupled_model
from palpate.robot.robot import Robot
from palpate.run.assemble.carrier import EQUATIONS, Carrier, carrier_of
from palpate.run.assemble.drives import drives_of, with_servo_rotors
from palpate.run.assemble.elastic import elastic_joints_of
from palpate.run.assemble.event_plant import EventPlant
from palpate.run.assemble.parts import below, part
from palpate.run.assemble.recording import BATCH, asked_for, kept_fields, samples_of
from palpate.run.loop.row import Layout, layout
from palpate.run.loop.state import JointWatch, Load, Loop, Needs, RigidPoint, RigidReading, Shows, StopRule, WantedAxes
from palpate.run.run import Run
from palpate.run.stepping import Rescues
from palpate.toolbox import plant_class
from palpate.trace import Channel
from palpate.world.config import PlantChange, Surface
from palpate.world.forces.contact import compliant_names, contact_pairs, surface_state
from palpate.world.forces.pushes import Pushed, push_state
from palpate.world.plants.contact_sensors import POINT_NUMBERS
from palpate.world.plants.elastic.motors import ElasticJoints
from palpate.world.plants.joint_friction import joint_friction
from palpate.world.plants.plant import Plant, build_plant
from palpate.world.plants.tree_plant import TreeModel, TreePlant, no_model, no_tree, tree_model, tree_of, tree_plant
from palpate.world.rigid.contact import ShapeReadings
from palpate.world.rigid.pairs import pairs_of, rigid_touches, shape_meets_rigid
from palpate.world.rigid.step import holding, no_holding
from palpate.world.sensing.custom import BoundSensor, Truth, bound_sensors
from palpate.world.sensing.faults import fault_state
from palpate.world.sensing.sensors import bodies_beyond, joint_sensors, pole_camera, wrist_sensor

_PEAK = 1.5  # of the record: what a run takes of memory at its peak
_MASS_TERMS = ("M", "bias", "gravity")
_WIDEST_READING = 10  # found, force, moment, position


@dataclass
class Assembly:
    """A run ready to start: its loop, and everything that must stay alive while the loop holds addresses.

    `sampled` is the reference whose targets the loop holds, of the control ticks of `sampled_span`; none at first.
    """

    run: Run
    plant: Plant
    law: BoundLaw
    data: mujoco.MjData
    nominal: mujoco.MjData
    layout: Layout
    chosen: tuple[Channel, ...]
    loop: Loop
    rescues: Rescues
    carrier: Carrier
    sensors: tuple[BoundSensor, ...] = ()  # custom ones
    exact: EventPlant | None = None  # in the place of the engine's physics
    inside: Run | None = None  # the run whose start was last found inside the joint limits
    sampled: Reference | None = None
    sampled_span: tuple[int, int] = (0, 0)

    @property
    def compiled(self) -> bool:
        """Whether no part of a step is plain Python."""
        return self.law.compiled and all(sensor.compiled for sensor in self.sensors)


def assemble(run: Run, *, share: bool = True) -> Assembly:
    """Build the plant, bind the law and lay everything out for the loop.

    Args:
        run: what to run.
        share: let the law read its model off the plant where both are one; False evaluates it apart.
    """
    run = suited(run)
    robot, (q, v) = run.robot, run.start()
    law = begun(run)
    _refuse_what_a_run_cannot_do(run, law)
    plant = _scene(run, q)
    data, nominal = mujoco.MjData(plant.model), mujoco.MjData(robot.model)
    set_state(plant, data, q, v)
    loads, felt, custom = _loads(run, plant), felt_bodies(run, plant), run.world.sensors.custom
    exact = plant_class("exact")(run, plant, felt) if run.world.is_exact else None
    points = (*compliant_names(plant), *plant.rigid_points) if run.record.points and exact is None else ()
    rows = layout(robot, plant, law, custom, () if exact is None else exact.touches, points)
    sensors = bound_sensors(custom, robot)
    law = writing_to(law, rows)
    chosen, carrier = run.record.choose(rows.channels), carrier_of(run, plant)
    refuse_too_large(run, chosen)
    # Equations give J̇ v; a law that reads J̇ itself has its model evaluated by the engine.
    derived = carrier.name == EQUATIONS and "J_rate" not in law.needs
    shared = share and can_share(run, plant) and (derived or carrier.name != EQUATIONS)
    physics, tool = Physics.of(plant.model, data), plant.tool if shared else robot.frame()
    (coordinate, dof), tool_rotation = plant.places(), np.zeros((3, 3))
    of_law, outside = _law(run, law, rows), outside_fields(run, plant, physics, rows, felt, carrier)
    measuring = sensor_fields(run, plant, law, shared)
    tree, program = _tree(run, plant, outside, measuring) if carrier.name == EQUATIONS else (no_tree(), None)
    loop = Loop(
        {"N": plant.model.nv, "NQ": plant.model.nq},
        plant=physics,
        nominal=physics if shared else Physics.of(robot.model, nominal),
        shared=shared,
        kinematic=bool(robot.unresisted),
        coordinate=coordinate,
        dof=dof,
        robot_is_first=all(np.array_equal(indices, np.arange(len(indices))) for indices in (coordinate, dof)),
        ties=plant.ties,
        friction=joint_friction(plant.model, plant.friction, bool(plant.ties.each)),
        elastic=_elastic(run, plant, data),
        coupled=coupled_model(robot),
        nominal_tool=tool.record,
        tool=plant.tool.record,
        tool_rotation=tool_rotation,
        custom=[sensor.record for sensor in sensors],
        truth=_truth(robot, rows, tool_rotation, physics),
        camera=pole_camera(plant, run.world, run.clock.control_period),
        loads=loads,
        **_on_equations(run, plant, tree),
        model=_model(run, program if shared else None, tool, of_law["tick"], tree) if derived else no_model(),
        **_clock(run),
        **of_law,
        **measuring,
        **outside,
        touches=[] if exact is None else exact.readings,
        **_record(run, law, rows, chosen),
    )
    return Assembly(run, plant, law, data, nominal, rows, chosen, loop, Rescues(loop.address), carrier, sensors, exact)


def _built_surfaces(surfaces: tuple[Surface, ...]) -> list[Surface | None]:
    """Surfaces of which every number is in the scene: rigid ones, and those that move."""
    return [one if one.contact == "rigid" or one.motion is not None else None for one in surfaces]


@part(
    "scene",
    built=(
        *("robot", "q_start", "v_start"),
        *below("world.surfaces", "name", "shape", "size", "heights", "file", "scale", "contact", "two_sided"),
        *below("world.surfaces", "static_friction", "restitution", "impact_law"),
        *below("world.surfaces.motion", "velocity", "start", "stop", "amplitude", "frequency"),
        *below("world.pins", "name", "frame"),
        *below("world.exact", "painleve", "order", "shortest_flight", "relative", "absolute"),
        *below("world.objects", "name", "shape", "size", "mass", "position", "quat_wxyz", "velocity", "friction"),
        *below(
            "world.pole", "length", "mass", "rod_mass", "pivot_damping", "pivot_friction", "joint", "tilt", "radius"
        ),
        *below("world", "gravity", "contact_points", "contact_links"),
        *below("world.contact_shapes", "name", "shape", "size", "points", "count", "frame", "position", "quat_wxyz"),
        *below("world.plant", "rotor_inertia", "base_position", "tool_offset"),
        *below("world.driver", "preset", "viscous_compensation", "coulomb_compensation"),
    ),
    renewed=(
        *below("world.plant", "mass_scale", "link_mass_scale", "com_offset", "joint_damping", "joint_friction"),
        *below("world.surfaces", "position", "quat_wxyz", "normal", "friction"),
    ),
    # Centres of mass can be shifted where they are shifted at all: the engine notes which frames coincide.
    built_where={"world.surfaces": _built_surfaces, "world.plant.com_offset": any},
)
def _scene(run: Run, q: Array) -> Plant:
    """The plant in its surroundings."""
    return build_plant(run.robot, run.world, run.clock.timestep, run.clock.integrator, q, run.record.points)


@part(
    "elastic joints",
    built=(
        *below("world.plant", "joint_stiffness", "gear_damping", "breakaway", "stribeck_speed"),
        *below("world.driver", "torque_feedback", "torque_rate_feedback", "torque_bandwidth"),
        "world.sensors.encoders",
    ),
)
def _elastic(run: Run, plant: Plant, data: mujoco.MjData) -> ElasticJoints:
    """Motors and springs behind the joints."""
    return elastic_joints_of(run, plant, data)


def _truth(robot: Robot, rows: Layout, rotation: Array, physics: Physics) -> Truth:
    """Quantities that custom sensors read, at their addresses in the loop."""
    row = rows.row
    parts = {"q": row.q, "v": row.v, "tau": row.tau, "position": row.tool_position, "twist": row.tool_twist}
    return Truth(sizes_of(robot), **parts, rotation=rotation, wrench=row.contact_wrench, plant=physics)


def _tree(run: Run, plant: Plant, outside: dict[str, Any], sensors: dict[str, Any]) -> tuple[TreePlant, TreeProgram]:
    """The plant on its equations, with the motion of all bodies that are read; and their program."""
    wrist, program = sensors["wrist"], tree_of(plant.model)
    bodies = {plant.tool.body, wrist.body, *plant.attachment_bodies, *map(int, wrist.beyond)}
    bodies |= {point.body for point in plant.points} | {push.body for push in outside["pushes"]}
    bodies |= {plant.pole} - {-1} | {touch.point.body for touch in outside["rigid_touches"]}
    reads, holds = len(wrist.beyond) > 0, _holds(run, plant)
    return tree_plant(plant, program, bodies, acceleration_is_read=reads, holds_stops=holds), program


def _holds(run: Run, plant: Plant) -> bool:
    """Whether equations hold stops and rigid surfaces beside joint friction; else a step at a stop is the engine's."""
    able = run.clock.integrator != "implicit"
    return able and bool(plant.friction.any() or plant.elastic or plant.ties.each or pairs_of(plant, run.world))


def _on_equations(run: Run, plant: Plant, tree: TreePlant) -> dict[str, Record]:
    """Fields of the loop for a plant on its equations, and for what these hold."""
    holds, motors = tree.on and tree.holds_stops, plant.model.nv if plant.elastic else 0
    return {
        "tree": tree,
        "holding": holding(plant.model, len(pairs_of(plant, run.world)), motors) if holds else no_holding(),
    }


def _model(run: Run, shared: TreeProgram | None, tool: Frame, tick: Tick, tree: TreePlant) -> TreeModel:
    """The law's model on its equations: the plant's own, `shared`, where both are one; else the robot's.

    Between ticks, and within Runge–Kutta steps, the plant's terms go on and the law's stay: then they are copied.
    """
    if shared is None:
        return tree_model(run.robot.program, tool, tick)
    in_place = run.clock.ratio == 1 and run.clock.integrator == "euler"
    return tree_model(shared, tool, tick, tree, in_place=in_place)


@part("law", built=("around",), renewed=("law",))
def begun(run: Run) -> BoundLaw:
    """The law made ready for the run, with what stands around it and a term for its friction compensation."""
    return with_friction_term(with_surroundings(run), run.robot, _compensated_share(run))


def with_surroundings(run: Run) -> BoundLaw:
    """The law as it begins the run, and what stands around it."""
    start = beginning(run, *run.start())
    law = run.law.begin(run.fitted.law_for_run(), run.robot, start)
    return surrounded(run.around, Surroundings(run.robot, run.law, law, start, run.rig))


def _compensated_share(run: Run) -> float:
    return getattr(run.law, "friction_compensation", 0.0)  # a law in plain Python has no settings


def beginning(run: Run, q: Array, v: Array) -> Beginning:
    """Information that a law gets before the run."""
    world = run.world
    pole = None if world.pole is None else (world.pole.length, world.pole.mass, world.pole.rod_mass)
    seen, period = world.sensors.camera, run.clock.control_period
    interval = period if seen.rate is None else max(1.0 / seen.rate, period)
    camera = None if seen.ideal else (interval, seen.delay, seen.noise)
    return Beginning(q.copy(), v.copy(), period, run.gravity, pole, camera)


def suited(run: Run) -> Run:
    """The run with a law whose open settings are chosen for its robot, clock and sensors, and its servo's rotors."""
    fitted = run.fitted
    run = with_servo_rotors(run if fitted.law is run.law else run.varied(law=fitted.law))
    run.__dict__["fitted"] = fitted
    return run


def _refuse_what_a_run_cannot_do(run: Run, law: BoundLaw) -> None:
    robot, sensors = run.robot, run.world.sensors
    run.world.driver.refuse_misfit(robot, run.clock.control_period, run.clock.timestep)
    _refuse_what_needs_masses(run, law)
    if robot.nq == robot.nv:
        return
    if law.command in ("velocity", "position"):
        raise InvalidInput(f"{robot.name} has a free base, which no servo can move by a {law.command} command")
    if not sensors.model_copy(update={"delay": 0}).ideal:
        raise InvalidInput(f"{robot.name} has a free base; noise and resolution are for joint sensors only")


def _refuse_what_needs_masses(run: Run, law: BoundLaw) -> None:
    """Refuse by name what a robot without masses cannot be asked for; nothing where masses are known."""
    robot, world = run.robot, run.world
    if not robot.unresisted:
        return
    masses = [name for name in _MASS_TERMS if law.compiled and name in law.needs]
    geometry = world.plant.model_copy(
        update={name: PlantChange.model_fields[name].default for name in ("base_position", "tool_offset")}
    )
    asked = {
        f"the {law.command} command of the law {law.name!r}": law.command in ("torque", "acceleration"),
        f"the law {law.name!r} (it reads {', '.join(masses)})": bool(masses),
        "contact with a rigid surface": any(surface.contact == "rigid" for surface in world.surfaces),
        "a free object beside the motion": bool(world.objects),
        "a pole on the tool": world.pole is not None,
        "a load attached during the run": bool(world.attachments),
        "a plant of other masses or losses (world.plant)": geometry != PlantChange(),
    }
    for what, is_asked in asked.items():
        if is_asked:
            raise MassesMissing(what, robot.name, robot.unresisted)


def set_state(plant: Plant, data: mujoco.MjData, q: Array, v: Array) -> None:
    """Put everything where it starts."""
    data.qpos[:], data.qvel[:] = plant.q0, plant.v0
    q, v = plant.robot.coordinates.expand_position(q), plant.robot.coordinates.expand_velocity(v)
    data.qpos[: len(q)], data.qvel[: len(v)] = q, v


def can_share(run: Run, plant: Plant) -> bool:
    """Whether the law may read its model off the plant: same masses, same coordinates, true measurement."""
    world = run.world
    same_gravity = bool(np.array_equal(plant.model.opt.gravity, run.robot.model.opt.gravity))
    return (
        world.plant.none
        and world.sensors.ideal
        and not any(fault.what == "joints-frozen" for fault in world.faults)
        and not world.attachments
        and not plant.rotor.any()
        and plant.elastic is None
        and not run.robot.coordinates.coupled
        and not run.robot.unresisted
        and plant.model.nv == run.robot.nv
        and same_gravity
    )


@part("loads", built=below("world.attachments", "name", "frame", "mass", "com", "attach", "release"))
def _loads(run: Run, plant: Plant) -> list[Load]:
    """Mass changes on the clock; a load attached later starts without mass."""
    changes, slack = [], 0.5 * run.clock.timestep  # a time on the clock's grid must not be lost to rounding
    for load, body in zip(run.world.attachments, plant.attachment_bodies):
        inertia = float(plant.model.body_inertia[body, 0])
        if load.release is not None and load.release <= load.attach:
            raise InvalidInput(f"load {load.name!r}: release at {load.release:g} s must come after {load.attach:g} s")
        if load.attach > 0:
            plant.model.body_mass[body], plant.model.body_inertia[body] = 0.0, 0.0
            changes.append(Load(time=load.attach - slack, body=body, mass=load.mass, inertia=inertia))
        if load.release is not None:
            changes.append(Load(time=load.release - slack, body=body, mass=-load.mass, inertia=-inertia))
    if changes:
        mujoco.mj_setConst(plant.model, mujoco.MjData(plant.model))
    return sorted(changes, key=lambda change: (change.time, change.body))


def writing_to(law: BoundLaw, rows: Layout) -> BoundLaw:
    """The law with its terms in the row, where they are recorded."""
    terms = rows.row.terms
    if law.answer is None:
        return replace(law, rows=terms)
    own = terms[:-1] if law.compensates else terms
    sizes = {"terms": len(own) - law.surrounded, "nv": terms.shape[1]}
    return replace(law, rows=terms, answer=type(law.answer).over(own.reshape(-1), sizes))


@part(
    "clock",
    built=below("clock", "duration", "timestep", "period", "rate", "integrator", "physics", "max_speed"),
    renewed=("clock.seed",),
)
def _clock(run: Run) -> dict[str, object]:
    clock = run.clock
    return {
        "dt": clock.timestep,
        "period": clock.control_period,
        "steps": clock.steps,
        "ratio": clock.ratio,
        "rk4": clock.integrator == "rk4",
        "seed": clock.seed,
        "max_speed": clock.max_speed,
    }


@part("guards", built=("guards",))
def _law(run: Run, law: BoundLaw, rows: Layout) -> dict[str, Any]:
    """The law's code and records; what it measures is recorded where it lies."""
    robot, row = run.robot, rows.row
    sizes = sizes_of(robot)
    target = np.zeros(Target.width(sizes))
    seen = {"q": row.q_measured, "v": row.v_measured, "wrench": row.measured_wrench}
    tick = Tick(sizes, target=Target.over(target, sizes), **seen)
    if robot.unresisted:  # not a number, so that nobody takes them for one
        tick.M[:], tick.bias[:], tick.gravity[:] = np.nan, np.nan, np.nan
    return {
        **law_fields(run, law),
        "tick": tick,
        "target": target,
        "wanted": wanted_axes(run),
        "targets": np.zeros((BATCH // run.clock.ratio + 2, len(target))),
        "watch": _watch(robot),
        "guard": guard_settings(run.guards, robot),
        "guard_memory": GuardMemory(sizes),
    }


def law_fields(run: Run, law: BoundLaw) -> dict[str, Any]:
    """Where the loop finds the law: its code, its records, and what it reads of the model."""
    needs = set(law.needs) | (set(NEEDS) - {"J_rate"} if run.guards is not None else set())
    if law.command != "torque":
        needs |= {"M", "bias"}
    if run.world.driver.facts.adds_gravity and law.command in ("torque", "acceleration"):
        needs |= {"gravity"}
    if run.robot.unresisted:
        needs &= {"J", "drift"}
    addresses: dict[str, int] = dict.fromkeys(("law", "gains", "memory", "terms"), 0)
    if law.answer is not None:
        records = {"gains": law.gains, "memory": law.memory, "terms": law.answer}
        addresses = {"law": law.function.pointer, **{name: record.address for name, record in records.items()}}
    return {
        **addresses,
        "needs": Needs(**{name: name in needs for name in NEEDS}),
        "compensation": compensation_of(run.robot, _compensated_share(run)),
        "shows": [Shows(source=item.source(law.memory)) for item in law.shown],
    }


@part("reference", renewed=("reference",))
def wanted_axes(run: Run) -> WantedAxes:
    """In whose axes the reference gives its wrench."""
    axes = getattr(run.reference, "wrench_axes", "world")
    if axes == "surface" and not run.world.surfaces:
        raise InvalidInput(
            'reference.wrench_axes = "surface" needs a surface, and the world has none', hint="give world.surfaces"
        )
    if axes != "world" and getattr(run.reference, "press", 0.0):
        raise InvalidInput(f'`press` is along the normal in world axes; wrench_axes = "{axes}" would turn it once more')
    return WantedAxes(kind=WRENCH_AXES.index(axes))


def _watch(robot: Robot) -> JointWatch:
    limits = robot.limits
    bounds = {"lower": limits.lower.copy(), "upper": limits.upper.copy(), "rated": limits.velocity.copy()}
    return JointWatch(sizes_of(robot), on=robot.nq == robot.nv, **bounds)


@part(
    "sensors and drives",
    built=(
        *below("world.faults", "name", "what", "at", "duration", "share"),
        *below("world.sensors.camera", "rate", "delay", "noise"),
        "world.sensors.wrench.frame",
        *below("world.driver", "adds_gravity", "servo_bandwidth"),  # in what the model is asked for, and in the scene
    ),
    renewed=(
        *below("world.sensors", "delay", "delay_time", "encoder_resolution", "encoder_noise", "torque_noise"),
        *below("world.sensors", "velocity", "velocity_noise", "velocity_cutoff", "custom"),
        *below("world.sensors.wrench", "delay", "delay_time", "noise_force", "noise_torque"),
        *below("world.sensors.wrench", "bias", "cutoff", "compensate"),
        *below("world.driver", "delay", "delay_time", "rate", "cutoff", "torque_limit", "torque_rate_limit"),
        *below("world.driver", "joint_speed_limit", "joint_acceleration_limit", "joint_jerk_limit"),
        *below("world.driver", "tool_speed_limit", "tool_acceleration_limit", "loss", "stop_after", "jitter"),
    ),
    built_where={"world.sensors.custom": lambda custom: [(name, type(one)) for name, one in custom.items()]},
)
def sensor_fields(run: Run, plant: Plant, law: BoundLaw, shared: bool) -> dict[str, Any]:
    """Sensors and drives."""
    robot, sensors, period = run.robot, run.world.sensors, run.clock.control_period
    return {
        "joints": joint_sensors(sensors, robot, period),
        "wrist": wrist_sensor(plant, robot, sensors, period, shared=shared),
        "faults": [fault_state(fault, period) for fault in run.world.faults],
        "drives": drives_of(run, plant, law),
    }


def felt_bodies(run: Run, plant: Plant) -> set[int]:
    """The bodies beyond the wrist sensor, which feels what acts on them."""
    beyond, _ = bodies_beyond(plant, run.robot, run.world.sensors)
    return {plant.frame(run.world.sensors.wrench.frame).body, *map(int, beyond)}


@part(
    "outside",
    renewed=(
        *below("world.surfaces", "model", "stiffness", "damping", "dissipation", "exponent"),
        *below("world.surfaces", "tangential_stiffness", "tangential_damping"),
        *below("world.pushes", "name", "kind", "frame", "force", "torque", "start", "duration", "frequency", "axes"),
    ),
    # Equations give the motion of the tool's body and of those that are pushed, and of no others.
    built_where={"world.pushes": lambda pushes: {push.frame for push in pushes} - {None}},
)
def outside_fields(
    run: Run, plant: Plant, physics: Physics, rows: Layout, felt: set[int], carrier: Carrier
) -> dict[str, Any]:
    """Fields of the loop for everything that acts on the plant from outside."""
    robot, world, dt = run.robot, run.world, run.clock.timestep
    bodies = {plant.model.body(robot.model.body(b).name).id for b in range(1, robot.model.nbody)}
    surfaces = [
        surface_state(s, int(m), surface_row)
        for s, m, surface_row in zip(plant.surfaces, plant.mocap, rows.row.surfaces)
    ]
    shown = list(zip(rows.row.touch_forces, rows.row.touch_positions)) if run.record.points else []
    rigid = shown[len(shown) - len(plant.rigid_points) :]
    own, on_equations = ShapeReadings(), carrier.name == EQUATIONS
    return {
        "surfaces": surfaces,
        "contacts": contact_pairs(plant, surfaces, felt, shown),
        "rigid_points": [
            RigidPoint(reading=physics.sensordata[address : address + POINT_NUMBERS], force=force, position=position)
            for address, (force, position) in zip(plant.rigid_points.values(), rigid)
        ],
        "rigid_touches": rigid_touches(plant, world, surfaces, felt, physics, own) if on_equations else [],
        "shape_readings": own,
        "rigid": [
            *(_reading(physics, sensor.address, sensor.side) for sensor in plant.rigid_sensors),
            *(_shape_readings(own) if on_equations and shape_meets_rigid(world) else ()),
        ],
        "pushes": [push_state(plant, push, dt, bodies, felt) for push in world.pushes],
        "pushed": Pushed({"N": plant.model.nv}),
    }


def _reading(physics: Physics, address: int, side: str) -> RigidReading:
    reading = physics.sensordata[address : address + _WIDEST_READING]
    return RigidReading(reading=reading, distance=side == "distance", felt=side == "wrist")


def _shape_readings(own: ShapeReadings) -> list[RigidReading]:
    """The readings of contact shapes: net wrenches on the robot and beyond its wrist, and the deepest penetration."""
    return [
        RigidReading(reading=own.wrench, distance=False, felt=False),
        RigidReading(reading=own.felt, distance=False, felt=True),
        RigidReading(reading=own.depth, distance=True, felt=False),
    ]


@part("record", built=("record", "stop"))
def _record(run: Run, law: BoundLaw, rows: Layout, chosen: tuple[Channel, ...]) -> dict[str, object]:
    return {
        "row": rows.row,
        "row_numbers": rows.array,
        "energies": any(name.startswith("energy.") for name in asked_for(run, chosen)),
        "stride": run.record.stride,
        **kept_fields(run, rows, chosen),
        "times": np.zeros(samples_of(run)),
        "stop": _stop_rules(run, law, rows),
    }


def record_bytes(run: Run, chosen: tuple[Channel, ...]) -> int:
    """How many bytes a run's samples take: 8 for each column and time at each of them."""
    samples = run.clock.steps // run.record.stride + 1
    return 8 * samples * (1 + sum(channel.size for channel in chosen))


def refuse_too_large(run: Run, chosen: tuple[Channel, ...]) -> None:
    """Refuse a run whose record does not fit, before anything is computed.

    Raises:
        TooLarge: what it needs, what there is, and how to need less.
    """
    needed, free = record_bytes(run, chosen), free_bytes()
    if free is not None and _PEAK * needed > free:
        samples = run.clock.steps // run.record.stride + 1
        raise TooLarge(
            f"the record of this run needs {shown_bytes(needed)} ({samples} samples of {needed // samples} bytes), and"
            f" {shown_bytes(free)} of memory are free",
            hint="record fewer channels (record.channels), every tenth step (record.stride = 10), or a shorter run",
        )


def _stop_rules(run: Run, law: BoundLaw, rows: Layout) -> list[StopRule]:
    """The run's own events, then the law's."""
    rules, columns = [], rows.columns() if run.stop else {}
    for rule in run.stop:
        if rule.column not in columns:
            raise UnknownName("column", rule.column, list(columns))
        column = columns[rule.column]
        rules.append(StopRule(column=column, below=rule.below is not None, magnitude=rule.magnitude, bound=rule.bound))
    if law.ending is not None:
        rules.append(StopRule(column=rows.starts[f"law.{law.ending}"], below=False, magnitude=False, bound=0.5))
    return rules
