"""Parameters of a robot that a recording can identify: a load, friction, rotors, torque offsets; all linear in torque.

τ = M(q) q̈ + C(q, q̇) q̇ + g(q)  +  Y(q, q̇, q̈) π  +  I_r q̈ + d q̇ + F sign q̇ + F_s e^{−(q̇/v_s)²} sign q̇ + o

The first three terms are the robot's compiled equations with ideal joints. Y is the regressor of a rigid body on a
frame, from the same equations' Jacobian and drift; π = (m, m c, I) in that frame's axes, I about its origin.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from palpate.checks import Array
from palpate.forking import cached_property
from palpate.robot import Robot, Terms
from palpate.spatial import matrix_from_quat

BODY = ("mass", "mass_x", "mass_y", "mass_z", "I_xx", "I_yy", "I_zz", "I_xy", "I_xz", "I_yz")
BODY_UNITS = ("kg", *3 * ("kg·m",), *6 * ("kg·m²",))
JOINT = {
    "viscous": "N·m·s/rad",
    "coulomb": "N·m",
    "rotor": "kg·m²",
    "offset": "N·m",
    "stribeck": "N·m",
}
SPEEDS = (0.02, 0.05, 0.1, 0.2)  # rad/s: Stribeck speeds that are tried


@dataclass(frozen=True)
class Arm:
    """A robot with ideal joints, its nominal losses, and the frame that a load sits on."""

    robot: Robot
    frame: str
    nominal: Array = field(repr=False)

    @classmethod
    def of(cls, robot: Robot, frame: str | None = None) -> Arm:
        """The arm of a robot; the load's frame is `frame`, else the flange if there is one, else the tool frame."""
        place = frame or ("flange" if "flange" in robot.frame_names else robot.tool_frame)
        keep, model = robot.coordinates.kept, robot.model
        zero = np.zeros(len(keep))
        losses = (model.dof_damping[keep], model.dof_frictionloss[keep], model.dof_armature[keep], zero, zero)
        return cls(robot.with_ideal_joints(), robot.frame(place).name, np.concatenate([np.zeros(10), *losses]))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every parameter: the ten of the load, then each kind for all joints."""
        return (*BODY, *(f"{kind} {joint}" for kind in JOINT for joint in self.robot.dof_names))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Their units."""
        return (*BODY_UNITS, *(unit for unit in JOINT.values() for _ in range(self.robot.nv)))

    @cached_property
    def welded(self) -> dict[str, Array]:
        """Bodies without a joint of their own on the moving links, such as a hand: π of each in the load's frame."""
        robot, model = self.robot, self.robot.model
        here = robot.pose(robot.home, self.frame)
        bodies = {}
        for b in range(2, model.nbody):
            name, mass = model.body(b).name, float(model.body_mass[b])
            same = model.body_weldid[b] == model.body_weldid[robot.frame(self.frame).body]
            if model.body_dofnum[b] or mass <= 0 or not same or name not in robot.frame_names:
                continue
            body = robot.pose(robot.home, name)
            R = here.rotation.T @ body.rotation
            com = here.rotation.T @ (body.position - here.position) + R @ model.body_ipos[b]
            turn = R @ matrix_from_quat(model.body_iquat[b])
            bodies[name] = load_of(mass, com, turn @ np.diag(model.body_inertia[b]) @ turn.T)
        return bodies

    def columns(self, kind: str) -> slice:
        """Where the parameters of a kind stand: "load" or a key of `JOINT`."""
        n = self.robot.nv
        start = 0 if kind == "load" else 10 + n * list(JOINT).index(kind)
        return slice(start, 10 if kind == "load" else start + n)

    def rigid(self, Q: Array, V: Array, A: Array) -> Array:
        """Torques of the ideal arm, (N, n)."""
        return self.robot.inverse_dynamics_batch(Q, V, A, losses=False)

    def regressor(self, Q: Array, V: Array, A: Array, stribeck: float) -> Array:
        """∂τ/∂parameters, (N, n, parameters); `stribeck` is v_s, rad/s."""
        return self.spread_out(self.load_columns(Q, V, A), self.joint_columns(V, A, stribeck))

    def load_columns(self, Q: Array, V: Array, A: Array) -> Array:
        """∂τ/∂load, (N, n, 10)."""
        return load_regressor(self.robot, Q, V, A, self.frame)

    def joint_columns(self, V: Array, A: Array, stribeck: float) -> Array:
        """∂τ/∂parameter of each joint's own, (N, n, kinds of `JOINT`); `stribeck` is v_s, rad/s."""
        return np.stack([V, np.sign(V), A, np.ones_like(V), self.falling(V, stribeck)], axis=2)

    def falling(self, V: Array, stribeck: float) -> Array:
        """The friction curve's part that falls with speed, e^{−(q̇/v_s)²} sign q̇, (N, n)."""
        return np.sign(V) * np.exp(-((V / stribeck) ** 2))

    def spread_out(self, load: Array, joint: Array) -> Array:
        """∂τ/∂parameters from the columns of the load and those of the joints, each of which acts on its own torque."""
        count, n, kinds = joint.shape
        X = np.zeros((count, n, 10 + kinds * n))
        X[:, :, :10] = load
        for j in range(n):
            X[:, j, 10 + j :: n] = joint[:, j]
        return X

    def bend(self, V: Array, stribeck: float, strength: Array) -> Array:
        """∂τ/∂v_s of each joint, (N, n, n), where its Stribeck torque is `strength`, N·m."""
        slope = strength * self.falling(V, stribeck) * 2.0 * V**2 / stribeck**3
        return slope[:, :, None] * np.eye(self.robot.nv)


