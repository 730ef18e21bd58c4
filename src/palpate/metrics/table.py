"""Metrics and bounds: every metric in one table, how a bound judges it, and the evaluation of a trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from pydantic import model_validator

from palpate.config import Config, setting
from palpate.display import shown
from palpate.errors import InvalidInput, NeverHappened, NotApplicable, check_names
from palpate.metrics import contact, motion, step, stopping
from palpate.metrics.signals import largest, orientation_angle, position_distance, rms_of
from palpate.metrics.step import measured_on
from palpate.plugins import Table, of_kind
from palpate.trace import Trace
from palpate.user_code import blamed, is_address


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
    """Bound of a metric: at least, at most, or both."""

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
        passed: whether the bound is kept; None without a bound, or where the metric does not apply. A bound on what
            never happened, such as a first contact, is not kept.
    """

    name: str
    value: float | None
    unit: str
    help: str
    reason: str | None = None
    least: float | None = None
    most: float | None = None
    passed: bool | None = None

    @property
    def bounded(self) -> bool:
        """Whether there is a bound, judged or not."""
        return self.least is not None or self.most is not None


def judge(metric: Metric, trace: Trace, bound: Bound | None) -> MetricResult:
    """Compute a metric and hold it to its bound."""
    value, reason, happened = None, None, True
    try:
        value = float(metric.compute(trace))
    except NotApplicable as error:
        reason, happened = str(error), not isinstance(error, NeverHappened)
    if bound is None:
        return MetricResult(metric.name, value, metric.unit, metric.help, reason)
    passed = bound.keeps(value) if value is not None else None if happened else False
    return MetricResult(metric.name, value, metric.unit, metric.help, reason, bound.least, bound.most, passed)


def as_json(results: Iterable[MetricResult]) -> str:
    """Results as JSON text: an object by metric name, indented, ending with a line break."""
    content = {result.name: {k: v for k, v in asdict(result).items() if k != "name"} for result in results}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _steps(name: str, what: str, response: Callable[[Trace], step.Response]) -> list[Metric]:
    return [
        Metric(
            f"{name}_rise_time", "s", f"{what}: from 10 % to 90 % of the step", measured_on(response, step.rise_time)
        ),
        Metric(
            f"{name}_overshoot", "1", f"{what}: overshoot, share of the step", measured_on(response, step.overshoot)
        ),
        Metric(
            f"{name}_settling_time",
            "s",
            f"{what}: until it stays within 2 %",
            measured_on(response, step.settling_time),
        ),
    ]


