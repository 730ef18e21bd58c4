"""Every metric, in one table, and the evaluation of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from palpate.errors import InvalidInput, UnknownName
from palpate.lazy import offered
from palpate.metrics import contact, motion, step, stop
from palpate.metrics.metric import Bound, Metric, MetricResult, judge
from palpate.metrics.signals import largest, orientation_angle, position_distance, rms_of
from palpate.metrics.step import of
from palpate.plugins import Table, of_kind
from palpate.trace import Trace
from palpate.user_code import blamed, is_address


def _steps(name: str, what: str, response: Callable[[Trace], step.Response]) -> list[Metric]:
    return [
        Metric(f"{name}_rise_time", "s", f"{what}: from 10 % to 90 % of the step", of(response, step.rise_time)),
        Metric(f"{name}_overshoot", "1", f"{what}: overshoot, share of the step", of(response, step.overshoot)),
        Metric(f"{name}_settling_time", "s", f"{what}: until it stays within 2 %", of(response, step.settling_time)),
    ]  # fmt: skip


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
    Metric("compliant_distance_max", "m", "tool from its compliant frame, largest", largest("law.compliant_distance")),
    Metric("compliant_angle_max", "rad", "tool from its compliant frame, largest", largest("law.compliant_angle")),
    Metric("joint_error_rms", "rad", "revolute joints from their targets, RMS", motion.joint_error_rms),
    Metric("joint_error_max", "rad", "revolute joints from their targets, largest", motion.joint_error_max),
    Metric("stop_time", "s", "until the tool's speed stays below 2 % of its first", stop.stop_time),
    Metric("stop_distance", "m", "tool's travel along its first direction until the stop", stop.stop_distance),
    Metric("stop_deviation", "m", "tool's largest distance from that line until the stop", stop.stop_deviation),
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
        return offered("html of metrics")(self)


def evaluate(trace: Trace, bounds: Mapping[str, Bound] = MappingProxyType({})) -> Results:
    """Every metric of a trace, in the table's order, then the own ones (`my_module:my_metric`) of its scenario.

    Args:
        trace: what happened.
        bounds: what metrics must keep, by name.

    Raises:
        UnknownName: a bound on a metric that does not exist.
    """
    for name in bounds:
        if not is_address(name) and name not in METRICS:
            raise UnknownName("metric", name, METRICS)
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
