"""Document 003: robots to try it on; positions, rotations, velocities, systems of bodies, inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.tools.derive import Derivation
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import arithmetic, corrected, decimals, formulas, printed, reading, remembered, says
from palpate_documents.d003 import DOCUMENT


@remembered
def spatial_arm() -> pp.Robot:
    """Three joints in space: the first links of a UR5e."""
    return pp.load_robot("ur5e-3link")


@remembered
def spatial_equations() -> Derivation:
    """Its equations."""
    return pp.derive(spatial_arm(), parameters="numbers")


@remembered
def ur5e() -> pp.Robot:
    """Six joints in space."""
    return pp.load_robot("ur5e", joints="ideal")


@remembered
def vertical() -> Derivation:
    """The planar 3R arm of the kinematics section."""
    return pp.derive(pp.load_robot("planar3-vertical"))


@remembered
def body() -> pp.Robot:
    """A free rigid body of 2 kg with three different moments of inertia."""
    return pp.Robot.from_mjcf_text(
        '<mujoco><worldbody><body name="body"><freejoint/><inertial mass="2" pos="0 0 0" diaginertia="0.1 0.2 0.25"/>'
        "</body></worldbody></mujoco>",
        name="body",
    )


def state(robot: pp.Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    """q, v, a at random, q near home."""
    rng = np.random.default_rng(seed)
    return robot.home + 0.3 * rng.normal(size=robot.nq), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def slope(function: Callable[[Array], object], q: Array, v: Array, h: float = 1e-6) -> Array:
    """d/dt of a function of q along v, by a central difference."""
    return (np.asarray(function(q + h * v)) - np.asarray(function(q - h * v))) / (2 * h)


# -------------------------------- positions, rotations, velocities, transformations, systems of bodies


YAW, PITCH, ROLL = 0.5, -0.3, 0.8  # ψ, θ, φ


def _claim_cylindrical(c: Claim) -> Evidence:
    position = pp.spatial.cartesian_from_cylindrical([1.5, 0.7, 0.4])
    yield printed("r [m]", 1.5 * np.array([cos(0.7), sin(0.7), 0]) + [0, 0, 0.4], position)


def _claim_spherical(c: Claim) -> Evidence:
    position = pp.spatial.cartesian_from_spherical([1.5, 0.7, 0.4])
    yield printed("r [m]", 1.5 * np.array([sin(0.4) * cos(0.7), sin(0.4) * sin(0.7), cos(0.4)]), position)


def _claim_velocity(c: Claim) -> Evidence:
    x, rate = np.array([1.5, 0.7, 0.4]), np.array([0.3, -0.2, 0.5])
    velocity = slope(pp.spatial.cartesian_from_spherical, x, rate)
    yield printed("v [m/s]", pp.spatial.velocity_from_spherical_rate(x, rate), velocity, 1e-8)


def _claim_euler_names(c: Claim) -> Evidence:
    theta, phi, psi = PITCH, ROLL, YAW
    R = pp.spatial.matrix_from_euler([psi, theta, phi], "ZYX")
    yield printed("R_z(yaw) R_y(pitch) R_x(roll)", pp.spatial.matrix_from_euler([theta, phi, psi], "ZYX"), R)
    yield corrected("R_z(yaw) R_y(pitch) R_x(roll)", pp.spatial.matrix_from_euler([YAW, PITCH, ROLL], "ZYX"), R)


def _claim_R(c: Claim) -> Evidence:
    (cp, sp), (ct, st), (cf, sf) = ((cos(x), sin(x)) for x in (YAW, PITCH, ROLL))
    text = [
        [cp * ct, cp * st * sf - sp * cf, cp * st * cf + sp * sf],
        [sp * ct, sp * st * sf + cp * cf, sp * st * cf - cp * sf],
        [-st, ct * sf, ct * cf],
    ]
    yield printed("R", text, pp.spatial.matrix_from_euler([YAW, PITCH, ROLL], "ZYX"))


def _claim_angle_axis(c: Claim) -> Evidence:
    axis = np.array([2.0, -1, 2]) / 3
    R = pp.spatial.matrix_from_angle_axis(0.8, axis)
    angle, computed_axis = pp.spatial.angle_axis_from_matrix(R)
    yield printed("angle and axis", [0.8, *axis], [angle, *computed_axis])


def _claim_q_example(c: Claim) -> Evidence:
    yield printed("q", [0.7071, 0, 0, 0.7071], pp.spatial.quat_from_angle_axis(np.pi / 2, [0, 0, 1]), decimals(4))


def _claim_qvq(c: Claim) -> Evidence:
    q, v = pp.spatial.quat_from_angle_axis(np.pi / 2, [0, 0, 1]), np.array([0.0, 0, 1, 0])
    multiply, conjugate = pp.spatial.quat_multiply, pp.spatial.quat_conjugate
    product = multiply(multiply(q, v), conjugate(q))
    yield printed("q v q*", [0, 0, 0, 0], product)
    yield corrected("q v q*", [0, -1, 0, 0], product)
    yield corrected("the same by the matrix", [-1, 0, 0], pp.spatial.matrix_from_quat(q) @ v[1:])
    yield corrected("q* v q (passive)", [0, 1, 0, 0], multiply(multiply(conjugate(q), v), q))


def _claim_omega(c: Claim) -> Evidence:
    r, omega = np.array([0.4, -0.2, 0.7]), np.array([0.3, -0.8, 1.1])
    R = pp.spatial.matrix_from_rotation_vector(r)
    ahead, behind = (pp.spatial.matrix_from_rotation_vector(h * omega) @ R for h in (1e-6, -1e-6))
    rate = (ahead - behind) / 2e-6
    yield says("printed", "Ṙ Rᵀ is a vector of three numbers", True, (rate @ R.T).shape == (3,))
    yield corrected("Ṙ Rᵀ [1/s]", pp.spatial.skew(omega), rate @ R.T, 1e-8)
    library = pp.spatial.matrix_rate_from_angular_velocity(R, omega)
    yield corrected("ω [rad/s]", omega, pp.spatial.angular_velocity_from_matrix_rate(R, library))


def _claim_vB(c: Claim) -> Evidence:
    v, omega, r = np.array([1.0, 2, 3]), np.array([0.3, -0.8, 1.1]), np.array([0.5, 0.2, -0.4])
    yield printed("v_B [m/s]", v + np.cross(omega, r), pp.spatial.shift_twist([*v, *omega], r)[:3])


def _claim_qdot(c: Claim) -> Evidence:
    q = pp.spatial.quat_from_rotation_vector([0.4, -0.2, 0.7])
    x, y, z = omega = np.array([0.3, -0.8, 1.1])
    matrix = np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])
    for axes in ("body", "world"):
        quat_rate = pp.spatial.quat_rate_from_angular_velocity(q, omega, axes)  # type: ignore[arg-type]
        yield reading(f"ω in {axes} axes: q̇ [1/s]", 0.5 * matrix @ q, quat_rate)
    other = matrix.copy()
    other[1:, 1:] *= -1
    yield corrected("block turned round, ω in world axes: q̇ [1/s]", 0.5 * other @ q,
                    pp.spatial.quat_rate_from_angular_velocity(q, omega))  # fmt: skip


def _claim_frames(c: Claim) -> Evidence:
    X = pp.spatial.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_rotation_vector([0.4, -0.2, 0.7]))
    p = np.array([1.0, 2, 3])
    yield printed("r_AP [m]", X.position + X.rotation @ p, X.apply(p))


def _claim_TAB(c: Claim) -> Evidence:
    X = pp.spatial.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_rotation_vector([0.4, -0.2, 0.7]))
    Y = pp.spatial.Pose([0.1, 0.2, -0.3], pp.spatial.matrix_from_rotation_vector([-0.3, 0.6, 0.1]))

    def matrix(P: pp.spatial.Pose) -> np.ndarray:
        return np.vstack([np.column_stack([P.rotation, P.position]), [0, 0, 0, 1]])

    yield printed("T_AB T_BC", matrix(X) @ matrix(Y), matrix(X @ Y))


def _claim_scara(c: Claim) -> Evidence:
    robot = pp.load_robot("scara")
    J = robot.jacobian(robot.home)
    yield printed("degrees of freedom", 4, robot.nv)
    yield printed(
        "rank of J; of its rows x, y, z, φ", [4, 4], [np.linalg.matrix_rank(J), np.linalg.matrix_rank(J[[0, 1, 2, 5]])]
    )


def _claim_JeA(c: Claim) -> Evidence:
    q, v, _ = state(ur5e())

    def coordinates(at: np.ndarray) -> np.ndarray:
        pose = ur5e().pose(at)
        return np.concatenate([pose.position, pp.spatial.euler_from_matrix(pose.rotation, "ZYX")])

    yield printed("ẋ_e", ur5e().analytical_jacobian(q, euler="ZYX") @ v, slope(coordinates, q, v), 1e-7)


def _claim_Je0(c: Claim) -> Evidence:
    q, v, _ = state(ur5e())
    w, R = ur5e().jacobian(q) @ v, ur5e().pose(q).rotation
    yield printed("v_e [m/s]", w[:3], slope(lambda at: ur5e().pose(at).position, q, v), 1e-7)
    turning = slope(lambda at: ur5e().pose(at).rotation, q, v) @ R.T
    yield printed("Ṙ Rᵀ [1/s]", pp.spatial.skew(w[3:]), turning, 1e-7)


def _claim_Ee(c: Claim) -> Evidence:
    q, _, _ = state(ur5e())
    angles = pp.spatial.euler_from_matrix(ur5e().pose(q).rotation, "ZYX")
    E = np.eye(6)
    E[3:, 3:] = pp.spatial.euler_rate_matrix(angles, "ZYX")
    yield printed("E J_eA", E @ ur5e().analytical_jacobian(q, euler="ZYX"), ur5e().jacobian(q))


def _vertical(key: str, rows: list[int]) -> Any:
    import sympy as sp

    return sp.Matrix(vertical()[key])[rows, :]


formulas(
    DOCUMENT,
    {
        "planar-position": ("FK", lambda: _vertical("position", [0, 2])),
        "planar-J": ("J", lambda: _vertical("Ja", [0, 1])),
        "planar-JR": ("expression", lambda: _vertical("Ja", [2])),
    },
    coordinates=["q1", "q2", "q3"],
)


def _claim_planar_angle(c: Claim) -> Evidence:
    q = np.array([0.3, 0.5, -0.2])
    R = pp.load_robot("planar3-vertical").pose(q).rotation
    yield printed("R", pp.spatial.matrix_from_angle_axis(float(q.sum()), [0, 1, 0]), R)


# -------------------------------- kinematic control, inverse kinematics, floating base


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
