"""Single terms of a robot at a state, by name: the numbers an exercise asks for (`palpate show ROBOT --terms …`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.cli.arm import OF_TERMS, Arm, refuse_unused
from palpate.cli.tables import WIDTH, number, numbers, print_json, say
from palpate.control import Stop
from palpate.control.design.gains import SpringDamper, coincident_poles
from palpate.control.solve.force_torques import ForceTorques, torques_for_force
from palpate.control.solve.stop import METHODS, fastest_stop
from palpate.errors import InvalidInput, check_names
from palpate.robot.robot import Robot

AXES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class Question:
    """A robot at a state, and the options of `palpate show`, of which a term may need some.

    Attributes:
        arm: the robot, its state, what it carries.
        options: those of the command line.
        used: which of them the terms asked for.
    """

    arm: Arm
    options: argparse.Namespace
    used: set[str] = field(default_factory=set)

    @property
    def robot(self) -> Robot:
        """The robot, with its payload."""
        return self.arm.robot

    @property
    def q(self) -> Sequence[float] | Array:
        """Its coordinates."""
        return self.arm.q

    @property
    def v(self) -> Sequence[float] | Array:
        """Its velocities."""
        return self.arm.v

    def option(self, name: str) -> Any:
        """The value of an option, which counts as used."""
        self.used.add(name)
        return getattr(self.options, name)

    @property
    def frame(self) -> str | None:
        """The frame of poses and Jacobians."""
        return self.option("frame")

    def numbers(self, name: str) -> list[float]:
        """Those of an option; none where it was not given."""
        return numbers(self.option(name) or (), f"--{name}")

    def needed(self, name: str, message: str, hint: str) -> list[float]:
        """Those of an option that must have been given."""
        if not (values := self.numbers(name)):
            raise InvalidInput(message, hint=hint)
        return values

    def rows(self) -> Array:
        """Directions of the task, k × 6; by default those in which the tool can move."""
        names = (self.option("task") or "").replace(",", " ").split()
        check_names("direction", names, AXES)
        if names:
            return np.eye(6)[[AXES.index(name) for name in names]]
        linear = self.robot.jacobian(self.q, self.frame)[:3]
        moving = [i for i in range(3) if np.abs(linear[i]).max() > 1e-9]
        return np.eye(6)[moving]

    def jacobian(self) -> Array:
        """The task's rows of J."""
        return self.rows() @ self.robot.jacobian(self.q, self.frame)

    def drift(self) -> Array:
        """The task's rows of J̇ v."""
        return self.rows() @ self.robot.jacobian_drift(self.q, self.v, self.frame)

    def inertia(self) -> Array:
        """M_p = (J M⁻¹ Jᵀ)⁻¹."""
        return self.robot.task_inertia(self.q, self.frame, directions=self.rows())

    def stop(self) -> Stop:
        """The fastest stop along the tool's direction."""
        message, method = "a stop needs bounds on the joint accelerations", self.option("method") or "optimal"
        limits = self.needed("limits", message, "--limits 15pi 10pi 10pi")
        check_names("method", [method], METHODS)
        return fastest_stop(self.jacobian(), self.drift(), self.v, limits, velocity_of="joints", method=method)

    def torque(self) -> Sequence[float]:
        """τ, zeros where it was not given."""
        return self.numbers("tau") or [0.0] * self.robot.nv

    def given_force(self) -> Sequence[float]:
        """The force, which must have been given."""
        return self.needed("force", "this term needs a force", "--force 0 0 -10, along the task's directions")

    def gains(self) -> SpringDamper:
        """K = λ² M_p and D = 2 λ M_p; λ is the stop's where no other is given."""
        rate = self.option("rate")
        return coincident_poles(self.inertia(), self.stop().rate if rate is None else rate)

    def balanced(self) -> ForceTorques:
        """The least torques that put the force on an end-effector with a pole on it."""
        given = self.numbers("pole") or self.arm.direction
        if given is None:
            raise InvalidInput("this term needs a pole", hint="--pole 0 0 1: from its foot to its sphere, m")
        self.used.add("sphere")
        return torques_for_force(self.robot, self.q, self.v, self.given_force(), given, pole=self.arm.pole_along(given))

    def coriolis_force(self) -> Array:
        """μ = Λ (J M⁻¹ C v − J̇ v), of the task."""
        velocity_terms = self.robot.bias(self.q, self.v) - self.robot.gravity(self.q)
        return self._task_force(velocity_terms) - self.inertia() @ self.drift()

    def gravity_force(self) -> Array:
        """p = Λ J M⁻¹ g, of the task."""
        return self._task_force(self.robot.gravity(self.q))

    def _task_force(self, torque: Array) -> Array:
        return self.inertia() @ self.jacobian() @ np.linalg.solve(self.robot.mass_matrix(self.q), torque)