_ALL = [
    *_steps("position", "tool position", step.position_response),
    Metric("position_steady_error", "m", "distance to the target, mean of the last tenth", step.position_steady_error),
    *_steps("orientation", "tool orientation", step.orientation_response),
    Metric("orientation_steady_error", "rad", "angle to it, mean of the last tenth", step.orientation_steady_error),
    *_steps("force", "contact force", step.force_response),
    Metric("force_step_settling_time", "s", "last step of desired force: until within 2 %", step.force_step_settling),
    Metric("force_steady_error", "N", "along the desired force, mean of the last tenth", step.force_steady_error),
    Metric("force_error_rms", "N", "along the desired force, from first contact on", contact.force_error_rms),
    Metric("force_peak", "N", "largest contact force", largest("contact_force")),
    Metric("penetration_max", "m", "deepest penetration", largest("penetration")),
    Metric("first_contact", "s", "when contact begins", contact.first_contact),
    Metric("first_touchdown", "s", "exact contact: when a gap first closes", contact.first_touchdown),
    Metric("contact_time", "s", "time in contact", contact.contact_time),
    Metric("bounces", "1", "how often contact begins again after it was lost", contact.bounces),
    Metric("chatter", "Hz", "contact made or lost, per second after first contact", contact.chatter),
    Metric("position_error_rms", "m", "distance of the tool from its target, RMS", rms_of(position_distance)),
    Metric("position_error_max", "m", "distance of the tool from its target, largest", largest(position_distance)),
    Metric("position_final_error", "m", "distance of the tool from its target, last", motion.position_final_error),
    Metric("orientation_error_rms", "rad", "angle of the tool from its target, RMS", rms_of(orientation_angle)),
    Metric("orientation_error_max", "rad", "angle of the tool from its target, largest", largest(orientation_angle)),
    Metric("felt_ratio_max", "1", "largest residual over the threshold of a contact", largest("reaction.ratio")),
    Metric("felt_after", "s", "from the first contact or push until it is felt", contact.felt_after),
    Metric("tank_least", "J", "least energy in the tank around the law", contact.tank_least),
    Metric("compliant_distance_max", "m", "tool from its compliant frame, largest", largest("law.compliant_distance")),
    Metric("compliant_angle_max", "rad", "tool from its compliant frame, largest", largest("law.compliant_angle")),
    Metric("joint_error_rms", "rad", "revolute joints from their targets, RMS", motion.joint_error_rms),
    Metric("joint_error_max", "rad", "revolute joints from their targets, largest", motion.joint_error_max),
    Metric("stop_time", "s", "until the tool's speed stays below 2 % of its first", stopping.stop_time),
    Metric("stop_distance", "m", "tool's travel along its first direction until the stop", stopping.stop_distance),
    Metric("stop_deviation", "m", "tool's largest distance from that line until the stop", stopping.stop_deviation),
    Metric("tilt_max", "rad", "pole: largest angle from the vertical", largest(motion.tilt)),
    Metric("tilt_rms", "rad", "pole: angle from the vertical, RMS", rms_of(motion.tilt)),
    Metric("tilt_end", "rad", "pole: largest angle from the vertical, over the last tenth", motion.tilt_end),
    Metric("effort", "(N·m)²·s", "∫ Σ τ² dt over the revolute joints", motion.effort),
    Metric("peak_torque_ratio", "1", "largest torque relative to its limit", motion.peak_torque_ratio),
    Metric("joint_stop_time", "s", "longest time of a joint beyond its stop", motion.watched("stop_time")),
    Metric("joint_speed_ratio", "1", "largest joint speed relative to its rating", motion.watched("speed_share")),
    Metric("joint_overspeed_time", "s", "longest time of a joint above its rated speed", motion.watched("speed_time")),
    Metric("saturation_time", "s", "time during which a guard changed the command", motion.saturation_time),
    Metric("energy_residual", "J", "largest error of the energy balance", motion.energy_residual),
    Metric("contact_energy_out", "J", "energy delivered at the contact by the end", contact.contact_energy_out),
    Metric("contact_energy_out_peak", "J", "energy delivered at the contact, largest", largest(contact.energy_out)),
    Metric("smallest_singular_value", "1", "smallest of the tool's Jacobian", motion.smallest_singular_value),
]  # fmt: skip


def _entered(entry: Any, thing: Any) -> Metric:
    """The metric of an entry point, or of `my_module:my_metric`: a Metric, or there also a function of the trace."""
    if isinstance(thing, Metric):
        named = replace(thing, name=entry.name) if is_address(entry.name) else of_kind(Metric, entry, thing)
        return replace(named, compute=_blamed(thing.compute))
    if not callable(thing) or isinstance(thing, type):
        raise InvalidInput(f"a function of the trace, or a Metric, is needed, got {thing!r}")
    return Metric(entry.name, "1", (thing.__doc__ or "").strip().split("\n")[0], _blamed(thing))  # pyright: ignore[reportArgumentType]


def _blamed(compute: Callable[[Trace], float]) -> Callable[[Trace], float]:
    def computed(trace: Trace) -> float:
        with blamed(getattr(getattr(compute, "__code__", None), "co_filename", "")):
            return float(compute(trace))

    return computed


METRICS = Table("palpate.metrics", {metric.name: metric for metric in _ALL}, _entered)


class Results(list[MetricResult]):
    """The metrics of a trace, in the table's order; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return shown("metrics_html")(self)


def evaluate(trace: Trace, bounds: Mapping[str, Bound] = MappingProxyType({})) -> Results:
    """Every metric of a trace, in the table's order, then the own ones (`my_module:my_metric`) of its scenario.

    Args:
        trace: what happened.
        bounds: what metrics must keep, by name.

    Raises:
        UnknownName: a bound on a metric that does not exist.
    """
    check_names("metric", [name for name in bounds if not is_address(name)], METRICS)
    known = [judge(metric, trace, bounds.get(metric.name)) for metric in METRICS.values()]
    return Results([*known, *_own_results(trace, bounds)])


def _own_results(trace: Trace, bounds: Mapping[str, Bound]) -> Iterator[MetricResult]:
    """Metrics that the scenario brings along; with the reason instead of a number where their code is not at hand."""
    named = (trace.facts.scenario or {}).get("metrics", {})
    for name in filter(is_address, {**named, **bounds}):
        bound = bounds.get(name)
        try:
            metric = METRICS[name]
        except InvalidInput as error:
            least, most = (None, None) if bound is None else (bound.least, bound.most)
            yield MetricResult(name, None, "1", "", str(error.args[0]), least, most)
        else:
            yield judge(metric, trace, bound)
