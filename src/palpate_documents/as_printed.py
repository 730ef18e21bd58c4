"""Runs of what a document prints, labelled as printed, beside the right thing."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate_documents.printed_claims import CLAIMS

Runs = list[tuple[str, Trace]]


def runs_as_printed(number: str) -> Runs:
    """What document `number`, or one of its claims ("004.44"), prints, run beside the right thing: names and traces.

    Raises:
        InvalidInput: nothing of that document is a run.
    """
    if number in CLAIMS:
        return CLAIMS[number]()
    if number not in _MAKERS:
        known = ", ".join((*_MAKERS, *CLAIMS))
        raise InvalidInput(f"document {number} prints nothing that can be run as printed", hint=f"one of {known}")
    return _MAKERS[number]()


# ------------------------------------------------------------------ 001: the stop


def _stops() -> Runs:
    """The document's arm and state under the law (5)–(6) and under the fastest stop."""
    right = pp.load_scenario("planar3-stop", ["run.duration=0.2"])
    wrong = right.replace(
        control={"law": "as-printed", "axes": "xy", "acceleration": vars(right.control)["acceleration"]}
    )
    return [("as printed: law (5)–(6)", pp.simulate(wrong)), ("right: fastest stop", pp.simulate(right))]


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
    runs = []
    for name, transposed, q in cases:
        law = pp.control.PythonLaw(
            _correct(transposed), ("integral", "damper", "bias"), memory={"T": np.zeros(2)}, name="document-002"
        )
        clock = pp.world.Clock(duration=0.8, timestep=2e-4, rate=1000)
        stop = (pp.trace.StopWhen("contact_force", above=150.0),)
        run = pp.Run(pp.load_robot("planar2"), law, scenario.world, clock=clock, q_start=q, stop=stop)
        runs.append((name, pp.simulate(run)))
    return runs


# ------------------------------------------------------------------ 004: the damped arm


def _falls() -> Runs:
    """Section 1.8 with link 1's tensor in all links, and with each link's own."""
    from palpate_documents.d004.arm import TENSORS, robot_of

    clock = pp.world.Clock(duration=3.0, timestep=1e-3, integrator="rk4")
    start = [1.0, np.pi / 3, np.pi / 3]
    runs = []
    for name, tensors in (("as printed: one tensor", (TENSORS[0],) * 3), ("right: one per link", TENSORS)):
        plant = pp.World(plant={"joint_damping": 5.0})  # type: ignore[arg-type]
        run = pp.Run(robot_of(tensors), pp.control.Passive(), plant, clock=clock, q_start=start)
        runs.append((name, pp.simulate(run)))
    return runs


# ------------------------------------------------------------------ 000: the pole


def _poles() -> Runs:
    """Balancing by LQR on ten states; the foot's acceleration from (10)–(12) as printed, and from the right form.

    First the sub-system of section 1, then the whole arm of section 2.
    """
    names = (("as printed: two slips", True), ("right", False))
    alone = [(name, balanced(printed)) for name, printed in names]
    return alone + [(f"{name}, whole arm", balanced_by_arm(printed)) for name, printed in names]


_START = np.array([0.0, -0.8, 0.0, -1.9, 0.0, -1.1, 0.0])  # the tool above the base, pointing up


def balanced_by_arm(printed: bool) -> Trace:
    """The whole system of document 000: an iiwa 14 carries the pole, its torques by (14) and (15)."""
    from palpate_documents.d000.claims import arm

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
    from palpate_documents.d000.claims import as_printed, raised

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
    from palpate_documents.d000.claims import raised

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


_MAKERS: dict[str, Callable[[], Runs]] = {"000": _poles, "001": _stops, "002": _force_loops, "004": _falls}
# Metrics that say something about these runs.
RUN_METRICS = {
    "000": ("tilt_max", "tilt_rms", "tilt_end", "saturation_time"),
    "001": ("stop_time", "stop_distance", "stop_deviation"),
    "002": ("force_peak", "force_steady_error", "force_error_rms"),
    "004": ("energy_residual",),
}


def distances_from_right(runs: Runs) -> list[tuple[float, float] | None]:
    """How far the tool (m) and the joints (rad or m) of each run get from the right run that starts alike."""
    rights = [trace for name, trace in runs if name.startswith("right")]
    distances: list[tuple[float, float] | None] = []
    for _, trace in runs:
        right = next((one for one in rights if np.array_equal(one["q"][0], trace["q"][0])), trace)
        n = min(len(trace.time), len(right.time))
        if trace is right or n < 2:
            distances.append(None)
            continue
        tool = np.linalg.norm(trace["tool_position"][:n] - right["tool_position"][:n], axis=1)
        distances.append((float(tool.max()), float(np.abs(trace["q"][:n] - right["q"][:n]).max())))
    return distances
