"""Energies of the plant at a step, and whether they add up, whatever is recorded of them."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.library import mj_energyPos, mj_mulM
from palpate.engine.views import address_of
from palpate.run.loop.state import Loop
from palpate.world.plants.elastic.motors import energy_of_springs, kinetic_of_motors
from palpate.world.plants.tree_loads import kinetic_energy, potential_energy

LOOK_EVERY = 16  # physics steps after which energies are looked at, where nobody asks for them at each


@kernel
def fill_energies(L: Loop) -> None:
    """The row's energies at the staged state."""
    r, e = L.row, L.energy
    if L.tree.now:
        r.kinetic[0], r.potential[0] = kinetic_energy(L.tree, L.plant.qvel), potential_energy(L.tree, L.plant)
    else:
        _read_energies(L)
    if L.elastic.on:
        _add_motors(L)
    r.stored[0] = e.stored
    r.injected[0] = e.injected
    r.pushed[0] = e.pushed
    r.dissipated[0] = e.dissipated


@kernel
def _add_motors(L: Loop) -> None:
    """Energy of motors and springs; the engine counts links as if motors that slide were fixed to them."""
    r, v = L.row, L.plant.qvel
    r.kinetic[0] += kinetic_of_motors(L.elastic)
    r.potential[0] += energy_of_springs(L.elastic, L.plant.qpos, v, L.dt)
    if not L.tree.now:
        for k in range(v.size):
            r.kinetic[0] -= 0.5 * L.elastic.armature[k] * v[k] * v[k]


@kernel
def _read_energies(L: Loop) -> None:
    """Kinetic and potential energy as the engine has them."""
    momentum, v = L.mean_v, L.plant.qvel
    mj_energyPos(L.plant.model, L.plant.data)
    mj_mulM(L.plant.model, L.plant.data, address_of(momentum), address_of(v))
    L.row.kinetic[0] = 0.0
    for k in range(v.size):
        L.row.kinetic[0] += 0.5 * v[k] * momentum[k]
    L.row.potential[0] = L.plant.energy[0]


@kernel
def watch_energies(L: Loop) -> None:
    """Look whether the row's energies add up.

    kinetic + potential + stored − injected − pushed + dissipated stays what it was; what is missing is an error of the
    physics step. Dissipated energy never falls.
    """
    r, w = L.row, L.energy_watch
    T, V, injected, pushed, dissipated = r.kinetic[0], r.potential[0], r.injected[0], r.pushed[0], r.dissipated[0]
    balance, t = T + V + r.stored[0] - injected - pushed + dissipated, L.step * L.dt
    if w.looks == 0:
        w.first = balance
        w.least_kinetic = w.most_kinetic = T
        w.least_potential = w.most_potential = V
        w.most_dissipated = dissipated
    else:
        w.worked += abs(injected - w.injected) + abs(pushed - w.pushed) + abs(dissipated - w.dissipated)
    w.looks += 1
    w.injected, w.pushed, w.dissipated = injected, pushed, dissipated
    w.least_kinetic, w.most_kinetic = min(w.least_kinetic, T), max(w.most_kinetic, T)
    w.least_potential, w.most_potential = min(w.least_potential, V), max(w.most_potential, V)
    w.most_dissipated = max(w.most_dissipated, dissipated)
    if abs(balance - w.first) > abs(w.residual):
        w.residual, w.residual_time = balance - w.first, t
    if w.most_dissipated - dissipated > w.fall:
        w.fall, w.fall_time = w.most_dissipated - dissipated, t