Term = tuple[str, str, Callable[[Question], Any]]  # what it is, its unit, how to compute it
# By name; tools add theirs.
TERMS: dict[str, Term] = {
    "M": ("mass matrix M(q)", "kg·m² or kg", lambda x: x.robot.mass_matrix(x.q)),
    "B": ("mass matrix, by its other letter", "kg·m² or kg", lambda x: x.robot.mass_matrix(x.q)),
    "C": ("Coriolis matrix C(q, v)", "N·m·s or N·s", lambda x: x.robot.coriolis_matrix(x.q, x.v)),
    "c": ("velocity terms C(q, v) v", "N·m or N", lambda x: x.robot.bias(x.q, x.v) - x.robot.gravity(x.q)),
    "g": ("gravity g(q)", "N·m or N", lambda x: x.robot.gravity(x.q)),
    "T": ("kinetic energy", "J", lambda x: x.robot.kinetic_energy(x.q, x.v)),
    "V": ("potential energy", "J", lambda x: x.robot.potential_energy(x.q)),
    "position": ("position of the tool", "m", lambda x: x.robot.pose(x.q, x.frame).position),
    "rotation": ("rotation matrix of the tool", "1", lambda x: x.robot.pose(x.q, x.frame).rotation),
    "J": ("Jacobian J(q), rows of the task", "m or 1", lambda x: x.jacobian()),
    "J6": ("whole Jacobian, rows [linear; angular]", "m or 1", lambda x: x.robot.jacobian(x.q, x.frame)),
    "h": ("drift h = J̇ v", "m/s²", lambda x: x.drift()),
    "pdot": ("velocity of the tool J v", "m/s", lambda x: x.jacobian() @ x.v),
    "Mp": ("Cartesian inertia (J M⁻¹ Jᵀ)⁻¹", "kg", lambda x: x.inertia()),
    "eig": ("its eigenvalues", "kg", lambda x: np.linalg.eigvalsh(x.inertia())[::-1]),
    "mu": ("Coriolis force of the task, Mp (J M⁻¹ C v − J̇ v)", "N", lambda x: x.coriolis_force()),
    "p": ("gravity force of the task, Mp J M⁻¹ g", "N", lambda x: x.gravity_force()),
    "a": ("a = −J⁺ṗ", "rad/s", lambda x: x.stop().a),
    "b": ("b = −J⁺h", "rad/s²", lambda x: x.stop().b),
    "lambda_i": ("λ_i of each joint alone", "1/s", lambda x: x.stop().rates),
    "lambda": ("λ* of the stop", "1/s", lambda x: x.stop().rate),
    "u": ("joint acceleration of the stop", "rad/s²", lambda x: x.stop().acceleration),
    "pdd": ("acceleration of the tool under it", "m/s²", lambda x: x.jacobian() @ x.stop().acceleration + x.drift()),
    "K": ("stiffness λ² Mp, both poles of every axis at −λ", "N/m", lambda x: x.gains().stiffness),
    "D": ("damping 2 λ Mp that goes with it", "N·s/m", lambda x: x.gains().damping),
    "tauf": ("least torques that put f on an end-effector with a pole", "N·m or N", lambda x: x.balanced().torque),
}


def show_terms(question: Question, names: Sequence[str], as_json: bool) -> None:
    """Compute terms and print them with eight digits, or as JSON with all; options that no term needs are refused."""
    check_names("term", names, TERMS)
    values = {name: (*TERMS[name][:2], TERMS[name][2](question)) for name in names}
    unused = {name: option for name, option in {**OF_TERMS, "frame": "--frame"}.items() if name not in question.used}
    refuse_unused(question.options, unused, f"is not used by {', '.join(names)}")
    print_values(values, as_json, question.arm.words)


def print_values(values: Mapping[str, tuple[str, str, Any]], as_json: bool, of: str) -> None:
    """Named values with their meaning and unit, and of what they are."""
    if as_json:
        print_json({"of": of, **{name: _plain(np.asarray(value)) for name, (_, _, value) in values.items()}})
        return
    say(f"of {of}", pipe=WIDTH)
    for name, (what, unit, value) in values.items():
        print(f"{name}: {what} [{unit}]")
        for row in np.atleast_2d(np.asarray(value)):
            print("  " + "".join(f"{x if isinstance(x, str) else number(x, 8):>15}" for x in row))


def _plain(value: Array) -> Any:
    """Lists and numbers; infinities as text, which JSON has no word for."""
    data = value.tolist()
    if isinstance(data, list):
        return [_plain(one) for one in value]
    return data if isinstance(data, str) or abs(data) < float("inf") else str(data)
