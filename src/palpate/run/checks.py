"""What must hold before step 0: inside the limits, not deep inside a surface, a step short enough for the stiffness."""

from __future__ import annotations

import numpy as np

from palpate.engine import H_DATA, H_MODEL, kernel, mj_step1
from palpate.errors import InvalidInput
from palpate.robot.kernels import read_jacobian
from palpate.run.assemble import Assembly
from palpate.run.physics import move_world, outside_forces, read_tool
from palpate.run.state import as_loop
from palpate.world.contact import C_DEPTH

MOST_PENETRATION = 5e-3  # m
UNSTABLE_STEP, COARSE_STEP = 1.0, 0.2  # dt · ω of a contact


def check_start(assembly: Assembly) -> list[str]:
    """Refuse a start that cannot be simulated; return warnings about one that should be looked at."""
    _inside_limits(assembly)
    stage_start(assembly.table)
    _not_deep_inside(assembly)
    return _short_enough(assembly)


@kernel("void(int64[::1])")
def stage_start(table):
    """Stage the plant at its start and find its contacts."""
    L = as_loop(table)
    move_world(L, 0.0)
    mj_step1(L.plant[H_MODEL], L.plant[H_DATA])
    read_tool(L)
    outside_forces(L, 0.0, 0.0)


@kernel("void(int64[::1], int64, float64[::1], float64[:, ::1])")
def point_jacobian(table, body, point, J):
    """Jacobian (6×N) of a point of a body of the staged plant."""
    read_jacobian(as_loop(table).plant, body, point, J)


def _inside_limits(assembly: Assembly) -> None:
    robot = assembly.parts.robot
    q, _ = assembly.parts.start()
    if robot.nq != robot.nv:
        return
    outside = np.flatnonzero((q < robot.limits.lower - 1e-9) | (q > robot.limits.upper + 1e-9))
    if outside.size:
        lines = [
            f"{robot.dof_names[j]} = {q[j]:.6g} {robot.dof_units[j]}, allowed {robot.limits.lower[j]:.6g}"
            f" to {robot.limits.upper[j]:.6g}"
            for j in outside
        ]
        raise InvalidInput(f"{robot.name} starts outside its joint limits: " + "; ".join(lines))


def _not_deep_inside(assembly: Assembly) -> None:
    depths = assembly.loop.contacts[:, :, C_DEPTH]
    for p, s in np.argwhere(depths > MOST_PENETRATION):
        raise InvalidInput(
            f"{assembly.plant.points[p].name!r} starts {depths[p, s] * 1e3:.3g} mm inside surface"
            f" {assembly.plant.surfaces[s].name!r}; at most {MOST_PENETRATION * 1e3:g} mm is accepted",
            hint="move the surface, or the start posture",
        )
    for contact in assembly.data.contact:
        if contact.dist < -MOST_PENETRATION:
            names = [assembly.plant.model.geom(int(g)).name or "unnamed geom" for g in contact.geom]
            raise InvalidInput(f"{names[0]!r} and {names[1]!r} start {-contact.dist * 1e3:.3g} mm inside each other")


def _short_enough(assembly: Assembly) -> list[str]:
    """dt·ω of each compliant contact, ω² = k / m with m the inertia the point has in its stiffest direction."""
    plant, dt, warnings = assembly.plant, assembly.parts.timestep, []
    stiff = [s for s in plant.surfaces if s.contact == "compliant"]
    for point in plant.points if stiff else ():
        mass = _lightest_mass(assembly, point.body, point.offset)
        for surface in stiff:
            omega = float(np.sqrt(surface.stiffness / mass))
            what = f"dt·ω = {dt * omega:.3g} for {point.name!r} on {surface.name!r} ({mass:.3g} kg on {surface.stiffness:g} N/m)"
            if dt * omega > UNSTABLE_STEP:
                raise InvalidInput(
                    f"the physics step {dt:g} s is too long: {what}, at most {UNSTABLE_STEP:g} is stable",
                    hint=f"use a timestep of at most {COARSE_STEP / omega:.2g} s",
                )
            if dt * omega > COARSE_STEP:
                warnings.append(f"coarse physics step: {what}; below {COARSE_STEP:g} the contact is accurate")
            if surface.model == "kelvin-voigt" and surface.damping * dt / mass > UNSTABLE_STEP:
                raise InvalidInput(
                    f"the physics step {dt:g} s is too long for the damping of {surface.name!r}:"
                    f" d·dt/m = {surface.damping * dt / mass:.3g}, at most {UNSTABLE_STEP:g} is stable"
                )
    return warnings


def _lightest_mass(assembly: Assembly, body: int, offset: np.ndarray) -> float:
    """The smallest inertia a point shows, over all directions: 1 / λ_max(J M⁻¹ Jᵀ)."""
    import mujoco

    model, data = assembly.plant.model, assembly.data
    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset
    J, M = np.zeros((6, model.nv)), np.zeros((model.nv, model.nv))
    point_jacobian(assembly.table, body, point, J)
    mujoco.mj_fullM(model, data, M)
    mobility = J[:3] @ np.linalg.solve(M, J[:3].T)
    return float(1.0 / max(np.linalg.eigvalsh(mobility)[-1], 1e-12))
