"""Whether the energies of a run add up, said where they do not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array

MOST_RESIDUAL = 0.05  # of the energy that was moved
_SMALLEST = 1e-6  # J; below, there is nothing to balance
_NAMES = ("kinetic", "potential", "stored", "injected", "pushed", "dissipated")


def energy_warnings(named: Mapping[str, Array]) -> list[str]:
    """Warn of energies that do not add up, and of a loss that gives some back.

    kinetic + potential + stored rises by injected + pushed − dissipated; what is missing is an error of the physics
    step. Dissipated energy never falls: where it does, a contact or damper is too stiff for the step.
    """
    times = named["time"]
    if len(times) < 2 or not all(f"energy.{name}" in named for name in _NAMES):
        return []
    e = {name: named[f"energy.{name}"].reshape(len(times)) for name in _NAMES}
    total = e["kinetic"] + e["potential"] + e["stored"]
    residual = (total - total[0]) - sum(e[name] - e[name][0] for name in ("injected", "pushed")) + e["dissipated"]
    residual -= e["dissipated"][0]
    moved = sum(float(np.abs(np.diff(e[name])).sum()) for name in ("injected", "pushed", "dissipated"))
    moved = max(moved, float(np.ptp(e["kinetic"])), float(np.ptp(e["potential"])))
    return _residual_warning(times, residual, moved) + _falling_warning(times, e["dissipated"], moved)


def _residual_warning(times: Array, residual: Array, moved: float) -> list[str]:
    k = int(np.argmax(np.abs(residual)))
    if moved < _SMALLEST or abs(residual[k]) <= MOST_RESIDUAL * moved:
        return []
    wrong, share = residual[k], abs(residual[k]) / moved
    return [
        f"the energies do not add up: {wrong:.3g} J too much at {times[k]:.4g} s, {share:.0%} of the {moved:.3g} J"
        " that were moved; use a shorter physics step, or integrator = 'rk4'"
    ]


def _falling_warning(times: Array, dissipated: Array, moved: float) -> list[str]:
    fall = np.maximum.accumulate(dissipated) - dissipated
    k = int(np.argmax(fall))
    if moved < _SMALLEST or fall[k] <= max(MOST_RESIDUAL * moved, _SMALLEST):
        return []
    return [
        f"dissipated energy fell by {fall[k]:.3g} J until {times[k]:.4g} s, and a loss never gives back; use a shorter"
        " physics step, or less contact stiffness and damping"
    ]
