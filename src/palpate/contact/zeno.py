"""The end of infinitely many bounces: the analytic tail of their geometric series."""

from __future__ import annotations

from dataclasses import dataclass, field

_STEADY = 0.02  # how much the ratio of two successive flights may still change


@dataclass
class Bounces:
    """Impacts so far, each with the flight that follows it, and the limit its series would have.

    After an impact at t_n the flight lasts T_n = 2 u/|g̈|; with a ratio r of successive flights the rest of the series
    ends at L_n = t_n + T_n/(1 − r). L_n errs by the second order of the flight, so its error shrinks by r² each time,
    which one step of Richardson's extrapolation removes.
    """

    times: list[float] = field(default_factory=list)
    flights: list[float] = field(default_factory=list)

    def copy(self) -> Bounces:
        """Another history with the same past."""
        return Bounces(list(self.times), list(self.flights))

    def add(self, time: float, flight: float) -> None:
        """An impact and the flight after it; only the last few are kept."""
        self.times, self.flights = [*self.times[-4:], time], [*self.flights[-4:], flight]

    def clear(self) -> None:
        """Forget: something else happened in between."""
        self.times, self.flights = [], []

    def limit(self) -> tuple[float, float] | None:
        """When the series ends and how far the last two estimates differ; None while it is not geometric."""
        if len(self.flights) < 4:
            return None
        T = self.flights
        r, r_before = T[-1] / T[-2], T[-2] / T[-3]
        if not (r < 1.0 and r_before < 1.0 and abs(r - r_before) < _STEADY):
            return None
        last, before = self.times[-1] + T[-1] / (1 - r), self.times[-2] + T[-2] / (1 - r_before)
        share = r**2 / (1 - r**2)
        return max(last + (last - before) * share, self.times[-1]), abs(last - before)
