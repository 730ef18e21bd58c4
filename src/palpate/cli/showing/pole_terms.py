"""Terms, gains and eigenvalues of a pole on an end-effector (`palpate show pole`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.checks import Array, finite_array
from palpate.cli.showing.terms import print_values
from palpate.cli.tables import number
from palpate.control.design.pole import PoleModel
from palpate.errors import check_names

_POLE_SETTINGS = ("length", "sphere_mass", "end_effector_mass", "gravity")


@dataclass(frozen=True)
class PoleState:
    """A pole at a state: (x, y) of AB in the upper hemisphere, its rate, and the force on the end-effector, N."""

    model: PoleModel
    xy: Sequence[float]
    rates: Sequence[float]
    force: Sequence[float]

    def terms(self) -> tuple[Array, Array]:
        """M and C of M [a_A; ẍ_AB; ÿ_AB] + C = [f; 0; 0]."""
        return self.model.mass_and_bias(self.xy, self.rates)

    def accelerations(self) -> Array:
        """a_A, ẍ_AB and ÿ_AB under the force."""
        M, C = self.terms()
        return np.linalg.solve(M, np.append(finite_array(self.force, "--force", (3,)), [0.0, 0.0]) - C)

    def poles(self, hold: bool) -> Array:
        """Real parts of the closed loop's eigenvalues, one horizontal axis."""
        A, B = self.model.linear_axis(hold)
        return _real_eigenvalues(A - B @ self.model.gains(hold)[None])


_POLE_TERMS: dict[str, tuple[str, str, Callable[[PoleState], Any]]] = {
    "M": ("mass matrix of (r_A, x_AB, y_AB)", "kg", lambda s: s.terms()[0]),
    "C": ("velocity and gravity terms", "N", lambda s: s.terms()[1]),
    "a": ("accelerations of r_A, x_AB, y_AB under the force", "m/s²", lambda s: s.accelerations()),
    "eig": ("eigenvalues of the upright pole, one axis", "1/s",
            lambda s: _real_eigenvalues(s.model.linear_axis(False)[0])),
    "K7": ("LQR gains of (ẋ_A, x_AB, ẋ_AB), without the position", "N per unit", lambda s: s.model.gains(False)),
    "K7z": ("of ż_A", "N·s/m", lambda s: s.model.vertical_gains(False)),
    "poles7": ("closed-loop eigenvalues with them, real parts", "1/s", lambda s: s.poles(False)),
    "K10": ("LQR gains of (x_A, ẋ_A, x_AB, ẋ_AB)", "N per unit", lambda s: s.model.gains(True)),
    "K10z": ("of (z_A, ż_A)", "N per unit", lambda s: s.model.vertical_gains(True)),
    "poles10": ("closed-loop eigenvalues with them, real parts", "1/s", lambda s: s.poles(True)),
}  # fmt: skip


def show_pole(
    settings: Mapping[str, Any],
    state: tuple[Sequence[float], Sequence[float], Sequence[float]],
    names: Sequence[str],
    as_json: bool,
) -> None:
    """Terms, gains (unit weights) and eigenvalues of a pole on an end-effector, at (x, y), its rate and a force."""
    check_names("parameter of the pole", settings, _POLE_SETTINGS)
    pole = PoleState(PoleModel(**settings), *state)
    check_names("term of the pole", names, _POLE_TERMS)
    chosen = names or tuple(_POLE_TERMS)
    of = ", ".join(f"{name} {number(getattr(pole.model, name))}" for name in _POLE_SETTINGS)
    print_values(
        {name: (*_POLE_TERMS[name][:2], _POLE_TERMS[name][2](pole)) for name in chosen}, as_json, f"a pole: {of}"
    )


def _real_eigenvalues(A: Array) -> Array:
    return np.sort(np.linalg.eigvals(A).real)
