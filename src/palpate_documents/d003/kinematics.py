"""Document 003: positions, rotations, velocities, transformations, systems of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, sin

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import corrected, formula, printed, reading, says, to
from palpate_documents.d003.about import DOCUMENT, slope, state, vertical, whole

Evidence = Iterator[Comparison]
YAW, PITCH, ROLL = 0.5, -0.3, 0.8  # ψ, θ, φ


@DOCUMENT.claim("cylindrical", "Position", r"r = \rho e_\rho + z k", how="spatial.cartesian_from_cylindrical", rows="2")
def _cylindrical(c: Claim) -> Evidence:
    """(ρ, θ, z) are coordinates, not components: r = (ρ cos θ, ρ sin θ, z)."""
    found = pp.spatial.cartesian_from_cylindrical([1.5, 0.7, 0.4])
    yield printed("r [m]", 1.5 * np.array([cos(0.7), sin(0.7), 0]) + [0, 0, 0.4], found)


@DOCUMENT.claim("spherical", "Position", r"r = r e_r", how="spatial.cartesian_from_spherical", rows="2")
def _spherical(c: Claim) -> Evidence:
    """(r, θ, φ), θ the azimuth and φ the angle from z."""
    found = pp.spatial.cartesian_from_spherical([1.5, 0.7, 0.4])
    yield printed("r [m]", 1.5 * np.array([sin(0.4) * cos(0.7), sin(0.4) * sin(0.7), cos(0.4)]), found)


@DOCUMENT.claim(
    "velocity",
    "Velocity",
    r"v ="
    r" \frac{dr}{dt}",
    how="spatial.velocity_from_spherical_rate against a difference",
    rows="2",
)
def _velocity(c: Claim) -> Evidence:
    """Also for coordinates that are not components."""
    x, rate = np.array([1.5, 0.7, 0.4]), np.array([0.3, -0.2, 0.5])
    found = slope(pp.spatial.cartesian_from_spherical, x, rate)
    yield printed("v [m/s]", pp.spatial.velocity_from_spherical_rate(x, rate), found, 1e-8)


@DOCUMENT.claim(
    "euler-names", "Euler angles", r"[\theta, \phi, \psi] = [\text{yaw}, \text{pitch}, \text{roll}]", "typo",
    how='spatial.matrix_from_euler(…, "ZYX")', corrected=r"[\psi, \theta, \phi] = [\text{yaw}, \text{pitch},"
        r" \text{roll}]",
    rows="1",
)  # fmt: skip
def _names(c: Claim) -> Evidence:
    """Contradicts R = R_z(ψ) R_y(θ) R_x(φ) just below: the turn about z is yaw."""
    theta, phi, psi = PITCH, ROLL, YAW
    R = pp.spatial.matrix_from_euler([psi, theta, phi], "ZYX")
    yield printed("R_z(yaw) R_y(pitch) R_x(roll)", pp.spatial.matrix_from_euler([theta, phi, psi], "ZYX"), R)
    yield corrected("R_z(yaw) R_y(pitch) R_x(roll)", pp.spatial.matrix_from_euler([YAW, PITCH, ROLL], "ZYX"), R)


@DOCUMENT.claim(
    "R", "Rotation matrix",
    r"R = \begin{bmatrix} c_\psi c_\theta & c_\psi s_\theta s_\phi - s_\psi c_\phi & c_\psi s_\theta c_\phi +"
    r" s_\psi s_\phi \\"
    r" s_\psi c_\theta & s_\psi s_\theta s_\phi + c_\psi c_\phi & s_\psi s_\theta c_\phi - c_\psi s_\phi \\"
    r" -s_\theta & c_\theta"
    r" s_\phi & c_\theta c_\phi \end{bmatrix}", how='spatial.matrix_from_euler(…, "ZYX")', rows="2",
)  # fmt: skip
def _matrix(c: Claim) -> Evidence:
    """All nine entries."""
    (cp, sp), (ct, st), (cf, sf) = ((cos(x), sin(x)) for x in (YAW, PITCH, ROLL))
    text = [
        [cp * ct, cp * st * sf - sp * cf, cp * st * cf + sp * sf],
        [sp * ct, sp * st * sf + cp * cf, sp * st * cf - cp * sf],
        [-st, ct * sf, ct * cf],
    ]
    yield printed("R", text, pp.spatial.matrix_from_euler([YAW, PITCH, ROLL], "ZYX"))


@DOCUMENT.claim(
    "angle-axis",
    "Angle-axis",
    r"[\theta, a] = [\text{angle},"
    r" \text{axis}]",
    how="spatial.matrix_from_angle_axis",
    rows="2",
)
def _angle_axis(c: Claim) -> Evidence:
    """The axis stays where it is, the angle comes back."""
    axis = np.array([2.0, -1, 2]) / 3
    R = pp.spatial.matrix_from_angle_axis(0.8, axis)
    angle, found = pp.spatial.angle_axis_from_matrix(R)
    yield printed("angle and axis", [0.8, *axis], [angle, *found])


@DOCUMENT.claim(
    "q-example", "Quaternion example", r"q = (\cos(\theta/2), 0, 0, \sin(\theta/2)) = (0.7071, 0, 0, 0.7071)",
    how="spatial.quat_from_angle_axis", rows="3",
)  # fmt: skip
def _quaternion(c: Claim) -> Evidence:
    """90° about z."""
    yield printed("q", [0.7071, 0, 0, 0.7071], pp.spatial.quat_from_angle_axis(np.pi / 2, [0, 0, 1]), to(4))


@DOCUMENT.claim(
    "qvq", "Quaternion example", r"v_B = q v q^* = (0, 0, 0, 0)", "wrong", how="spatial.quat_multiply", rows="3",
    corrected=r"q v q^* = (0, -1, 0, 0)",
)  # fmt: skip
def _sandwich(c: Claim) -> Evidence:
    """A rotation keeps lengths: the result cannot be zero. Turned by +90° about z, y becomes −x. If "in frame B" means
    components in a frame turned by +90° (passive), it is q* v q = (1, 0, 0)."""
    q, v = pp.spatial.quat_from_angle_axis(np.pi / 2, [0, 0, 1]), np.array([0.0, 0, 1, 0])
    multiply, conjugate = pp.spatial.quat_multiply, pp.spatial.quat_conjugate
    found = multiply(multiply(q, v), conjugate(q))
    yield printed("q v q*", [0, 0, 0, 0], found)
    yield corrected("q v q*", [0, -1, 0, 0], found)
    yield corrected("the same by the matrix", [-1, 0, 0], pp.spatial.matrix_from_quat(q) @ v[1:])
    yield corrected("q* v q (passive)", [0, 1, 0, 0], multiply(multiply(conjugate(q), v), q))


@DOCUMENT.claim(
    "omega", "Angular velocity", r"\omega = \frac{dR}{dt} R^T = (\omega_x, \omega_y, \omega_z)", "wrong",
    how="spatial.angular_velocity_from_matrix_rate, skew", corrected=r"[\omega]_\times = \frac{dR}{dt} R^T", rows="4",
)  # fmt: skip
def _angular_velocity(c: Claim) -> Evidence:
    """Ṙ Rᵀ is a skew matrix, S(ω), not a vector; with ω in world axes (RᵀṘ has body axes)."""
    r, omega = np.array([0.4, -0.2, 0.7]), np.array([0.3, -0.8, 1.1])
    R = pp.spatial.matrix_from_rotation_vector(r)
    ahead, behind = (pp.spatial.matrix_from_rotation_vector(h * omega) @ R for h in (1e-6, -1e-6))
    rate = (ahead - behind) / 2e-6
    yield says("printed", "Ṙ Rᵀ is a vector of three numbers", True, (rate @ R.T).shape == (3,))
    yield corrected("Ṙ Rᵀ [1/s]", pp.spatial.skew(omega), rate @ R.T, 1e-8)
    library = pp.spatial.matrix_rate_from_angular_velocity(R, omega)
    yield corrected("ω [rad/s]", omega, pp.spatial.angular_velocity_from_matrix_rate(R, library))


@DOCUMENT.claim(
    "vB", "Linear and angular velocity", r"v_B = v_A + \omega \times r_{AB}", how="spatial.shift_twist", rows="6"
)
def _point_velocity(c: Claim) -> Evidence:
    """For two points A and B of one body."""
    v, omega, r = np.array([1.0, 2, 3]), np.array([0.3, -0.8, 1.1]), np.array([0.5, 0.2, -0.4])
    yield printed("v_B [m/s]", v + np.cross(omega, r), pp.spatial.shift_twist([*v, *omega], r)[:3])


DOCUMENT.reading(
    "vB-words", "Rigid-body"
        " formulation", r"v_A, v_B \text{ are velocities of points } P \text{ in frames } A \text{ and } B",
    "typo", "A and B are two points of one body; the formula relates their velocities.",
    corrected=r"v_A, v_B \text{ are velocities of the points } A \text{ and } B \text{ of one body}", rows="6",
)  # fmt: skip


@DOCUMENT.claim(
    "qdot", "Quaternion and angular velocity",
    r"\dot{q} = \frac{1}{2} \begin{bmatrix} 0 & -\omega_x & -\omega_y & -\omega_z \\ \omega_x & 0 & \omega_z &"
    r" -\omega_y \\"
    r" \omega_y & -\omega_z & 0 & \omega_x \\ \omega_z & \omega_y & -\omega_x & 0 \end{bmatrix} q", "ambiguous",
    how="spatial.quat_rate_from_angular_velocity, world and body axes", rows="5",
    corrected=r"\omega \text{ in body axes; in world axes the lower right block has the other sign}",
)  # fmt: skip
def _quaternion_rate(c: Claim) -> Evidence:
    """Right for ω in body axes, q̇ = ½ q ⊗ (0, ω). The ω = Ṙ Rᵀ above has world axes: the two do not go together."""
    q = pp.spatial.quat_from_rotation_vector([0.4, -0.2, 0.7])
    x, y, z = omega = np.array([0.3, -0.8, 1.1])
    matrix = np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])
    for axes in ("body", "world"):
        found = pp.spatial.quat_rate_from_angular_velocity(q, omega, axes)  # type: ignore[arg-type]
        yield reading(f"ω in {axes} axes: q̇ [1/s]", 0.5 * matrix @ q, found)
    other = matrix.copy()
    other[1:, 1:] *= -1
    yield corrected("block turned round, ω in world axes: q̇ [1/s]", 0.5 * other @ q,
                    pp.spatial.quat_rate_from_angular_velocity(q, omega))  # fmt: skip


@DOCUMENT.claim(
    "frames",
    "Transformation between frames",
    r"{}_A r_{AP} = {}_A r_{AB} + R_{AB} \, {}_B r_{BP}",
    how="Pose.apply",
    rows="7",
)
def _frames(c: Claim) -> Evidence:
    """A point in another frame."""
    X = pp.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_rotation_vector([0.4, -0.2, 0.7]))
    p = np.array([1.0, 2, 3])
    yield printed("r_AP [m]", X.position + X.rotation @ p, X.apply(p))


@DOCUMENT.claim(
    "TAB", "Transformation between frames", r"T_{AB} = \begin{bmatrix} R_{AB} & {}_A r_{AB} \\ 0 & 1 \end{bmatrix}",
    how="Pose @ Pose against the product of the matrices", rows="7",
)  # fmt: skip
def _homogeneous(c: Claim) -> Evidence:
    """Products of such matrices chain frames."""
    X = pp.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_rotation_vector([0.4, -0.2, 0.7]))
    Y = pp.Pose([0.1, 0.2, -0.3], pp.spatial.matrix_from_rotation_vector([-0.3, 0.6, 0.1]))

    def matrix(P: pp.Pose) -> np.ndarray:
        return np.vstack([np.column_stack([P.rotation, P.position]), [0, 0, 0, 1]])

    yield printed("T_AB T_BC", matrix(X) @ matrix(Y), matrix(X @ Y))


@DOCUMENT.claim(
    "scara", "SCARA, Figure"
        " 5", r"q = [\alpha, \beta, \gamma, \zeta], \; \text{4 degrees of freedom}, \; x_o = [x, y, z, \phi]",
    how="load_robot scara: nv, rank of the Jacobian", rows="9",
)  # fmt: skip
def _scara(c: Claim) -> Evidence:
    """Four joints, and four directions that the tool can move in: x, y, z and the turn about z."""
    robot = pp.load_robot("scara")
    J = robot.jacobian(robot.home)
    yield printed("degrees of freedom", 4, robot.nv)
    yield printed(
        "rank of J; of its rows x, y, z, φ", [4, 4], [np.linalg.matrix_rank(J), np.linalg.matrix_rank(J[[0, 1, 2, 5]])]
    )


@DOCUMENT.claim(
    "JeA", "Differential kinematics", r"\dot{x}_e = J_{eA}(q) \dot{q}, \quad J_{eA} = \frac{\partial x_e}{\partial q}",
    how="robot.analytical_jacobian against differences of position and Euler angles", rows="8",
)  # fmt: skip
def _analytical(c: Claim) -> Evidence:
    """Position rows and orientation rows."""
    q, v, _ = state(whole())

    def coordinates(at: np.ndarray) -> np.ndarray:
        pose = whole().pose(at)
        return np.concatenate([pose.position, pp.spatial.euler_from_matrix(pose.rotation, "ZYX")])

    yield printed("ẋ_e", whole().analytical_jacobian(q, euler="ZYX") @ v, slope(coordinates, q, v), 1e-7)


@DOCUMENT.claim(
    "Je0", "Geometric Jacobian", r"w_e = \begin{bmatrix} v_e \\ \omega_e \end{bmatrix} = J_{e0}(q) \dot{q}",
    how="robot.jacobian against differences of the pose", rows="8",
)  # fmt: skip
def _geometric(c: Claim) -> Evidence:
    """6×n, linear rows first."""
    q, v, _ = state(whole())
    w, R = whole().jacobian(q) @ v, whole().pose(q).rotation
    yield printed("v_e [m/s]", w[:3], slope(lambda at: whole().pose(at).position, q, v), 1e-7)
    turning = slope(lambda at: whole().pose(at).rotation, q, v) @ R.T
    yield printed("Ṙ Rᵀ [1/s]", pp.spatial.skew(w[3:]), turning, 1e-7)


@DOCUMENT.claim(
    "Ee", "Geometric and analytical Jacobian",
    r"J_{e0}(q) = E_e(x_e) J_{eA}(q), \quad E_e = \begin{bmatrix} E_P & 0 \\ 0 & E_R \end{bmatrix}",
    how="spatial.euler_rate_matrix, robot.analytical_jacobian", rows="8",
)  # fmt: skip
def _rate_map(c: Claim) -> Evidence:
    """E_P = 1 for Cartesian positions, E_R the Euler rates' matrix in world axes."""
    q, _, _ = state(whole())
    angles = pp.spatial.euler_from_matrix(whole().pose(q).rotation, "ZYX")
    E = np.eye(6)
    E[3:, 3:] = pp.spatial.euler_rate_matrix(angles, "ZYX")
    yield printed("E J_eA", E @ whole().analytical_jacobian(q, euler="ZYX"), whole().jacobian(q))


