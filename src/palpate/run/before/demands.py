"""What a task asks of the drives, before the run: torques and their rates on the way and under the wanted force.

The target is taken as if it were reached: joint by joint, or by resolved rates from the start posture. Along it

    τ(t) = M q̈ + b − Jᵀ F(t),   F = K k/(K + k) · depth of the target in a wall (a spring K before a wall k),
                                 or the wanted wrench of a law that controls a force.

A law that does not ask for this torque on the target itself leaves it by e = J K_q⁻¹ (τ − τ_law): so far it lags.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.design.arm import axis_of
from palpate.control.law import BoundLaw, Law, Target, sizes_of
from palpate.control.steps.reach import DIRECTIONS, world_axes
from palpate.forking import cached_property
from palpate.robot.terms import Terms
from palpate.run.before.foresee import BETWEEN, Forecast, depths, reads_custom, unless_unsolvable
from palpate.spatial import matrix_from_quat
from palpate.world.driver import limits_of, torque_rates

_NEWTON_STEPS = 3  # from one posture on the target to the next
_DAMPED = 1e-6  # of least squares near singular postures
_MOST_DEFLECTION, _MOST_ROTATION = 5e-3, 0.05  # m and rad: a servo that gives way by more is warned of
_LAG = 0.2  # of the way: a law that stays behind its target by more is warned of
_SINGULAR = 0.05  # m, smallest singular value of the tool's Jacobian, below which no lag is warned of
_OUT_OF_REACH, _REACHED = 0.01, 1e-6  # m, or rad: a target that is out of reach, and one that is reached
_SPEEDS, _RATES = ("m/s", "rad/s"), ("m/s²", "rad/s²")
_ANOTHER = 1e-3  # rad or m: a posture that differs by more from the start's is another one
_MOST_JOINTS = 40
_FASTER = 3.0  # a servo should be so many times faster than the compliant frame that it follows


def demands(path: TargetPath | None) -> tuple[list[str], list[str]]:
    """What following the target asks of the drives, and what they cannot give; nothing of a target out of reach."""
    with np.errstate(all="ignore"):
        if path is None or not path.reached:
            return [], []
        sentences, warnings = path.torque()
        others = (path.rate, path.first_command, path.speed, path.tool_motion, path.yields, path.bandwidth, path.lag)
        return sentences, [*warnings, *(text for check in others for text in check())]


def target_path(forecast: Forecast) -> TargetPath | None:
    """The target of a run, to look along; None where there is none, or the robot's masses are unknown."""
    return TargetPath(forecast) if forecast.knows_target else None


