"""Single claims that can be run: what is printed beside the right form, each as a trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.trace import Channel, Outcome, RunFacts, Trace

Runs = list[tuple[str, Trace]]
DT, SECONDS = 5e-3, 20.0  # s
MASS, DAMPING, STIFFNESS = 5.0, 14.142, 10.0  # the document's (41)
TORQUE = np.array([1.0, 0.5, 1.0])  # N·m
DESIRED = np.array([0.5, -0.7, 0.9])  # XYZ angles of the desired frame, rad: no two axes parallel


def _trace(times: Array, position: Array, q: Array, law: str) -> Trace:
    data = {
        Channel("tool_position", "m", (3,), labels=("x", "y", "z"), help="of the frame"): position,
        Channel("q", "rad", (q.shape[1],), help="angles"): q,
    }
    facts = RunFacts(robot="frame", law=law, duration=float(times[-1]), timestep=float(times[1] - times[0]))
    ended = Outcome("completed", f"finished after {times[-1]:g} s", float(times[-1]), len(times))
    return Trace(times, data, ended, (), facts)


def epsilon(c: Array, d: Array, sign: float) -> Array:
    """η_d ε_c − η_c ε_d ± S(ε_c) ε_d: with minus, as printed, in the base frame; with plus in the desired one."""
    return d[0] * c[1:] - c[0] * d[1:] + sign * np.cross(c[1:], d[1:])


def quaternion_run(sign: float) -> Trace:
    """The quaternion controller (32) under a constant torque, its error by `epsilon`, from the desired orientation."""
    d = pp.spatial.quat_from_matrix(pp.spatial.matrix_from_euler(DESIRED, "XYZ"))
    torque = pp.spatial.matrix_from_quat(d).T @ TORQUE
    relative, omega, rows = np.array([1.0, 0, 0, 0]), np.zeros(3), []
    times = np.arange(0.0, SECONDS, DT)
    for _ in times:
        rows.append(pp.spatial.rotation_vector_from_matrix(pp.spatial.matrix_from_quat(relative)))
        error = epsilon(pp.spatial.quat_multiply(d, relative), d, sign)
        E = relative[0] * np.eye(3) - pp.spatial.skew(error)
        omega = omega + DT / MASS * (torque - DAMPING * omega - 2 * STIFFNESS * E.T @ error)
        relative = pp.spatial.quat_multiply(pp.spatial.quat_from_rotation_vector(DT * omega), relative)
    q = np.array(rows)
    return _trace(times, np.zeros((len(times), 3)), q, "admittance, quaternion")


def euler_rates(phi: Array, printed: bool) -> Array:
    """T(φ) of (35), ω = T(φ) φ̇ for XYZ angles; its entry (2,3) as printed, −cos φ sin φ, or −cos ϑ sin φ."""
    a, b = phi[0], phi[1]
    corner = -np.cos(a) * np.sin(a) if printed else -np.cos(b) * np.sin(a)
    return np.array([[1, 0, np.sin(b)], [0, np.cos(a), corner], [0, np.sin(a), np.cos(a) * np.cos(b)]])


def euler_angle_run(printed: bool) -> Trace:
    """The controller (33) under a constant torque, with T(φ) as printed or right."""
    delta, rate, rows = np.zeros(3), np.zeros(3), []
    times = np.arange(0.0, SECONDS, DT)
    for _ in times:
        rows.append(delta)
        generalised = euler_rates(DESIRED + delta, printed).T @ TORQUE
        rate = rate + DT / MASS * (generalised - DAMPING * rate - STIFFNESS * delta)
        delta = delta + DT * rate
    return _trace(times, np.zeros((len(times), 3)), np.array(rows), "admittance, Euler angles")


def _epsilons() -> Runs:
    return [("as printed: − S(ε_c) ε_d", quaternion_run(-1.0)), ("right: + S(ε_c) ε_d", quaternion_run(1.0))]


def _euler_angles() -> Runs:
    return [("as printed: −cos φ sin φ", euler_angle_run(True)), ("right: −cos ϑ sin φ", euler_angle_run(False))]


def _wrenches() -> Runs:
    """(44) with the torque taken at the tool, and the torque turned only, while a pure force acts."""
    from palpate_documents.d004.admittance import response

    runs = []
    for name, base in (("as printed: μ^d = Ad h", True), ("right: μ^d = R μ", False)):
        motion = response(base=base)
        runs.append((name, _trace(motion.time, motion.displacement, motion.angles, "admittance")))
    return runs


def _commands() -> Runs:
    """The joint accelerations of the fastest stop from the printed J_0 and from the right one, held for 20 ms."""
    from palpate_documents.d001.stop_arm import Q0, V0, arm, own_stop, true_stop

    robot, times = arm(), np.linspace(0.0, 0.02, 41)
    runs = []
    for name, stop in (("as printed: u from the printed J_0", own_stop(1.0)), ("right: u from J(q_0)", true_stop(1.0))):
        q = Q0 + np.outer(times, V0) + np.outer(times**2 / 2, stop.acceleration)
        position = np.array([robot.pose(one).position for one in q])
        runs.append((name, _trace(times, position, q, "fastest stop, command held")))
    return runs


CLAIMS: dict[str, Callable[[], Runs]] = {
    "001.J0": _commands,
    "004.epsilon": _epsilons,
    "004.35": _euler_angles,
    "004.44": _wrenches,
}
