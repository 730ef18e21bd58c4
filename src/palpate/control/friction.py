"""Compensation of joint friction: a term that the loop adds to any law's command.

    τ_f = s (D̂ v + F̂ sat(v / v₀)),    v₀ = 0.01 rad/s (or m/s),    0 ≤ s ≤ 1

with the viscous and Coulomb friction D̂, F̂ of the model the law knows, at the measured velocities. Its Coulomb part is
never larger than the friction, which takes F |v| from the motion: however late the measurement, the two together feed
no motion, as long as the model's friction is not larger than the arm's. At rest it is 0: what sticks still sticks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from palpate.control.bound_law import BoundLaw
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

FRICTION = "friction"  # the term's name
KNEE = 0.01  # v₀, rad/s or m/s


class Compensation(Record):
    """s D̂ and s F̂ per joint; without room where nothing is compensated."""

    viscous: Vector = sized("nv")
    coulomb: Vector = sized("nv")
    factor: Matrix = sized("nv", "nv")  # scratch


def compensation_of(robot: Robot, share: float) -> Compensation:
    """Compensation of a share of the model's friction."""
    if share == 0.0:
        return Compensation({"nv": 0})
    across = np.abs(robot.coordinates.map)
    viscous, coulomb = (across**2).T @ robot.model.dof_damping, across.T @ robot.model.dof_frictionloss
    return Compensation({"nv": robot.nv}, viscous=share * viscous, coulomb=share * coulomb)


def with_friction_term(law: BoundLaw, robot: Robot, share: float) -> BoundLaw:
    """The law with a last term for its friction compensation, which the loop fills."""
    if share == 0.0:
        return law
    if law.command not in ("torque", "acceleration"):
        raise InvalidInput(
            f"friction_compensation is added to torques, but {law.name!r} commands a {law.command}",
            hint="leave it at 0: the servo behind the command has to overcome friction",
        )
    rows = np.vstack([law.rows, np.zeros(robot.nv)])
    return replace(law, terms=(*law.terms, FRICTION), rows=rows, compensates=True)


@kernel
def friction_torque(c: Compensation, v: Vector, out: Vector) -> None:
    """out = s (D̂ v + F̂ sat(v / v₀))."""
    for i in range(v.size):
        out[i] = c.viscous[i] * v[i] + c.coulomb[i] * min(max(v[i] / KNEE, -1.0), 1.0)
