"""Document 004, sections 2.3 and 3: implementation and simulations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Comparison, Trajectories
from palpate_documents.compare import arithmetic, corrected, printed, reading, says
from palpate_documents.d004.about import DOCUMENT
from palpate_documents.d004.admittance import FORCE, TORQUE, pair, response

Evidence = Iterator[Comparison]
POSE = pp.Pose([0.3, 0.2, 0.4], np.eye(3))


@DOCUMENT.claim(
    "42", "(42)",
    r"Ad(T_B^A) = \begin{bmatrix} R_B^A & 0 \\ S(t_B^A) R_B^A & R_B^A"
    r" \end{bmatrix}", how="spatial.adjoint_wrench", rows="19",
)  # fmt: skip
def _adjoint(c: Claim) -> Evidence:
    """For wrenches [f; μ] with the moment about each frame's origin; power is kept with the twist's transform."""
    X = pp.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_quat(pair()[0]))
    R, S = X.rotation, pp.spatial.skew(X.position)
    found = pp.spatial.adjoint_wrench(X)
    yield printed("Ad", np.block([[R, np.zeros((3, 3))], [S @ R, R]]), found)
    h, twist = np.arange(1.0, 7), np.array([0.5, -1, 2, 0.3, 0.7, -0.4])
    yield printed("power in both frames [W]", h @ twist, (found @ h) @ (pp.spatial.adjoint_twist(X) @ twist))


@DOCUMENT.claim(
    "43", "(43)", r"T_B^A = \begin{bmatrix} R_B^A & t_B^A \\ 0 & 1 \end{bmatrix}", how="spatial.Pose.apply", rows="19"
)
def _transform(c: Claim) -> Evidence:
    """A pose as a homogeneous matrix."""
    X, p = pp.Pose([0.3, -0.2, 0.5], pp.spatial.matrix_from_quat(pair()[0])), np.array([1.0, 2.0, 3.0])
    T = np.vstack([np.column_stack([X.rotation, X.position]), [0, 0, 0, 1]])
    yield printed("a point in the other frame [m]", (T @ [*p, 1.0])[:3], X.apply(p))


@DOCUMENT.claim(
    "44-size", "(44)", r"\mu^d = Ad(T_0^d) h_e^0", "wrong", how="spatial.adjoint_wrench", rows="20",
    corrected=r"\mu^d = \begin{bmatrix} 0 & I \end{bmatrix} Ad(T_0^d) h_e^0",
)  # fmt: skip
def _dimension(c: Claim) -> Evidence:
    """Three numbers on the left, six on the right: the lower three are meant."""
    h = pp.spatial.adjoint_wrench(POSE.inverse()) @ np.concatenate([FORCE, np.zeros(3)])
    yield printed("entries of both sides", 3, len(h))
    yield corrected("entries of the lower half", 3, len(h[3:]))


def _spurious() -> Trajectories:
    """The turn during the phase of pure force, with (44) taken literally and with the torque at the tool."""
    t = response().time
    curves = [
        (label, t[::50].tolist(), np.linalg.norm(response(base=base).angles[::50], axis=1).tolist())
        for label, base in (("(44) with the tool's torque", True), ("torque turned only", False))
    ]
    return Trajectories("Turn of the compliant frame while f = (1, 2, 3) N acts", "t [s]", "turn [rad]", tuple(curves))


@DOCUMENT.claim(
    "44", "(44), meaning of μ", r"\mu^d = Ad(T_0^d) h_e^0", "ambiguous",
    how="spatial.adjoint_wrench, rotate_axes; control.admittance_response(moment_about)", rows="20",
    corrected=r"\mu^d = R_0^d \mu \; \text{for a torque at the tool}", plot=_spurious,
)  # fmt: skip
def _moment_point(c: Claim) -> Evidence:
    """Right only if μ⁰ is the moment about the base's origin. Section 3 and (33) speak of a torque at the end-effector:
    then it must only be turned. Taken literally, with p_d = (0.3, 0.2, 0.4) m, the pure force of section 3 would turn
    the compliant frame by 0.067 rad."""
    h = np.concatenate([FORCE, np.zeros(3)])
    at_base = np.concatenate([FORCE, np.cross(POSE.position, FORCE)])  # the same force, moment about the base
    ad = pp.spatial.adjoint_wrench(POSE.inverse())
    yield reading("μ^d of a pure force at the tool, μ⁰ about the base [N·m]", [0, 0, 0], (ad @ at_base)[3:])
    yield reading("μ^d of a pure force at the tool, μ⁰ at the tool [N·m]", [0, 0, 0], (ad @ h)[3:])
    yield arithmetic("the spurious moment [N·m]", [0.2, 0.5, -0.4], (ad @ h)[3:])
    yield corrected("turned only [N·m]", [0, 0, 0], pp.spatial.rotate_axes(POSE.rotation.T, h)[3:])
    twisted = np.linalg.norm(response(base=True, seconds=60.0, start=0.0).angles[-1])
    yield arithmetic("the turn it leads to, asin(|μ|/K) [rad]", 0.067132453, twisted, 1e-8)
    yield corrected("turn at 10 s with the torque at the tool [rad]", 0.0, np.linalg.norm(response().angles[-1]))


@DOCUMENT.claim(
    "45", "(45)", r"\eta = \cos(\frac{\vartheta}{2}), \; \epsilon = \sin(\frac{\vartheta}{2}) r, \quad \eta^2 +"
    r" \epsilon^T\epsilon = 1", how="spatial.quat_from_angle_axis", rows="21",
)  # fmt: skip
def _unit_quaternion(c: Claim) -> Evidence:
    """η_cd carries a frame's index in the document, which it has no use for."""
    q, r = pp.spatial.quat_from_angle_axis(0.9, [0.6, 0, 0.8]), np.array([0.6, 0, 0.8])
    yield printed("(η, ε)", [np.cos(0.45), *np.sin(0.45) * r], q)
    yield printed("norm", 1.0, q @ q)


