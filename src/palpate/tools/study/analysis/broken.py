"""Bounds that runs of a sweep broke: which, how often, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.metrics import METRICS

if TYPE_CHECKING:
    from palpate.checks import Array
    from palpate.tools.study.result import Sweep


@dataclass(frozen=True)
class BrokenBound:
    """A bound of the scenario that some runs broke.

    Attributes:
        metric: what is bounded.
        bound: {"least": …}, {"most": …} or both.
        runs: those that broke it, in order.
        excess: how far beyond it each of them is, in the metric's unit; NaN where the metric has no number.
    """

    metric: str
    bound: Mapping[str, float]
    runs: Sequence[int]
    excess: Array

    @property
    def distances(self) -> Array:
        """The excess as a share of the bound; of the largest excess seen where the bound is 0; 0 for no number."""
        limits = [abs(float(limit)) for limit in self.bound.values() if limit]
        known = self.excess[np.isfinite(self.excess)]
        scale = min(limits) if limits else float(known.max(initial=0.0))
        return np.nan_to_num(self.excess / scale, nan=0.0) if scale > 0 else np.zeros(len(self.runs))

    @property
    def sentence(self) -> str:
        """How many broke it, and the worst of them."""
        count = f"{len(self.runs)} run{'' if len(self.runs) == 1 else 's'} broke {self.metric} ({self.allowed})"
        if not np.isfinite(self.excess).any():
            return f"{count}: it has no number there"
        worst = int(np.nanargmax(self.excess))
        return f"{count}, run {self.runs[worst]} by {self.excess[worst]:.4g}{_unit(self.metric)}"

    @property
    def allowed(self) -> str:
        """The allowed range, with its unit."""
        words = {"least": "at least", "most": "at most"}
        return " and ".join(f"{words[end]} {limit:g}{_unit(self.metric)}" for end, limit in self.bound.items())


def broken_bounds(sweep: Sweep) -> list[BrokenBound]:
    """Every bound that a run broke, the one broken most often first."""
    broke: dict[str, list[int]] = {}
    for run, names in enumerate(sweep["failed"]):
        for name in names or ():
            broke.setdefault(name, []).append(run)
    bounds = sweep.plan.scenario.get("metrics", {})
    made = [_broken(sweep, name, runs, bounds.get(name, {})) for name, runs in broke.items()]
    return sorted(made, key=lambda one: (-len(one.runs), one.metric))


def distances(sweep: Sweep) -> Array:
    """How far each run is beyond the bound that it broke, the farthest if it broke several; 0 if none."""
    far = np.zeros(len(sweep))
    for one in broken_bounds(sweep):
        far[list(one.runs)] = np.maximum(far[list(one.runs)], one.distances)
    return far


def _broken(sweep: Sweep, name: str, runs: list[int], bound: Mapping[str, Any]) -> BrokenBound:
    limits = {end: float(bound[end]) for end in ("least", "most") if bound.get(end) is not None}
    values = sweep.numbers(name)[runs] if name in sweep.columns else np.full(len(runs), np.nan)
    beyond = [sign * (values - limits[end]) for end, sign in (("least", -1.0), ("most", 1.0)) if end in limits]
    return BrokenBound(name, limits, runs, np.max(beyond, axis=0) if beyond else np.full(len(runs), np.nan))


def _unit(metric: str) -> str:
    unit = METRICS[metric].unit if metric in METRICS else "1"
    return "" if unit == "1" else f" {unit}"
