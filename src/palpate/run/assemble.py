"""From the parts of a run to the flat arrays of its loop."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.control.guards import guard_memory, guard_numbers
from palpate.control.law import COMMANDS, NEEDS_ALL, NEEDS_BIAS, NEEDS_M, BoundLaw, TargetLayout
from palpate.engine import make_handle
from palpate.errors import InvalidInput, UnknownName
from palpate.robot.robot import Robot
from palpate.run import state as S
from palpate.run.channels import Layout, layout
from palpate.run.parts import Parts
from palpate.run.record import in_row
from palpate.trace import Channel
from palpate.world.contact import C_WIDTH, point_table, surface_table
from palpate.world.plant import Plant, build_plant
from palpate.world.pushes import push_table
from palpate.world.sensors import bodies_beyond, sensor_body, sensor_numbers

BATCH = 4000  # physics steps between two looks at the clock, the progress bar and Ctrl-C


@dataclass
class Assembly:
    """A run ready to start: its loop, and everything that must stay alive while the loop holds addresses."""

    parts: Parts
    plant: Plant
    law: BoundLaw
    data: mujoco.MjData
    nominal: mujoco.MjData
    layout: Layout
    chosen: tuple[Channel, ...]
    loop: S.Loop
    table: np.ndarray
    shared: bool


def assemble(parts: Parts, *, share: bool = True) -> Assembly:
    """Build the plant, bind the law and lay everything out in flat arrays.

    Args:
        parts: the run.
        share: let the law read its model off the plant where both are one; False evaluates it apart.
    """
    robot, world = parts.robot, parts.world
    law = parts.law.bind(robot)
    _refuse_what_a_run_cannot_do(parts, law)
    q, v = parts.start()
    plant = build_plant(robot, world, parts.timestep, parts.integrator, q)
    data, nominal = mujoco.MjData(plant.model), mujoco.MjData(robot.model)
    _set_state(plant, data, q, v)
    loads = _loads(parts, plant)
    shared = share and _can_share(parts, plant)
    rows = layout(parts, plant, law)
    chosen = parts.recording.choose(rows.channels)
    loop = _loop(parts, plant, law, data, nominal, rows, chosen, loads, shared)
    return Assembly(parts, plant, law, data, nominal, rows, chosen, loop, S.loop_table(loop), shared)


def _refuse_what_a_run_cannot_do(parts: Parts, law: BoundLaw) -> None:
    robot, sensors = parts.robot, parts.world.sensors
    if robot.nv != robot.model.nv:
        raise InvalidInput(f"{robot.name} has mimic joints, which a run does not support yet; weld or remove them")
    if robot.nq == robot.nv:
        return
    if law.command in ("velocity", "position"):
        raise InvalidInput(f"{robot.name} has a free base, which no servo can move by a {law.command} command")
    if not sensors.model_copy(update={"delay": 0}).ideal:
        raise InvalidInput(f"{robot.name} has a free base; noise and resolution are for joint sensors only")


def _set_state(plant: Plant, data: mujoco.MjData, q: Array, v: Array) -> None:
    data.qpos[:], data.qvel[:] = plant.q0, plant.v0
    data.qpos[: len(q)], data.qvel[: len(v)] = q, v


def _can_share(parts: Parts, plant: Plant) -> bool:
    """Whether the law may read its model off the plant: same masses, same coordinates, true measurement."""
    world = parts.world
    same_gravity = bool(np.array_equal(plant.model.opt.gravity, parts.robot.model.opt.gravity))
    return (
        world.plant.none
        and world.sensors.ideal
        and not world.attachments
        and not plant.rotor.any()
        and plant.model.nv == parts.robot.nv
        and same_gravity
    )


def _loads(parts: Parts, plant: Plant) -> Array:
    """Mass changes on the clock; a load attached later starts without mass."""
    changes, slack = [], 0.5 * parts.timestep  # a time on the clock's grid must not be lost to rounding
    for load, body in zip(parts.world.attachments, plant.attachment_bodies):
        inertia = float(plant.model.body_inertia[body, 0])
        if load.release is not None and load.release <= load.attach:
            raise InvalidInput(f"load {load.name!r}: release at {load.release:g} s must come after {load.attach:g} s")
        if load.attach > 0:
            plant.model.body_mass[body], plant.model.body_inertia[body] = 0.0, 0.0
            changes.append([load.attach - slack, body, load.mass, inertia, 0.0])
        if load.release is not None:
            changes.append([load.release - slack, body, -load.mass, -inertia, 0.0])
    if changes:
        mujoco.mj_setConst(plant.model, mujoco.MjData(plant.model))
    return np.array(sorted(changes)).reshape(-1, 5)


def _integers(parts: Parts, plant: Plant, law: BoundLaw, shared: bool) -> np.ndarray:
    i, world = np.zeros(S.I_WIDTH, dtype=np.int64), parts.world
    i[S.I_STEPS], i[S.I_RATIO], i[S.I_STRIDE] = parts.steps(), parts.ratio(), parts.recording.stride
    i[S.I_SHARED], i[S.I_SEED], i[S.I_COMMAND] = shared, parts.seed, COMMANDS.index(law.command)
    i[S.I_NEEDS] = law.needs | (0 if law.command == "torque" else NEEDS_M | NEEDS_BIAS)
    i[S.I_NEEDS] |= 0 if parts.guards is None else NEEDS_ALL
    i[S.I_BODY] = plant.tool.body
    i[S.I_NOMINAL_BODY] = plant.tool.body if shared else parts.robot.frame().body
    i[S.I_POLE] = plant.model.body("pole").id if world.pole is not None else -1
    i[S.I_RK4] = parts.integrator == "rk4"
    i[S.I_DELAY_JOINTS], i[S.I_DELAY_WRENCH] = world.sensors.delay, world.sensors.wrench.delay
    i[S.I_DELAY_COMMAND] = world.actuators.delay
    limits = parts.robot.limits
    i[S.I_LIMIT_TORQUE] = world.actuators.torque_limit
    i[S.I_LIMIT_RATE] = world.actuators.torque_rate_limit and bool(np.isfinite(limits.torque_rate).any())
    i[S.I_NQ], i[S.I_NV] = parts.robot.nq, parts.robot.nv
    return i


def _reals(parts: Parts) -> Array:
    x = np.zeros(S.X_WIDTH)
    x[S.X_DT], x[S.X_PERIOD] = parts.timestep, parts.timestep * parts.ratio()
    x[S.X_MAX_SPEED], x[S.X_BANDWIDTH] = parts.max_speed, parts.world.actuators.servo_bandwidth
    return x


def _events(parts: Parts, rows: Layout) -> Array:
    table = np.zeros((len(parts.stop_when), 3))
    for row, event in zip(table, parts.stop_when):
        column = rows.column(event.column)
        if column is None:
            raise UnknownName("column", event.column, rows.columns())
        row[S.E_COLUMN] = column
        row[S.E_KIND] = 1 if event.below is not None else 2 if event.magnitude else 0
        row[S.E_VALUE] = event.bound
    return table


def _runs(rows: Layout, chosen: tuple[Channel, ...]) -> np.ndarray:
    """The chosen columns of the row as runs (first, how many); neighbours are one run."""
    runs: list[list[int]] = []
    for channel in chosen:
        start = rows.starts[channel.name]
        if runs and sum(runs[-1]) == start:
            runs[-1][1] += channel.size
        else:
            runs.append([start, channel.size])
    return np.array(runs, dtype=np.int64).ravel()


def _wants_energies(parts: Parts, chosen: tuple[Channel, ...]) -> bool:
    names = [channel.name for channel in chosen] + [event.column for event in parts.stop_when]
    return any(name.startswith("energy.") for name in names)


def _torque_limits(robot: Robot) -> Array:
    """|τ| per degree of freedom; −1 where no motor is: the free base."""
    limits = robot.limits.torque
    for j in range(robot.model.njnt):
        if robot.model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            start = int(robot.model.jnt_dofadr[j])
            limits[start : start + 6] = -1.0
    return limits


def _rigid_places(plant: Plant) -> np.ndarray:
    kinds = {"robot": S.K_ROBOT, "wrist": S.K_FELT, "distance": S.K_DEPTH}
    pairs = [(sensor.address, kinds[sensor.whose]) for sensor in plant.rigid_sensors]
    return np.array(pairs, dtype=np.int64).reshape(-1)


def _loop(
    parts: Parts,
    plant: Plant,
    law: BoundLaw,
    data: mujoco.MjData,
    nominal: mujoco.MjData,
    rows: Layout,
    chosen: tuple[Channel, ...],
    loads: Array,
    shared: bool,
) -> S.Loop:
    robot, world = parts.robot, parts.world
    n, nq, N, NQ = robot.nv, robot.nq, plant.model.nv, plant.model.nq
    surfaces, axes = surface_table(plant)
    beyond, known = bodies_beyond(plant, robot, world.sensors)
    felt = {sensor_body(plant, world.sensors), *map(int, beyond)}
    points = point_table(plant, felt)
    frame = plant.tool if shared else robot.frame()
    handle = make_handle(plant.model, data)
    width = TargetLayout(nq, n).width
    width_kept = sum(channel.size for channel in chosen)
    row = np.zeros(rows.width)
    integers = _integers(parts, plant, law, shared)
    integers[S.I_ENERGIES] = _wants_energies(parts, chosen)
    samples = parts.steps() // parts.recording.stride + 1
    robot_bodies = {plant.model.body(robot.model.body(b).name).id for b in range(1, robot.model.nbody)}
    zeros = np.zeros
    return S.Loop(
        plant=handle,
        nominal=handle if shared else make_handle(robot.model, nominal),
        i=integers,
        x=_reals(parts),
        **in_row(row, rows.at, nq, n, len(law.terms), len(surfaces)), tau_measured=zeros(n),
        sensors=sensor_numbers(plant, world.sensors, parts.timestep * parts.ratio()),
        joint_state=zeros(2 * n), wrench_state=zeros(6),
        joint_ring=zeros((world.sensors.delay + 1, nq + n)),
        wrench_ring=zeros((world.sensors.wrench.delay + 1, 6)),
        fresh=zeros(nq + n), beyond=beyond, known=beyond.copy() if shared else known,
        M=zeros((n, n)), bias=zeros(n), gravity=zeros(n), position=zeros(3), rotation=zeros((3, 3)),
        J=zeros((6, n)), J_rate=zeros((6, n)), drift=zeros(6), offset=frame.offset.copy(), turn=frame.turn.copy(),
        targets=zeros((BATCH // parts.ratio() + 2, width)), target=zeros(width),
        gains=law.gains, memory=law.memory,
        torque=zeros(n), servo_q=zeros(n), servo_v=zeros(n),
        command_ring=zeros((world.actuators.delay + 1, n)),
        torque_limit=_torque_limits(robot), rate_limit=robot.limits.torque_rate.copy(),
        true_rotation=zeros((3, 3)),
        plant_offset=plant.tool.offset.copy(), plant_turn=plant.tool.turn.copy(),
        pushed=zeros(N), outside=zeros(N), points=points, surfaces=surfaces, axes=axes,
        speeds=zeros((len(surfaces), 3)),
        slips=zeros((len(points), len(surfaces), 3)), contacts=zeros((len(points), len(surfaces), C_WIDTH)),
        mocap=plant.mocap, rigid=_rigid_places(plant),
        pushes=push_table(plant, world.pushes, parts.timestep, robot_bodies, felt), loads=loads,
        felt_wrench=zeros(6), load_wrench=zeros(6),
        J_plant=zeros((6, N)), J_plant_rate=zeros((6, N)), q_old=zeros(NQ), v_old=zeros(N), stages=zeros((2, N)),
        work=zeros(max(128, nq + n)),
        at=rows.at, row=row, runs=_runs(rows, chosen), record=zeros((samples, width_kept)),
        times=zeros(samples), guards=np.zeros(8, dtype=np.int64), events=_events(parts, rows),
        guard_numbers=guard_numbers(parts.guards, robot), guard_memory=guard_memory(robot), rotor=plant.rotor.copy(),
    )  # fmt: skip
