"""Document 003: kinematic control, inverse kinematics, floating base."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import arithmetic, corrected, printed, reading, says
from palpate_documents.d003.about import DOCUMENT, seven, slope, state, whole

Evidence = Iterator[Comparison]


def solver():
    """The closed forms of the library."""
    return pp.control.solve.priorities


def stack(rows: int, joints: int, seed: int = 0) -> tuple[list[Array], list[Array]]:
    """Random tasks of one row each."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(1, joints)) for _ in range(rows)], [rng.normal(size=1) for _ in range(rows)]


@DOCUMENT.claim(
    "w-dot", "Inverse differential"
        " kinematics", r"\dot{w}_e = J_{e0}(q) \dot{q}", "typo", how="robot.jacobian", rows="10",
    corrected=r"w_e = J_{e0}(q) \dot{q}",
)  # fmt: skip
def _velocity_level(c: Claim) -> Evidence:
    """A dot too many, here and in the formulas for inverse, damping and redundancy: velocities, not accelerations."""
    q, v, _ = state(whole())
    rate = slope(lambda at: whole().jacobian(at) @ v, q, v)
    yield printed("ẇ_e at constant q̇", rate, whole().jacobian(q) @ v, 1e-6)
    yield corrected("w_e: linear part against a difference [m/s]", slope(lambda at: whole().pose(at).position, q, v),
                    (whole().jacobian(q) @ v)[:3], 1e-7)  # fmt: skip


@DOCUMENT.claim(
    "inverse",
    "Inverse differential kinematics",
    r"\dot{q} = J_{e0}^+(q) w_e",
    how="solve.priorities.pseudo_inverse",
    rows="10",
)
def _inverse(c: Claim) -> Evidence:
    """Read with w_e: it gives the velocity asked for, and is the shortest that does."""
    q, v, _ = state(seven())
    J = seven().jacobian(q)
    found = solver().pseudo_inverse(J, J @ v)
    yield printed("J q̇", J @ v, J @ found)
    yield says("printed", "no longer than another that does", True, bool(np.linalg.norm(found) <= np.linalg.norm(v)))


@DOCUMENT.claim(
    "singular", "Singularity", r"\mathrm{rank}(J_{e0}(q)) < m_0", how="robot.smallest_singular_value", rows="10"
)
def _singularity(c: Claim) -> Evidence:
    """A stretched planar arm has lost one direction of two."""
    robot = pp.load_robot("planar2")
    yield printed(
        "smallest singular value, stretched", 0.0, robot.smallest_singular_value([0.3, 0], directions=np.eye(6)[:2])
    )
    yield printed("rank", 1, np.linalg.matrix_rank(robot.jacobian([0.3, 0])[:2], tol=1e-9))


@DOCUMENT.claim(
    "damped", "Damped solution", r"\dot{q} = (J_{e0}^T J_{e0} + \lambda^2 I)^{-1} J_{e0}^T w_e",
    how="solve.priorities.damped_least_squares", rows="11",
)  # fmt: skip
def _damped(c: Claim) -> Evidence:
    """Right, and equal to Jᵀ(J Jᵀ + λ²)⁻¹ w. It is not the Moore–Penrose inverse, which is its limit for λ → 0."""
    q, v, _ = state(seven())
    J = seven().jacobian(q)
    w = J @ v
    text = np.linalg.solve(J.T @ J + 0.01 * np.eye(7), J.T @ w)
    yield printed("q̇, λ = 0.1", text, solver().damped_least_squares(J, w, 0.1))
    yield printed("limit λ → 0", solver().pseudo_inverse(J, w), solver().damped_least_squares(J, w, 1e-6), 1e-6)


@DOCUMENT.claim(
    "damped-name", "Damped solution", r"\text{Moore-Penrose pseudo-inverse: damped solution}", "typo",
    how="solve.priorities.damped_least_squares against"
        " pseudo_inverse", corrected=r"\text{damped least squares}", rows="11",
)  # fmt: skip
def _damped_name(c: Claim) -> Evidence:
    """With λ > 0 it is no pseudo-inverse: J J^+ J ≠ J."""
    q, _, _ = state(seven())
    J = seven().jacobian(q)
    damped = np.column_stack([solver().damped_least_squares(J, e, 0.1) for e in np.eye(6)])
    exact = np.column_stack([solver().pseudo_inverse(J, e) for e in np.eye(6)])
    yield printed("J J^+ J − J with the damped inverse", np.zeros((6, 7)), J @ damped @ J - J)
    yield corrected("J J^+ J − J with the pseudo-inverse", np.zeros((6, 7)), J @ exact @ J - J)


