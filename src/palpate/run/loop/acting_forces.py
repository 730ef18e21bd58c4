"""Forces on the plant at a step: surfaces, loads, pushes and contacts, and the position of the tool."""

from __future__ import annotations

from palpate.engine.kernels import clear, kernel, put
from palpate.engine.physics import Physics
from palpate.engine.views import part
from palpate.robot.mechanics.kernels import add_generalized_force, read_pose
from palpate.run.loop.state import Load, Loop, RigidPoint
from palpate.world.forces.contact import PointContact, find_contact, move_surface
from palpate.world.forces.pushes import apply_push, push_share
from palpate.world.plants.bodies import add_force, add_wrench, velocity_at
from palpate.world.plants.tree_loads import add_load


@kernel
def move_surfaces(L: Loop, t: float) -> None:
    """Put moving surfaces where they are at t."""
    for k in range(len(L.surfaces)):
        surface = L.surfaces[k]
        move_surface(surface, t)
        if surface.mocap >= 0:
            put(L.plant.mocap_pos[surface.mocap], 0, surface.position)


@kernel
def change_loads(L: Loop, t: float) -> bool:
    """Attach and release the loads that are due at the staged state; whether any was."""
    any_due = False
    for k in range(len(L.loads)):
        load = L.loads[k]
        if not load.done and t >= load.time:
            load.done = any_due = True
            # A load arrives with the speed of the place it is fixed to, and takes its energy away when released.
            L.energy.pushed += _energy_of_load(L, load)
            join_load(L, k)
    return any_due


@kernel
def join_load(L: Loop, k: int) -> None:
    """Let a load's mass join its body, or leave it."""
    load = L.loads[k]
    _change_mass(L.plant, load)
    if L.tree.on:
        add_load(L.tree, load.body, load.mass, load.inertia)


@kernel
def _energy_of_load(L: Loop, load: Load) -> float:
    com, g, v = L.plant.xipos[load.body], L.plant.gravity, L.speed
    velocity_at(L.plant, load.body, com, v)
    energy = 0.0
    for i in range(3):
        energy += load.mass * (0.5 * v[i] * v[i] - g[i] * com[i])
    return energy


@kernel
def _change_mass(p: Physics, load: Load) -> None:
    body = load.body
    p.body_mass[body] += load.mass
    for i in range(3):
        p.body_inertia[body, i] += load.inertia
    while body > 0:
        p.body_subtreemass[body] += load.mass
        body = p.body_parentid[body]
    p.body_subtreemass[0] += load.mass


@kernel
def outside_forces(L: Loop, t: float, elapsed: float) -> None:
    """Generalised forces of pushes and compliant contacts at the staged state; wrenches about the tool's origin."""
    e = L.energy
    clear(L.row.contact_wrench)
    L.row.penetration[0] = 0.0
    e.stored = e.contact_loss = e.power_drive = 0.0
    if len(L.pushes) > 0:
        _push(L, t)
    else:
        clear(L.outside)
        clear(L.felt)
    for k in range(len(L.contacts)):
        contact = L.contacts[k]
        if contact.surface.compliant and find_contact(L.plant, contact, elapsed):
            _add_contact(L, contact)
    if L.probe.on:
        _add_probe(L)


@kernel
def _add_probe(L: Loop) -> None:
    """Add the wrench and the torques that the loop is probed with."""
    f, n, origin = part(L.probe.wrench, 0, 3), part(L.probe.wrench, 3, 3), L.row.tool_position
    add_generalized_force(L.plant, L.tool.body, f, n, origin, L.outside)
    for k in range(L.outside.size):
        L.outside[k] += L.probe.torque[k]
    if L.probe.felt:
        add_wrench(L.felt, f, n, origin, origin)


@kernel
def _push(L: Loop, t: float) -> None:
    """Sum the forces of all pushes at time t."""
    pushed = L.pushed
    clear(pushed.force)
    clear(pushed.wrench)
    clear(pushed.felt)
    pushed.power = 0.0
    for k in range(len(L.pushes)):
        share = push_share(L.pushes[k], L.step * L.dt, L.dt, t)
        if share != 0.0:
            apply_push(L.plant, L.pushes[k], share, L.row.tool_position, pushed)
    put(L.outside, 0, pushed.force)
    put(L.felt, 0, pushed.felt)


@kernel
def _add_contact(L: Loop, c: PointContact) -> None:
    """Add the force of one surface on one contact point."""
    add_generalized_force(L.plant, c.point.body, c.force, L.no_moment, c.position, L.outside)
    L.energy.stored += c.stored
    L.energy.contact_loss += c.lost
    L.energy.power_drive += c.drive
    if c.point.on_robot:
        L.row.penetration[0] = max(L.row.penetration[0], c.depth)
        add_force(L.row.contact_wrench, c.force, c.position, L.row.tool_position)
    if c.point.felt:
        add_force(L.felt, c.force, c.position, L.row.tool_position)


@kernel
def add_rigid_contacts(L: Loop) -> None:
    """Net wrenches of rigid surfaces and objects, as the engine's contact sensors had them at the last physics step."""
    for k in range(len(L.rigid)):
        sensor = L.rigid[k]
        reading = sensor.reading
        if reading[0] == 0.0:
            continue
        sensor.looks += 1
        if sensor.distance:
            L.row.penetration[0] = max(L.row.penetration[0], -reading[1])
            continue
        total = L.felt if sensor.felt else L.row.contact_wrench
        add_wrench(total, part(reading, 1, 3), part(reading, 4, 3), part(reading, 7, 3), L.row.tool_position)
    for k in range(len(L.rigid_points)):
        _show_point(L.rigid_points[k])


@kernel
def _show_point(point: RigidPoint) -> None:
    """f = f₀ n + f₁ t + f₂ n × t of one of the engine's contacts, and where it is; 0 where there is none."""
    r = point.reading
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        across = r[7 + j] * r[10 + k] - r[7 + k] * r[10 + j]
        point.force[i] = r[1] * r[7 + i] + r[2] * r[10 + i] + r[3] * across
        point.position[i] = r[4 + i]


@kernel
def add_exact_contacts(L: Loop) -> None:
    """Forces of exact contacts, as the constraints' multipliers had them under the torque held until now."""
    for k in range(len(L.touches)):
        touch = L.touches[k]
        add_force(L.row.contact_wrench, touch.force, touch.position, L.row.tool_position)
        if touch.felt:
            add_force(L.felt, touch.force, touch.position, L.row.tool_position)


@kernel
def read_tool(L: Loop) -> None:
    """Pose and twist of the true tool."""
    read_pose(L.plant, L.tool, L.row.tool_position, L.tool_rotation)
    velocity_at(L.plant, L.tool.body, L.row.tool_position, L.row.tool_twist)
    put(L.row.tool_twist, 3, part(L.plant.cvel[L.tool.body], 0, 3))
