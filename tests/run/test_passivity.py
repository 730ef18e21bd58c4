"""Passivity at the tool beside closed forms of a sampled mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from palpate.control import PythonLaw
from palpate.control.references.reference import Hold
from palpate.errors import InvalidInput, NoSolution
from palpate.robot import load_robot
from palpate.run import Run, poles
from palpate.run.assemble.assemble import assemble
from palpate.run.tangent.loop_poles import run_until
from palpate.run.tangent.passivity import HeldPassivity, held_passivity, needed_damping
from palpate.world.clock import Clock
from palpate.world.config import Driver, PlantChange, World

T, MASS = 1e-3, (3.0, 2.0)  # the first axis carries both
K, D = 3000.0, 5.0  # of a wall that is rendered one sample late
X = np.array([[1.0, 0, 0, 0, 0, 0]])


def axes(law: Any, memory: Any = None, delay: int = 0, damping: float = 0.0) -> Run:
    world = World(driver=Driver(delay=delay), plant=PlantChange(joint_damping=(damping, 1.0)))
    made = PythonLaw(law, memory=memory) if memory is not None else PythonLaw(law)
    clock = Clock(duration=0.05, timestep=T, integrator="rk4")
    return Run(load_robot("cartesian2", mass=MASS), made, world, Hold(), clock=clock)


def damper(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
    return {"torque": tick.gravity - np.array([40.0, 8.0]) * tick.v}


def rendered(stiffness: float, damping: float) -> Any:
    """A spring, and a damper of the difference of positions: u = −K x − D (x − x₋)/T."""

    def law(tick: Any, gains: Any, memory: Any) -> dict[str, Any]:
        change = (tick.q - memory["last"]) / tick.dt
        memory["last"] = tick.q.copy()
        force = np.array([1.0, 0.2]) * (stiffness * (tick.target.q - tick.q) - damping * change)
        return {"torque": tick.gravity + force}

    return law


def wall(own_damping: float, stiffness: float = K, damping: float = D) -> Run:
    home = load_robot("cartesian2", mass=MASS).home
    return axes(rendered(stiffness, damping), {"last": home.copy()}, delay=1, damping=own_damping)


def held(run: Run) -> HeldPassivity:
    return held_passivity(poles(run, finer=False), X)


def test_a_sampled_damper_is_passive_and_one_sample_late_up_to_a_sixth_of_the_rate() -> None:
    """v⁺ = v − g v₋ + T F/m: the Hermitian part is that of cos φ + cos 2φ, which changes its sign at φ = π/3."""
    at_once, late = held(axes(damper)), held(axes(damper, delay=1))
    assert at_once.passive
    assert at_once.least >= -1e-12
    assert not late.passive
    assert late.below == pytest.approx(1.0 / (6.0 * T), rel=1e-5)


def test_a_free_mass_is_passive() -> None:
    assert held(axes(lambda tick, gains, memory: {"torque": tick.gravity + 0.0 * tick.q})).passive


def least_of_mean_velocity(b: float, mass: float = sum(MASS)) -> float:
    """The least Hermitian part of V̄(F) of the rendered wall one sample late, by its exact sampling."""
    A = np.zeros((3, 3))
    A[0, 1], A[1] = 1.0, [0.0, -b / mass, 1.0 / mass]
    whole = expm(A * T)
    loop, F = np.zeros((4, 4)), np.zeros(4)
    loop[:2, :2], loop[:2, 2], F[:2] = whole[:2, :2], whole[:2, 2], whole[:2, 2]
    loop[2, 0], loop[2, 3], loop[3, 0] = -(K + D / T), D / T, 1.0
    if np.abs(np.linalg.eigvals(loop)).max() > 1.0:
        return -np.inf
    out = np.array([1.0, 0, 0, 0])
    values = []
    for w in np.geomspace(1e-3, np.pi, 3000):
        z = np.exp(1j * w)
        values.append(((z - 1.0) / T * (out @ np.linalg.solve(z * np.eye(4) - loop, F))).real)
    return min(values)


def smallest_passive_damping() -> float:
    low, high = 0.0, 20.0
    for _ in range(30):
        b = 0.5 * (low + high)
        low, high = (low, b) if least_of_mean_velocity(b) >= 0.0 else (b, high)
    return high


def test_a_rendered_wall_is_passive_from_the_damping_on_that_its_exact_sampling_asks_for() -> None:
    b = smallest_passive_damping()
    assert 2.0 < b < 9.5
    assert not held(wall(0.99 * b)).passive
    assert held(wall(1.01 * b)).passive


def test_a_continuous_environment_asks_for_the_damping_of_colgate_and_schenkel() -> None:
    """H = z⁻¹ (K + D (1 − z⁻¹)/T): b > K T/2 + K T c + D − 2 D c², most at c = K T/(4 D): 6.725; the bound says 9.5."""
    assembly = assemble(wall(1.0))
    run_until(assembly, 20)
    found = needed_damping(assembly, X[0])
    assert found == pytest.approx(K * T / 2 + D + (K * T) ** 2 / (8 * D), rel=1e-5)
    assert found == pytest.approx(6.725, rel=1e-5)
    assert pytest.approx(9.5) == K * (T / 2 + T) + D


def test_the_damping_asked_for_does_not_depend_on_the_damping_there_is() -> None:
    several = []
    for b in (0.5, 12.0):
        assembly = assemble(wall(b, stiffness=1000.0, damping=0.1))
        run_until(assembly, 20)
        several.append(needed_damping(assembly, X[0]))
    assert several == pytest.approx([1.5 * 1000.0 * T - 0.1] * 2, rel=1e-4)  # c = 1, where K T > 4 D


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(InvalidInput, match="probing"):
        held_passivity(poles(axes(damper), probing=False), X)
    with pytest.raises(NoSolution, match="exact"):
        held_passivity(poles("planar2-pinned"), X)
    with pytest.raises(InvalidInput, match="torques"):
        needed_damping(assemble_of("ur5e-admittance"), X[0])


def assemble_of(name: str) -> Any:
    from palpate.run.build import as_run

    return assemble(as_run(name))
