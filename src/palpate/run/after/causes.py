"""Why a promise was not kept: saturation, friction, model, sensor or reach, the first of them with evidence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palpate.checks import Array
from palpate.control.guards import GUARD_NAMES
from palpate.control.law import Law
from palpate.errors import PalpateError
from palpate.run.after.promise import End, Miss, misses
from palpate.run.assemble.assemble import Assembly
from palpate.run.before.differences import ModelDifference
from palpate.run.loop.state import RATE_LIMITED, TORQUE_LIMITED
from palpate.spatial import Pose, matrix_from_quat

_EXPLAINS = 0.4  # of a miss: a cause that makes so much of it is one
_SMALL = {"m": (1e3, "mm"), "rad": (1e3, "mrad")}
LIMITS = {TORQUE_LIMITED: "torque limit", RATE_LIMITED: "torque-rate limit", **GUARD_NAMES}
CAUSES = ("saturation", "friction", "model", "sensor", "reach")


def promise_warnings(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A sentence for every promise of the law that was not kept, with its likeliest cause."""
    warnings = []
    for promise, missed, end in misses(assembly, named):
        ended = " and ".join(_miss_in_words(miss, promise.rest) for miss in missed)
        worst = max(missed, key=lambda miss: miss.size / max(miss.tolerance, 1e-300))
        warnings.append(
            f"{end.law.name} did not keep its promise: at the end {ended}; likeliest cause: {likeliest(worst, end)}"
        )
    return warnings


def _miss_in_words(miss: Miss, moving: bool) -> str:
    off = f"still move at {_with_unit(miss.size, miss)}" if moving else f"has an error of {_with_unit(miss.size, miss)}"
    return f"{miss.what} {off} (the closed loop itself leaves at most {_with_unit(miss.tolerance, miss, 2)})"


def _with_unit(size: float, miss: Miss, digits: int = 3) -> str:
    """A size of what was missed, with its unit; small lengths and angles in thousandths."""
    factor, unit = _SMALL.get(miss.unit, (1.0, miss.unit))
    return f"{factor * size:.{digits}g} {unit}"


def likeliest(miss: Miss, end: End) -> str:
    """The cause and its evidence, in words."""
    for cause, explain in zip(CAUSES, (_saturation, _friction, _model, _sensor, _reach)):
        evidence = explain(miss, end)
        if evidence:
            return f"{cause} ({evidence})"
    alarms = end.assembly.law.alarms(end.assembly.law.memory)
    return f"a warning of the law ({alarms[0]})" if alarms else "unknown; see the remarks"


def _saturation(miss: Miss, end: End) -> str:
    bits = end.named["guard"][end.window].astype(int)
    limits_hit = [
        f"the {what} changed the command for {share:.0%} of the last {end.times[-1] - end.times[end.window][0]:.2g} s"
        for bit, what in LIMITS.items()
        if (share := float(((bits & bit) != 0).mean())) > 0.02
    ]
    return " and ".join(limits_hit)


def _friction(miss: Miss, end: End) -> str:
    frictions = [each for each in end.differences if each.cause == "friction"]
    if not frictions or miss.rows is None:
        return ""
    if end.compliance is None:  # how far it holds anything off is not known: named where nothing else is declared
        return frictions[0].what if len(end.differences) == 1 else ""
    holds = frictions[0].moves_at_most(end.compliance, miss.rows)
    others = [each.moves(end.compliance, miss.rows) for each in end.differences if each.cause != "friction"]
    beside = float(np.linalg.norm(miss.error + np.sum(others, axis=0))) if others else miss.size
    if holds < _EXPLAINS * miss.size or beside < 0.5 * miss.size:  # a difference explains it better
        return ""
    return f"{frictions[0].what}: it can cause an error of {miss.what} of up to {_with_unit(holds, miss)}"


def _effect(each: ModelDifference, miss: Miss, end: End) -> float:
    """How much of a miss a difference makes, in the miss's unit; infinite where nothing holds the arm against it."""
    if miss.wrench is not None:
        return float(np.linalg.norm(miss.wrench @ each.reading))
    shifted = float(np.linalg.norm(each.shift))
    if miss.rows is None:
        return np.inf if each.torque.any() else 0.0
    if end.compliance is None or np.abs(each.torque[~end.compliance.held]).max(initial=0.0) > 1e-9:
        return np.inf if each.torque.any() or each.reading.any() else shifted
    return each.moves_at_most(end.compliance, miss.rows) + shifted


def _declared(cause: str, miss: Miss, end: End) -> str:
    effects = [(each, _effect(each, miss, end)) for each in end.differences if each.cause == cause]
    effects = [(each, size) for each, size in effects if size >= _EXPLAINS * miss.size]
    if not effects:
        return ""
    each, size = max(effects, key=lambda pair: pair[1])
    return each.what + (f": this causes {_with_unit(size, miss)}" if np.isfinite(size) else "")


def _model(miss: Miss, end: End) -> str:
    return _declared("model", miss, end) or next(iter(end.assembly.law.warnings), "")


def _sensor(miss: Miss, end: End) -> str:
    declared = _declared("sensor", miss, end)
    if declared or not isinstance(end.law, Law) or not end.law.feels or "measured_wrench" not in end.named:
        return declared
    off = end.mean("measured_wrench") - end.wrench
    if miss.wrench is not None:
        effect = float(np.linalg.norm(miss.wrench @ off))
    elif miss.rows is not None and end.compliance is not None:
        effect = float(np.linalg.norm(miss.rows @ end.compliance.reading @ off))
    else:
        return ""
    if effect < _EXPLAINS * miss.size:
        return ""
    return f"the sensor is off by {np.linalg.norm(off[:3]):.3g} N and {np.linalg.norm(off[3:]):.3g} N·m"


def _reach(miss: Miss, end: End) -> str:
    robot, q = end.robot, end.named["q"][end.window]
    if robot.nq != robot.nv or miss.rows is None:
        return ""
    lower, upper = robot.limits.lower, robot.limits.upper
    near = 1e-3 * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    at_stop = np.any((q <= lower + near) | (q >= upper - near), axis=0).tolist()
    if any(at_stop):
        return f"{', '.join(n for n, at in zip(robot.dof_names, at_stop) if at)} at the end of its range"
    sizes = np.linalg.svd(miss.rows, compute_uv=False)
    if len(sizes) and sizes[-1] < 0.02 * max(float(sizes[0]), 1e-9):
        return "the arm is near a singular posture, in which it cannot move on towards its goal"
    return _out_of_reach(miss, end)


def _out_of_reach(miss: Miss, end: End) -> str:
    if miss.unit not in ("m", "rad") or miss.rows is None or len(miss.rows) == 1:
        return ""
    goal = end.named["target_position"][-1]
    pose = Pose(goal, matrix_from_quat(end.named["target_quat_wxyz"][-1]))
    try:
        end.robot.inverse_kinematics(pose if end.robot.nv >= 6 else goal, seed=end.q, restarts=5)
    except PalpateError:
        return f"no posture of {end.robot.name} was found at its target"
    return ""
