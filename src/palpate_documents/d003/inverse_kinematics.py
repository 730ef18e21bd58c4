"""Document 003: kinematic control, inverse kinematics, floating base."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import arithmetic, corrected, printed, reading, remembered, says
from palpate_documents.d003.examples import slope, state, ur5e


@remembered
def redundant() -> tuple[Array, Array, Array]:
    """The Jacobian of a redundant arm at a random posture, and two random joint velocities."""
    robot = pp.load_robot("panda", joints="ideal")
    q, v, v0 = state(robot)
    return robot.jacobian(q), v, v0


def solver():
    """The closed forms of the library."""
    return pp.control.solve.priorities


def stack(rows: int, joints: int, seed: int = 0) -> tuple[list[Array], list[Array]]:
    """Random tasks of one row each."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(1, joints)) for _ in range(rows)], [rng.normal(size=1) for _ in range(rows)]


def _claim_w_dot(c: Claim) -> Evidence:
    q, v, _ = state(ur5e())
    rate = slope(lambda at: ur5e().jacobian(at) @ v, q, v)
    yield printed("ẇ_e at constant q̇", rate, ur5e().jacobian(q) @ v, 1e-6)
    yield corrected("w_e: linear part against a difference [m/s]", slope(lambda at: ur5e().pose(at).position, q, v),
                    (ur5e().jacobian(q) @ v)[:3], 1e-7)  # fmt: skip


def _claim_inverse(c: Claim) -> Evidence:
    J, v, _ = redundant()
    velocity = solver().pseudo_inverse(J, J @ v)
    yield printed("J q̇", J @ v, J @ velocity)
    yield says("printed", "no longer than another that does", True, bool(np.linalg.norm(velocity) <= np.linalg.norm(v)))


def _claim_singular(c: Claim) -> Evidence:
    robot = pp.load_robot("planar2")
    yield printed(
        "smallest singular value, stretched", 0.0, robot.smallest_singular_value([0.3, 0], directions=np.eye(6)[:2])
    )
    yield printed("rank", 1, np.linalg.matrix_rank(robot.jacobian([0.3, 0])[:2], tol=1e-9))


def _claim_damped(c: Claim) -> Evidence:
    J, v, _ = redundant()
    w = J @ v
    text = np.linalg.solve(J.T @ J + 0.01 * np.eye(7), J.T @ w)
    yield printed("q̇, λ = 0.1", text, solver().damped_least_squares(J, w, 0.1))
    yield printed("limit λ → 0", solver().pseudo_inverse(J, w), solver().damped_least_squares(J, w, 1e-6), 1e-6)


def _claim_damped_name(c: Claim) -> Evidence:
    J, _, _ = redundant()
    damped = np.column_stack([solver().damped_least_squares(J, e, 0.1) for e in np.eye(6)])
    exact = np.column_stack([solver().pseudo_inverse(J, e) for e in np.eye(6)])
    yield printed("J J^+ J − J with the damped inverse", np.zeros((6, 7)), J @ damped @ J - J)
    yield corrected("J J^+ J − J with the pseudo-inverse", np.zeros((6, 7)), J @ exact @ J - J)


def _claim_redundancy(c: Claim) -> Evidence:
    J, v, v0 = redundant()
    P = np.linalg.pinv(J)
    yield printed("q̇", P @ J @ v + (np.eye(7) - P @ J) @ v0, solver().with_null_space(J, J @ v, v0))


def _claim_N(c: Claim) -> Evidence:
    J, _, _ = redundant()
    N = np.column_stack([solver().with_null_space(J, np.zeros(6), e) for e in np.eye(7)])
    yield printed("N", np.eye(7) - np.linalg.pinv(J) @ J, N)
    yield printed("J N, N² − N", 0.0, max(np.abs(J @ N).max(), np.abs(N @ N - N).max()))


def _claim_equal(c: Claim) -> Evidence:
    J, w = stack(5, 7)
    A, b = np.vstack(J), np.concatenate(w)
    velocity = solver().weighted(list(zip(J, w)), np.ones(5))
    yield printed("q̇", A.T @ b, velocity)
    yield corrected("q̇", np.linalg.pinv(A) @ b, velocity)
    yield corrected("J̄ q̇", b, A @ velocity)