def load_regressor(robot: Robot, Q: Array, V: Array, A: Array, frame: str) -> Array:
    """Y: torques per (m, m c, I) of a body fixed to `frame`, (N, n, 10).

    With p̈ the acceleration of the frame's origin, g gravity, ω and α its rotation, all in its own axes:
    f = m (p̈ − g) + ([α]× + [ω]×²) m c,  n = m c × (p̈ − g) + I α + ω × I ω,  τ = Jᵀ [f; n].
    """
    terms = robot.terms_batch(Q, V, frame)
    J = frame_jacobian(terms)
    acceleration = np.einsum("nij,nj->ni", terms.J, A) + terms.drift
    return np.einsum("nij,nik->njk", J, load_wrench(terms, J, V, acceleration, robot.model.opt.gravity))


def frame_jacobian(terms: Terms) -> Array:
    """The Jacobians of many states in the frame's own axes, (N, 6, n)."""
    to_frame = np.swapaxes(terms.rotation, 1, 2)
    return np.concatenate([to_frame @ terms.J[:, :3], to_frame @ terms.J[:, 3:]], axis=1)


def load_wrench(terms: Terms, J: Array, V: Array, acceleration: Array, gravity: Array) -> Array:
    """Wrenches [f; n] per (m, m c, I) in the frame's axes, (N, 6, 10), for accelerations of the frame in world axes."""
    to_frame = np.swapaxes(terms.rotation, 1, 2)
    a = np.einsum("nij,nj->ni", to_frame, acceleration[:, :3] - gravity)
    alpha = np.einsum("nij,nj->ni", to_frame, acceleration[:, 3:])
    omega = np.einsum("nij,nj->ni", J[:, 3:], V)
    wrench = np.zeros((len(V), 6, 10))
    wrench[:, :3, 0] = a
    wrench[:, :3, 1:4] = cross(alpha) + cross(omega) @ cross(omega)
    wrench[:, 3:, 1:4] = -cross(a)
    wrench[:, 3:, 4:] = _tensor_times(alpha) + cross(omega) @ _tensor_times(omega)
    return wrench


def load_inertia(load: Array) -> Array:
    """The 6×6 inertia [[m 1, −[mc]×], [[mc]×, I]] of π, or of many, in the frame's axes."""
    load = np.asarray(load, dtype=float)
    G = np.zeros((*load.shape[:-1], 6, 6))
    G[..., :3, :3] = load[..., :1, None] * np.eye(3)
    C = cross(load[..., 1:4])
    G[..., :3, 3:], G[..., 3:, :3] = -C, C
    G[..., 3:, 3:] = tensor(load[..., 4:])
    return G


def tensor(entries: Array) -> Array:
    """The 3×3 tensor of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = np.moveaxis(np.asarray(entries, dtype=float), -1, 0)
    return np.stack([np.stack([xx, xy, xz], -1), np.stack([xy, yy, yz], -1), np.stack([xz, yz, zz], -1)], -2)


def cross(v: Array) -> Array:
    """[v]× of each row."""
    out = np.zeros((*v.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def _tensor_times(v: Array) -> Array:
    """The matrix that gives I v from the six entries of I."""
    out = np.zeros((*v.shape[:-1], 3, 6))
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    out[..., 0, 0], out[..., 0, 3], out[..., 0, 4] = x, y, z
    out[..., 1, 1], out[..., 1, 3], out[..., 1, 5] = y, x, z
    out[..., 2, 2], out[..., 2, 4], out[..., 2, 5] = z, x, y
    return out


def load_of(mass: float, com: Array, inertia: Array) -> Array:
    """π of a body from its mass, centre of mass and 3×3 inertia about that centre."""
    com = np.asarray(com, dtype=float)
    about = np.asarray(inertia) + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.array([mass, *(mass * com), *np.diag(about), about[0, 1], about[0, 2], about[1, 2]])


def pseudo_inertia(load: Array) -> Array:
    """The 4×4 matrix [[½ tr(I) 1 − I, m c], [m cᵀ, m]]: a body can have π if and only if it is positive semidefinite.

    Wensing, Kim, Slotine, RA-L 3(1), 2018, doi:10.1109/LRA.2017.2729659.
    """
    I, P = tensor(load[4:]), np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I
    P[:3, 3] = P[3, :3] = load[1:4]
    P[3, 3] = load[0]
    return P


def load_of_pseudo(P: Array) -> Array:
    """π of a pseudo-inertia."""
    I = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *np.diag(I), I[0, 1], I[0, 2], I[1, 2]])


def nearest_possible(load: Array, information: Array) -> Array:
    """The possible body nearest to π in the metric of what the recording tells of it (an information matrix, 10×10).

    By P = L Lᵀ, so that every step is possible.
    """
    from scipy.optimize import least_squares

    values, vectors = np.linalg.eigh(pseudo_inertia(load))
    if values[0] >= 0:
        return load
    start = np.linalg.cholesky(vectors @ np.diag(np.maximum(values, 1e-6 * max(values[-1], 1e-6))) @ vectors.T)
    lower = np.tril_indices(4)
    ridge = 1e-9 * np.trace(information) / 10
    root = np.linalg.cholesky(information + ridge * np.eye(10)).T

    def residual(x: Array) -> Array:
        L = np.zeros((4, 4))
        L[lower] = x
        return root @ (load_of_pseudo(L @ L.T) - load)

    best = least_squares(residual, start[lower], method="trf", max_nfev=400).x
    L = np.zeros((4, 4))
    L[lower] = best
    return load_of_pseudo(L @ L.T)
