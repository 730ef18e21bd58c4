"""What the law gets to see: encoders, velocities, joint torques and the wrist force/torque sensor."""

from __future__ import annotations

import math

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.engine import (
    H_GRAVITY,
    H_INERTIA,
    H_IPOS,
    H_MASS,
    H_NBODY,
    H_NV,
    H_QACC,
    H_QVEL,
    H_XIMAT,
    H_XIPOS,
    H_XMAT,
    H_XPOS,
    matrix,
    part,
    vector,
)
from palpate.robot.kernels import read_drift, read_jacobian
from palpate.robot.robot import Robot
from palpate.world.config import Sensors
from palpate.world.noise import normal
from palpate.world.plant import Plant
from palpate.world.pushes import add_force, add_wrench

# Places in the sensors' numbers.
(
    N_RESOLUTION, N_ENCODER, N_DIFFERENTIATED, N_VELOCITY, N_BLEND_V, N_TORQUE, N_FORCE, N_MOMENT, N_BLEND_W,
    N_BIAS, N_BODY, N_OFFSET, N_COMPENSATE, N_FAULT, N_FAULT_TICK, N_WIDTH,
) = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 19, 20, 21, 22)  # fmt: skip
_NAN, _FROZEN = 1, 2  # places among the faults
STREAM_Q, STREAM_V, STREAM_TAU, STREAM_W = 0, 1000, 2000, 3000


def sensor_numbers(plant: Plant, sensors: Sensors, period: float) -> Array:
    """The sensors' settings as flat numbers."""
    numbers, wrench = np.zeros(N_WIDTH), sensors.wrench
    numbers[N_RESOLUTION], numbers[N_ENCODER] = sensors.encoder_resolution, sensors.encoder_noise
    numbers[N_DIFFERENTIATED] = sensors.velocity == "differentiated"
    numbers[N_VELOCITY], numbers[N_TORQUE] = sensors.velocity_noise, sensors.torque_noise
    numbers[N_BLEND_V] = low_pass_share(sensors.velocity_cutoff, period)
    numbers[N_FORCE], numbers[N_MOMENT] = wrench.noise_force, wrench.noise_torque
    numbers[N_BLEND_W] = low_pass_share(wrench.cutoff, period)
    numbers[N_BIAS : N_BIAS + 6] = wrench.bias
    frame = plant.tool if wrench.frame is None else plant.frame(wrench.frame)
    numbers[N_BODY], numbers[N_COMPENSATE] = frame.body, wrench.compensate
    numbers[N_OFFSET : N_OFFSET + 3] = frame.offset
    numbers[N_FAULT] = ("none", "nan", "frozen", "dropout").index(wrench.fault)
    numbers[N_FAULT_TICK] = math.ceil(wrench.fault_start / period - 1e-9)
    return numbers


def low_pass_share(cutoff: float | None, period: float) -> float:
    """How far a first-order low-pass of `cutoff` Hz goes towards its input in one period: 1 − e^(−2π f T)."""
    return 1.0 if cutoff is None else 1.0 - math.exp(-2.0 * math.pi * cutoff * period)


def sensor_body(plant: Plant, sensors: Sensors) -> int:
    """The body that the wrist sensor sits on."""
    return (plant.tool if sensors.wrench.frame is None else plant.frame(sensors.wrench.frame)).body


def bodies_beyond(plant: Plant, robot: Robot, sensors: Sensors) -> tuple[np.ndarray, np.ndarray]:
    """The bodies beyond the wrist sensor: their numbers in the plant, and in the nominal model (−1: unknown)."""
    model, carried = plant.model, [sensor_body(plant, sensors)]
    for body in range(carried[0] + 1, model.nbody):
        if int(model.body_parentid[body]) in carried:
            carried.append(body)
    beyond = carried[1:]
    known = {robot.model.body(b).name: b for b in range(robot.model.nbody)}
    nominal = [known.get(model.body(b).name, -1) for b in beyond]
    return np.array(beyond, dtype=np.int64), np.array(nominal, dtype=np.int64)


@register_jitable
def read_joints(numbers, seed, count, period, q, v, fresh, state):
    """Encoder and velocity readings into fresh (2n); state holds the last reading and the filtered velocity (2n)."""
    n = v.size
    for i in range(n):
        reading = q[i]
        if numbers[N_ENCODER] > 0.0:
            reading += numbers[N_ENCODER] * normal(seed, STREAM_Q + i, count)
        if numbers[N_RESOLUTION] > 0.0:
            reading = math.floor(reading / numbers[N_RESOLUTION] + 0.5) * numbers[N_RESOLUTION]
        if numbers[N_DIFFERENTIATED] > 0.5:
            speed = (reading - state[i]) / period if count > 0 else v[i]
        else:
            speed = v[i]
            if numbers[N_VELOCITY] > 0.0:
                speed += numbers[N_VELOCITY] * normal(seed, STREAM_V + i, count)
        if count > 0:
            speed = state[n + i] + numbers[N_BLEND_V] * (speed - state[n + i])
        state[i], state[n + i] = reading, speed
        fresh[i], fresh[n + i] = reading, speed


