"""Document 000: the pole balanced, by the equations as printed and by the right ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate_documents.printed_claims import Runs


def pole_runs() -> Runs:
    """Balancing by LQR on ten states; the foot's acceleration from (10)–(12) as printed, and from the right form.

    First the sub-system of section 1, then the whole arm of section 2.
    """
    names = (("as printed: two slips", True), ("right", False))
    alone = [(name, balanced(printed)) for name, printed in names]
    return alone + [(f"{name}, whole arm", balanced_by_arm(printed)) for name, printed in names]


_START = np.array([0.0, -0.8, 0.0, -1.9, 0.0, -1.1, 0.0])  # the tool above the base, pointing up


def balanced_by_arm(printed: bool) -> Trace:
    """The whole system of document 000: an iiwa 14 carries the pole, its torques by (14) and (15)."""
    from palpate_documents.d000.pole import arm

    scenario = pp.load_scenario("iiwa14-pole", ["world.pole.tilt=[0.1, 0.12]"])
    law = pp.control.PythonLaw(_carry(printed), ("balance",), memory={}, name="document-000")
    clock = pp.world.Clock(duration=4.0, rate=1000)
    return pp.simulate(pp.Run(arm(), law, scenario.world, clock=clock, q_start=_START))


def _carry(printed: bool) -> Callable[[Any, Any, Any], dict[str, Array]]:
    """τ = M v̇ + b + Jᵀ f_B with J v̇ + J̇ v = (a_A, α): what is left of v̇ holds the posture."""

    def law(tick: Any, gains: Any, memory: dict[str, Array]) -> dict[str, Array]:
        home, R_home = memory.setdefault("A", tick.position.copy()), memory.setdefault("R", tick.rotation.copy())
        r, rate, twist = tick.seen.pole.AB, tick.seen.pole.AB_rate, tick.J @ tick.v
        state = np.concatenate([tick.position - home, twist[:3], r[:2], rate[:2]])
        _, a_A, f_B = _commanded(state, printed)
        error = 0.5 * np.cross(tick.rotation.T, R_home.T).sum(axis=0)
        wanted = np.concatenate([a_A, 100.0 * error - 20.0 * twist[3:]]) - tick.drift
        posture_acceleration = 20.0 * (_START - tick.q) - 9.0 * tick.v
        a = posture_acceleration + np.linalg.pinv(tick.J) @ (wanted - tick.J @ posture_acceleration)
        return {"balance": tick.M @ a + tick.bias + tick.J[:3].T @ f_B}

    return law


def balanced(printed: bool) -> Trace:
    """The sub-system of document 000: the foot moves as the document's equations say, the pole answers as it does.

    Channels: tool_position (A, m), q (x_AB, y_AB, m), tilt (rad), f and f_B (N).
    """
    duration, dt = 6.0, 1e-2  # s
    state = np.array([0.0, 0, 0, 0, 0, 0, 0.3, -0.25, 0.8, 0.9])  # A, its velocity, x_AB, y_AB, their rates
    rows, times = [], np.arange(0.0, duration, dt)
    for _ in times:
        force, _, f_B = _commanded(state, printed=False)
        rows.append(np.concatenate([state, force, f_B]))
        state = _step(state, printed, dt)
    table = np.array(rows)
    tilt = np.arcsin(np.clip(np.linalg.norm(table[:, 6:8], axis=1), 0, 1))
    data = {
        Channel("tool_position", "m", (3,), labels=("x", "y", "z"), help="the pole's foot A"): table[:, :3],
        Channel("q", "m", (2,), labels=("x_AB", "y_AB"), help="from the foot to the sphere"): table[:, 6:8],
        Channel("tilt", "rad", help="of the pole from the vertical"): tilt,
        Channel("f", "N", (3,), labels=("x", "y", "z"), help="of the arm on the end-effector"): table[:, 10:13],
        Channel("f_B", "N", (3,), labels=("x", "y", "z"), help="of the end-effector on the pole"): table[:, 13:16],
    }
    facts = RunFacts(robot="pole and end-effector", law="LQR, 10 states", duration=duration, timestep=dt)
    return Trace(times, data, Outcome("completed", f"finished after {duration:g} s", duration, len(times)), (), facts)


@lru_cache(maxsize=1)
def _gains() -> tuple[Array, Array]:
    """LQR of the ten states, unit weights: per horizontal axis, and vertically."""
    pole = pp.control.PoleModel()
    return pole.gains(), pole.vertical_gains()


def _commanded(state: Array, printed: bool) -> tuple[Array, Array, Array]:
    """f of the LQR, and the foot's acceleration and the force f_B on the pole that follow from it.

    As printed by (10)–(12) with both slips, and (13): f_B = m_s (a_A + a_AB + g e_z), z̈_AB from the pole's length.
    """
    from palpate_documents.d000.pole import as_printed, raised

    (K, Kz), (r, rate) = _gains(), raised(state[6:8], state[8:10])
    horizontal = [-K @ state[[i, 3 + i, 6 + i, 8 + i]] for i in (0, 1)]
    force = np.array([*horizontal, (1.0 + 0.1) * 9.81 - Kz @ state[[2, 5]]])
    if not printed:
        a_A, _, f_B = pp.control.PoleModel().accelerations(r / np.linalg.norm(r), rate, force)
        return force, a_A, f_B
    M, C = as_printed(state[6:8], state[8:10])
    a = np.linalg.solve(M, np.array([*force, 0, 0]) - C)
    up = -(rate @ rate + r[:2] @ a[3:]) / r[2]
    return force, a[:3], 0.1 * (a[:3] + np.array([*a[3:], up + 9.81]))


def _rate(state: Array, printed: bool) -> Array:
    """The pole's own answer to the foot's acceleration: the force that gives it is found, for a_A is affine in f."""
    from palpate_documents.d000.pole import raised

    pole, (r, rate) = pp.control.PoleModel(), raised(state[6:8], state[8:10])
    r = r / np.linalg.norm(r)
    _, a_A, _ = _commanded(state, printed)
    zero = pole.accelerations(r, rate, np.zeros(3))[0]
    slopes = np.column_stack([pole.accelerations(r, rate, e)[0] - zero for e in np.eye(3)])
    a_A, a_B, _ = pole.accelerations(r, rate, np.linalg.solve(slopes, a_A - zero))
    return np.concatenate([state[3:6], a_A, state[8:10], (a_B - a_A)[:2]])


def _step(state: Array, printed: bool, dt: float) -> Array:
    """Runge and Kutta's fourth-order step."""
    k1 = _rate(state, printed)
    k2 = _rate(state + dt / 2 * k1, printed)
    k3 = _rate(state + dt / 2 * k2, printed)
    k4 = _rate(state + dt * k3, printed)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
