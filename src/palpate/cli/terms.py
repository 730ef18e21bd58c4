"""Single terms of a robot at a state, by name: the numbers an exercise asks for (`palpate show ROBOT --terms …`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from palpate.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from palpate.checks import Array
    from palpate.control import Stop
    from palpate.robot.robot import Robot

AXES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class Question:
    """A robot at a state, and what a term may need besides.

    Attributes:
        robot, q, v, frame: the robot and its state.
        task: rows of the task among x, y, z, rx, ry, rz; the directions the tool can move in by default.
        limits: bounds on the joint accelerations, for the terms of a stop.
        method: of the stop: optimal or pseudoinverse.
    """

    robot: Robot
    q: Sequence[float] | Array
    v: Sequence[float]
    frame: str | None = None
    task: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    method: str = "optimal"

    def rows(self) -> Array:
        """Directions of the task, k × 6."""
        import numpy as np

        for name in self.task:
            if name not in AXES:
                raise UnknownName("direction", name, AXES)
        if self.task:
            return np.eye(6)[[AXES.index(name) for name in self.task]]
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
        import numpy as np

        from palpate.control.solve.stop import METHODS, fastest_stop

        if not self.limits:
            raise InvalidInput("a stop needs bounds on the joint accelerations", hint="--limits 15pi 10pi 10pi")
        if self.method not in METHODS:
            raise UnknownName("method", self.method, METHODS)
        p = self.jacobian() @ np.asarray(self.v, dtype=float)
        return fastest_stop(self.jacobian(), self.drift(), p, list(self.limits), method=self.method)  # type: ignore


def _eigenvalues(x: Question) -> Array:
    import numpy as np

    return np.linalg.eigvalsh(x.inertia())[::-1]


def _accelerated(x: Question) -> Array:
    return x.jacobian() @ x.stop().acceleration + x.drift()


def _coriolis(x: Question) -> Array:
    return x.robot.bias(x.q, x.v) - x.robot.gravity(x.q)


# name: (what it is, unit, how to compute it)
TERMS: dict[str, tuple[str, str, Callable[[Question], Any]]] = {
    "M": ("mass matrix M(q)", "kg·m² or kg", lambda x: x.robot.mass_matrix(x.q)),
    "B": ("mass matrix, by its other letter", "kg·m² or kg", lambda x: x.robot.mass_matrix(x.q)),
    "C": ("Coriolis matrix C(q, v)", "N·m·s or N·s", lambda x: x.robot.coriolis_matrix(x.q, x.v)),
    "c": ("velocity terms C(q, v) v", "N·m or N", _coriolis),
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
    "eig": ("its eigenvalues", "kg", _eigenvalues),
    "a": ("a = −J⁺ṗ", "rad/s", lambda x: x.stop().a),
    "b": ("b = −J⁺h", "rad/s²", lambda x: x.stop().b),
    "lambda_i": ("λ_i of each joint alone", "1/s", lambda x: x.stop().rates),
    "lambda": ("λ* of the stop", "1/s", lambda x: x.stop().rate),
    "u": ("joint acceleration of the stop", "rad/s²", lambda x: x.stop().acceleration),
    "pdd": ("acceleration of the tool under it", "m/s²", _accelerated),
}


def show_terms(question: Question, names: Sequence[str], as_json: bool) -> None:
    """Compute terms and print them with eight digits, or as JSON with all."""
    for name in names:
        if name not in TERMS:
            raise UnknownName("term", name, TERMS)
    print_values({name: (*TERMS[name][:2], TERMS[name][2](question)) for name in names}, as_json)


def print_values(values: Mapping[str, tuple[str, str, Any]], as_json: bool) -> None:
    """Named values with their meaning and unit."""
    import numpy as np

    if as_json:
        print(json.dumps({name: _plain(np.asarray(value)) for name, (_, _, value) in values.items()}, indent=2))
        return
    for name, (what, unit, value) in values.items():
        print(f"{name}: {what} [{unit}]")
        table = np.atleast_2d(np.asarray(value, dtype=float))
        for row in table:
            print("  " + "".join(f"{_shown(x):>15}" for x in row))


def _shown(x: float) -> str:
    return "0" if abs(x) < 1e-13 else f"{x:.8g}"


def _plain(value: Array) -> Any:
    """Lists and numbers; infinities as text, which JSON has no word for."""
    data = value.tolist()
    if isinstance(data, list):
        return [_plain(one) for one in value]
    return data if abs(data) < float("inf") else str(data)


# ------------------------------------------------------------------ a pole on an end-effector


def show_pole(settings: Mapping[str, Any], names: Sequence[str], as_json: bool) -> None:
    """Gains and eigenvalues of a pole on an end-effector, unit weights."""
    import numpy as np

    from palpate.control.design.pole import PoleModel

    known = ("length", "sphere_mass", "end_effector_mass", "gravity")
    for name in settings:
        if name not in known:
            raise UnknownName("parameter of the pole", name, known)
    pole = PoleModel(**settings)

    def poles(hold: bool) -> Array:
        A, B = pole.linear_axis(hold)
        return np.sort(np.linalg.eigvals(A - B @ pole.gains(hold)[None]).real)

    values: dict[str, tuple[str, str, Callable[[], Any]]] = {
        "eig": ("eigenvalues of the upright pole, one axis", "1/s", lambda: _open(pole.linear_axis(False)[0])),
        "K7": ("LQR gains of (ẋ_A, x_AB, ẋ_AB), without the position", "N per unit", lambda: pole.gains(False)),
        "K7z": ("of ż_A", "N·s/m", lambda: pole.vertical_gains(False)),
        "poles7": ("closed-loop eigenvalues with them, real parts", "1/s", lambda: poles(False)),
        "K10": ("LQR gains of (x_A, ẋ_A, x_AB, ẋ_AB)", "N per unit", lambda: pole.gains(True)),
        "K10z": ("of (z_A, ż_A)", "N per unit", lambda: pole.vertical_gains(True)),
        "poles10": ("closed-loop eigenvalues with them, real parts", "1/s", lambda: poles(True)),
    }
    for name in names:
        if name not in values:
            raise UnknownName("term of the pole", name, values)
    chosen = names or tuple(values)
    print_values({name: (*values[name][:2], values[name][2]()) for name in chosen}, as_json)


def _open(A: Array) -> Array:
    import numpy as np

    return np.sort(np.linalg.eigvals(A).real)