def _claim_weighted(c: Claim) -> Evidence:
    weights = np.array([1.0, 4, 2, 0.5, 3])
    for joints, words in ((3, "5 rows, 3 joints"), (7, "5 rows, 7 joints")):
        J, w = stack(5, joints, joints)
        A, b, W = np.vstack(J), np.concatenate(w), np.diag(weights)
        velocity = solver().weighted(list(zip(J, w)), weights)
        regular = np.linalg.cond(A.T @ W @ A) < 1e12
        text = np.linalg.solve(A.T @ W @ A, A.T @ W @ b) if regular else np.full(joints, np.nan)
        yield reading(f"{words}: q̇", text, velocity)
        root = np.sqrt(W)
        yield corrected(f"{words}: q̇ by (W^½ J̄)⁺ W^½", np.linalg.pinv(root @ A) @ root @ b, velocity)


_THREE = [(np.array([[1.0, 0, 0]]), [1.0]), (np.array([[1.0, 1, 0]]), [3.0]), (np.array([[1.0, 1, 1]]), [0.0])]


def _stacked(printed_projector: bool) -> Array:
    """q̇ by the document's sum, with its projector or the right one."""
    v = np.zeros(3)
    for i, (J, w) in enumerate(_THREE):
        above = _THREE[: i + 1] if printed_projector else _THREE[:i]
        bar = np.vstack([A for A, _ in above]) if above else np.zeros((1, 3))
        N = np.eye(3) - np.linalg.pinv(bar) @ bar
        v = v + N @ (np.linalg.pinv(J @ N, rcond=1e-10) @ (w - J @ v))
    return v


def _claim_projector(c: Claim) -> Evidence:
    velocity = solver().prioritised(_THREE)
    yield printed("q̇ with the printed projector", _stacked(True), velocity)
    yield corrected("q̇ with that of the tasks above", _stacked(False), velocity)
    yield corrected("q̇", [1, 2, -3], velocity)


def _claim_priority_sum(c: Claim) -> Evidence:
    J, w = stack(3, 7, 5)
    velocity = solver().prioritised(list(zip(J, w)))
    parts, v = [], np.zeros(7)
    for i in range(3):
        bar = np.vstack(J[:i]) if i else np.zeros((1, 7))
        N = np.eye(7) - np.linalg.pinv(bar) @ bar
        parts.append(np.linalg.pinv(J[i] @ N, rcond=1e-10) @ (w[i] - J[i] @ v))
        v = v + N @ parts[-1]
    yield printed("q̇ taken as the last line's", parts[-1], velocity)
    yield corrected("q̇ as the sum", v, velocity)
    yield corrected("tasks met", np.concatenate(w), np.vstack(J) @ velocity)


def _claim_ik(c: Claim) -> Evidence:
    q, _, _ = state(ur5e())
    target = ur5e().pose(q)
    pose = ur5e().pose(ur5e().inverse_kinematics(target, seed=ur5e().home))
    yield printed("position [m]", target.position, pose.position, 1e-8)
    yield printed("rotation", target.rotation, pose.rotation, 1e-8)


def _claim_floating_u(c: Claim) -> Evidence:
    robot = pp.load_robot("quadruped")
    joints = len(robot.joint_names) - 1
    yield printed("velocities, coordinates", [6 + joints, 7 + joints], [robot.nv, robot.nq])


def _claim_Efb(c: Claim) -> Evidence:
    robot = pp.load_robot("quadruped")
    q, u, h = robot.home, np.random.default_rng(4).normal(size=robot.nv), 1e-6
    rate = (robot.integrate(q, u, h) - robot.integrate(q, u, -h)) / (2 * h)
    E = robot.velocity_map(q)
    yield printed("u", u, E @ rate, 1e-7)
    yield printed("blocks of E beside the rotation", np.eye(3), E[:3, :3])
    euler, spin = np.array([0.3, -0.4, 0.5]), np.array([0.2, 0.1, -0.6])
    block = pp.spatial.euler_rate_matrix(euler, "ZYX", "body")
    R, after = pp.spatial.matrix_from_euler(euler, "ZYX"), pp.spatial.matrix_from_euler(euler + h * spin, "ZYX")
    yield arithmetic("E_χR of ZYX angles: ω in body axes"
        " [rad/s]", pp.spatial.rotation_vector_from_matrix(R.T @ after) / h,
                     block @ spin, 1e-5)  # fmt: skip