class TargetPath:
    """The target along the run, as joint motion, forces and torques at some times."""

    def __init__(self, forecast: Forecast) -> None:
        self.forecast, self.run, self.robot, self.law = forecast, forecast.run, forecast.robot, forecast.law
        self.driver, self.servo = (
            self.run.world.driver.facts_for(self.robot),
            self.law.commanded in ("position", "velocity"),
        )
        self.q0, self.position_error = forecast.q, 0.0
        times, rows = forecast.reference
        self.t, self.rows = times[::BETWEEN], rows[::BETWEEN]  # what is computed along it takes long at each
        self.target = Target.columns(self.rows, sizes_of(self.robot))

    @cached_property
    def reached(self) -> bool:
        """Whether postures on the target are known all along it."""
        return self.robot.nv <= _MOST_JOINTS and len(self.q) > 0 and self.position_error <= _OUT_OF_REACH

    def posture_at(self, time: float) -> Array:
        """Joint positions on the target at a time; the start's where the target is out of reach."""
        return np.array([np.interp(time, self.t, joint) for joint in self.q.T]) if self.reached else self.q0

    @cached_property
    def postures(self) -> dict[str, Array]:
        """Postures on the target other than the start's, by where they are: at the touch, and at the target's end."""
        if not self.reached:
            return {}
        postures = {}
        for surface, _ in self.forecast.still_surfaces:
            inside = depths(surface, self.target["position"], self._radius) > 0.0
            if self.law.follows != "nothing" and inside.any() and not inside[0]:
                k = int(np.argmax(inside))
                postures[f"at the touch of {surface.name!r} ({self.t[k]:.3g} s)"] = self.q[k]
        postures["at the end of the target"] = self.q[-1]
        return {where: q for where, q in postures.items() if np.abs(q - self.q0).max() > _ANOTHER}

    @cached_property
    def q(self) -> Array:
        """Joint positions on the target, one row per time."""
        if self.law.follows == "joints":
            return self.target["q"]
        if self.law.follows == "nothing":
            return np.tile(self.q0, (len(self.t), 1))
        q, postures, x = self.q0.copy(), [], self.robot.terms(self.q0, np.zeros(self.robot.nv))
        rotations = matrix_from_quat(self.target["quat_wxyz"])
        for k, (position, rotation) in enumerate(zip(self.target["position"], rotations)):
            if k == 0 or not np.array_equal(self.rows[k], self.rows[k - 1]):
                q, x = self._posture_at_pose(q, x, position, rotation)
            postures.append(q)
        return np.array(postures)

    def _posture_at_pose(self, q: Array, x: Terms, position: Array, rotation: Array) -> tuple[Array, Terms]:
        """A posture at a pose, by Newton's steps from q, where the model's terms are x; and its terms."""
        for _ in range(_NEWTON_STEPS):
            rows = self._task_rows(x.rotation)
            e = rows @ np.concatenate([position - x.position, _rotation_vector(rotation @ x.rotation.T)])
            if np.abs(e).max(initial=0.0) < _REACHED:
                break
            q = q + _damped_inverse(rows @ x.J) @ e
            x = self.robot.terms(q, np.zeros(self.robot.nv))
        left = self._task_rows(rotation)[:, :3] @ (position - x.position)
        self.position_error = max(self.position_error, float(np.linalg.norm(left)))
        return q, x

    @cached_property
    def _directions(self) -> tuple[str, ...] | None:
        return self.law.task_directions(self.robot) if isinstance(self.law, Law) else None

    def _task_rows(self, rotation: Array) -> Array:
        """The directions that the law follows, as rows over [v; ω] in world axes."""
        names, rows = self._directions, np.eye(6)
        if names is None:
            return rows
        R = getattr(self.law, "axes_at", world_axes)(rotation)
        linear, angular = (R, R) if R.ndim == 2 else R
        rows[:3, :3], rows[3:, 3:] = linear.T, angular.T
        return rows[[DIRECTIONS.index(name) for name in names]]

    @cached_property
    def motion(self) -> tuple[Array, Array, list[Terms]]:
        """Joint speeds and accelerations on the target, one row per time, and the terms of the model there."""
        if self.law.follows == "joints":
            v, a = self.target["v"], self.target["a"]
            return v, a, [self.robot.terms(*state) for state in zip(self.q, v)]
        v, a, terms = 0.0 * self.q, 0.0 * self.q, []
        for k, (q, twist, rate) in enumerate(zip(self.q, self.target["twist"], self.target["acceleration"])):
            x = self.robot.terms(q, v[k])
            if self.law.follows != "nothing":
                rows = self._task_rows(x.rotation)
                back = _damped_inverse(rows @ x.J) @ rows
                v[k] = back @ twist
                x = self.robot.terms(q, v[k])
                a[k] = back @ (rate - x.drift)
            terms.append(x)
        return v, a, terms

    @cached_property
    def positions(self) -> Array:
        """Of the tool on what the law follows, one row per time, m: the target's, or where the joints' targets are."""
        if self.law.follows == "tool":
            return self.target["position"]
        return np.array([x.position for x in self.motion[2]])

    @cached_property
    def forces(self) -> tuple[Array, list[str]]:
        """Wanted force of the environment on the tool, world axes, one row per time; and what presses on what."""
        total, presses = np.zeros((len(self.t), 3)), []
        for surface, wall in self.forecast.still_surfaces:
            contact = unless_unsolvable(self.forecast.contact, self.q0, wall)
            case = None if contact is None else unless_unsolvable(axis_of, contact)
            if case is None or contact is None:
                continue
            n = np.asarray(wall.direction())
            k = np.inf if surface.contact == "rigid" else wall.stiffness
            depth = depths(surface, self.positions, self._radius)
            if case.model.presses:
                force = np.maximum(self.target["wrench"][:, :3] @ n, 0.0)
            elif contact.model.slopes is not None:
                force = self._measured_force(depth, n, k)
            else:
                wanted = self.target["wrench"][:, :3] @ n if case.model.servo else 0.0
                force = (case.stiffness * np.maximum(depth, 0.0) + wanted) / (1.0 + case.stiffness / k)
                force = np.maximum(np.where(depth > 0, force, 0.0), 0.0)
            if force.max() > 0.0:
                presses.append(f"{force.max():.3g} N on {surface.name!r}")
            total += force[:, None] * n
        return total, presses

    def _measured_force(self, depth: Array, n: Array, k: float) -> Array:
        """Force of a measured law on a wall k, N, one per time: of its command τ₀ at the touch, the arm at rest.

        There 0 = τ₀ − ĝ − K_q δ + Jₙᵀ f and Jₙ δ = −f/k, so that f = −Jₙ K_q⁺ (τ₀ − ĝ) / (Jₙ K_q⁺ Jₙᵀ + 1/k).
        """
        force, inside = np.zeros(len(self.t)), np.flatnonzero(depth > 0.0)
        q = self.q[inside[0]] if len(inside) else self.q0
        slopes = self._slopes(q) if len(inside) else None
        if slopes is None:
            return force
        compliance, J = np.linalg.pinv(slopes, rcond=1e-6), n @ self.robot.jacobian(q)[:3]
        gravity, at_rest = self.robot.gravity(q), np.zeros(self.robot.nv)
        for index in inside:
            pulls = J @ compliance @ (self._command(int(index), q, at_rest) - gravity)
            force[index] = max(-pulls / max(float(J @ compliance @ J) + 1.0 / k, 1e-300), 0.0)
        return force

    @cached_property
    def _radius(self) -> float:
        model = self.robot.model
        tips = [g for g in range(model.ngeom) if model.geom(g).name == "tip"]
        return float(model.geom_size[tips[0], 0]) if tips else 0.0

    @cached_property
    def tau(self) -> Array:
        """Joint torques on the target, one row per time."""
        (_, accelerations, terms), rotor, forces = self.motion, self._rotor, self.forces[0]
        states = zip(terms, accelerations, forces)
        return np.array([x.M @ a + rotor * a + x.bias - x.J[:3].T @ force for x, a, force in states])

    @property
    def _rotor(self) -> Array:
        return np.broadcast_to(self.run.world.plant.rotor_inertia, (self.robot.nv,))

    # ------------------------------------------------------------------ what is asked, and what cannot be given

    def torque(self) -> tuple[list[str], list[str]]:
        """The largest torque relative to its limit."""
        limits = self.robot.limits.torque
        share = np.abs(self.tau) / limits
        if not np.isfinite(limits).any() or not np.isfinite(share).any():
            return [], []
        worst, joint = (int(i) for i in np.unravel_index(np.nanargmax(share), share.shape))
        pressing = self.forces[1]
        cause = f", pressing with {' and '.join(pressing)}" if pressing else ""
        number = f"{abs(self.tau[worst, joint]):.3g} of {limits[joint]:g} N·m at {self.t[worst]:.3g} s{cause}"
        sentence = f"Largest torque along the reference: {self.robot.dof_names[joint]}, {number}."
        if share[worst, joint] <= 1.0 or not self.driver.torque_limit:
            return [sentence], []
        names = [self.robot.dof_names[j] for j in np.flatnonzero((share > 1.0).any(axis=0))]
        return [sentence], [
            f"the command will saturate: {', '.join(names)} cannot provide the torque that the target needs,"
            f" {self.robot.dof_names[joint]} {number}; reduce force or speed, or choose another posture"
        ]

    def rate(self) -> list[str]:
        """Torque rates along the target beyond the driver's."""
        if self.servo:
            return []
        rates, most = np.abs(np.gradient(self.tau, self.t, axis=0)), torque_rates(self.robot, self.driver)
        return self._beyond(rates, most, "torque rate", "N·m/s", "make the reference smoother or slower")

    def first_command(self) -> list[str]:
        """A first command far from what holds the arm at the start."""
        most = torque_rates(self.robot, self.driver) * self.run.clock.control_period
        if self.servo or not np.isfinite(most).any():
            return []
        jump = np.abs(self._command(0, self.q0, self.run.start()[1]) - self.robot.gravity(self.q0))
        ticks = np.nan_to_num(jump / most, posinf=0.0)
        joint = int(np.argmax(ticks))
        if ticks[joint] < 20.0:
            return []
        return [
            f"the first command is a step of {jump[joint]:.3g} N·m at {self.robot.dof_names[joint]}; the driver's"
            f" torque-rate limit stretches it over {ticks[joint]:.0f} ticks: start on the target"
        ]

    def speed(self) -> list[str]:
        """Joint speeds along the target beyond the rated ones, and those and accelerations beyond the interface's."""
        fix, interface = "slow the reference down", "slow the reference down: the interface allows no more"
        v, a, _ = self.motion
        warnings = self._beyond(np.abs(v), self.robot.limits.velocity, "speed", "rad/s", fix)
        if warnings or not self.servo:
            return warnings
        for x, name, unit in ((v, "speed", "rad/s"), (a, "acceleration", "rad/s²")):
            most = limits_of(self.robot, getattr(self.driver, f"joint_{name}_limit"), name)
            warnings += self._beyond(np.abs(x), most, name, unit, interface)
        return warnings

    def tool_motion(self) -> list[str]:
        """Speeds and accelerations of the tool along the target beyond those at which the interface stops the arm."""
        warnings, limits = [], (self.driver.tool_speed_limit, self.driver.tool_acceleration_limit)
        if not self.servo or not np.any(limits):
            return []
        speeds, accelerations, terms = self.motion
        twists = np.array([x.J @ v for x, v in zip(terms, speeds)])
        rates = np.array([x.J @ a + x.drift for x, a in zip(terms, accelerations)])
        for x, most, what, units in zip((twists, rates), limits, ("speed", "acceleration"), (_SPEEDS, _RATES)):
            for part, limit, unit in zip((x[:, :3], x[:, 3:]), most, units):
                size = np.linalg.norm(part, axis=1)
                worst = int(np.argmax(size))
                if limit and size[worst] > limit:
                    warnings.append(
                        f"the target needs a tool {what} of {size[worst]:.3g} {unit} at {self.t[worst]:.3g} s,"
                        f" but the interface allows {limit:g} {unit}; slow the reference down"
                    )
        return warnings

    def _beyond(self, asked: Array, most: Array, what: str, unit: str, fix: str) -> list[str]:
        share = np.where(np.isfinite(most), asked / most, 0.0)
        sample, joint = (int(i) for i in np.unravel_index(np.argmax(share), share.shape))
        if not share[sample, joint] > 1.0:
            return []
        return [
            f"the target needs a {what} of {asked[sample, joint]:.3g} {unit} of {self.robot.dof_names[joint]} at"
            f" {self.t[sample]:.3g} s, but the limit is {most[joint]:g} {unit}; {fix}"
        ]

    def yields(self) -> list[str]:
        """A servo that gives way under the pushes of the world: δ = J ((M̂ + rotors) ω²)⁻¹ Jᵀ F."""
        if not self.servo:
            return []
        K = (self.robot.mass_matrix(self.q0) + np.diag(self._rotor)) * self.driver.servo_bandwidth**2
        J = self.robot.jacobian(self.q0)
        for push in self.run.world.pushes:
            if push.kind == "impulse" or push.frame is not None or push.axes != "world":
                continue
            moved = J @ np.linalg.solve(K, J.T @ np.array([*push.force, *push.torque]))
            distance, angle = float(np.linalg.norm(moved[:3])), float(np.linalg.norm(moved[3:]))
            if distance > _MOST_DEFLECTION or angle > _MOST_ROTATION:
                return [
                    f"the joint servo ({self.driver.servo_bandwidth:g} rad/s) deflects by {1e3 * distance:.3g} mm and"
                    f" {angle:.3g} rad under {push.name!r}: the tool will not follow its target; raise"
                    " world.driver.servo_bandwidth, or give the drives' world.plant.rotor_inertia"
                ]
        return []

    def bandwidth(self) -> list[str]:
        """A servo that is not much faster than the compliant frame that it follows."""
        if not self.servo or not isinstance(self.law, Law) or self.law.about_rest is None:
            return []
        gains = self.forecast.contact(self.q0).model.gains
        M, K = np.diag(gains.mass), np.diag(gains.stiffness)
        own = np.sqrt(K[M > 0.0] / M[M > 0.0])
        wanted = _FASTER * float(own.max(initial=0.0))
        if self.driver.servo_bandwidth >= wanted:
            return []
        return [
            f"the joint servo ({self.driver.servo_bandwidth:g} rad/s) is too slow for the compliant frame"
            f" (√(K/M) = {own.max():.3g} rad/s): the tool will not follow it; set world.driver.servo_bandwidth to"
            f" {wanted:.3g} or more, or choose a larger mass"
        ]

    def lag(self) -> list[str]:
        """How far a law of torques stays behind a target that moves, at its fastest and at its largest acceleration."""
        law, (speeds, accelerations, terms) = self.law, self.motion
        moves = law.follows in ("tool", "joints") and np.abs(speeds).max() > 1e-3
        if self.servo or not moves or reads_custom(self.run) or self._singular():
            return []
        worst = (0.0, 0)
        for index in {int(np.argmax(np.abs(x).max(axis=1))) for x in (speeds, accelerations)}:
            q, v, x = self.q[index], speeds[index], terms[index]
            slopes = self._slopes(q)
            if slopes is None:
                return []
            short = x.M @ accelerations[index] + x.bias - self._command(index, q, v)
            e = np.linalg.pinv(slopes, rcond=1e-6) @ short
            moved = x.J[:3] @ e if law.follows == "tool" else e
            worst = max(worst, (float(np.linalg.norm(moved)), index))
        path = self.target["position"] if law.follows == "tool" else self.q
        length = float(np.linalg.norm(np.ptp(path, axis=0)))
        if not worst[0] > _LAG * length > 0.0:
            return []
        unit = "m" if law.follows == "tool" else "rad"
        return [
            f"{law.name} will not follow the reference: at {self.t[worst[1]]:.3g} s it lags by {worst[0]:.3g} {unit} on"
            f" a way of {length:.3g} {unit}; raise its stiffness, or slow the reference down"
        ]

    def _singular(self) -> bool:
        """Whether the target leads through a posture that is nearly singular."""
        values = np.linalg.svd(np.array([x.J[:3] for x in self.motion[2]]), compute_uv=False)
        moving = values.max(axis=0) > 1e-6  # a planar arm never moves out of its plane
        return bool(values[:, moving].min(initial=np.inf) < _SINGULAR)

    def _slopes(self, q: Array) -> Array | None:
        """K_q = −∂τ/∂q of the law beyond gravity, n×n."""
        contact = unless_unsolvable(self.forecast.contact, q)
        law = None if contact is None else contact.model.law()
        return None if contact is None or law is None or len(law.update) else contact.gravity - law.q

    @cached_property
    def _law(self) -> BoundLaw:
        return self.forecast.assembly.law.with_own_memory()

    def _command(self, index: int, q: Array, v: Array) -> Array:
        """The law's torque at (q, v) with the target of that time."""
        sizes = sizes_of(self.robot)
        target = Target.over(self.rows[index].copy(), sizes)
        law = self._law if self._law.memoryless else self.forecast.assembly.law.with_own_memory()
        return law.tick(self.robot, q, v, target=target, t=self.t[index], dt=self.run.clock.control_period).command


def _damped_inverse(J: Array) -> Array:
    """J⁺, damped near singular postures."""
    return J.T @ np.linalg.inv(J @ J.T + _DAMPED * np.eye(len(J)))


def _rotation_vector(R: Array) -> Array:
    """The rotation vector of a matrix, to first order where it is large: three steps towards it follow."""
    return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
