"""The nearest values of a slider at which the forecast turns: each is a pair of values that were run, one per side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palpate.tools.play.sliders import Slider

_SHARES = (0.25, 0.5, 0.75, 1.0)  # of the way to the slider's end, where a run is made first
_HALVINGS = 5


@dataclass(frozen=True)
class Judged:
    """The forecast of a value: whether it is red, and its headline."""

    red: bool
    headline: str


@dataclass(frozen=True)
class Edge:
    """Two values between which the forecast turns: the one on this side, and the one beyond, with its headline."""

    inside: float
    beyond: float
    headline: str

    def as_data(self) -> dict[str, Any]:
        """The edge for the page."""
        return {"inside": self.inside, "beyond": self.beyond, "headline": self.headline}


def nearest_edge(judge: Callable[[float], Judged], slider: Slider, now: float, end: float) -> Edge | None:
    """The nearest edge between a value and an end of its slider; None where no run on the way found one.

    Args:
        judge: makes a run.
        slider: tells the scale, and whole numbers.
        now: where the slider stands.
        end: how far to look.
    """
    here = judge(now)
    last = now
    for share in _SHARES:
        value = between(slider, now, end, share)
        if value == last:
            continue
        other = judge(value)
        if other.red != here.red:
            return _bisected(judge, slider, last, Edge(last, value, other.headline), here.red)
        last = value
    return None


def _bisected(judge: Callable[[float], Judged], slider: Slider, now: float, edge: Edge, red: bool) -> Edge:
    inside, beyond, headline = now, edge.beyond, edge.headline
    for _ in range(_HALVINGS):
        middle = between(slider, inside, beyond, 0.5)
        if middle in (inside, beyond):
            break
        there = judge(middle)
        if there.red == red:
            inside = middle
        else:
            beyond, headline = middle, there.headline
    return Edge(inside, beyond, headline)


def between(slider: Slider, start: float, end: float, share: float) -> float:
    """A value on the way, in the slider's own scale: by ratios, or even; of four digits, or whole."""
    by_ratio = slider.log and start > 0.0 and end > 0.0
    value = start * (end / start) ** share if by_ratio else start + share * (end - start)
    return float(round(value)) if slider.kind == "integer" else float(f"{value:.4g}")
