"""The law's view in the loop: sensors, then the nominal model at what they say."""

from __future__ import annotations

from numba.extending import register_jitable

from palpate.control.law import NEEDS_BIAS, NEEDS_DRIFT, NEEDS_GRAVITY, NEEDS_JACOBIAN, NEEDS_M, T_POLE
from palpate.engine import (
    H_BIAS,
    H_DATA,
    H_MODEL,
    H_QPOS,
    H_QVEL,
    H_XIPOS,
    address_of,
    clear,
    mj_fullM,
    part,
    put,
    vector,
)
from palpate.robot.kernels import (
    read_bias,
    read_drift,
    read_gravity,
    read_jacobian,
    read_mass_matrix,
    read_pose,
    stage_state,
)
from palpate.run.state import (
    I_DELAY_JOINTS,
    I_DELAY_WRENCH,
    I_NEEDS,
    I_NOMINAL_BODY,
    I_NQ,
    I_NV,
    I_POLE,
    I_SEED,
    I_SHARED,
    I_TICK,
    X_PERIOD,
)
from palpate.world.contact import point_state, velocity_at
from palpate.world.noise import normal
from palpate.world.pushes import add_wrench
from palpate.world.sensors import (
    N_BODY,
    N_OFFSET,
    N_TORQUE,
    STREAM_TAU,
    read_joints,
    read_wrench,
    through_delay,
    tool_load,
)


@register_jitable
def measure(L):
    """Sensors, then the nominal model at what they say."""
    nq, n, tick, seed = L.i[I_NQ], L.i[I_NV], L.i[I_TICK], L.i[I_SEED]
    q, v = vector(L.plant[H_QPOS], nq), vector(L.plant[H_QVEL], n)
    if nq == n:
        read_joints(L.sensors, seed, tick, L.x[X_PERIOD], q, v, L.fresh, L.joint_state)
    else:
        put(L.fresh, 0, q)
        put(L.fresh, nq, v)
    delayed = part(L.work, 0, nq + n)
    through_delay(L.joint_ring, L.i[I_DELAY_JOINTS], tick, L.fresh, delayed)
    put(L.q, 0, part(delayed, 0, nq))
    put(L.v, 0, part(delayed, nq, n))
    for k in range(n):
        L.tau_measured[k] = L.tau[k]
        if L.sensors[N_TORQUE] > 0.0:
            L.tau_measured[k] += L.sensors[N_TORQUE] * normal(seed, STREAM_TAU + k, tick)
    _measure_wrench(L, seed, tick)


@register_jitable
def see_pole(L):
    """Foot to sphere of a pole on the tool, and its rate, as a camera gives them; into the target's last places."""
    body = L.i[I_POLE]
    if body < 0:
        return
    start = L.i[I_NQ] + 2 * L.i[I_NV] + T_POLE
    sphere, speed = vector(L.plant[H_XIPOS] + 24 * body, 3), part(L.work, 0, 3)
    velocity_at(L.plant, body, sphere, speed)
    for k in range(3):
        L.target[start + k] = sphere[k] - L.true_position[k]
        L.target[start + 3 + k] = speed[k] - L.true_twist[k]


@register_jitable
def _measure_wrench(L, seed, tick):
    """The wrist sensor, its reading moved to the tool's origin."""
    true = L.load_wrench
    clear(true)
    if L.beyond.size > 0:
        point, speed = part(L.work, 24, 3), part(L.work, 27, 3)
        point_state(L.plant, int(L.sensors[N_BODY]), part(L.sensors, N_OFFSET, 3), point, speed)
        work = part(L.work, 30, 30)
        tool_load(L.plant, L.nominal, L.beyond, L.known, L.sensors, point, L.J_plant, L.J_plant_rate, work, true)
        lever, f, n = part(L.work, 60, 3), part(L.work, 63, 3), part(L.work, 66, 3)
        put(f, 0, part(true, 0, 3))
        put(n, 0, part(true, 3, 3))
        put(lever, 0, point)
        clear(true)
        add_wrench(true, f, n, lever, L.true_position)
    felt = L.felt_wrench
    for k in range(6):
        true[k] += felt[k]
    fresh = part(L.work, 70, 6)
    read_wrench(L.sensors, seed, tick, true, fresh, L.wrench_state)
    through_delay(L.wrench_ring, L.i[I_DELAY_WRENCH], tick, fresh, L.wrench)


@register_jitable
def evaluate_model(L):
    """The nominal model's terms at the measured state; read off the plant where both are one."""
    needs, handle = L.i[I_NEEDS], L.nominal
    if L.i[I_SHARED] == 0:
        if stage_state(handle, L.q, L.v) != 0:
            return False
        if needs & NEEDS_M:
            read_mass_matrix(handle, L.M)
        if needs & NEEDS_BIAS:
            read_bias(handle, L.bias)
    else:
        if needs & NEEDS_M:
            mj_fullM(handle[H_MODEL], handle[H_DATA], address_of(L.M))
        put(L.bias, 0, vector(handle[H_BIAS], L.i[I_NV]))
    if needs & NEEDS_GRAVITY:
        read_gravity(handle, L.gravity)
    read_pose(handle, L.i[I_NOMINAL_BODY], L.offset, L.turn, L.position, L.rotation)
    if needs & NEEDS_JACOBIAN:
        read_jacobian(handle, L.i[I_NOMINAL_BODY], L.position, L.J)
    if needs & NEEDS_DRIFT:
        read_drift(handle, L.i[I_NOMINAL_BODY], L.position, L.v, L.J_rate, L.drift)
    return True
