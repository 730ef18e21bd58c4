"""What a metric is, what it gives, and how a bound judges it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from pydantic import model_validator

from palpate.config import Config, setting
from palpate.errors import InvalidInput, NotApplicable
from palpate.trace import Trace


@dataclass(frozen=True)
class Metric:
    """A number from a trace alone.

    Attributes:
        name: how scenarios and tables call it.
        unit: SI, "1" where there is none.
        help: one line.
        compute: from a trace to the number; raises NotApplicable with the reason where there is none.
    """

    name: str
    unit: str
    help: str
    compute: Callable[[Trace], float]


class Bound(Config):
    """What a metric must keep: at least, at most, or both."""

    least: float | None = setting(None, "the metric's", "smallest value that passes")
    most: float | None = setting(None, "the metric's", "largest value that passes")

    @model_validator(mode="after")
    def _makes_sense(self) -> Bound:
        if self.least is None and self.most is None:
            raise InvalidInput("a bound needs least, most, or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise InvalidInput(f"a bound's least {self.least:g} must not exceed its most {self.most:g}")
        return self

    def keeps(self, value: float) -> bool:
        """Whether a value passes."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class MetricResult:
    """A metric of one trace.

    Attributes:
        name, unit, help: the metric's.
        value: the number, or None.
        reason: why there is no number, or None.
        least, most: the bound, None where there is none.
        passed: whether the bound is kept; None without a bound. A bound on a metric without a number is not kept.
    """

    name: str
    value: float | None
    unit: str
    help: str
    reason: str | None = None
    least: float | None = None
    most: float | None = None
    passed: bool | None = None


def judge(metric: Metric, trace: Trace, bound: Bound | None) -> MetricResult:
    """Compute a metric and hold it to its bound."""
    value, reason = None, None
    try:
        value = float(metric.compute(trace))
    except NotApplicable as error:
        reason = str(error)
    if bound is None:
        return MetricResult(metric.name, value, metric.unit, metric.help, reason)
    passed = value is not None and bound.keeps(value)
    return MetricResult(metric.name, value, metric.unit, metric.help, reason, bound.least, bound.most, passed)


def as_json(results: Iterable[MetricResult]) -> str:
    """Results as JSON text: an object by metric name, indented, ending with a line break."""
    content = {result.name: {k: v for k, v in asdict(result).items() if k != "name"} for result in results}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
