"""The served arm: what it measures and estimates, what clients set on it, and its own controllers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.tools.serving.arm import arm_kernels as kernels
from palpate.tools.serving.arm.arm_kernels import ArmState, Spring, Told
from palpate.tools.serving.arm.franka import FrankaModel
from palpate.tools.serving.protocol.fci import FLOAT_COUNT, JOINTS

EXTERNAL_CUTOFF = 30.0  # Hz, of the estimated external torque
FASTEST = 0.25  # ω dt of the robot's own controllers: stiffer modes are softened to it
JOINT_STIFFNESS = (3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0)  # N·m/rad, at the start
CARTESIAN_STIFFNESS = (3000.0, 3000.0, 3000.0, 300.0, 300.0, 300.0)  # N/m, N·m/rad, at the start
POSTURE_STIFFNESS = 20.0  # N·m/rad of the motion that the tool does not see


def spring_damper(K: Array, M: Array, fastest: float) -> tuple[Array, Array, float]:
    """Stiffness and damping that make every mode critically damped, and the fastest ω; see `make_critical`."""
    n = len(K)
    spring = Spring({"n": n})
    spring.wanted[:], spring.mass[:] = K, M
    kernels.make_critical(spring.address, n, fastest)
    return spring.K.copy(), spring.D.copy(), spring.omega


class Arm:
    """The robot's view of itself at a tick, in base axes, and its own controllers.

    Attributes:
        state: everything compiled code reads and writes; `q`, `v`, `J`, … are its arrays, new at every tick.
        X_FN: from the flange to the nominal end effector, which the scenario's tool frame is.
        load: mass, centre of mass in flange axes and inertia tensor that a client has announced.
    """

    def __init__(self, robot: Robot, model: FrankaModel, rotor: Array, period: float) -> None:
        self.robot, self.model = robot, model
        self.state = s = ArmState(
            {"n": JOINTS}, joints=Spring({"n": 7}), posture=Spring({"n": 7}), tool=Spring({"n": 6})
        )
        s.period, s.fastest, s.posture_stiffness = period, FASTEST / period, POSTURE_STIFFNESS
        s.filter_gain = 1.0 - math.exp(-2.0 * math.pi * EXTERNAL_CUTOFF * period)
        s.to_base[:], s.origin[:] = model.X_WO.rotation.T, model.X_WO.position
        s.gravity_vector[:], s.rotor[:] = model.X_WO.rotation.T @ robot.model.opt.gravity, rotor
        s.joint_stiffness[:], s.cartesian_stiffness[:] = JOINT_STIFFNESS, CARTESIAN_STIFFNESS
        s.X_EK[:] = s.X_NE[:] = np.eye(4)
        self.X_FN = model.X_FE.matrix
        self.load = (0.0, np.zeros(3), np.zeros((3, 3)))
        self.q, self.v, self.gravity, self.coriolis, self.M = s.q, s.v, s.gravity, s.coriolis, s.M
        self.O_T_EE, self.J, self.external, self.wrench = s.X_OE, s.J, s.external, s.wrench

    @property
    def X_FE(self) -> Array:
        """From the flange to the end effector."""
        return self.X_FN @ self.state.X_NE

    @property
    def softened(self) -> float:
        """Largest ω dt that a controller was asked for."""
        return self.state.softened * self.state.period

    def know_gears(self, stiffness: Array, inertia: Array, encoders: str) -> None:
        """Elastic joints: motors turn before the torque sensors, and their angles differ from those of the links.

        Args:
            stiffness: of the gears, N·m/rad.
            inertia: of the motors, kg·m².
            encoders: the side that `q` is of, as in `world.sensors.encoders`.
        """
        self.state.unfelt[:], self.state.sees_links = inertia, encoders == "link"
        self.state.compliance[:] = 0.0 if encoders == "motor" else 1.0 / stiffness

    def set_joint_stiffness(self, numbers: Array) -> None:
        """N·m/rad of each joint."""
        self.state.joint_stiffness[:] = numbers
        self.state.renewed = -1000

    def set_cartesian_stiffness(self, numbers: Array) -> None:
        """N/m and N·m/rad along and about the axes of K."""
        self.state.cartesian_stiffness[:] = numbers

    def set_stiffness_frame(self, X_EK: Array) -> None:
        """The frame K in the axes of the end effector."""
        self.state.X_EK[:] = X_EK

    def set_end_effector(self, X_NE: Array) -> None:
        """The end effector in the axes of the nominal one."""
        self.state.X_NE[:] = X_NE
        self._place_load()

    def set_load(self, load: tuple[float, Array, Array]) -> None:
        """Mass, centre of mass in flange axes, inertia tensor about it."""
        self.load = load
        self._place_load()

    def _place_load(self) -> None:
        X_EF = np.linalg.inv(self.X_FE)
        self.state.load_mass, self.state.load_com[:] = self.load[0], X_EF[:3, :3] @ self.load[1] + X_EF[:3, 3]

    def compile(self) -> None:
        """Compile or load everything that a motion needs: a client does not wait for it."""
        q, v, home = np.array(self.robot.home), np.zeros(JOINTS), np.eye(4)
        self.M[:] = np.eye(JOINTS)
        self.difference(self.advanced(home, np.zeros(6)), home)
        self.step_towards(home, q, 0.0)
        self.joint_impedance(q, v)
        self.cartesian_impedance(home, np.zeros(6), q)
        self.tell(Told(), np.zeros(FLOAT_COUNT))
        self.contact(Told())

    def observe(self, tick: Any) -> None:
        """Take a tick's measurement in."""
        kernels.observe(tick.address, self.state.address)

    def joint_impedance(self, q: Array, v: Array) -> Array:
        """τ = K (q_d − q) + D (v_d − v) + C v, with D critically damped."""
        torque = np.empty(JOINTS)
        kernels.joint_impedance(self.state.address, q, v, torque)
        return torque

    def cartesian_impedance(self, pose: Array, twist: Array, q: Array) -> Array:
        """The torque of the spring at K, and of a soft one to the posture q; see `arm_kernels.cartesian_impedance`."""
        torque = np.empty(JOINTS)
        kernels.cartesian_impedance(self.state.address, pose, twist, q, torque)
        return torque

    def pose_at(self, q: Array) -> tuple[Array, Array]:
        """Pose and Jacobian of the end effector at a posture, base axes."""
        terms, X, J = self.robot.terms(q, _AT_REST), np.empty((4, 4)), np.empty((6, 7))
        kernels.pose_at(self.state.address, terms.position, terms.rotation, terms.J, X, J)
        return X, J

    def difference(self, to: Array, start: Array) -> Array:
        """[p; rotation vector] that leads from one pose to another."""
        out = np.empty(6)
        kernels.difference(self.state.address, to, start, out)
        return out

    def advanced(self, pose: Array, twist: Array) -> Array:
        """A pose one period of a constant twist later."""
        pose = pose.copy()
        kernels.advance_pose(self.state.address, twist, pose)
        return pose

    def step_towards(self, pose: Array, q: Array, elbow: float | None = None) -> Array:
        """The smallest step from a posture that leads the end effector to a pose, and joint 3 to `elbow` if given."""
        s, terms, step = self.state, self.robot.terms(q, _AT_REST), np.empty(JOINTS)
        kernels.pose_at(s.address, terms.position, terms.rotation, terms.J, s.X_step, s.J_step)
        turn = 0.0 if elbow is None else elbow - float(q[2])
        kernels.joint_step(s.address, pose, turn, elbow is not None, step)
        return step

    def tell(self, told: Told, out: Array) -> None:
        """Write the numbers of a state that change from tick to tick."""
        kernels.tell(self.state.address, told.address, out)

    def contact(self, told: Told) -> str | None:
        """The error of a force or torque beyond its upper threshold; collisions are kept in `told`."""
        return _REFLEXES[kernels.watch_contact(self.state.address, told.address)]


_AT_REST = np.zeros(JOINTS)
_REFLEXES = (None, "joint_reflex", "cartesian_reflex")
