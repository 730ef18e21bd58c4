"""Document 002: integral control of the tip force, and the code at the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

import palpate as pp
from palpate.checks import Array
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import arithmetic, corrected, printed, reading, remembered, says
from palpate_documents.d002.arm import XY, arm, jacobian

Map = Callable[[Array], Array]
GAIN, STEP, REFERENCE = 10.0, 1e-3, np.array([1.0, 2.0])
DOWN, UP = np.array([np.pi / 3, -2 * np.pi / 3]), np.array([-np.pi / 3, 2 * np.pi / 3])  # tip at (1, 0), both elbows


def force_of(q: Array) -> Map:
    """The tip force of torques, as physics has it."""
    return lambda T: pp.contact.tip_force_from_torque(arm(), q, T, directions=XY).force


def torque_of(q: Array) -> Map:
    """The torques of a tip force, as physics has it."""
    return lambda F: pp.contact.torque_from_tip_force(arm(), q, F, directions=XY)


def coded_force(q: Array) -> Map:
    """F2 = J' * T of the document's code."""
    return lambda T: jacobian(q).T @ T


def coded_torque(q: Array) -> Map:
    """dT = inv(J')*dF of the document's code."""
    return lambda F: np.linalg.solve(jacobian(q).T, F)


def loop(
    plant: Map, correction: Map, steps: int = 2000, *, wanted: ArrayLike = REFERENCE, gain: float = GAIN
) -> tuple[Array, Array]:
    """The document's while loop: forces over time, and the last torques; `wanted` is one force, or one per step."""
    torque, forces, references = np.zeros(2), np.empty((steps, 2)), np.broadcast_to(wanted, (steps, 2))
    for k in range(steps):
        forces[k] = plant(torque)
        torque = torque + gain * correction(references[k] - forces[k]) * STEP
    return forces, torque


@remembered
def run(elbow: str, plant: str, correction: str, steps: int = 2000) -> tuple[Array, Array]:
    """The loop with a plant and a correction: "physics" or "code"."""
    q = DOWN if elbow == "down" else UP
    plants = {"physics": force_of(q), "code": coded_force(q)}
    corrections = {"physics": torque_of(q), "code": coded_torque(q)}
    return loop(plants[plant], corrections[correction], steps)


def settled(forces: Array) -> int:
    """The first step from which on the force stays within 2 % of the reference."""
    outside = np.flatnonzero((np.abs(forces - REFERENCE) > 0.02 * REFERENCE).any(axis=1))
    return int(outside[-1]) + 1 if len(outside) else 0


def _claim_closed_loop(c: Claim) -> Evidence:
    n = np.arange(2000)
    wanted = np.outer(1 - (1 - GAIN * STEP) ** n, REFERENCE)
    yield printed(
        "F over 2 s, physics with dT = J^T dF [N]", wanted[::400], run("down", "physics", "physics")[0][::400]
    )
    yield arithmetic("F over 2 s, as coded [N]", wanted[::400], run("down", "code", "code")[0][::400])


def _claim_no_coupling(c: Claim) -> Evidence:
    forces = run("down", "physics", "physics")[0][1:]
    yield printed("largest |F_x − F_y / 2| [N]", 0.0, np.abs(forces[:, 0] - forces[:, 1] / 2).max())


def _claim_settling(c: Claim) -> Evidence:
    exact = np.log(50) / GAIN
    yield printed("settling time [s]", 0.4, exact, 0.01)
    yield printed("gain for that time [1/s]", GAIN, pp.control.design.force_gain_from_settling(exact).gain)
    yield printed("step of the loop", 390, settled(run("down", "physics", "physics")[0]), 0.5)


def _claim_fast(c: Claim) -> Evidence:
    for gain in (100.0, 1500.0, 2500.0):
        forces, _ = loop(force_of(DOWN), torque_of(DOWN), 200, gain=gain)
        calm = bool(np.abs(forces[-1] - REFERENCE).max() < 0.02)
        yield says("reading", f"k = {gain:g} settles within 0.2 s", True, calm)
        yield says("corrected", f"k = {gain:g}: k dt < 2", calm, gain * STEP < 2)


def _claim_tip(c: Claim) -> Evidence:
    text = arm().inverse_kinematics([1.0, 0.3, 0.0])
    yield reading("the text's tip [m]", [1.0, 0.3], arm().pose(text).position[:2], 1e-8)
    yield reading("the code's tip [m]", [1.0, 0.3], arm().pose(DOWN).position[:2], 1e-8)


def _claim_elbow(c: Claim) -> Evidence:
    for name, q in (("θ2 = −120°", DOWN), ("θ2 = +120°", UP)):
        solution = arm().inverse_kinematics([1.0, 0, 0], seed=np.add(q, (0.1, -0.1)))
        yield reading(f"{name} reached from nearby [rad]", DOWN, solution, 1e-6)
        yield corrected(f"{name}: tip [m]", [1, 0], arm().pose(q).position[:2])


def _plot_code_dT() -> Trajectories:
    """The document's correction on a true arm, in both elbow postures, beside the right one."""
    t = STEP * np.arange(1, 1001)
    curves = []
    for label, elbow, correction in (
        ("dT = (J^T)⁻¹ dF, θ2 = −120°", "down", "code"),
        ("dT = (J^T)⁻¹ dF, θ2 = +120°", "up", "code"),
        ("dT = J^T dF, either", "down", "physics"),
    ):
        forces = np.clip(run(elbow, "physics", correction)[0][:1000, 1], -12, 12)
        curves.append((label, t.tolist(), forces.tolist()))
    return Trajectories("F_y on a true arm, wanted 2 N (cut at ±12 N)", "t [s]", "F_y [N]", tuple(curves))


def _claim_code_F2(c: Claim) -> Evidence:
    T = np.array([0.3, -0.2])
    yield printed("F2 [N]", coded_force(DOWN)(T), force_of(DOWN)(T))
    yield corrected("F2 [N]", np.linalg.solve(jacobian(DOWN).T, T), force_of(DOWN)(T))


def _claim_code_dT(c: Claim) -> Evidence:
    for elbow, q, wanted in (
        ("down", DOWN, [0.67897 + 0j, 1.96377 + 0j]),
        ("up", UP, [-0.98803 - 0.59760j, -0.98803 + 0.59760j]),
    ):
        inverse = np.linalg.inv(jacobian(q).T)
        values = np.sort_complex(np.linalg.eigvals(inverse @ inverse))
        yield arithmetic(f"eigenvalues, elbow {elbow}: real, imaginary parts", [[x.real, x.imag] for x in wanted],
                         [[x.real, x.imag] for x in values], 1e-4)  # fmt: skip
    yield arithmetic("2 % at step, elbow down", 625, settled(run("down", "physics", "code")[0]), 0.5)
    end = np.linalg.norm(run("up", "physics", "code")[0][-1])
    yield arithmetic("log10 |F| at 2 s, elbow up", np.log10(6.6e8), np.log10(end), 0.02)
    for elbow in ("down", "up"):
        last = run(elbow, "physics", "code")[0][-1]
        yield printed(f"F at 2 s, correction as coded, elbow {elbow} [N]", REFERENCE, last, 0.02)
        right = run(elbow, "physics", "physics")[0][-1]
        yield corrected(f"F at 2 s with dT = J^T dF, elbow {elbow} [N]", REFERENCE, right, 1e-6)


def _claim_T_end(c: Claim) -> Evidence:
    for elbow, q, right in (("down", DOWN, [0.1547005384, 1.7320508076]), ("up", UP, [-2.1547005384, -1.7320508076])):
        force = force_of(q)(run(elbow, "code", "code")[1])
        yield printed(f"F of the last T, elbow {elbow} [N]", REFERENCE, force, 0.02)
        yield corrected(f"F of the last T, elbow {elbow} [N]", right, force, 1e-8)
