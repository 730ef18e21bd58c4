"""The table of a sweep.

run, point, repeat, seed; one column per parameter; stage and weight of an adaptive sweep; outcome, reason, end_time,
passed, failed, warnings; one per metric, null where it says nothing. Nothing in it depends on when or where a run was
made.
"""

from __future__ import annotations

from palpate.metrics import METRICS
from palpate.parquet import Column
from palpate.parquet.layout import Kind
from palpate.toml import toml_value
from palpate.tools.study.plans.axis import Axis, Value
from palpate.tools.study.plans.plan import Plan
from palpate.tools.study.plans.points import PlannedRun
from palpate.tools.study.running.worker import Row, RunResult

BEFORE: dict[str, Kind] = {"run": "int64", "point": "int64", "repeat": "int32", "seed": "int64"}
ADAPTIVE: dict[str, Kind] = {"stage": "int32", "weight": "double"}
AFTER: dict[str, Kind] = {
    "outcome": "text", "reason": "text", "end_time": "double", "passed": "bool", "failed": "texts",
    "warnings": "texts",
}  # fmt: skip


def schema(plan: Plan) -> list[Column]:
    """Names and types of the columns."""
    kinds: dict[str, Kind] = {
        **BEFORE,
        **{axis.key: _kind(axis) for axis in plan.axes},
        **(ADAPTIVE if plan.adaptive else {}),
        **AFTER,
        **dict.fromkeys(plan.metrics, "double"),
    }
    return [Column(name, kind, optional=True) for name, kind in kinds.items()]


def units(plan: Plan) -> dict[str, str]:
    """Units of the metrics' columns."""
    return {name: METRICS[name].unit if name in METRICS else "1" for name in plan.metrics}


def _kind(axis: Axis) -> Kind:
    """One type for all the values of a parameter; what has no other is TOML text."""
    kinds = {type(value) for value in axis.values or (axis.at(0.5),)}
    if axis.key.endswith("*") or (kinds <= {int, float} and float in kinds):
        return "double"
    return _KINDS.get(kinds.pop(), "text") if len(kinds) == 1 else "text"


_KINDS: dict[type, Kind] = {int: "int64", bool: "bool", str: "text"}


def record(plan: Plan, point: PlannedRun, result: RunResult) -> Row:
    """A whole row: what was asked for beside what came of it."""
    asked: Row = {"run": result.run, "point": point.point, "repeat": point.repeat, "seed": point.seed}
    asked |= {axis.key: _stored(axis, value) for axis, value in zip(plan.axes, point.values)}
    asked |= {"stage": point.stage, "weight": point.weight} if plan.adaptive else {}
    return asked | result.row


def _stored(axis: Axis, value: Value) -> Value:
    kind = _kind(axis)
    if kind == "double":
        return float(value)
    return toml_value(value) if kind == "text" and not isinstance(value, str) else value


def row_bytes(plan: Plan) -> int:
    """Roughly what a row takes on disk."""
    return 8 * len(schema(plan)) + 40