@DOCUMENT.claim(
    "46", "(46)", r"q_{cd}^d(t + dt) = \exp\{\frac{dt}{2} \omega_{cd}^d(t + dt)\} \otimes q_{cd}^d(t)",
    how="spatial.quat_multiply against the rotation matrix turned by ω", rows="22",
)  # fmt: skip
def _exponential_step(c: Claim) -> Evidence:
    """The product from the left is right for ω in axes of the desired frame."""
    q, omega, dt = pair()[0], np.array([0.3, -0.8, 1.1]), 0.05
    step = pp.spatial.quat_from_rotation_vector(dt * omega)
    R = pp.spatial.matrix_from_rotation_vector(dt * omega) @ pp.spatial.matrix_from_quat(q)
    yield printed("R after the step", R, pp.spatial.matrix_from_quat(pp.spatial.quat_multiply(step, q)))
    right = pp.spatial.matrix_from_quat(pp.spatial.quat_multiply(q, step))
    yield says("printed", "from the right it would differ", True, bool(np.abs(right - R).max() > 1e-3))


DOCUMENT.reading(
    "46-print", "(46), left side", r"(q_{cd}^d + dt)", "typo", "The left side has lost its argument.",
    corrected=r"q_{cd}^d(t + dt)", rows="22",
)  # fmt: skip


@DOCUMENT.claim(
    "47",
    "(47)",
    r"\exp\{r\} = (\cos(|r|), \frac{r}{|r|}"
    r" \sin(|r|))",
    how="spatial.quat_from_rotation_vector",
    rows="21",
)
def _exponential(c: Claim) -> Evidence:
    """exp{θ/2} is the quaternion of the rotation vector θ; at r = 0 it needs the limit (1, 0), which is not said."""
    r = np.array([0.2, -0.3, 0.6])
    n = np.linalg.norm(r)
    yield printed("exp{r}", [np.cos(n), *(np.sin(n) / n * r)], pp.spatial.quat_from_rotation_vector(2 * r))
    yield printed("at r = 0", [1, 0, 0, 0], pp.spatial.quat_from_rotation_vector(np.zeros(3)))


@DOCUMENT.claim("48", "(48)", r"q_c^0 = q_d^0 \otimes q_{cd}^d", how="spatial.quat_multiply; matrix product", rows="23")
def _composition(c: Claim) -> Evidence:
    """With q_cd = q_d⁻¹ ⊗ q_c."""
    c_, d = pair()
    q = pp.spatial.quat_multiply(pp.spatial.quat_conjugate(d), c_)
    yield printed("q_c", c_, pp.spatial.quat_multiply(d, q))
    R = pp.spatial.matrix_from_quat(d) @ pp.spatial.matrix_from_quat(q)
    yield printed("R_c", R, pp.spatial.matrix_from_quat(c_))


