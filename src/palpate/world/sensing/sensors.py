"""Sensors of the loop: encoders, velocities, joint torques and the wrist force/torque sensor."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from palpate.engine.kernels import clear, kernel, put
from palpate.engine.physics import Physics
from palpate.engine.records import Carried, Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.engine.views import fold, part
from palpate.robot.mechanics.kernels import read_drift, read_jacobian
from palpate.robot.robot import Robot
from palpate.world.config import Sensors, World
from palpate.world.plants.bodies import add_force, add_wrench, point_on_body, velocity_at
from palpate.world.plants.plant import Plant
from palpate.world.plants.tree_accelerations import body_acceleration
from palpate.world.plants.tree_plant import TreePlant
from palpate.world.sensing.faults import FROZEN, NAN
from palpate.world.sensing.noise import normal

# Every sensor draws its noise from a stream of its own, far enough apart that joints do not meet.
_ENCODERS, _VELOCITIES, _TORQUES, _WRENCH, _CAMERA = 0, 1000, 2000, 3000, 4000


class Delayed(Record):
    """A signal that arrives some samples late."""

    delay: int
    count: Kept[int] = 0  # of the samples so far
    ring: Annotated[Matrix, Carried(counter="count", line=True)] = sized("kept", "width")  # the last samples, in turn
    fresh: State[Vector] = sized("width")  # what is measured now
    seen: Vector = sized("width")  # what has arrived


class JointSensors(Record):
    """Encoders, velocities and joint torques."""

    resolution: float
    encoder_noise: float
    differentiated: bool
    velocity_noise: float
    velocity_share: float  # of the low-pass, per period
    torque_noise: float
    reading: State[Vector] = sized("nv")  # the last one
    speed: State[Vector] = sized("nv")  # filtered
    exact: bool  # whether encoders and velocities say what is, but for its delay
    signal: Delayed  # [q; v]


class Wrist(Record):
    """The wrist force/torque sensor, what it carries, and what it reads."""

    body: int
    offset: Vector = sized(3)
    beyond: Integers = sized("beyond")  # bodies of the tool in the plant
    known: Integers = sized("beyond")  # the same in the nominal model, −1: unknown
    compensate: bool
    bias: Vector = sized(6)
    noise_force: float
    noise_torque: float
    share: float  # of the low-pass, per period
    fault: int = 0  # of this tick
    filtered: State[Vector] = sized(6)
    signal: Delayed
    load: Vector = sized(6)  # of the tool it carries, about itself
    true: Vector = sized(6)  # wrench without errors, about the tool's origin
    position: Vector = sized(3)
    # scratch
    J: Matrix = sized(6, "N")
    J_rate: Matrix = sized(6, "N")
    drift: Vector = sized(6)
    force: Vector = sized(3)
    moment: Vector = sized(3)
    centre: Vector = sized(3)
    omega: Vector = sized(3)
    alpha: Vector = sized(3)


class PoleCamera(Record):
    """The camera on the pole, and its pictures on their way."""

    body: int  # the pole, −1 if there is none
    stretch: float  # from foot and centre of mass to foot and sphere
    length: float
    ideal: bool
    interval: float
    delay: float
    noise: float
    taken: Kept[int] = 0
    arrived: Kept[int] = 0
    times: Kept[Vector] = sized("kept")
    pictures: Annotated[Matrix, Carried(counter="taken")] = sized("kept", 3)
    # scratch
    AB: Vector = sized(3)
    AB_rate: Vector = sized(3)
    shake: Vector = sized(3)


def pole_camera(plant: Plant, world: World, period: float) -> PoleCamera:
    """The camera for the loop."""
    pole, camera = world.pole, world.sensors.camera
    interval = period if camera.rate is None else max(1.0 / camera.rate, period)
    return PoleCamera(
        {"kept": math.ceil(camera.delay / interval) + 3},
        body=plant.pole,
        stretch=1.0 if pole is None else pole.length / pole.centre,
        length=1.0 if pole is None else pole.length,
        interval=interval,
        **{name: getattr(camera, name) for name in ("ideal", "delay", "noise")},
    )


def delay_line(delay: int, width: int) -> Delayed:
    """A signal of `width` numbers that arrives `delay` samples late; without delay it is read where it is measured."""
    fresh = np.zeros(width)
    seen = fresh if delay == 0 else fresh.copy()
    return Delayed({"kept": delay + 1, "width": width}, delay=delay, fresh=fresh, seen=seen)


def joint_sensors(sensors: Sensors, robot: Robot, period: float) -> JointSensors:
    """The joint sensors for the loop."""
    return JointSensors(
        {"nv": robot.nv},
        resolution=sensors.encoder_resolution,
        differentiated=sensors.velocity == "differentiated",
        velocity_share=low_pass_share(sensors.velocity_cutoff, period),
        **{name: getattr(sensors, name) for name in ("encoder_noise", "velocity_noise", "torque_noise")},
        exact=sensors.model_copy(update={"delay": 0}).ideal,
        signal=delay_line(sensors.delay, robot.nq + robot.nv),
    )


def wrist_sensor(plant: Plant, robot: Robot, sensors: Sensors, period: float, *, shared: bool) -> Wrist:
    """The wrist sensor for the loop; `shared` says that plant and nominal model are one."""
    wrench = sensors.wrench
    frame = plant.frame(wrench.frame)
    beyond, known = bodies_beyond(plant, robot, sensors)
    return Wrist(
        {"N": plant.model.nv},
        body=frame.body,
        offset=frame.offset.copy(),
        beyond=beyond,
        known=beyond.copy() if shared else known,
        **{name: getattr(wrench, name) for name in ("compensate", "bias", "noise_force", "noise_torque")},
        share=low_pass_share(wrench.cutoff, period),
        signal=delay_line(wrench.delay, 6),
    )


def low_pass_share(cutoff: float | None, period: float) -> float:
    """How far a first-order low-pass of `cutoff` Hz goes towards its input in one period: 1 − e^(−2π f T)."""
    return 1.0 if cutoff is None else 1.0 - math.exp(-2.0 * math.pi * cutoff * period)


def bodies_beyond(plant: Plant, robot: Robot, sensors: Sensors) -> tuple[np.ndarray, np.ndarray]:
    """The bodies beyond the wrist sensor: their numbers in the plant, and in the nominal model (−1: unknown)."""
    model, carried = plant.model, [plant.frame(sensors.wrench.frame).body]
    if robot.unresisted:  # masses unknown: nothing is known to hang on the sensor
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for body in range(carried[0] + 1, model.nbody):
        if int(model.body_parentid[body]) in carried:
            carried.append(body)
    beyond = carried[1:]
    known = {robot.model.body(b).name: b for b in range(robot.model.nbody)}
    nominal = [known.get(model.body(b).name, -1) for b in beyond]
    return np.array(beyond, dtype=np.int64), np.array(nominal, dtype=np.int64)


@kernel(inline=True)
def arrive(s: Delayed, count: int) -> None:
    """Keep the fresh sample and see the one `delay` samples old (the first one, before that)."""
    if s.delay == 0:  # see `delay_line`
        return
    rows = s.ring.shape[0]
    old = max(count - s.delay, 0) % rows
    for i in range(s.fresh.size):
        s.ring[count % rows, i] = s.fresh[i]
        s.seen[i] = s.ring[old, i]
    s.count = count + 1


@kernel(inline=True)
def read_joints(s: JointSensors, q: Vector, v: Vector, seed: int, count: int, period: float) -> None:
    """Encoder and velocity readings of single-axis joints."""
    n = s.speed.size
    if s.exact:
        put(s.signal.fresh, 0, q)
        put(s.signal.fresh, n, v)
        return
    for i in range(n):
        reading = q[i]
        if s.encoder_noise > 0.0:
            reading += s.encoder_noise * normal(seed, _ENCODERS + i, count)
        if s.resolution > 0.0:
            reading = math.floor(reading / s.resolution + 0.5) * s.resolution
        if s.differentiated:
            speed = (reading - s.reading[i]) / period if count > 0 else v[i]
        else:
            speed = v[i]
            if s.velocity_noise > 0.0:
                speed += s.velocity_noise * normal(seed, _VELOCITIES + i, count)
        if count > 0:
            speed = s.speed[i] + s.velocity_share * (speed - s.speed[i])
        s.reading[i], s.speed[i] = reading, speed
        s.signal.fresh[i], s.signal.fresh[n + i] = reading, speed


@kernel(inline=True)
def read_torques(s: JointSensors, tau: Vector, seed: int, count: int, out: Vector) -> None:
    """Joint torques as their sensors have them."""
    put(out, 0, tau)
    if s.torque_noise > 0.0:
        for i in range(out.size):
            out[i] += s.torque_noise * normal(seed, _TORQUES + i, count)


@kernel
def feel_load(w: Wrist, plant: Physics, nominal: Physics, tree: TreePlant) -> None:
    """load = −(inertial and gravity wrench of the tool) plus its nominal weight's compensation, about the sensor.

    A wrist sensor feels R = Σ m (a − g) − F_env; it reports −R minus the nominal weight, which is F_env for a tool
    at rest whose mass is known.
    """
    clear(w.load)
    point_on_body(plant, w.body, w.offset, w.position)
    for k in range(w.beyond.size):
        body = w.beyond[k]
        com = plant.xipos[body]
        if tree.now:
            body_acceleration(tree, plant, body, w.force, w.alpha, w.omega)
        else:
            _read_acceleration(w, plant, body, com)
        for i in range(3):
            w.force[i] *= -plant.body_mass[body]
        _minus_euler(w, plant, body)
        add_wrench(w.load, w.force, w.moment, com, w.position)
        if w.compensate and w.known[k] >= 0:
            _subtract_weight(w, plant, nominal, body, w.known[k])


@kernel
def _read_acceleration(w: Wrist, plant: Physics, body: int, com: Vector) -> None:
    """force = a − g of the centre of mass, alpha and omega, as the engine has them."""
    read_jacobian(plant, body, com, w.J)
    read_drift(plant, body, com, plant.qvel, w.J_rate, w.drift)
    for i in range(3):
        w.force[i] = w.drift[i] - plant.gravity[i]
        w.alpha[i], w.omega[i] = w.drift[3 + i], 0.0
        for j in range(plant.nv):
            w.force[i] += w.J[i, j] * plant.qacc[j]
            w.alpha[i] += w.J[3 + i, j] * plant.qacc[j]
            w.omega[i] += w.J[3 + i, j] * plant.qvel[j]


@kernel
def _minus_euler(w: Wrist, plant: Physics, body: int) -> None:
    """moment = −(I α + ω × I ω), world axes."""
    R, inertia, omega, n = fold(plant.ximat[body], 0, 3, 3), plant.body_inertia[body], w.omega, w.moment
    clear(n)
    h0 = h1 = h2 = 0.0
    for k in range(3):
        moment = inertia[k] * (R[0, k] * w.alpha[0] + R[1, k] * w.alpha[1] + R[2, k] * w.alpha[2])
        spin = inertia[k] * (R[0, k] * omega[0] + R[1, k] * omega[1] + R[2, k] * omega[2])
        for i in range(3):
            n[i] -= R[i, k] * moment
        h0 += R[0, k] * spin
        h1 += R[1, k] * spin
        h2 += R[2, k] * spin
    n[0] -= omega[1] * h2 - omega[2] * h1
    n[1] -= omega[2] * h0 - omega[0] * h2
    n[2] -= omega[0] * h1 - omega[1] * h0


@kernel
def _subtract_weight(w: Wrist, plant: Physics, nominal: Physics, body: int, known: int) -> None:
    """Take off the weight that the nominal model gives the tool, at the point where it believes its centre to be."""
    for i in range(3):
        w.force[i] = -nominal.body_mass[known] * nominal.gravity[i]
    point_on_body(plant, body, nominal.body_ipos[known], w.centre)
    add_force(w.load, w.force, w.centre, w.position)


@kernel(inline=True)
def read_wrench(w: Wrist, seed: int, count: int) -> None:
    """Bias, noise and low-pass of the wrist sensor, and its faults."""
    fault, fresh, filtered = w.fault, w.signal.fresh, w.filtered
    for i in range(6):
        if fault > 0 and (fault != FROZEN or count > 0):
            fresh[i] = math.nan if fault == NAN else filtered[i] if fault == FROZEN else 0.0
            continue
        reading = w.true[i] + w.bias[i]
        sigma = w.noise_force if i < 3 else w.noise_torque
        if sigma > 0.0:
            reading += sigma * normal(seed, _WRENCH + i, count)
        filtered[i] = reading if count == 0 else filtered[i] + w.share * (reading - filtered[i])
        fresh[i] = filtered[i]


@kernel(inline=True)
def sense_wrench(w: Wrist, plant: Physics, nominal: Physics, tree: TreePlant, felt: Vector, origin: Vector) -> None:
    """True wrench at the tool's origin: what acts from outside, and the load of the tool moved there."""
    clear(w.true)
    if w.beyond.size > 0:
        feel_load(w, plant, nominal, tree)
        add_wrench(w.true, part(w.load, 0, 3), part(w.load, 3, 3), w.position, origin)
    for i in range(6):
        w.true[i] += felt[i]


