"""Runs of what a document prints, labelled as printed, beside the right thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.trace import Channel, Outcome, RunFacts, Trace

Runs = list[tuple[str, Trace]]


def runs_as_printed(number: str) -> Runs:
    """What document `number` prints, run beside the right thing: names and traces.

    Raises:
        InvalidInput: nothing of that document is a run.
    """
    if number not in _MAKERS:
        known = ", ".join(_MAKERS)
        raise InvalidInput(f"document {number} prints nothing that can be run as printed", hint=f"one of {known}")
    return _MAKERS[number]()


# ------------------------------------------------------------------ 001: the stop


def _stops() -> Runs:
    """The document's arm and state under the law (5)–(6) and under the fastest stop."""
    names = {"as-printed": "as printed: law (5)–(6)", "optimal": "right: fastest stop"}
    return [
        (name, pp.simulate(pp.load_scenario("planar3-stop", [f'control.method="{method}"', "run.duration=0.2"])))
        for method, name in names.items()
    ]


# ------------------------------------------------------------------ 002: the force loop


def _correct(transposed: bool) -> Callable[[Any, Any, Any], dict[str, Array]]:
    """The document's integrator as a law; the correction by (J^T)⁻¹, as printed, or by J^T."""

    def law(tick: Any, gains: Any, memory: dict[str, Array]) -> dict[str, Array]:
        J, error = tick.J[:2], np.array([1.0, 2.0]) + tick.wrench[:2]  # the arm presses with −wrench
        correction = J.T @ error if transposed else np.linalg.solve(J.T, error)
        memory["T"] = memory["T"] + 10.0 * correction * tick.dt
        return {"integral": memory["T"], "damper": -5.0 * tick.M @ tick.v, "bias": tick.bias}

    return law


def _force_loops() -> Runs:
    """The tip in a vice, force control with k = 10: both elbows as printed, one by J^T."""
    scenario = pp.load_scenario("planar2-tip-force")
    down, up = np.array([np.pi / 3, -2 * np.pi / 3]), np.array([-np.pi / 3, 2 * np.pi / 3])
    cases = (
        ("as printed: dT = (J^T)⁻¹ dF, θ2 = −120°", False, down),
        ("as printed: dT = (J^T)⁻¹ dF, θ2 = +120°", False, up),
        ("right: dT = J^T dF, θ2 = +120°", True, up),
    )
    found = []
    for name, transposed, q in cases:
        law = pp.control.PythonLaw(
            _correct(transposed), ("integral", "damper", "bias"), memory={"T": np.zeros(2)}, name="document-002"
        )
        clock = pp.Clock(duration=0.8, timestep=2e-4, rate=1000)
        stop = (pp.StopWhen("contact_force", above=150.0),)
        run = pp.Run(pp.load_robot("planar2"), law, scenario.world, clock=clock, q_start=q, stop=stop)
        found.append((name, pp.simulate(run)))
    return found


# ------------------------------------------------------------------ 004: the damped arm


def _falls() -> Runs:
    """Section 1.8 with link 1's tensor in all links, and with each link's own."""
    from palpate.documents.d004.about import TENSORS, robot_of

    clock = pp.Clock(duration=3.0, timestep=1e-3, integrator="rk4")
    start = [1.0, np.pi / 3, np.pi / 3]
    found = []
    for name, tensors in (("as printed: one tensor", (TENSORS[0],) * 3), ("right: one per link", TENSORS)):
        run = pp.Run(robot_of(tensors), pp.control.Passive(damping=5.0), clock=clock, q_start=start)
        found.append((name, pp.simulate(run)))
    return found


# ------------------------------------------------------------------ 000: the pole


def _poles() -> Runs:
    """Balancing by LQR on ten states; the foot's acceleration from (10)–(12) as printed, and from the right form."""
    return [(name, balanced(printed)) for name, printed in (("as printed: two slips", True), ("right", False))]


def balanced(printed: bool, duration: float = 6.0, dt: float = 5e-3) -> Trace:
    """The sub-system of document 000: the foot moves as the document's equations say, the pole answers as it does.

    Channels: tool_position (A, m), q (x_AB, y_AB, m), tilt (rad), f and f_B (N).
    """
    state = np.array([0.0, 0, 0, 0, 0, 0, 0.3, -0.25, 0.8, 0.9])  # A, its velocity, x_AB, y_AB, their rates
    rows, times = [], np.arange(0.0, duration, dt)
    for _ in times:
        rows.append(np.concatenate([state, *_forces(state)]))
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
    return Trace(times, data, Outcome("completed", f"ran its {duration:g} s", duration, len(times)), (), facts)


def _upward(state: Array) -> tuple[Array, Array]:
    xy, rates = state[6:8], state[8:10]
    z = np.sqrt(max(1.0 - xy @ xy, 1e-6))
    return np.array([*xy, z]), np.array([*rates, -(xy @ rates) / z])


def _forces(state: Array) -> tuple[Array, Array]:
    """f of the LQR, and the force on the pole that it leads to."""
    pole = pp.control.PoleModel()
    K, Kz = pole.gains(), pole.vertical_gains()
    f = [-K @ state[[i, 3 + i, 6 + i, 8 + i]] for i in (0, 1)]
    force = np.array([*f, (1.0 + 0.1) * 9.81 - Kz @ state[[2, 5]]])
    r, rate = _upward(state)
    return force, pole.accelerations(r / np.linalg.norm(r), rate, force)[2]


def _wanted(state: Array, printed: bool) -> Array:
    """The acceleration asked of the foot."""
    from palpate.documents.d000.about import as_printed

    force, _ = _forces(state)
    if not printed:
        r, rate = _upward(state)
        return pp.control.PoleModel().accelerations(r / np.linalg.norm(r), rate, force)[0]
    M, C = as_printed(state[6:8], state[8:10])
    return np.linalg.solve(M, np.array([*force, 0, 0]) - C)[:3]


def _rate(state: Array, printed: bool) -> Array:
    """The pole's own answer to the foot's acceleration: the force that gives it is found, for a_A is affine in f."""
    pole, (r, rate) = pp.control.PoleModel(), _upward(state)
    r = r / np.linalg.norm(r)
    a_A = _wanted(state, printed)
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


_MAKERS: dict[str, Callable[[], Runs]] = {"000": _poles, "001": _stops, "002": _force_loops, "004": _falls}
