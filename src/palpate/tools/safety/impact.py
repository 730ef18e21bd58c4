"""Two bodies that meet: a part of a person as a mass on a spring, the arm as its reflected mass.

    μ = m_R m_H / (m_R + m_H)       free to recoil; μ = m_R where it is clamped
    F = v √(μ k),   E = ½ μ v²,   v_F = F_max / √(μ k),   v_E = √(2 E_max / μ)
    1/m_R = uᵀ J M⁻¹ Jᵀ u           reflected mass along u, with or without rotors;  beside it the rule M/2 + m_L

F is the force that the contact reaches before anything reacts: undamped, elastic, at the relative speed v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot


@dataclass(frozen=True)
class ReflectedMass:
    """The arm's mass as a contact along a direction feels it, kg.

    Attributes:
        links: of the links alone.
        with_rotors: of links and rotors.
        rule: M/2 + m_L, M the mass of the moving links, m_L that of the load.
        arm, load: M and m_L.
    """

    links: float
    with_rotors: float
    rule: float
    arm: float
    load: float


def reflected_mass(robot: Robot, q: ArrayLike, direction: ArrayLike, rotors: ArrayLike | None = None) -> ReflectedMass:
    """Reflected mass at the tool's point along a direction, world axes.

    Args:
        robot: with its rotors as the model knows them (`joints = "as_built"`).
        q: posture.
        direction: of the contact; its length does not count.
        rotors: reflected rotor inertia per joint, kg·m²; the model's if not given.
    """
    u = finite_array(direction, "direction", (3,))
    if not np.any(u):
        raise InvalidInput("the direction of a contact must have a length")
    u = u / np.linalg.norm(u)
    terms = robot.terms(q, np.zeros(robot.nv))
    across = np.abs(robot.coordinates.map)
    own = (across**2).T @ robot.model.dof_armature
    M = np.array(terms.M) - np.diag(own)
    added = own if rotors is None else finite_array(rotors, "rotors", (robot.nv,))
    row = u @ np.array(terms.J)[:3]
    arm = float(robot.model.body_mass[_moving(robot)].sum())
    masses = [1.0 / float(row @ np.linalg.solve(inertia, row)) for inertia in (M, M + np.diag(added))]
    return ReflectedMass(masses[0], masses[1], 0.5 * arm, arm, 0.0)


def _moving(robot: Robot) -> list[int]:
    """Bodies that at least one joint moves."""
    model = robot.model
    return [body for body in range(1, model.nbody) if model.body_weldid[body] != 0]


@dataclass(frozen=True)
class Partner:
    """The body that is met: effective mass (infinite where it is clamped) and stiffness."""

    mass: float
    stiffness: float

    def __post_init__(self) -> None:
        finite_number(self.stiffness, "stiffness", above=0.0)
        if not self.mass > 0.0:
            raise InvalidInput(f"the mass of a contact's partner must be above 0, got {self.mass:g}")

    def combined(self, robot_mass: float) -> float:
        """μ, kg."""
        return robot_mass if math.isinf(self.mass) else robot_mass * self.mass / (robot_mass + self.mass)

    def force(self, robot_mass: float, speed: float) -> float:
        """F of a free impact, N."""
        return speed * math.sqrt(self.combined(robot_mass) * self.stiffness)

    def energy(self, robot_mass: float, speed: float) -> float:
        """E that the spring takes up, J."""
        return 0.5 * self.combined(robot_mass) * speed**2

    def speed_for_force(self, robot_mass: float, force: float) -> float:
        """The largest relative speed at which F is not passed, m/s."""
        return force / math.sqrt(self.combined(robot_mass) * self.stiffness)

    def speed_for_energy(self, robot_mass: float, energy: float) -> float:
        """The largest relative speed at which E is not passed, m/s."""
        return math.sqrt(2.0 * energy / self.combined(robot_mass))


def separation(speed: float, person: float, reaction: float, stopping: float, distance: float) -> float:
    """The distance at which a stop must begin, m: (v_H + v_R) t_reaction + v_H t_stop + s_stop.

    Args:
        speed: of the robot towards the person, m/s.
        person: speed of the person, m/s.
        reaction: time until the stop begins, s.
        stopping: time that it takes, s.
        distance: that the robot moves in it, m.
    """
    return (speed + person) * reaction + person * stopping + distance


def force_of_detected(speed: float, mass: float, stiffness: float, delay: float) -> Array:
    """Force `delay` seconds after the touch, and the largest if nothing reacts: [F(delay), F_max], N."""
    w = math.sqrt(stiffness / mass)
    largest = speed * math.sqrt(mass * stiffness)
    return np.array([largest * math.sin(min(w * delay, 0.5 * math.pi)), largest])
