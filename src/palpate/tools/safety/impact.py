"""Two bodies that meet: a part of a person as a mass on a spring, the arm as its reflected mass.

    μ = m_R m_H / (m_R + m_H)       free to recoil; μ = m_R where it is clamped
    F = v √(μ k),   E = ½ μ v²,   v_F = F_max / √(μ k),   v_E = √(2 E_max / μ)
    1/m_R = uᵀ J M⁻¹ Jᵀ u           reflected mass along u, with or without rotors;  beside it the rule M/2 + m_L
    M + m_L Jᵀ J                    with a load at the tool: m_R grows by m_L or more

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


def reflected_mass(
    robot: Robot, q: ArrayLike, direction: ArrayLike, rotors: ArrayLike | None = None, load: float = 0.0
) -> ReflectedMass:
    """Reflected mass at the tool's point along a direction, world axes.

    Args:
        robot: with its rotors as the model knows them (`joints = "as_built"`).
        q: posture.
        direction: of the contact; its length does not count.
        rotors: reflected rotor inertia per joint, kg·m²; the model's if not given.
        load: carried at the tool's point beyond the model, kg.
    """
    finite_number(load, "load", least=0.0)
    u = finite_array(direction, "direction", (3,))
    if not np.any(u):
        raise InvalidInput("the direction of a contact must have a length")
    u = u / np.linalg.norm(u)
    terms = robot.terms(q, np.zeros(robot.nv))
    across = np.abs(robot.coordinates.map)
    own = (across**2).T @ robot.model.dof_armature
    M = np.array(terms.M) - np.diag(own)
    added = own if rotors is None else finite_array(rotors, "rotors", (robot.nv,))
    J = np.array(terms.J)[:3]
    row, M = u @ J, M + load * J.T @ J
    arm = float(robot.model.body_mass[_moving(robot)].sum())
    masses = [1.0 / float(row @ np.linalg.solve(inertia, row)) for inertia in (M, M + np.diag(added))]
    return ReflectedMass(masses[0], masses[1], 0.5 * arm + load, arm, load)


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


def series_stiffness(*stiffness: float) -> float:
    """Stiffness of springs one behind the other, N/m: 1/k = Σ 1/k_i, as a part of a person behind a pad."""
    return 1.0 / sum(1.0 / finite_number(k, "stiffness", above=0.0) for k in stiffness)


def held_force(law: float, part: float, overlap: float) -> float:
    """Force on a clamped part that a law of a stiffness goes on pressing with, N: k K/(k + K) d at an overlap d, m."""
    return series_stiffness(law, part) * overlap


def pressure_speed(partner: Partner, robot_mass: float, pressure: float, area: float) -> float:
    """The largest relative speed at which a pressure over a contact area, m², is not passed: p A / √(μ k), m/s."""
    return partner.speed_for_force(robot_mass, pressure * area)


def separation(
    speed: float,
    person: float,
    reaction: float,
    stopping: float,
    distance: float,
    *,
    intrusion: float = 0.0,
    uncertainty: float = 0.0,
) -> float:
    """The distance at which a stop must begin, m: v_H (t_r + t_s) + v_R t_r + s_s + C + Z.

    Args:
        speed: v_R of the robot towards the person, m/s.
        person: v_H of the person, m/s.
        reaction: t_r until the stop begins, s.
        stopping: t_s that it takes, s.
        distance: s_s that the robot moves in it, m.
        intrusion: C, how far a part of a body can be beyond where it is seen, m.
        uncertainty: Z, of both positions together, m.
    """
    return person * (reaction + stopping) + speed * reaction + distance + intrusion + uncertainty


def braked_separation(speed: float, person: float, reaction: float, deceleration: float, **margins: float) -> float:
    """The same of a robot that brakes with a constant deceleration, m/s²: t_s = v_R / a, s_s = v_R² / 2 a."""
    finite_number(deceleration, "deceleration", above=0.0)
    return separation(speed, person, reaction, speed / deceleration, 0.5 * speed**2 / deceleration, **margins)


def speed_for_separation(distance: float, person: float, reaction: float, deceleration: float) -> float:
    """The largest speed at which a robot that brakes so stands before a person who comes nearer all the time, m/s.

    v²/2 a + v (t_r + v_H/a) + v_H t_r = d, d less C and Z; 0 where the person alone covers the distance.
    """
    slope, left = reaction + person / deceleration, distance - person * reaction
    return deceleration * (math.sqrt(slope**2 + 2.0 * left / deceleration) - slope) if left > 0.0 else 0.0


def force_of_detected(speed: float, mass: float, stiffness: float, delay: float) -> Array:
    """Force `delay` seconds after the touch, and the largest if nothing reacts: [F(delay), F_max], N."""
    w = math.sqrt(stiffness / mass)
    largest = speed * math.sqrt(mass * stiffness)
    return np.array([largest * math.sin(min(w * delay, 0.5 * math.pi)), largest])
