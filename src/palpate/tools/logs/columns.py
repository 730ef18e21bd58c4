"""The meaning of a recording's columns: a map of columns to quantities, with the units and frames that were asked.

A format that defines its units (libfranka's CSV, sensor_msgs/JointState, palpate's traces) needs no map. For all
others `template` writes one from the file's columns, with every unit and frame left open: nothing is guessed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from palpate.checks import Array
from palpate.config import Config, required, setting
from palpate.errors import FileError, InvalidInput, UnknownName
from palpate.files import read_text
from palpate.robot import Robot
from palpate.toml import toml_data, toml_value
from palpate.tools.logs.readers import read_table
from palpate.tools.logs.readers.naming import Known, joint_order, proposed
from palpate.tools.logs.readers.table import Progress, Stream, Table

SCALES = {
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
    "rad": 1.0, "deg": np.pi / 180, "rad/s": 1.0, "deg/s": np.pi / 180,
    "N·m": 1.0, "Nm": 1.0, "mN·m": 1e-3, "A": 1.0, "N": 1.0, "m": 1.0, "mm": 1e-3,
}  # fmt: skip
UNITS = {
    "time": ("s", "ms", "us", "ns"), "q": ("rad", "deg", "m", "mm"), "v": ("rad/s", "deg/s"),
    "tau": ("N·m", "mN·m", "A"),
    "tau_command": ("N·m", "mN·m", "A"), "q_desired": ("rad", "deg"),
    "q_motor": ("rad", "deg"), "wrench": ("N",), "position_desired": ("m", "mm"),
}  # fmt: skip
_OPEN = "?"


class TimeColumn(Config):
    """The clock of the rows."""

    column: str = setting("", "1", "its name; of a bag `stamp`, the messages' own clock, or `received`, the recorder's")
    unit: str = setting("", "1", "s, ms, us or ns")
    rate: float | None = setting(None, "Hz", "rows per second, where no column is a clock", gt=0)
    clock: str | None = setting(None, "1", "a second clock of the same rows, compared with the first")


class Columns(Config):
    """Columns of one quantity, in the order of the robot's joints."""

    columns: tuple[str, ...] = required("1", "their names")
    unit: str = required("1", "of all of them")
    scale: tuple[float, ...] | float = setting(1.0, "1", "factor, such as N·m per A of each joint; −1 turns a sign")
    rows: Literal["same", "next"] = setting(
        "same", "1", "next: a row holds the state that followed its command, so that the command is one row early"
    )
    without_gravity: bool = setting(False, "1", "torques without the gravity that the robot adds: it is added here")


class WrenchColumns(Columns):
    """Force and torque at the wrist: three forces, three torques."""

    frame: str = required("1", "axes and origin: a frame of the robot, or world (axes) at the tool frame")
    acts_on: Literal["robot", "environment"] = required("1", "what the wrench acts on")


class ColumnMap(Config):
    """Which columns hold what; every unit is said."""

    time: TimeColumn = required("1", "the clock")
    q: Columns = required("1", "joint positions")
    v: Columns | None = setting(None, "1", "joint velocities")
    tau: Columns | None = setting(None, "1", "joint torques, measured")
    tau_command: Columns | None = setting(None, "1", "joint torques, commanded")
    q_desired: Columns | None = setting(None, "1", "joint positions that were asked for")
    q_motor: Columns | None = setting(None, "1", "motor positions after the gear, where q is measured at the links")
    wrench: WrenchColumns | None = setting(None, "1", "wrist wrench, measured")
    position_desired: Columns | None = setting(None, "1", "tool position that was asked for, world axes")