@register_jitable
def through_delay(ring, delay, count, fresh, out):
    """Put a fresh sample into a ring buffer and take the one `delay` samples old (the first one, before that)."""
    rows = ring.shape[0]
    for i in range(fresh.size):
        ring[count % rows, i] = fresh[i]
    old = max(count - delay, 0) % rows
    for i in range(fresh.size):
        out[i] = ring[old, i]


@register_jitable
def tool_load(plant, nominal, beyond, known, numbers, sensor_point, J, J_rate, work, out):
    """−(inertial and gravity wrench of the tool) plus its nominal weight's compensation, about the sensor.

    A wrist sensor feels R = Σ m (a − g) − F_env; it reports −R minus the nominal weight, which is F_env for a tool
    at rest whose mass is known.
    """
    g = vector(plant[H_GRAVITY], 3)
    nv = plant[H_NV]
    v, a = vector(plant[H_QVEL], nv), vector(plant[H_QACC], nv)
    masses = vector(plant[H_MASS], plant[H_NBODY])
    f, n, omega, alpha = part(work, 0, 3), part(work, 3, 3), part(work, 6, 3), part(work, 9, 3)
    drift, centre = part(work, 12, 6), part(work, 18, 3)
    for k in range(beyond.size):
        body = beyond[k]
        com = vector(plant[H_XIPOS] + 24 * body, 3)
        read_jacobian(plant, body, com, J)
        read_drift(plant, body, com, v, J_rate, drift)
        for i in range(3):
            f[i] = drift[i] - g[i]
            alpha[i], omega[i] = drift[3 + i], 0.0
            for j in range(nv):
                f[i] += J[i, j] * a[j]
                alpha[i] += J[3 + i, j] * a[j]
                omega[i] += J[3 + i, j] * v[j]
            f[i] *= -masses[body]
        _minus_euler(plant, body, omega, alpha, n)
        add_wrench(out, f, n, com, sensor_point)
        if numbers[N_COMPENSATE] > 0.5 and known[k] >= 0:
            _subtract_weight(plant, nominal, body, known[k], f, centre, sensor_point, out)


@register_jitable
def _minus_euler(plant, body, omega, alpha, n):
    """n = −(I α + ω × I ω), world axes."""
    R = matrix(plant[H_XIMAT] + 72 * body, 3, 3)
    inertia = vector(plant[H_INERTIA] + 24 * body, 3)
    n[0] = n[1] = n[2] = 0.0
    h0 = h1 = h2 = 0.0
    for k in range(3):
        turn = inertia[k] * (R[0, k] * alpha[0] + R[1, k] * alpha[1] + R[2, k] * alpha[2])
        spin = inertia[k] * (R[0, k] * omega[0] + R[1, k] * omega[1] + R[2, k] * omega[2])
        for i in range(3):
            n[i] -= R[i, k] * turn
        h0 += R[0, k] * spin
        h1 += R[1, k] * spin
        h2 += R[2, k] * spin
    n[0] -= omega[1] * h2 - omega[2] * h1
    n[1] -= omega[2] * h0 - omega[0] * h2
    n[2] -= omega[0] * h1 - omega[1] * h0


@register_jitable
def _subtract_weight(plant, nominal, body, known, f, centre, sensor_point, out):
    """Take off the weight that the nominal model gives the tool, at the place where it believes its centre to be."""
    g = vector(nominal[H_GRAVITY], 3)
    mass = vector(nominal[H_MASS], nominal[H_NBODY])[known]
    offset = vector(nominal[H_IPOS] + 24 * known, 3)
    x = vector(plant[H_XPOS] + 24 * body, 3)
    R = matrix(plant[H_XMAT] + 72 * body, 3, 3)
    for i in range(3):
        f[i] = -mass * g[i]
        centre[i] = x[i] + R[i, 0] * offset[0] + R[i, 1] * offset[1] + R[i, 2] * offset[2]
    add_force(out, f, centre, sensor_point)


@register_jitable
def read_wrench(numbers, seed, count, true, fresh, filtered):
    """Bias, noise and low-pass of the wrist sensor, and its faults."""
    fault = int(numbers[N_FAULT]) if count >= numbers[N_FAULT_TICK] else 0
    for i in range(6):
        if fault > 0 and (fault != _FROZEN or count > 0):
            fresh[i] = math.nan if fault == _NAN else filtered[i] if fault == _FROZEN else 0.0
            continue
        reading = true[i] + numbers[N_BIAS + i]
        sigma = numbers[N_FORCE] if i < 3 else numbers[N_MOMENT]
        if sigma > 0.0:
            reading += sigma * normal(seed, STREAM_W + i, count)
        filtered[i] = reading if count == 0 else filtered[i] + numbers[N_BLEND_W] * (reading - filtered[i])
        fresh[i] = filtered[i]
