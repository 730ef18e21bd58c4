"""The table of a sweep: its columns, and rows turned into them.

Columns, in order: run, point, repeat, seed; one per parameter; stage and weight of an adaptive sweep; outcome, reason,
end_time, passed, failed, warnings; one per metric, null where it says nothing. Nothing in it depends on when or where
a run was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palpate.metrics import METRICS
from palpate.study.axis import Axis, Value
from palpate.study.design import Point
from palpate.study.plan import Plan
from palpate.study.worker import Result, Row
from palpate.toml import toml_value

if TYPE_CHECKING:
    import pyarrow as pa

BEFORE = {"run": "int64", "point": "int64", "repeat": "int32", "seed": "int64"}
ADAPTIVE = {"stage": "int32", "weight": "double"}
AFTER = {
    "outcome": "string", "reason": "string", "end_time": "double", "passed": "bool_", "failed": "texts",
    "warnings": "texts",
}  # fmt: skip


def schema(plan: Plan) -> pa.Schema:
    """Names and types of the columns; units stand in each field's metadata."""
    import pyarrow as pa

    def column(name: str, kind: str, unit: str | None = None) -> pa.Field:
        made = pa.list_(pa.field("element", pa.string())) if kind == "texts" else getattr(pa, _ARROW[kind])()
        return pa.field(name, made, metadata=None if unit is None else {"unit": unit})

    fields = [column(name, kind) for name, kind in BEFORE.items()]
    fields += [column(axis.key, _kind(axis)) for axis in plan.axes]
    fields += [column(name, kind) for name, kind in ADAPTIVE.items()] if plan.adaptive else []
    fields += [column(name, kind) for name, kind in AFTER.items()]
    units = {name: METRICS[name].unit if name in METRICS else "1" for name in plan.metrics}
    return pa.schema([*fields, *(column(name, "double", unit) for name, unit in units.items())])


_ARROW = {"int64": "int64", "int32": "int32", "double": "float64", "string": "string", "bool_": "bool_"}


def _kind(axis: Axis) -> str:
    """One type for all the values of a parameter; what has no other is TOML text."""
    kinds = {type(value) for value in axis.values or (axis.at(0.5),)}
    if axis.key.endswith("*") or (kinds <= {int, float} and float in kinds):
        return "double"
    return {int: "int64", bool: "bool_", str: "string"}.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


def record(plan: Plan, point: Point, result: Result) -> Row:
    """A whole row: what was asked for beside what came of it."""
    asked: Row = {"run": result.run, "point": point.point, "repeat": point.repeat, "seed": point.seed}
    asked |= {axis.key: _stored(axis, value) for axis, value in zip(plan.axes, point.values)}
    asked |= {"stage": point.stage, "weight": point.weight} if plan.adaptive else {}
    return asked | result.row


def _stored(axis: Axis, value: Value) -> Value:
    kind = _kind(axis)
    if kind == "double":
        return float(value)
    return toml_value(value) if kind == "string" and not isinstance(value, str) else value


def table(plan: Plan, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table."""
    import pyarrow as pa

    form = schema(plan)
    columns = [pa.array([row.get(name) for row in rows], type=form.field(name).type) for name in form.names]
    return pa.Table.from_arrays(columns, schema=form)


def row_bytes(plan: Plan) -> int:
    """Roughly what a row takes on disk."""
    return 8 * len(schema(plan)) + 40