@dataclass(frozen=True)
class Log:
    """A recording in SI units, rows as they were written; NaN where a number is missing.

    Attributes:
        source: the file.
        kind: its format.
        sha256: of its bytes.
        time: s, the rows' clock.
        clock: s, a second clock of the same rows.
        q, v, tau, tau_command, q_desired, q_motor: rad, rad/s, N·m, (rows, joints).
        wrench: N and N·m, what the environment does to the robot, axes of `wrench_frame`.
        position_desired: m, world axes.
        notes: what was read, left out or assumed.
        starts: rows that do not follow the one before: of another file, or of another stretch of a long one.
    """

    source: str
    kind: str
    sha256: str
    time: Array
    q: Array
    v: Array | None = None
    tau: Array | None = None
    tau_command: Array | None = None
    q_desired: Array | None = None
    q_motor: Array | None = None
    wrench: Array | None = None
    wrench_frame: str = ""
    position_desired: Array | None = None
    clock: Array | None = None
    notes: tuple[str, ...] = ()
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    starts: tuple[int, ...] = ()

    @property
    def torque(self) -> Array:
        """Measured torques, or the commanded ones where none were measured.

        Raises:
            InvalidInput: there are neither.
        """
        torque = self.tau if self.tau is not None else self.tau_command
        if torque is None:
            raise InvalidInput(f"{self.source} has no joint torques", hint="name their columns in the map: [tau]")
        return torque


