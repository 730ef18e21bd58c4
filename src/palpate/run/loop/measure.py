"""The law's view in the loop: sensors, then the nominal model at what they say."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel, put
from palpate.engine.library import mj_fullM
from palpate.engine.views import address_of, copy_long, flat, part
from palpate.equations.code.tree_program import compute_frame, compute_terms
from palpate.robot.joints.coupled import expand_state, reduce_columns, reduce_force, reduce_matrix
from palpate.robot.mechanics.kernels import (
    OK,
    quaternions_are_unit,
    read_bias,
    read_drift,
    read_gravity,
    read_jacobian,
    read_mass_matrix,
    read_pose,
    stage_state,
)
from palpate.run.loop.state import Loop
from palpate.spatial.kernels import matrix_from_quat
from palpate.spatial.shapes import call_distance
from palpate.world.plants.elastic.motors import BY_GRAVITY, note_sag, sense_springs
from palpate.world.plants.tree_plant import is_ordinary
from palpate.world.sensing.custom import pass_on, read_sensor
from palpate.world.sensing.faults import DROPOUT, NAN, STUCK, fault_now
from palpate.world.sensing.sensors import (
    arrive,
    look_at_pole,
    read_joints,
    read_torques,
    read_wrench,
    sense_wrench,
    take_picture,
)


@kernel(inline=True)
def true_state(L: Loop) -> None:
    """The robot's coordinates and velocities, out of the plant's."""
    if L.robot_is_first:
        put(L.row.q, 0, part(L.plant.qpos, 0, L.row.q.size))
        put(L.row.v, 0, part(L.plant.qvel, 0, L.row.v.size))
        return
    for k in range(L.coordinate.size):
        L.row.q[k] = L.plant.qpos[L.coordinate[k]]
    for k in range(L.dof.size):
        L.row.v[k] = L.plant.qvel[L.dof[k]]


@kernel(inline=True)
def elastic_state(L: Loop) -> None:
    """Readings of motors, springs and their sensors, and their record."""
    e = L.elastic
    sense_springs(e, L.row.q, L.row.v)
    put(L.row.motor_q, 0, e.motor_q)
    put(L.row.motor_v, 0, e.motor_v)
    put(L.row.joint_torque, 0, e.sensed)


@kernel
def measure(L: Loop) -> None:
    """Measure for the law: joints, torques, wrench, pole, target."""
    x, joints, count = L.tick, L.joints, L.tick_count
    nq, n = x.q.size, x.v.size
    x.t, x.dt = L.step * L.dt, L.period
    if count > 0 and fault_now(L.faults, STUCK, STUCK, L.seed, count) > 0:
        pass  # the joint sensors say again what they said
    elif L.elastic.on:
        read_joints(joints, L.elastic.seen_q, L.elastic.seen_v, L.seed, count, L.period)
    elif nq == n:
        read_joints(joints, L.row.q, L.row.v, L.seed, count, L.period)
    else:
        put(joints.signal.fresh, 0, L.row.q)
        put(joints.signal.fresh, nq, L.row.v)
    arrive(joints.signal, count)
    put(x.q, 0, part(joints.signal.seen, 0, nq))
    put(x.v, 0, part(joints.signal.seen, nq, n))
    read_torques(joints, L.elastic.sensed if L.elastic.on else L.row.tau, L.seed, count, x.tau)
    sense_wrench(L.wrist, L.plant, L.nominal, L.tree, L.felt, L.row.tool_position)
    L.wrist.fault = fault_now(L.faults, NAN, DROPOUT, L.seed, count)
    read_wrench(L.wrist, L.seed, count)
    arrive(L.wrist.signal, count)
    put(x.wrench, 0, L.wrist.signal.seen)
    copy_long(L.target, L.targets[count - L.first_target])
    _see_pole(L)
    if len(L.custom) > 0:
        _sense(L)


@kernel
def note_deflection(L: Loop) -> None:
    """Keep the deflection under the model's gravity for encoders that are corrected by it."""
    if not L.blind and L.elastic.encoders == BY_GRAVITY:
        note_sag(L.elastic, L.tick.gravity)


@kernel
def _sense(L: Loop) -> None:
    """Read the compiled custom sensors; those in plain Python are read by the caller of the loop."""
    L.truth.t, L.truth.period = L.step * L.dt, L.period
    for k in range(len(L.custom)):
        if L.custom[k].function != 0:
            read_sensor(L.custom[k], L.truth)
            pass_on_reading(L, k)


@kernel
def pass_on_reading(L: Loop, k: int) -> None:
    """Give the reading of a custom sensor to the law and to the row."""
    s, values = L.custom[k], L.tick.seen.values
    pass_on(s, L.seed, L.tick_count, values)
    put(L.row.sensors, s.first, part(values, s.first, s.reading.values.size))


@kernel
def _see_pole(L: Loop) -> None:
    """Foot to sphere of a pole on the tool, and its rate, or a camera's last picture of it."""
    c, view = L.camera, L.tick.seen.pole
    if c.body < 0:
        return
    look_at_pole(c, L.plant, L.row.tool_position, L.row.tool_twist)
    if c.ideal:
        put(view.AB, 0, c.AB)
        put(view.AB_rate, 0, c.AB_rate)
        return
    view.rated, view.fresh = False, take_picture(c, L.step * L.dt, L.seed)
    shown = max(c.arrived - 1, 0) % c.times.size
    put(view.AB, 0, c.pictures[shown])
    view.age = L.step * L.dt - c.times[shown]


