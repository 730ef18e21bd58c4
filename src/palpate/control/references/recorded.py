"""Following what was recorded: a trace, or a table of instants and postures or poses."""

from __future__ import annotations

import csv
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from palpate.checks import Array, finite_array
from palpate.config import required, setting
from palpate.control.references.joint_path import check_joint_motion, follow_joints
from palpate.control.references.reference import ReferenceSettings, Targets
from palpate.control.traits import Follows
from palpate.errors import FileError, InvalidInput, UnknownName
from palpate.files import open_regular
from palpate.parquet import read_numbers
from palpate.robot.robot import Robot

MOST_BYTES = 500_000_000
_UNIT = re.compile(r"\s*\(([^)]*)\)\s*$")
_SI = {"time": {"s"}, "q": {"rad", "m", "1"}, "tool_position": {"m"}, "tool_quat_wxyz": {"1"}}


class Recorded(ReferenceSettings):
    """Postures or poses of the tool from a file, joined by cubic splines (orientations by a spline of rotations).

    A table has the columns of a trace: `time` and `q[<joint>]` for each joint, or `tool_position[x…z]` and
    `tool_quat_wxyz[w…z]`; SI units. Without columns of the orientation the tool keeps that of the start. Before the
    first and after the last row the motion stands still.
    """

    kind: Literal["recorded"] = setting("recorded", "1", "from a file")  # pyright: ignore[reportIncompatibleVariableOverride]
    file: str = required("1", "a .parquet, .csv or .npz file: a trace or such a table; relative to the scenario")
    follow: Literal["joints", "tool"] = setting("joints", "1", "which columns to follow")
    start: float = setting(0.0, "s", "time of the first row", ge=0)

    @property
    def moves(self) -> Follows:
        """As set by `follow`."""
        return self.follow

    @property
    def end(self) -> float:
        """When the last row is due, s."""
        time = _table(self.file)["time"]
        return self.start + float(time[-1] - time[0])

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """Joint columns fill everything; columns of the tool leave the joint part at the start posture."""
        table = _table(self.file)
        instants = table["time"] - table["time"][0]
        local = times - self.start
        inside = np.clip(local, 0.0, instants[-1])
        moving = (local == inside)[:, None]
        if self.follow == "joints":
            check_joint_motion(robot)
            values = _channel(self.file, table, "q", robot.joint_names)
            targets.q[:], targets.v[:], targets.a[:] = _spline(instants, values, inside, moving)
            follow_joints(targets, robot)
        else:
            positions = _channel(self.file, table, "tool_position", ("x", "y", "z"))
            moved = _spline(instants, positions, inside, moving)
            targets.position[:], targets.twist[:, :3], targets.acceleration[:, :3] = moved
            if any(name.split("[")[0] == "tool_quat_wxyz" for name in table):
                quats = _channel(self.file, table, "tool_quat_wxyz", ("w", "x", "y", "z"))
                _follow_orientation(targets, instants, quats, inside, moving)


def _spline(instants: Array, values: Array, times: Array, moving: Array) -> list[Array]:
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(instants, values)
    return [spline(times), np.where(moving, spline(times, 1), 0.0), np.where(moving, spline(times, 2), 0.0)]


def _follow_orientation(targets: Targets, instants: Array, quats: Array, times: Array, moving: Array) -> None:
    from scipy.spatial.transform import Rotation, RotationSpline

    spline = RotationSpline(instants, Rotation.from_quat(quats, scalar_first=True))
    rotation = spline(times)
    targets.quat_wxyz[:] = rotation.as_quat(scalar_first=True)
    # SciPy gives rates in body axes; turning both to world axes is right, because R (ω × ω) vanishes.
    targets.twist[:, 3:] = np.where(moving, rotation.apply(spline(times, 1)), 0.0)
    targets.acceleration[:, 3:] = np.where(moving, rotation.apply(spline(times, 2)), 0.0)


def _channel(file: str, table: dict[str, Array], name: str, labels: tuple[str, ...]) -> Array:
    """One array (rows, labels) of a table, which holds it whole (.npz) or as columns `name[label]`."""
    if name in table:
        return finite_array(table[name], f"{name!r} of {file}", (None, len(labels)))
    columns = [f"{name}[{label}]" for label in labels]
    for column in columns:
        if column not in table:
            tool = name == "q" and any(known.startswith("tool_position") for known in table)
            hint = 'the file has positions of the tool: follow = "tool"' if tool else None
            raise UnknownName(f"column (needed from {Path(file).name})", column, table, hint=hint)
    return np.column_stack([table[column] for column in columns])


def _table(file: str) -> dict[str, Array]:
    """The columns of a file, read once as long as it does not change."""
    try:
        with open_regular(file, most_bytes=MOST_BYTES) as opened:
            state = os.fstat(opened.fileno())
    except OSError as error:
        raise FileError(
            f"cannot read {file}: {error.strerror}", hint="paths are relative to the scenario file"
        ) from error
    return _read(file, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(file: str, changed: int, size: int) -> dict[str, Array]:
    suffix = Path(file).suffix.lower()
    readers = {".parquet": read_numbers, ".csv": _read_csv, ".npz": _read_npz}
    if suffix not in readers:
        raise FileError(f"cannot read {file}: its suffix must be one of {', '.join(readers)}")
    try:
        table = readers[suffix](file)
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"cannot read {file}: {' '.join(str(error).split())}") from error
    table = {name: finite_array(values, f"column {name!r} of {file}") for name, values in table.items()}
    if "time" not in table:
        raise UnknownName(f"column (needed from {Path(file).name})", "time", table)
    if table["time"].ndim != 1 or len(table["time"]) < 3 or np.any(np.diff(table["time"]) <= 0):
        raise InvalidInput(f"{file}: a recorded reference needs at least 3 rows whose time rises")
    return table


def _read_csv(file: str) -> dict[str, Array]:
    with open(file, encoding="utf-8", newline="") as text:
        header = next(csv.reader(text), [])
        rows = np.loadtxt(text, delimiter=",", ndmin=2)
    names = [_without_unit(file, cell) for cell in header]
    if rows.shape[1] != len(names):
        raise InvalidInput(f"{file}: {len(names)} column names for {rows.shape[1]} columns")
    return dict(zip(names, rows.T))


def _without_unit(file: str, cell: str) -> str:
    """The name in "q[joint1] (rad)", refused with a unit that is not SI."""
    name, unit = _UNIT.sub("", cell).strip(), _UNIT.search(cell)
    allowed = _SI.get(name.split("[")[0])
    if unit is not None and allowed is not None and unit[1] not in allowed:
        raise InvalidInput(f"{file}: column {name!r} is in {unit[1]!r}, allowed: {' or '.join(sorted(allowed))}")
    return name


def _read_npz(file: str) -> dict[str, Array]:
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays if arrays[name].dtype.kind == "f"}
