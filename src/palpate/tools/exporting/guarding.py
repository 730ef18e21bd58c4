"""Guards of an export, by name: the bounds that each takes from the arm, and what the manifest says of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import check_names
from palpate.robot.robot import Robot
from palpate.run.run import Run
from palpate.tools.exporting.code.protection import Protection

# Name of a guard: what it does.
GUARDS = {
    "torque": "cuts each torque at the arm's limit",
    "torque-rate": "cuts the change of each torque in a tick at the arm's limit",
    "joint-range": "ends the law where a joint is beyond its range, or will be before it could stop",
    "joint-speed": "ends the law above 1.1 times a joint's rated speed; cuts set points at the rated speed",
    "q-jump": "ends the law where q moves twice as far in a tick as the rated speed allows",
    "target-jump": "ends the law where the target jumps farther than the bounds below, or than in the verified run",
    "interval": "ends the law at a tick less than 0.25 periods after the last, or where the mean interval is 25 % off",
    "ramp": "ends every refused tick in a ramp to damping with gravity, held until reset; without it: torque 0",
}
RAMP_TIME = 0.25  # s, five time constants of the slow pole: 99.3 % of the way
_DAMPED_IN = 0.05  # s, M_jj / D_j of the damping in which a law ends
_MOST_TOOL_SPEED, _MOST_TOOL_TURN = 3.0, 2.0 * np.pi  # m/s, rad/s of a target
_MEASURED_SPEED, _JUMP = 1.1, 2.0  # of the rated speeds
_ROUNDING = 1.0 + 1e-9
_FASTEST, _SLOWEST = 200.0, 20.0  # 1/s, poles of the ramp
_FASTEST_BRAKING = 2.0 / _DAMPED_IN  # 1/s · rated speed: twice what the damping of the ramp does to v


def has_guards(robot: Robot) -> bool:
    """Whether guards of joints exist: those of a free base do not."""
    return robot.nq == robot.nv


def chosen_guards(without: Collection[str], robot: Robot) -> tuple[str, ...]:
    """Names of the guards that are on; unknown names are refused."""
    check_names("guard", list(without), GUARDS)
    return tuple(name for name in GUARDS if name not in without) if has_guards(robot) else ()


def protection(run: Run, on: Collection[str]) -> Protection:
    """The bounds of the guards that are on, for the compiled code; infinite where one is off or not known."""
    robot, period = run.robot, run.clock.control_period
    limits, n = robot.limits, robot.nv

    def bound(name: str, value: Array) -> Array:
        return np.array(value, dtype=float) if name in on else np.full(n, np.inf)

    step = _JUMP * period * limits.velocity
    fast = min(_FASTEST, 0.4 / period)
    jumps = "target-jump" in on
    return Protection(
        {"nv": n},
        ramp="ramp" in on,
        torque=bound("torque", limits.torque),
        torque_step=bound("torque-rate", limits.torque_rate * period),
        lower=-bound("joint-range", -limits.lower),
        upper=bound("joint-range", limits.upper),
        lead=_DAMPED_IN + 1.0 / min(_SLOWEST, 0.1 * fast),
        speed=bound("joint-speed", limits.velocity),
        most_speed=bound("joint-speed", _MEASURED_SPEED * limits.velocity),
        q_step=bound("q-jump", step),
        target_q_step=bound("target-jump", step),
        target_q_jump=0.0 if jumps else np.inf,
        target_position_step=_MOST_TOOL_SPEED * period if jumps else np.inf,
        target_position_jump=0.0 if jumps else np.inf,
        target_turn_step=_MOST_TOOL_TURN * period if jumps else np.inf,
        target_turn_jump=0.0 if jumps else np.inf,
        earliest=0.25 if "interval" in on else 0.0,
        slack=0.25 if "interval" in on else np.inf,
        damping=end_damping(robot, period),
        v_step=_FASTEST_BRAKING * period * limits.velocity,
        fast=fast,
        slow=min(_SLOWEST, 0.1 * fast),
    )


def end_damping(robot: Robot, period: float) -> Array:
    """D of the ramp's end, N·m·s/rad: M_jj / 0.05 s at home, less where 3 periods late it would not be stable.

    The fastest pole of M v̇ = −D v is the largest eigenvalue λ of M⁻¹ D; λ · 3 T ≤ 0.5 keeps a margin of 3 for a
    command that comes three periods late (π/2 is the bound of a pure delay).
    """
    if robot.nq != robot.nv or robot.unresisted:
        return np.zeros(robot.nv)
    M = robot.mass_matrix(robot.home)
    D = np.diag(M) / _DAMPED_IN
    fastest = float(np.linalg.eigvals(np.linalg.solve(M, np.diag(D))).real.max())
    return D * min(1.0, 0.5 / (3.0 * period * fastest))


def target_jumps(inputs: Array, at: Mapping[str, tuple[int, int]]) -> tuple[float, float, float]:
    """The largest jumps of a target from tick to tick in rows of inputs: of q, position (m) and orientation (rad)."""
    changes = {name: np.diff(inputs[:, first:last], axis=0) for name, (first, last) in at.items()}
    q = np.abs(changes["target_q"]).max(initial=0.0) if "target_q" in at else 0.0
    steps = changes.get("target_position", np.zeros((1, 3)))
    turn = 0.0
    if "target_quat_wxyz" in at:
        w = inputs[:, slice(*at["target_quat_wxyz"])]
        apart = np.minimum(np.linalg.norm(w[1:] - w[:-1], axis=1), np.linalg.norm(w[1:] + w[:-1], axis=1))
        turn = 4.0 * np.arcsin(np.minimum(0.5 * apart, 1.0)).max(initial=0.0)
    most = (q, np.linalg.norm(steps, axis=1).max(initial=0.0), turn)
    return tuple(_ROUNDING * float(jump) for jump in most)  # pyright: ignore[reportReturnType]


def described(on: Collection[str], bounds: Protection, robot: Robot) -> dict[str, Any]:
    """The guards for the manifest: whether each is on, what it does, its bounds per joint (null: not known)."""
    numbers: dict[str, dict[str, Any]] = {
        "torque": {"most": _known(bounds.torque)},
        "torque-rate": {"most_in_a_tick": _known(bounds.torque_step)},
        "joint-range": {"lower": _known(bounds.lower), "upper": _known(bounds.upper), "ahead": bounds.lead},
        "joint-speed": {"most": _known(bounds.most_speed)},
        "q-jump": {"most_in_a_period": _known(bounds.q_step)},
        "target-jump": {
            "position": max(bounds.target_position_step, bounds.target_position_jump),
            "turn": max(bounds.target_turn_step, bounds.target_turn_jump),
            "q": _known(np.maximum(bounds.target_q_step, bounds.target_q_jump)),
        },
        "interval": {"earliest": bounds.earliest, "slack": bounds.slack},
        "ramp": {"seconds": RAMP_TIME, "damping": _known(bounds.damping)},
    }
    return {
        name: {"on": name in on, "about": GUARDS[name], **(numbers[name] if name in on else {})} for name in GUARDS
    } | ({} if has_guards(robot) else {"note": "a free base has no guards of joints; see guards of the scenario"})


def _known(values: Array) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in values]