@kernel
def turn_wanted_wrench(L: Loop) -> None:
    """The wanted wrench in world axes, whatever axes it was given along."""
    a, x = L.wanted, L.tick
    if a.kind == 0:
        return
    if a.kind == 1:
        for i in range(3):
            put(a.R[i], 0, x.rotation[i])
    elif a.kind == 2:
        matrix_from_quat(x.target.quat_wxyz, a.R)
    else:
        _surface_axes(L)
    put(a.wrench, 0, x.target.wrench)
    for half in range(0, 6, 3):
        for i in range(3):
            x.target.wrench[half + i] = 0.0
            for j in range(3):
                x.target.wrench[half + i] += a.R[i, j] * a.wrench[half + j]


@kernel
def _surface_axes(L: Loop) -> None:
    """Axes with z the outward normal of the surface nearest to the tool, x near the world's x (or y)."""
    a, nearest = L.wanted, math.inf
    for k in range(len(L.surfaces)):
        s = L.surfaces[k]
        for i in range(3):
            a.local[i] = 0.0
            for j in range(3):
                a.local[i] += s.axes[j, i] * (L.tick.position[j] - s.position[j])
        gap = call_distance(s.distance, s.form, a.local, a.near)  # pyright: ignore[reportCallIssue]
        if gap < nearest:
            nearest = gap
            for i in range(3):
                a.normal[i] = s.axes[i, 0] * a.near[0] + s.axes[i, 1] * a.near[1] + s.axes[i, 2] * a.near[2]
    n, along = a.normal, 0 if abs(a.normal[0]) < 0.9 else 1
    size = math.sqrt(1.0 - n[along] ** 2)
    for i in range(3):
        a.R[i, 0] = ((1.0 if i == along else 0.0) - n[along] * n[i]) / size
        a.R[i, 2] = n[i]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a.R[i, 1] = n[j] * a.R[k, 0] - n[k] * a.R[j, 0]


@kernel
def evaluate_model(L: Loop) -> bool:
    """The nominal model's terms at the measured state; read off the plant where both are one. False for no state."""
    x, p, needs, tool = L.tick, L.nominal, L.needs, L.nominal_tool
    if L.coupled.on:
        return _evaluate_coupled(L)
    if L.model.on and _evaluate_tree(L):
        return True
    if not L.shared:
        if stage_state(p, x.q, x.v) != OK:
            return False
        if needs.M:
            read_mass_matrix(p, x.M)
        if needs.bias:
            read_bias(p, x.bias)
    else:
        if needs.M:
            mj_fullM(p.model, p.data, address_of(x.M))
        put(x.bias, 0, part(p.qfrc_bias, 0, x.bias.size))
    if needs.gravity:
        read_gravity(p, x.gravity)
    read_pose(p, tool, x.position, x.rotation)
    if needs.J:
        read_jacobian(p, tool.body, x.position, x.J)
    if needs.drift or needs.J_rate:
        read_drift(p, tool.body, x.position, x.v, x.J_rate, x.drift)
    return True


@kernel(inline=True)
def _evaluate_tree(L: Loop) -> bool:
    """The nominal model's terms by its equations; False where they are not made for the state."""
    x, m = L.tick, L.model
    if L.shared:
        if not L.tree.now:
            return False
        if not m.in_place:
            put(flat(x.M), 0, flat(m.terms.M))
            put(x.bias, 0, m.terms.bias)
            put(x.gravity, 0, m.terms.gravity)
    elif is_ordinary(x.q, x.v) and quaternions_are_unit(L.nominal, x.q):
        compute_terms(m.code, x.q, x.v, m.terms)
    else:
        return False
    compute_frame(m.code, m.terms, m.tool, m.frame)
    return True


@kernel
def _evaluate_coupled(L: Loop) -> bool:
    """The nominal model's terms where joints follow others: of all joints, reduced to the independent ones."""
    x, p, m, needs, tool = L.tick, L.nominal, L.coupled, L.needs, L.nominal_tool
    full = m.terms
    expand_state(m, x.q, x.v)
    if stage_state(p, m.q, m.v) != OK:
        return False
    if needs.M:
        read_mass_matrix(p, full.M)
        reduce_matrix(m, full.M, x.M)
    if needs.bias:
        read_bias(p, full.bias)
        reduce_force(m, full.bias, x.bias)
    if needs.gravity:
        read_gravity(p, full.gravity)
        reduce_force(m, full.gravity, x.gravity)
    read_pose(p, tool, x.position, x.rotation)
    if needs.J:
        read_jacobian(p, tool.body, x.position, full.J)
        reduce_columns(m, full.J, x.J)
    if needs.drift or needs.J_rate:
        read_drift(p, tool.body, x.position, m.v, full.J_rate, x.drift)
        reduce_columns(m, full.J_rate, x.J_rate)
    return True