_ARM = {
    "planar-position": ("FK", (0, 2), r"\chi_{eP}(q) = \begin{bmatrix} l_1 \sin q_1 + l_2 \sin(q_1 + q_2) + l_3"
        r" \sin(q_1 + q_2 + q_3)"
                        r" \\ l_0 + l_1 \cos q_1 + l_2 \cos(q_1 + q_2) + l_3 \cos(q_1 + q_2 + q_3) \end{bmatrix}"),
    "planar-J": ("J", (0, 1), r"J_{eAP}(q) = \begin{bmatrix} l_1 c_1 + l_2 c_{12} + l_3 c_{123} & l_2 c_{12} +"
        r" l_3 c_{123} & l_3"
                 r" c_{123} \\ -l_1 s_1 - l_2 s_{12} - l_3 s_{123} & -l_2 s_{12} - l_3 s_{123} & -l_3 s_{123}"
                 r" \end{bmatrix}"),
    "planar-JR": ("expression", (2,), r"J_{eAR} = \begin{bmatrix} 1 & 1 & 1 \end{bmatrix}"),
}  # fmt: skip


def _planar(name: str, what: str, rows: tuple[int, ...], text: str) -> None:
    quantity = "position" if name == "planar-position" else "Ja"

    @DOCUMENT.claim(
        name, "Kinematics of a 3-DOF planar manipulator", text, how=f'derive(planar3-vertical)["{quantity}"]', rows="9"
    )
    def _quantity(c: Claim) -> Evidence:
        """Angles from the vertical, the base at height l_0."""
        import sympy as sp

        wanted = sp.Matrix(vertical()[quantity])[list(rows), :]
        yield formula("printed", c.printed, wanted, what, coordinates=["q1", "q2", "q3"])


for _name, (_what, _rows, _text) in _ARM.items():
    _planar(_name, _what, _rows, _text)


@DOCUMENT.claim(
    "planar-angle", "Kinematics of a 3-DOF planar manipulator", r"\chi_{eR} = q_1 + q_2 + q_3",
    how="robot.pose of planar3-vertical", rows="9",
)  # fmt: skip
def _orientation(c: Claim) -> Evidence:
    """Turned about y by the sum of the angles."""
    q = np.array([0.3, 0.5, -0.2])
    R = pp.load_robot("planar3-vertical").pose(q).rotation
    yield printed("R", pp.spatial.matrix_from_angle_axis(float(q.sum()), [0, 1, 0]), R)