def load_log(
    path: str | os.PathLike[str],
    robot: Robot,
    columns: ColumnMap | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Log:
    """Read a recording of an arm.

    Args:
        path: the recording.
        robot: whose joints they are.
        columns: the map, or the .toml file of one; what the format itself defines if not given.
        progress: called with how much is done, and of how much.

    Raises:
        FileError, UnknownName, InvalidInput: the file or a column is missing, a unit is not said or contradicted by
            the numbers, a column is constant that must not be.
    """
    given = columns if isinstance(columns, ColumnMap | None) else load_map(columns)
    if given is not None:
        _check_clock(given.time, "the map" if isinstance(columns, ColumnMap) else columns)
    wanted: Any = Known() if given is None else _named(given)
    table = read_table(path, wanted, progress)
    chosen, notes = (given, ()) if given is not None else known_map(table, robot)
    if chosen is None:
        raise InvalidInput(
            f"{table.path} ({table.kind}) does not say what its columns mean, nor their units",
            hint=f"palpate log {table.path} --template columns.toml writes a map to fill in",
        )
    log = _mapped(table, chosen, robot, (*table.notes, *notes))
    check_columns(log, robot)
    return log


def joined(logs: Sequence[Log]) -> Log:
    """Several recordings of one arm as one; each begins a run of its own, and what only some hold is left out.

    Raises:
        InvalidInput: their wrenches are given in different frames.
    """
    first = logs[0]
    if len(logs) == 1:
        return first
    if len({log.wrench_frame for log in logs}) > 1:
        raise InvalidInput("the recordings give their wrenches in different frames", hint="read them one by one")
    roles = ("time", "q", "v", "tau", "tau_command", "q_desired", "q_motor", "wrench", "position_desired", "clock")
    values = {}
    for role in roles:
        parts = [getattr(log, role) for log in logs]
        values[role] = np.concatenate(parts) if all(part is not None for part in parts) else None
    digest = hashlib.sha256("".join(log.sha256 for log in logs).encode()).hexdigest()
    first_rows = np.cumsum([0, *(len(log.time) for log in logs)])[:-1]
    starts = tuple(int(row) + k for row, log in zip(first_rows, logs) for k in (0, *log.starts))[1:]
    notes = tuple(dict.fromkeys(note for log in logs for note in log.notes))
    return replace(first, source=", ".join(os.path.basename(log.source) for log in logs), sha256=digest,
                   notes=(f"{len(logs)} recordings, each a run", *notes), starts=starts, **values)  # fmt: skip


def load_map(path: str | os.PathLike[str]) -> ColumnMap:
    """A map from its file.

    Raises:
        InvalidInput: it is no TOML, has unknown keys, or a unit or frame that was left open.
    """
    try:
        data = toml_data(read_text(path, most_bytes=1 << 20))
    except InvalidInput as error:
        raise InvalidInput(f"{path} {error.args[0]}") from error
    for role, entry in data.items():
        for key, value in entry.items() if isinstance(entry, dict) else ():
            if value == _OPEN or (isinstance(value, list) and _OPEN in value):
                raise InvalidInput(f"{path}: {role}.{key} was left open", hint=f"say it: one of {_choices(role, key)}")
    return ColumnMap.model_validate(data)


def _choices(role: str, key: str) -> str:
    choices = {"unit": UNITS.get(role, ()), "acts_on": ("robot", "environment"), "frame": ("world", "a robot's frame")}
    return ", ".join(choices.get(key, ("the file's columns",)))


def template(table: Table, robot: Robot) -> str:
    """A map to be filled in: columns that look like a quantity are proposed, every unit and frame is left open."""
    names = list(table.columns)
    lines = [
        f'# Which columns of {os.path.basename(table.path)} hold what. Fill in every "?"; check what is proposed.',
        "# Delete a part that is not there.",
        f"# Joints, in this order: {', '.join(robot.joint_names)}",
        "# Columns of the file:",
        *(f"#   {name}" for name in names),
    ]
    guess = proposed(names, robot.nv)
    stamped = any(stream.stamp is not None for stream in table.streams)
    clock = "stamp" if stamped else guess.get("time", [_OPEN])[0]
    lines += ["", "[time]", f"column = {toml_value(clock)}", f'unit = "{"s" if stamped else _OPEN}"  # s, ms, us, ns']
    lines += [] if stamped else ["# rate = 100  # rows per s, instead of column and unit, where no column is a clock"]
    for role in ("q", "v", "tau"):
        columns = guess.get(role, [_OPEN] * robot.nv)
        lines += ["", f"[{role}]", f"columns = {toml_value(columns)}", f'unit = "?"  # {", ".join(UNITS[role])}']
        lines += ["# scale = [1, …]  # of currents: N·m per A of each joint"] if role == "tau" else []
    lines += [
        "",
        "# Besides, in the same form: [tau_command], [q_desired], [q_motor], [position_desired] (x, y, z).",
        '# Of commands: rows = "next" where a row holds the state that followed,',
        "# without_gravity = true where the robot adds gravity itself.",
    ]
    lines += ["", "# [wrench]", '# columns = ["?", "?", "?", "?", "?", "?"]', '# unit = "?"', '# frame = "?"',
              '# acts_on = "?"  # robot, environment']  # fmt: skip
    return "\n".join(lines) + "\n"


def known_map(table: Table, robot: Robot) -> tuple[ColumnMap | None, tuple[str, ...]]:
    """The map of a format that defines its units, with notes on what was taken; None for any other."""
    names, n = table.columns, robot.nv
    if table.kind == "libfranka csv":

        def numbered(stem):
            return Columns(columns=tuple(f"{stem}[{k}]" for k in range(n)), unit="N·m")

        parts: dict[str, Any] = {"q": _unit(numbered("state.q"), "rad"), "v": _unit(numbered("state.dq"), "rad/s")}
        parts |= {"tau": numbered("state.tau_J"), "q_desired": _unit(numbered("state.q_d"), "rad")}
        motor = _unit(numbered("state.theta"), "rad")
        parts |= {"q_motor": motor} if motor.columns[0] in names else {}
        command = numbered("cmd.tau_J_d").model_copy(update={"rows": "next", "without_gravity": True})
        parts |= {"tau_command": command} if command.columns[0] in names else {}
        note = "libfranka writes a command beside the state that followed it: commands were moved one row up"
        return ColumnMap(time=TimeColumn(column="time", unit="ms"), **parts), (note,)
    if table.kind == "ur-rtde csv" and "target_moment_0" in names:
        q, v, tau = (
            Columns(columns=tuple(f"{stem}_{k}" for k in range(n)), unit=unit)
            for stem, unit in (("actual_q", "rad"), ("actual_qd", "rad/s"), ("target_moment", "N·m"))
        )
        note = "torques are the controller's target moments, its own model; currents need a map with N·m per A"
        return ColumnMap(time=TimeColumn(column="timestamp", unit="s"), q=q, v=v, tau=tau), (note,)
    if table.kind == "palpate trace":
        return _trace_map(names, robot), ()
    return _joint_states(table, robot)


def _unit(columns: Columns, unit: str) -> Columns:
    return columns.model_copy(update={"unit": unit})


def _trace_map(names: dict[str, tuple[Stream, Array]], robot: Robot) -> ColumnMap:
    def per_joint(channels: Sequence[str], unit: str) -> Columns | None:
        for channel in channels:
            columns = tuple(name for name in names if name.startswith(f"{channel}["))
            if len(columns) == robot.nv:
                return Columns(columns=columns, unit=unit)
        return None

    q = per_joint(("q_measured", "q"), "rad")
    if q is None:
        raise UnknownName("channel of the trace", "q", {name.split("[")[0] for name in names})
    wrench = tuple(name for name in names if name.startswith("measured_wrench["))
    target = tuple(name for name in names if name.startswith("target_position["))
    return ColumnMap(
        time=TimeColumn(column="time", unit="s"),
        q=q,
        v=per_joint(("v_measured", "v"), "rad/s"),
        tau=per_joint(("tau",), "N·m"),
        tau_command=per_joint(("command",), "N·m"),
        q_desired=per_joint(("target_q",), "rad"),
        wrench=WrenchColumns(columns=wrench, unit="N", frame="world", acts_on="robot") if len(wrench) == 6 else None,
        position_desired=Columns(columns=target, unit="m") if len(target) == 3 else None,
    )


def _joint_states(table: Table, robot: Robot) -> tuple[ColumnMap | None, tuple[str, ...]]:
    """The JointState or FrankaState of the robot's joints with the most of position, velocity and effort, if any."""
    best: tuple[tuple[bool, int, int], ColumnMap, tuple[str, ...]] | None = None
    refused: InvalidInput | None = None
    for stream, base, joints in _states_of(table):
        try:
            order, note = joint_order(joints, robot.joint_names, robot.name)
        except InvalidInput as error:
            refused = refused or error
            continue
        chosen, kind = _state_map(stream, base, order)
        wanted = not re.search(r"desired|command|target|reference|goal", base)
        parts = sum(getattr(chosen, role) is not None for role in ("v", "tau"))
        rank = (wanted, parts, len(stream))
        if best is None or rank > best[0]:
            best = rank, chosen, tuple(filter(None, (f"joints of {base}", note, kind)))
    if best is None and refused is not None:
        raise InvalidInput(str(refused.args[0]), hint=refused.hint)
    return (best[1], best[2]) if best is not None else (None, ())


def _states_of(table: Table) -> Iterator[tuple[Stream, str, list[str]]]:
    """Every field of a stream that holds joints: the stream, the field's path and the joints' names."""
    for stream in table.streams:
        if stream.stamp is None:
            continue
        bases: dict[str, list[str]] = {}
        for name in stream.columns:
            match = re.fullmatch(r"(.+)\.position\[(.+)\]", name) or re.fullmatch(r"(.+)\.q\[(\d+)\]", name)
            if match:
                bases.setdefault(match[1], []).append(match[2])
        yield from ((stream, base, joints) for base, joints in bases.items())


def _state_map(stream: Stream, base: str, order: list[str]) -> tuple[ColumnMap, str]:
    """The map of a JointState (rad, rad/s, N·m by its definition) or a FrankaState (by libfranka's)."""
    franka = f"{base}.q[{order[0]}]" in stream.columns

    def part(field: str, unit: str) -> Columns | None:
        columns = tuple(f"{base}.{field}[{joint}]" for joint in order)
        return Columns(columns=columns, unit=unit) if all(name in stream.columns for name in columns) else None

    fields = ("q", "dq", "tau_J") if franka else ("position", "velocity", "effort")
    note = "units as sensor_msgs/JointState defines them: rad, rad/s, N·m; some drivers put currents (A) there"
    chosen = ColumnMap(
        time=TimeColumn(column="stamp", unit="s"),
        q=cast(Columns, part(fields[0], "rad")),
        v=part(fields[1], "rad/s"),
        tau=part(fields[2], "N·m"),
        q_desired=part("q_d", "rad") if franka else _beside(stream, base, "desired_joint_state", order),
        q_motor=part("theta", "rad") if franka else _beside(stream, base, "measured_joint_motor_state", order),
    )
    return chosen, "units as libfranka defines them: rad, rad/s, N·m" if franka else note


def _beside(stream: Stream, base: str, other: str, order: list[str]) -> Columns | None:
    """Positions of another part of a franka_msgs/FrankaRobotState; its joints may have no names, but the same order."""
    own = ".measured_joint_state"
    if not base.endswith(own):
        return None
    theirs = [n.rsplit("[", 1)[1][:-1] for n in stream.columns if n.startswith(f"{base}.position[")]
    stem = f"{base.removesuffix(own)}.{other}.position"
    for names in (order, [str(theirs.index(joint)) for joint in order]):
        columns = tuple(f"{stem}[{name}]" for name in names)
        if all(name in stream.columns for name in columns):
            return Columns(columns=columns, unit="rad")
    return None


def _named(chosen: ColumnMap) -> set[str]:
    parts = [getattr(chosen, role) for role in ColumnMap.model_fields if role != "time"]
    named = {name for part in parts if part is not None for name in part.columns}
    return named | {name for name in (chosen.time.column, chosen.time.clock) if name}


def _check_clock(asked: TimeColumn, path: object) -> None:
    """Refuse a map whose clock is neither a column with a unit nor a rate, or both."""
    if asked.rate is None and not (asked.column and asked.unit):
        missing = "unit" if asked.column else "column"
        raise InvalidInput(
            f"{path}: time.{missing} is missing",
            hint="time needs column and unit, or rate (rows per s) where no column is a clock",
        )
    if asked.rate is not None and (asked.column or asked.unit):
        raise InvalidInput(f"{path}: time has both a column and a rate", hint="the rate is for files without a clock")


def _mapped(table: Table, chosen: ColumnMap, robot: Robot, notes: tuple[str, ...]) -> Log:
    main, _ = table.column(chosen.q.columns[0])
    time, clock = _clocks(table, chosen.time, main)
    starts = tuple(row for row, _ in main.begins[1:])
    values: dict[str, Any] = {}
    for role in ("q", "v", "tau", "tau_command", "q_desired", "q_motor", "wrench", "position_desired"):
        part = getattr(chosen, role)
        if part is not None:
            values[role] = _values(table, role, part, robot, main)
    for role in ("tau", "tau_command"):
        part = getattr(chosen, role)
        if part is not None and part.without_gravity:
            values[role] = values[role] + robot.inverse_dynamics_batch(
                values["q"], 0 * values["q"], 0 * values["q"], losses=False
            )
    if chosen.wrench is not None:
        values["wrench"] = values["wrench"] if chosen.wrench.acts_on == "robot" else -values["wrench"]
    frame = chosen.wrench.frame if chosen.wrench is not None else ""
    if frame and frame != "world":
        robot.frame(frame)
    names = {role: part.columns for role in values if (part := getattr(chosen, role)) is not None}
    return Log(
        table.path, table.kind, table.sha256, time, clock=clock, wrench_frame=frame, notes=notes, names=names,
        starts=starts, **values,
    )  # fmt: skip


def _clocks(table: Table, asked: TimeColumn, main: Stream) -> tuple[Array, Array | None]:
    if asked.rate is not None:
        return main.numbers / asked.rate, None
    scale = _scale("time", asked.unit)

    def named(name: str) -> Array:
        if name in ("stamp", "received") and name not in main.columns:
            clock = main.stamp if name == "stamp" else main.received
            if clock is None:
                raise InvalidInput(f"{table.path} has no clock {name!r}", hint="name a column of the file")
            return clock
        stream, values = table.column(name)
        return (values if stream is main else _onto(table, (main, stream), values, "time")) * scale

    time = named(asked.column)
    second = named(asked.clock) if asked.clock else main.received if asked.column == "stamp" else None
    return time, second


def _values(table: Table, role: str, part: Columns, robot: Robot, main: Stream) -> Array:
    count = {"wrench": 6, "position_desired": 3}.get(role, robot.nv)
    if len(part.columns) != count:
        raise InvalidInput(f"{role} needs {count} columns, got {len(part.columns)}: {', '.join(part.columns)}")
    found = [table.column(name) for name in part.columns]
    columns = [values if stream is main else _onto(table, (main, stream), values, role) for stream, values in found]
    factor = np.broadcast_to(np.asarray(part.scale, dtype=float), (count,))
    if part.unit == "A" and np.all(factor == 1.0):
        raise InvalidInput(f"{role} is in A; the factor to N·m is needed", hint="scale = [N·m per A of each joint]")
    values = np.stack(columns, axis=1)
    values *= _scale(role, part.unit) * factor
    if part.rows == "next":
        values[:-1] = values[1:]
        values[[*(row - 1 for row, _ in main.begins[1:]), -1]] = np.nan
    return values


def _onto(table: Table, streams: tuple[Stream, Stream], values: Array, role: str) -> Array:
    """A column of another topic at the main topic's instants; NaN outside its own."""
    main, stream = streams
    if main.stamp is None or stream.stamp is None:
        raise InvalidInput(
            f"{table.path}: {role} has {len(stream)} rows, q has {len(main)}, and no clock joins them",
            hint="name columns of one length",
        )
    there = np.interp(main.stamp, stream.stamp, values, left=np.nan, right=np.nan)
    for row, _ in stream.begins[1:]:  # between stretches nothing was kept
        there[(main.stamp > stream.stamp[row - 1]) & (main.stamp < stream.stamp[row])] = np.nan
    return there


def _scale(role: str, unit: str) -> float:
    if unit not in SCALES or (unit not in UNITS[role] and unit not in ("Nm", "µs")):
        raise UnknownName(f"unit of {role}", unit, UNITS[role])
    return SCALES[unit]


def check_columns(log: Log, robot: Robot) -> None:
    """Refuse what contradicts its unit: constant clocks and torques, degrees that were called radians.

    Raises:
        InvalidInput: with the name of the column.
    """
    if np.nanmax(log.time) <= np.nanmin(log.time):
        raise InvalidInput(f"{log.source}: the time column is constant")
    if np.all(np.nanmax(log.q, axis=0) == np.nanmin(log.q, axis=0)):
        raise InvalidInput(f"{log.source}: every position column is constant ({', '.join(log.names['q'])})")
    moving = np.nanmax(log.q, axis=0) - np.nanmin(log.q, axis=0) > 0.01
    for role in ("v", "tau", "tau_command"):
        values: Array | None = getattr(log, role)
        if values is None:
            continue
        for k in range(robot.nv):
            column = values[:, k][np.isfinite(values[:, k])]
            if not len(column):
                raise InvalidInput(f"{log.source}: the column {log.names[role][k]!r} holds no numbers")
            if moving[k] and np.ptp(column) == 0:
                raise InvalidInput(f"{log.source}: the column {log.names[role][k]!r} is constant while the joint moves")
    _refuse_degrees(log, robot)


def _refuse_degrees(log: Log, robot: Robot) -> None:
    largest, limit = (
        np.nanmax(np.abs(log.q), axis=0),
        np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper)),
    )
    limit = np.where(np.isfinite(limit), limit, 4 * np.pi)
    for k in np.flatnonzero((largest > 3 * limit) & (np.array(robot.dof_units) == "rad")):
        raise InvalidInput(
            f"{log.source}: the column {log.names['q'][k]!r} reaches {largest[k]:.4g},"
            f" {largest[k] / limit[k]:.0f} times the joint's limit in rad",
            hint='is it in degrees? unit = "deg" in the map',
        )
    if log.v is None:
        return
    for k in range(robot.nv):
        ratio = _rate_ratio(log.time, log.q[:, k], log.v[:, k])
        if ratio is not None and not 0.5 < ratio < 2.0:
            raise InvalidInput(
                f"{log.source}: the column {log.names['v'][k]!r} is {ratio:.4g} times the rate of"
                f" {log.names['q'][k]!r}; one unit of the two is wrong",
                hint="57.3 is rad and degrees; 1000 is s and ms; -1 is a sign",
            )


def _rate_ratio(time: Array, q: Array, v: Array) -> float | None:
    """Velocity over the rate of the position, the median over blocks of ∫v dt / Δq; None where little moves."""
    good = np.isfinite(time) & np.isfinite(q) & np.isfinite(v)
    t, q, v = time[good], q[good], v[good]
    step = np.diff(t)
    use = (step > 0) & (step < 10 * np.median(step))
    moved, told = np.diff(q)[use], (0.5 * (v[1:] + v[:-1]) * step)[use]
    blocks = max(len(moved) // 20, 1)
    moved, told = (np.array([part.sum() for part in np.array_split(x, blocks)]) for x in (moved, told))
    if np.ptp(q) < 0.05 or moved @ moved == 0:
        return None
    moving = moved != 0
    ratio, weight = told[moving] / moved[moving], np.abs(moved[moving])
    order = np.argsort(ratio)
    return float(ratio[order][np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())])


def write_template(path: str | os.PathLike[str], robot: Robot) -> str:
    """The template of a recording's map, from its columns."""
    table = read_table(path)
    if not table.columns:
        raise FileError(f"{path} holds no columns of numbers")
    return template(table, robot)