@DOCUMENT.claim(
    "49", "(49)", r"\Delta\phi_{cd}(t + dt) = \Delta\phi_{cd}(t) + dt \, \Delta\dot{\phi}_{cd}(t + dt)",
    how="control.admittance_response: positions from speeds", rows="24",
)  # fmt: skip
def _semi_implicit(c: Claim) -> Evidence:
    """Semi-implicit Euler, also for the translation; errors of order dt: 4·10⁻⁶ m at 10 s for dt = 1 ms."""
    found = response()
    steps = found.displacement[5001:5100] - found.displacement[5000:5099]
    yield printed(
        "Δp(t+dt) − Δp(t) − dt Δṗ(t+dt) [m]", np.zeros_like(steps), steps - 1e-3 * found.speed[5001:5100], 1e-15
    )
    yield printed("Δp_x(10 s) [m]", 0.0993109519, found.displacement[-1, 0], 1e-9)


@DOCUMENT.claim("50", "(50)", r"\phi_c = \Delta\phi_{cd} + \phi_d", how="control.admittance_response(euler)", rows="24")
def _compliant_angles(c: Claim) -> Evidence:
    """Angles add; the compliant orientation is that of their sum."""
    law = pp.control.Admittance(mass=(5,) * 6, damping=(14.142,) * 6, stiffness=(10,) * 6, rotation="euler")
    desired = np.array([0.2, -0.3, 0.4])
    wrench = np.zeros((2000, 6))
    wrench[:, 3:] = TORQUE
    pose = pp.Pose(np.zeros(3), pp.spatial.matrix_from_euler(desired, "XYZ"))
    found = pp.control.admittance_response(law, wrench, 1e-3, pose)
    wanted = pp.spatial.matrix_from_euler(desired + found.angles[-1], "XYZ")
    yield printed("R_c", wanted, pp.spatial.matrix_from_quat(found.quat_wxyz[-1]))


@DOCUMENT.claim(
    "3-wrench", "section"
        " 3", r"f = (1, 2, 3) \text{ N on } [5, 10] \text{ s}, \quad \mu = (1, 0.5, 1) \text{ N m on } [15, 20]"
    r" \text{ s}, \quad t \le 25 \text{ s}", how="scenario ur5e-admittance", rows="25",
)  # fmt: skip
def _wrench(c: Claim) -> Evidence:
    """The shipped scenario applies the document's wrench to the 6-joint UR5e."""
    scenario = pp.load_scenario("ur5e-admittance")
    force, torque = scenario.world.pushes
    yield printed("force [N], start, duration [s]", [1, 2, 3, 5, 5], [*force.force, force.start, force.duration])
    yield printed(
        "torque [N·m], start, duration [s]", [1, 0.5, 1, 15, 5], [*torque.torque, torque.start, torque.duration]
    )
    yield printed("end [s]", 25, scenario.run.duration)


def _phases(rotation: str) -> np.ndarray:
    """|Δp| and the turn at 10, 15, 20 and 25 s of the document's run."""
    law = pp.control.Admittance(
        mass=(5,) * 6, damping=(14.142,) * 6, stiffness=(10,) * 6, rotation=rotation  # type: ignore[arg-type]
    )  # fmt: skip
    wrench = np.zeros((25_000, 6))
    wrench[5000:10_000, :3], wrench[15_000:20_000, 3:] = FORCE, TORQUE
    found = pp.control.admittance_response(law, wrench, 1e-3, POSE)
    at = [10_000, 15_000, 20_000, 25_000]
    return np.array([np.linalg.norm(found.displacement[at], axis=1), np.linalg.norm(found.angles[at], axis=1)])


_FIGURES = {"3": ("Figure 3", "quaternion", 0), "4": ("Figure 4", "euler", 1), "5": ("Figure 5", "quaternion", 1)}


def _figure(number: str) -> None:
    where, rotation, row = _FIGURES[number]
    kind = {"3": "translation", "4": "Euler angles", "5": "quaternion"}[number]

    @DOCUMENT.claim(
        f"figure-{number}", f"section 3.{int(number) - 2}, {where}",
        rf"\text{{{kind}: displaced while the wrench acts, back after it}}",
        how="control.admittance_response over 25 s", rows="25",
    )  # fmt: skip
    def _shape(c: Claim) -> Evidence:
        """No numbers are printed, nor the desired motion or dt. What the wrench displaces, and that it comes back to
        within 1 % five seconds later, can be computed."""
        found = _phases(rotation)[row]
        pushed, after = (0, 1) if row == 0 else (2, 3)
        yield says("printed", "displaced while it acts", True, bool(found[pushed] > 0.1))
        yield says("printed", "back within 1 % after 5 s", True, bool(found[after] < 0.01 * found[pushed]))
        still = found[2] if row == 0 else found[0]
        yield printed("not moved by the other half of the wrench", 0.0, still, 0.01 * found[pushed])


for _number in _FIGURES:
    _figure(_number)
