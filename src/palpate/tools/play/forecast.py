"""The forecast, from a run and the poles of its loop: stable or not, how far from the edge, which bounds are near."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from palpate.metrics.table import MetricResult
from palpate.run.tangent.along import Moment
from palpate.run.tangent.loop_poles import LoopPoles
from palpate.trace import Outcome

Level = Literal["good", "near", "bad", "unknown"]
NEAR_DAMPING = 0.1  # ζ of an oscillation, below which the loop is near the edge
NEAR_BOUND = 0.9  # of a bound on a metric, from which on it is near
_SLOW = 0.5  # Hz: slower oscillations are drifts of the posture, no ringing
_ORDER: tuple[Level, ...] = ("unknown", "good", "near", "bad")


@dataclass(frozen=True)
class Line:
    """One line of the forecast: how it stands, what was asked, and the answer."""

    level: Level
    name: str
    text: str
    kind: Literal["run", "loop", "bound"] = "run"

    def as_data(self) -> dict[str, Any]:
        """The line for the page."""
        return {"level": self.level, "name": self.name, "text": self.text}


def worst(lines: Sequence[Line]) -> Level:
    """The worst of some lines."""
    return _ORDER[max((_ORDER.index(line.level) for line in lines), default=0)]


def headline(lines: Sequence[Line]) -> str:
    """The worst of some lines in a few words."""
    level = worst(lines)
    kinds = {line.kind for line in lines if line.level == level}
    names = ", ".join(line.name for line in lines if line.level == level and line.kind == "bound")
    if level == "bad":
        return "Failed" if "run" in kinds else "Unstable" if "loop" in kinds else f"Beyond a bound: {names}"
    if level == "near":
        return "Near the edge of stability" if "loop" in kinds else f"Near a bound: {names}"
    if level == "unknown":
        return "Not known"
    stable = any(line.kind == "loop" and line.level == "good" for line in lines)
    kept = any(line.kind == "bound" for line in lines)
    return f"{'Stable' if stable else 'Stability not known'}{', bounds kept' if kept else ''}"


def forecast(outcome: Outcome, moments: Sequence[Moment], results: Sequence[MetricResult]) -> list[Line]:
    """The lines: how the run ended, its poles at some moments, and bounded metrics.

    A loop that is unstable at first and stable at the end of a run that went well is near the edge, not beyond it.
    """
    ended, asked = _ended(outcome), [_at(moment) for moment in moments]
    if asked and ended.level == "good" and asked[-1].level != "bad":
        asked = [replace(line, level="near") if line.level == "bad" else line for line in asked]
    return [ended, *asked, *(_bounded(one) for one in results if one.bounded)]


def _ended(outcome: Outcome) -> Line:
    level: Level = "good" if outcome.ok else "bad"
    return Line(level, "run", str(outcome), "run")


def _at(moment: Moment) -> Line:
    level, text = judged(moment.poles)
    if level == "bad" and moment.name.startswith("end") and any("friction" in held for held in moment.poles.held):
        text += "; dry friction may hold it all the same"
    return Line(level, f"loop, {moment.name}", text, "loop")


def judged(poles: LoopPoles) -> tuple[Level, str]:
    """How far the poles of a moment are from the edge, |λ| = 1, in words."""
    if poles.not_known is not None:
        return "unknown", f"not known: {poles.not_known}"
    if poles.not_differentiable is not None:
        return "unknown", f"not known: {poles.not_differentiable} changes its course here"
    if poles.saturated:
        return "unknown", "not known: the driver cuts the command"
    touch = ", ".join(f"{name} {state}" for name, state in poles.contact.items())
    where = f" ({touch})" if touch else ""
    if poles.stable is None:
        return "near", f"at the edge, |λ| = 1{where}"
    ringing = _least_damped(poles)
    shown = f"; {ringing}" if ringing else ""
    if not poles.stable:
        return "bad", f"unstable, |λ| = {poles.largest:.5f}{where}{shown}"
    ratio = min((mode.damping_ratio for mode in poles.modes if mode.frequency > _SLOW), default=1.0)
    level: Level = "near" if ratio < NEAR_DAMPING else "good"
    return level, f"stable, |λ| = {poles.largest:.5f}{_settling(poles)}{where}{shown}"


def _settling(poles: LoopPoles) -> str:
    """The time constant of the slowest pole."""
    if not 0.0 < poles.largest < 1.0:
        return ""
    return f", slowest {-poles.period / math.log(poles.largest):.3g} s"


def _least_damped(poles: LoopPoles) -> str:
    """The oscillation with the least damping among the largest poles."""
    modes = [mode for mode in poles.modes if mode.frequency > _SLOW]
    if not modes:
        return ""
    mode = min(modes, key=lambda mode: mode.damping_ratio)
    joint = f" at {mode.joint}" if mode.joint else ""
    return f"least damped {mode.frequency:.3g} Hz, ζ = {mode.damping_ratio:.2g}{joint}"


def _bounded(result: MetricResult) -> Line:
    from palpate.views.summary import bound_text

    unit = "" if result.unit == "1" else f" {result.unit}"
    if result.value is None:
        return Line("bad" if result.passed is False else "unknown", result.name, bound_text(result), "bound")
    text = f"{result.value:.4g}{unit}, {bound_text(result)}{unit}"
    level: Level = "bad" if result.passed is False else "near" if _is_near(result) else "good"
    return Line(level, result.name, text, "bound")


def _is_near(result: MetricResult) -> bool:
    """Whether a value is within a tenth of its bound, or of the span of its two bounds, from being broken."""
    value, least, most = result.value, result.least, result.most
    if value is None:
        return False
    if least is not None and most is not None:
        margin = min(value - least, most - value)
        return margin < 0.5 * (1.0 - NEAR_BOUND) * (most - least)
    if most is not None:
        return most > 0.0 and value > NEAR_BOUND * most
    return least is not None and least > 0.0 and value < least / NEAR_BOUND