@kernel
def look_at_pole(c: PoleCamera, plant: Physics, foot: Vector, speed: Vector) -> None:
    """AB and its rate as they are: from the foot to the centre of mass, stretched to the sphere."""
    centre = plant.xipos[c.body]
    velocity_at(plant, c.body, centre, c.AB_rate)
    for i in range(3):
        c.AB[i] = c.stretch * (centre[i] - foot[i])
        c.AB_rate[i] = c.stretch * (c.AB_rate[i] - speed[i])


@kernel
def take_picture(c: PoleCamera, t: float, seed: int) -> bool:
    """Take a picture if one is due, let those arrive that are; whether one has."""
    rows, fresh = c.times.size, t <= 0.0
    if t >= c.taken * c.interval - 1e-9:
        row, along, size = c.taken % rows, 0.0, 0.0
        for i in range(3):
            c.shake[i] = c.noise * normal(seed, _CAMERA + i, c.taken)
            along += c.shake[i] * c.AB[i] / c.length
        for i in range(3):
            c.pictures[row, i] = c.AB[i] + c.length * c.shake[i] - along * c.AB[i]
            size += c.pictures[row, i] ** 2
        for i in range(3):
            c.pictures[row, i] *= c.length / math.sqrt(size)
        c.times[row] = t
        c.taken += 1
    while c.arrived < c.taken and c.times[c.arrived % rows] + c.delay <= t + 1e-9:
        c.arrived += 1
        fresh = True
    return fresh