@DOCUMENT.claim(
    "redundancy", "Redundancy", r"\dot{q} = J_{e0}^+ w_e + (I - J_{e0}^+ J_{e0}) \dot{q}_0",
    how="solve.priorities.with_null_space", rows="12",
)  # fmt: skip
def _redundancy(c: Claim) -> Evidence:
    """The task is kept whatever q̇_0."""
    q, v, v0 = state(seven())
    J = seven().jacobian(q)
    P = np.linalg.pinv(J)
    yield printed("q̇", P @ J @ v + (np.eye(7) - P @ J) @ v0, solver().with_null_space(J, J @ v, v0))


@DOCUMENT.claim(
    "N", "Redundancy", r"N(q) = I - J_{e0}^+(q) J_{e0}(q)", how="with_null_space of unit vectors", rows="12"
)
def _projector(c: Claim) -> Evidence:
    """The projector on the null space: J N = 0 and N² = N. The null space itself is its image."""
    q, _, _ = state(seven())
    J = seven().jacobian(q)
    N = np.column_stack([solver().with_null_space(J, np.zeros(6), e) for e in np.eye(7)])
    yield printed("N", np.eye(7) - np.linalg.pinv(J) @ J, N)
    yield printed("J N, N² − N", 0.0, max(np.abs(J @ N).max(), np.abs(N @ N - N).max()))


@DOCUMENT.claim(
    "equal", "Multi-task with equal priority",
    r"\dot{q} = \begin{bmatrix} J_1 \\ \vdots \\ J_{n_t} \end{bmatrix}^T \begin{bmatrix} w_1 \\ \vdots \\"
    r" w_{n_t} \end{bmatrix}",
    "wrong", how="solve.priorities.weighted with equal weights", rows="13",
    corrected=r"\dot{q} = \begin{bmatrix} J_1 \\ \vdots \\ J_{n_t} \end{bmatrix}^+ \begin{bmatrix} w_1 \\"
        r" \vdots \\ w_{n_t}"
    r" \end{bmatrix}",
)  # fmt: skip
def _equal(c: Claim) -> Evidence:
    """The transpose does not solve the tasks; the pseudo-inverse does."""
    J, w = stack(5, 7)
    A, b = np.vstack(J), np.concatenate(w)
    found = solver().weighted(list(zip(J, w)), np.ones(5))
    yield printed("q̇", A.T @ b, found)
    yield corrected("q̇", np.linalg.pinv(A) @ b, found)
    yield corrected("J̄ q̇", b, A @ found)


@DOCUMENT.claim(
    "weighted", "Multi-task with weights", r"\bar{J}^+ = (\bar{J}^T W \bar{J})^{-1} \bar{J}^T W", "ambiguous",
    how="solve.priorities.weighted", rows="14",
    corrected=r"\bar{J}^+ = (W^{1/2} \bar{J})^+ W^{1/2}",
)  # fmt: skip
def _weighted(c: Claim) -> Evidence:
    """Right where J̄ has full column rank (more rows than joints). A redundant arm, of which the section speaks, has
    not: the matrix to be inverted is singular. W must hold λ_i once per row of task i."""
    weights = np.array([1.0, 4, 2, 0.5, 3])
    for joints, words in ((3, "5 rows, 3 joints"), (7, "5 rows, 7 joints")):
        J, w = stack(5, joints, joints)
        A, b, W = np.vstack(J), np.concatenate(w), np.diag(weights)
        found = solver().weighted(list(zip(J, w)), weights)
        regular = np.linalg.cond(A.T @ W @ A) < 1e12
        text = np.linalg.solve(A.T @ W @ A, A.T @ W @ b) if regular else np.full(joints, np.nan)
        yield reading(f"{words}: q̇", text, found)
        root = np.sqrt(W)
        yield corrected(f"{words}: q̇ by (W^½ J̄)⁺ W^½", np.linalg.pinv(root @ A) @ root @ b, found)


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


@DOCUMENT.claim(
    "projector", "Multi-task with prioritisation", r"\bar{N}_i = I - J_i^+(\bar{J}_i)", "wrong",
    how="solve.priorities.prioritised", rows="15",
    corrected=r"\bar{N}_i = I - \bar{J}_{i-1}^+ \bar{J}_{i-1}, \quad \bar{J}_{i-1} = [J_1; \ldots; J_{i-1}],"
        r" \quad \bar{N}_1 = I",
)  # fmt: skip
def _prioritised(c: Claim) -> Evidence:
    """The projector must be that of the tasks above i. With task i among them J_i N̄_i = 0, and nothing moves."""
    found = solver().prioritised(_THREE)
    yield printed("q̇ with the printed projector", _stacked(True), found)
    yield corrected("q̇ with that of the tasks above", _stacked(False), found)
    yield corrected("q̇", [1, 2, -3], found)


