"""The end of infinitely many bounces: the analytic tail of their geometric series."""

from __future__ import annotations

from dataclasses import dataclass, field

_STEADY = 0.02  # how much the ratio of two successive flights may still change
UNRESOLVED = 1e-8  # s: a flight shorter than this is lost in rounding, whatever its series


@dataclass
class Bounces:
    """One contact's bounces: when it left its surface, and for how long each time.

    A flight that begins with u lasts T = 2 u/|g̈|. With D the time between its last two departures and r the ratio of
    their flights, the next departures follow after D r, D r², …, and the series ends at L = t + D r/(1 − r). L errs by
    the third order of the flight, by the second where damping acts, so its error shrinks by r³ or r² each time; the
    last three estimates tell which (Aitken), and the rest of that series is taken off.
    """

    times: list[float] = field(default_factory=list)
    flights: list[float] = field(default_factory=list)

    def copy(self) -> Bounces:
        """Another history with the same past."""
        return Bounces(list(self.times), list(self.flights))

    def add(self, time: float, flight: float) -> None:
        """A departure and the flight after it; only the last few are kept."""
        self.times, self.flights = [*self.times[-4:], time], [*self.flights[-4:], flight]

    def limit(self) -> tuple[float, float] | None:
        """When the series ends and how far the last two estimates differ; None while it is not geometric."""
        if len(self.flights) < 4:
            return None
        T = self.flights
        r, r_before = T[-1] / T[-2], T[-2] / T[-3]
        if not (r < 1.0 and r_before < 1.0 and abs(r - r_before) < _STEADY):
            return None
        last, before = self._end(-1, r), self._end(-2, r_before)
        shrinks = r**3
        if len(T) > 4 and before != (earlier := self._end(-3, T[-3] / T[-4])):
            shrinks = min(max((last - before) / (before - earlier), r**3), r**2)
        return max(last + (last - before) * shrinks / (1 - shrinks), self.times[-1]), abs(last - before)

    def _end(self, n: int, r: float) -> float:
        """L from the n-th departure."""
        next_pause, pause = self.flights[n], self.times[n] - self.times[n - 1]
        if abs(pause - self.flights[n - 1]) > 1e-3 * pause:  # another contact strikes in between
            next_pause = pause * r
        return self.times[n] + next_pause / (1 - r)
