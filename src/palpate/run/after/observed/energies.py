"""Energies of a finished run: whether they add up."""

from __future__ import annotations

from palpate.run.loop.state import EnergyWatch

MOST_RESIDUAL = 0.05  # of the energy that was moved
_SMALLEST = 1e-6  # J; below, there is nothing to balance


def energy_warnings(w: EnergyWatch) -> list[str]:
    """Warn of energies that do not add up, and of a loss that gives some back; see `watch_energies`.

    Where dissipated energy falls, a contact or damper is too stiff for the step.
    """
    moved = max(w.worked, w.most_kinetic - w.least_kinetic, w.most_potential - w.least_potential)
    if moved < _SMALLEST:
        return []
    warnings = []
    if abs(w.residual) > MOST_RESIDUAL * moved:
        warnings.append(
            f"the energies do not add up: {w.residual:.3g} J too much at {w.residual_time:.4g} s,"
            f" {abs(w.residual) / moved:.0%} of the {moved:.3g} J that were moved; use a shorter physics step, or"
            " integrator = 'rk4'"
        )
    if w.fall > max(MOST_RESIDUAL * moved, _SMALLEST):
        warnings.append(
            f"dissipated energy fell by {w.fall:.3g} J until {w.fall_time:.4g} s, which is impossible; use"
            " a shorter physics step, or less contact stiffness and damping"
        )
    return warnings
