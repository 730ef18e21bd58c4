"""Traces as data of other libraries: pandas and xarray."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from palpate.display import shows
from palpate.errors import TraceError
from palpate.trace import Trace

if TYPE_CHECKING:
    import pandas


@shows
def to_pandas(trace: Trace) -> pandas.DataFrame:
    """One column per number, index time in s; `attrs["units"]` has the unit of each column."""
    pandas = _needed("pandas")
    columns = trace.table()
    frame = pandas.DataFrame({name: column for name, column in columns.items() if name != "time"})
    frame.index = pandas.Index(columns["time"], name="time")
    channels = trace.channels.values()
    frame.attrs["units"] = {n: u for channel in channels for n, u in zip(channel.columns, channel.column_units)}
    return frame


_COMPONENTS = {
    ("x", "y", "z"): "axis",
    ("w", "x", "y", "z"): "quaternion",
    ("vx", "vy", "vz", "wx", "wy", "wz"): "twist",
    ("fx", "fy", "fz", "nx", "ny", "nz"): "wrench",
}
_OF_JOINTS = ("v", "tau", "command", "target_v", "v_measured", "q", "target_q", "q_measured")


def _dimensions(trace: Trace) -> dict[tuple[str, ...], str]:
    """The name of the dimension for each set of labels, so that channels with the same labels align.

    On a robot with a free base or a ball joint the coordinates are more than the velocities: they are "coordinate".
    """
    named = dict(_COMPONENTS)
    joints = [trace.channels[name].labels for name in _OF_JOINTS if name in trace.channels]
    for labels, dimension in zip(dict.fromkeys(joints), ("joint", "coordinate")):
        named[labels] = dimension
    return named


@shows
def to_xarray(trace: Trace) -> Any:
    """An xarray Dataset: one variable per channel, over time and "joint", "axis" …; units and help stand in `attrs`."""
    xarray = _needed("xarray")
    variables: dict[str, Any] = {}
    shared = _dimensions(trace)
    coordinates: dict[str, Any] = {"time": ("time", trace.time, {"units": "s"})}
    for name, channel in trace.channels.items():
        if name == "time":
            continue
        dims = tuple(f"{name}.{k}" for k in range(len(channel.shape)))
        if len(dims) == 1 and channel.labels:
            dims = (shared.get(channel.labels, dims[0]),)
            coordinates[dims[0]] = list(channel.labels)
        known = {"units": channel.unit, "frame": channel.frame, "long_name": channel.help}
        attrs = {key: list(value) if isinstance(value, tuple) else value for key, value in known.items() if value}
        variables[name] = (("time", *dims), trace[name], attrs)
    run = {"outcome": str(trace.outcome), "robot": trace.facts.robot or "", "law": trace.facts.law or ""}
    return xarray.Dataset(variables, coordinates, run)


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise TraceError(f"this needs {package}, which is not installed", hint=f"pip install {package}") from error