@DOCUMENT.claim(
    "priority-sum", "Multi-task with prioritisation",
    r"\dot{q} = \sum_{i=1}^{n_t} \bar{N}_i^+ \dot{q}_i \quad \text{with} \quad \dot{q} = (J_i \bar{N}_i)^+ (w_i^* - J_i"
    r" \sum_{j=1}^{i-1} \bar{N}_j"
    r" \dot{q}_j)", "typo", how="solve.priorities.prioritised of three random tasks", rows="15",
    corrected=r"\dot{q} = \sum_{i=1}^{n_t} \bar{N}_i \dot{q}_i \quad \text{with} \quad \dot{q}_i = (J_i"
        r" \bar{N}_i)^+ (w_i^* - J_i"
    r" \sum_{j=1}^{i-1} \bar{N}_j \dot{q}_j)",
)  # fmt: skip
def _sum(c: Claim) -> Evidence:
    """The second q̇ has lost its index i; N̄⁺ = N̄, so that the plus does no harm."""
    J, w = stack(3, 7, 5)
    found = solver().prioritised(list(zip(J, w)))
    parts, v = [], np.zeros(7)
    for i in range(3):
        bar = np.vstack(J[:i]) if i else np.zeros((1, 7))
        N = np.eye(7) - np.linalg.pinv(bar) @ bar
        parts.append(np.linalg.pinv(J[i] @ N, rcond=1e-10) @ (w[i] - J[i] @ v))
        v = v + N @ parts[-1]
    yield printed("q̇ taken as the last line's", parts[-1], found)
    yield corrected("q̇ as the sum", v, found)
    yield corrected("tasks met", np.concatenate(w), np.vstack(J) @ found)


@DOCUMENT.claim(
    "ik", "Inverse kinematics", r"\Delta\chi_e = J_{eA}(q) \Delta q", how="robot.inverse_kinematics", rows="16"
)
def _inverse_kinematics(c: Claim) -> Evidence:
    """Small steps by the Jacobian lead to the pose asked for."""
    q, _, _ = state(whole())
    target = whole().pose(q)
    found = whole().pose(whole().inverse_kinematics(target, seed=whole().home))
    yield printed("position [m]", target.position, found.position, 1e-8)
    yield printed("rotation", target.rotation, found.rotation, 1e-8)


DOCUMENT.reading(
    "ik-labels", "Inverse kinematics",
    r"\dot{\chi}_e = J_{eA} \dot{q} \; \text{analytical solution}; \quad \Delta\chi_e = J_{eA} \Delta q \;"
    r" \text{numerical solution}",
    "ambiguous", "Both lines are the differential kinematics; an analytical solution would be q = q(χ_e) in"
        " closed form.",
    rows="16",
)  # fmt: skip


@DOCUMENT.claim("floating-u", "Floating base", r"u \in R^{6 + n_j}", how="robot.with_free_base(): nv, nq", rows="17")
def _floating(c: Claim) -> Evidence:
    """Six velocities of the base beside the joints'; its coordinates are seven with a quaternion."""
    robot = pp.load_robot("quadruped")
    joints = len(robot.joint_names) - 1
    yield printed("velocities, coordinates", [6 + joints, 7 + joints], [robot.nv, robot.nq])


DOCUMENT.reading(
    "floating-symbols", "Floating"
        " base", r"u = (I^{VB}, B\omega^{IB}, \ldots), \quad \dot{u} = (I^{AB}, B\phi^{IB}, \ldots)", "typo",
    "Indices garbled in print: linear velocity in inertial axes, angular velocity in body axes.",
    corrected=r"u = ({}_I v_B, {}_B \omega_{IB}, \ldots), \quad \dot{u} = ({}_I a_B, {}_B \psi_{IB},"
        r" \ldots)", rows="17",
)  # fmt: skip


@DOCUMENT.claim(
    "Efb", "Floating base", r"u = E_{fb} \dot{q}, \quad E_{fb} = diag(I, E_{\chi R}, I)",
    how="robot.velocity_map; robot.integrate", rows="18",
)  # fmt: skip
def _velocity_map(c: Claim) -> Evidence:
    """With E_χR mapping to the angular velocity in body axes, here of a quaternion."""
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
