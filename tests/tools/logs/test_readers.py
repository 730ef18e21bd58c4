"""Every format is read to the last digit, and what cannot be trusted is refused by name."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import FileError, InvalidInput, TooLarge, UnknownName
from palpate.tools.logs.cleaning import cleaned
from palpate.tools.logs.columns import _onto, load_log, load_map, write_template
from palpate.tools.logs.readers import csv_file, read_table, table as tables
from palpate.tools.logs.readers.messages import Topic
from palpate.trace import Channel, Outcome, Trace

ROWS = 60
RNG = np.random.default_rng(3)
TIME = np.arange(ROWS) * 0.004
Q = 0.4 * np.sin(2 * np.pi * TIME[:, None] + np.arange(2)) + 1e-7 * RNG.normal(size=(ROWS, 2))
V = 0.8 * np.pi * np.cos(2 * np.pi * TIME[:, None] + np.arange(2)) + 1e-7 * RNG.normal(size=(ROWS, 2))
TAU = RNG.normal(size=(ROWS, 2))
MAP = """
[time]
column = "t"
unit = "s"
[q]
columns = ["q0", "q1"]
unit = "rad"
[v]
columns = ["v0", "v1"]
unit = "rad/s"
[tau]
columns = ["u0", "u1"]
unit = "N·m"
"""


@pytest.fixture(scope="module")
def robot() -> pp.Robot:
    return pp.load_robot("planar2")


def columns() -> dict[str, np.ndarray]:
    return {"t": TIME, **{f"{n}{k}": x[:, k] for n, x in (("q", Q), ("v", V), ("u", TAU)) for k in range(2)}}


def write_csv(path: Path, table: dict[str, np.ndarray], separator: str = ",") -> Path:
    lines = [separator.join(table), *(separator.join(repr(float(x)) for x in row) for row in zip(*table.values()))]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_parquet(path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({**columns(), "remark": ["x"] * ROWS}), path)
    return path


def write_mat(path: Path) -> Path:
    from scipy.io import savemat

    savemat(path, columns())
    return path


def joint_state(k: int) -> dict[str, object]:
    return {"t": TIME[k], **{f"{n}{j}": float(x[k, j]) for n, x in (("q", Q), ("v", V), ("u", TAU)) for j in range(2)}}


def write_json_mcap(path: Path) -> Path:
    from mcap.writer import Writer

    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("row", "jsonschema", b"{}")
        channel = writer.register_channel("", "json", schema)
        for k in range(ROWS):
            data = json.dumps({name.lstrip("."): value for name, value in joint_state(k).items()}).encode()
            writer.add_message(channel, round(1e9 * TIME[k]), data, round(1e9 * TIME[k]))
        writer.finish()
    return path


def ros_message(k: int):
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    kind = store.types
    stamp = kind["builtin_interfaces/msg/Time"](sec=5, nanosec=round(1e9 * TIME[k]))
    header = kind["std_msgs/msg/Header"](stamp=stamp, frame_id="")
    message = kind["sensor_msgs/msg/JointState"](
        header, ["arm_joint2", "arm_joint1"], *(x[k, ::-1].copy() for x in (Q, V, TAU))
    )
    return store, message


def write_bag(path: Path) -> Path:
    bag = sqlite3.connect(path)
    bag.execute(
        "CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT)"
    )
    bag.execute("CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    bag.execute("INSERT INTO topics VALUES (1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr', '')")
    bag.execute("INSERT INTO topics VALUES (2, '/odd', 'mine/msg/Odd', 'cdr', '')")
    for k in range(ROWS):
        store, message = ros_message(k)
        data = bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState"))
        bag.execute("INSERT INTO messages VALUES (?, 1, ?, ?)", (k, 7_000_000_000 + round(1e9 * TIME[k]), data))
    bag.commit()
    bag.close()
    return path


def write_ros_mcap(path: Path) -> Path:
    from mcap.writer import Writer

    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
        channel = writer.register_channel("/joint_states", "cdr", schema)
        for k in range(ROWS):
            store, message = ros_message(k)
            data = bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState"))
            writer.add_message(channel, 7_000_000_000 + round(1e9 * TIME[k]), data, 0)
        writer.finish()
    return path


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    (tmp_path / "map.toml").write_text(MAP)
    return tmp_path / "map.toml"


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_a_table_of_texts_is_read_to_the_last_digit(
    separator: str, tmp_path: Path, mapped: Path, robot: pp.Robot
) -> None:
    log = load_log(write_csv(tmp_path / "a.csv", columns(), separator), robot, mapped)
    for got, true in ((log.time, TIME), (log.q, Q), (log.v, V), (log.tau, TAU)):
        np.testing.assert_array_equal(got, true)


@pytest.mark.parametrize("write", [write_parquet, write_mat], ids=["parquet", "mat"])
def test_a_binary_table_is_read_to_the_last_digit(write, tmp_path: Path, mapped: Path, robot: pp.Robot) -> None:
    name = {"write_parquet": "a.parquet", "write_mat": "a.mat"}[write.__name__]
    log = load_log(write(tmp_path / name), robot, mapped)
    for got, true in ((log.time, TIME), (log.q, Q), (log.v, V), (log.tau, TAU)):
        np.testing.assert_array_equal(got, true)


def test_json_messages_of_an_mcap_are_read_to_the_last_digit(tmp_path: Path, mapped: Path, robot: pp.Robot) -> None:
    mapped.write_text(_dotted(MAP))
    log = load_log(write_json_mcap(tmp_path / "a.mcap"), robot, mapped)
    for got, true in ((log.time, TIME), (log.q, Q), (log.tau, TAU)):
        np.testing.assert_array_equal(got, true)


def _dotted(text: str) -> str:
    for name in columns():
        text = text.replace(f'"{name}"', f'".{name}"')
    return text


@pytest.mark.parametrize(("write", "name"), [(write_bag, "a.db3"), (write_ros_mcap, "a.mcap")])
def test_joint_states_are_read_by_name_without_a_map(write, name: str, tmp_path: Path, robot: pp.Robot) -> None:
    log = load_log(write(tmp_path / name), robot)
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    np.testing.assert_allclose(log.time, 5 + TIME, rtol=0, atol=1e-12)
    assert log.clock is not None
    np.testing.assert_allclose(log.clock - log.time, 2.0, atol=1e-6)


def test_a_trace_of_palpate_is_read_to_the_last_digit(tmp_path: Path, robot: pp.Robot) -> None:
    time, joints = np.arange(50) * 0.01, robot.dof_names
    channels = {
        Channel("q", "rad", (2,), labels=joints): np.sin(time[:, None] + np.arange(2)),
        Channel("v", "rad/s", (2,), labels=joints): np.cos(time[:, None] + np.arange(2)),
        Channel("tau", "N·m", (2,), labels=joints): np.cos(3 * time[:, None] + np.arange(2)),
    }
    trace = Trace(time, channels, Outcome("completed", "reached its end", 0.49, 49))
    trace.save(tmp_path / "t.parquet")
    log = load_log(tmp_path / "t.parquet", robot)
    np.testing.assert_array_equal(log.time, trace.time)
    np.testing.assert_array_equal(log.tau, trace["tau"])


def test_libfranka_pairs_a_command_with_the_state_that_followed_and_this_is_undone(tmp_path: Path) -> None:
    panda = pp.load_robot("panda")
    rng, table = np.random.default_rng(0), {"time": np.arange(ROWS) * 1.0, "success_rate": np.ones(ROWS)}
    motion = panda.home + 0.1 * np.sin(0.05 * np.arange(ROWS))[:, None]
    for name, values in {
        "state.q": motion, "state.q_d": motion, "state.dq": np.gradient(motion, 1e-3, axis=0),
        "state.tau_J": rng.normal(size=(ROWS, 7)), "cmd.tau_J_d": rng.normal(size=(ROWS, 7)),
    }.items():  # fmt: skip
        table |= {f"{name}[{k}]": values[:, k] for k in range(7)}
    path = write_csv(tmp_path / "f.csv", table, ", ")
    log = load_log(path, panda)
    np.testing.assert_allclose(log.time, 1e-3 * np.arange(ROWS))
    assert log.tau_command is not None
    command = np.stack([table[f"cmd.tau_J_d[{k}]"] for k in range(7)], axis=1)
    still = np.zeros_like(motion)
    gravity = np.array([panda.inverse_dynamics(*one, losses=False) for one in zip(motion, still, still)])
    np.testing.assert_allclose(
        log.tau_command[:-1] - gravity[:-1], command[1:], atol=1e-12
    )  # libfranka's are without it
    assert np.isnan(log.tau_command[-1]).all()


def test_ur_rtde_is_known_by_its_columns(tmp_path: Path) -> None:
    arm = pp.load_robot("ur5e")
    motion = 0.3 * np.sin(6 * TIME[:, None] + np.arange(6))
    rates = 1.8 * np.cos(6 * TIME[:, None] + np.arange(6))
    table = {"timestamp": TIME}
    for name, values in {"actual_q": motion, "actual_qd": rates, "target_moment": 3 * rates}.items():
        table |= {f"{name}_{k}": values[:, k] for k in range(6)}
    log = load_log(write_csv(tmp_path / "u.csv", table, " "), arm)
    np.testing.assert_array_equal(log.q, motion)
    np.testing.assert_array_equal(log.torque, 3 * rates)


def test_a_format_without_units_asks_for_a_map_and_writes_one(tmp_path: Path, robot: pp.Robot) -> None:
    path = write_csv(tmp_path / "a.csv", columns())
    with pytest.raises(InvalidInput, match="--template"):
        load_log(path, robot)
    text = write_template(path, robot)
    assert all(f"#   {name}" in text for name in columns())
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(InvalidInput, match="left open"):
        load_map(tmp_path / "m.toml")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda t: t.pop("u1"), "u1"),
        (lambda t: t.update(u1=np.zeros(ROWS)), "u1"),
        (lambda t: t.update(t=np.zeros(ROWS)), "time"),
        (lambda t: t.update(q1=np.degrees(t["q1"]) * 20), "q1"),
        (lambda t: t.update(v0=np.degrees(t["v0"])), "v0"),
        (lambda t: t.update(v0=-t["v0"]), "v0"),
    ],
    ids=["missing", "constant", "no clock", "degrees", "degrees per s", "sign"],
)
def test_a_bad_column_is_named_and_nothing_is_written(
    change, named: str, tmp_path: Path, mapped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = columns()
    change(table)
    path = write_csv(tmp_path / "a.csv", table)
    out = tmp_path / "out.html"
    assert main(["log", str(path), "--robot", "planar2", "--map", str(mapped), "--out", str(out)]) == 2
    assert named in capsys.readouterr().err
    assert not out.exists()


def test_version_7_3_of_matlab_is_named(tmp_path: Path, robot: pp.Robot) -> None:
    (tmp_path / "a.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128) + b"\x89HDF\r\n")
    with pytest.raises(InvalidInput, match="7\\.3"):
        read_table(tmp_path / "a.mat")


@pytest.mark.parametrize("name", ["a.mcap", "a.db3", "a.parquet", "a.mat", "a.npz"])
def test_damaged_files_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(bytes(range(256)) * 8)
    with pytest.raises(FileError):
        read_table(tmp_path / name)


def test_unknown_and_missing_files_are_refused(tmp_path: Path) -> None:
    for name in ("missing.csv", "a.xyz"):
        with pytest.raises(FileError):
            read_table(tmp_path / name)


def test_columns_that_do_not_fit_the_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", 1000)
    with pytest.raises(TooLarge, match="fewer columns"):
        read_table(write_mat(tmp_path / "a.mat"))


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of 50 rows, and room for 20 of seven columns."""
    monkeypatch.setattr(tables, "STRETCH", 50)
    monkeypatch.setattr(tables, "KEPT_BYTES", 20 * 50 * 7 * 8)


def numbered(rows: int) -> dict[str, np.ndarray]:
    """A recording whose every number tells its row."""
    row = np.arange(rows)
    wave = {"q": np.sin(0.01 * row), "v": 2.5 * np.cos(0.01 * row), "u": 1e-6 * row}
    return {"t": 0.004 * row, **{f"{n}{k}": (k + 1) * values for n, values in wave.items() for k in range(2)}}


def test_of_a_long_recording_stretches_are_kept_to_the_last_digit(
    tmp_path: Path, little_memory: None, mapped: Path, robot: pp.Robot
) -> None:
    whole, path = numbered(6040), tmp_path / "a.csv"
    table = read_table(write_csv(path, whole))
    stream = table.streams[0]
    assert 10 * 50 <= len(stream) <= 20 * 50
    assert stream.numbers[-1] >= 6040 - 8 * 50
    for name, values in stream.columns.items():
        np.testing.assert_array_equal(values, whole[name][stream.numbers])
    assert any("of 6040 rows one stretch of 50 in 8 is kept" in note for note in table.notes)
    log = load_log(path, robot, mapped)
    motion = cleaned(log)
    assert len(motion.runs) == len(log.starts) + 1 == len(stream.begins)
    assert motion.counts["gaps"] == 0
    mapped.write_text(MAP.replace('column = "t"\nunit = "s"', "rate = 250").replace('N·m"', 'N·m"\nrows = "next"'))
    moved = load_log(path, robot, mapped)
    np.testing.assert_allclose(moved.time, log.time, atol=1e-12)
    last = np.array([*moved.starts, len(moved.time)]) - 1
    inner = np.delete(np.arange(len(moved.time)), last)
    assert moved.tau is not None
    assert np.isnan(moved.tau[last]).all()
    np.testing.assert_array_equal(moved.tau[inner, 0], whole["u0"][stream.numbers[inner] + 1])


def test_of_a_recording_that_fits_every_row_is_kept(tmp_path: Path, little_memory: None) -> None:
    whole = numbered(990)
    table = read_table(write_csv(tmp_path / "a.csv", whole))
    assert table.streams[0].begins == ((0, 0),)
    assert not table.notes
    for name, (_, values) in table.columns.items():
        np.testing.assert_array_equal(values, whole[name])


def test_the_memory_is_shared_and_what_lies_between_stretches_is_no_number(
    tmp_path: Path, little_memory: None, robot: pp.Robot
) -> None:
    """Two topics of other rates: torques are there only where both were kept."""
    room = tables.Room()
    topics = [Topic(name, room, None) for name in ("state", "torque")]
    for k in range(6000):
        stamp = {"header": {"stamp": {"sec": k // 250, "nanosec": k % 250 * 4_000_000}}}
        topics[0].add(stamp | {f"{n}{j}": np.sin(0.01 * k + j) for n in "qv" for j in range(2)}, 0.0)
        if k % 3 == 0:
            topics[1].add(stamp | {f"u{j}": 0.004 * k for j in range(2)}, 0.0)
    assert sum(one.bytes for one in room.growing) <= tables.KEPT_BYTES
    streams = [stream for topic in topics for stream in topic.streams()]
    table = tables.Table("a", "mcap", tuple(streams))
    main = streams[0]
    there = _onto(table, (main, streams[1]), streams[1].columns["torque.u0"], "tau")
    known = np.isfinite(there)
    assert 0.1 < known.mean() < 0.9
    assert main.stamp is not None
    np.testing.assert_allclose(there[known], main.stamp[known], atol=1e-9)


def test_only_the_columns_of_the_map_are_kept(tmp_path: Path) -> None:
    table = read_table(write_csv(tmp_path / "a.csv", columns() | {"more": TIME}), {"t", "q0"})
    assert set(table.columns) == {"t", "q0"}


def test_a_table_is_read_in_blocks_and_only_what_is_asked_for_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 6 000 rows no block holds more than a few hundred; in the end memory holds the one column of the map."""
    path, blocks, done = write_csv(tmp_path / "a.csv", _long(6000)), [], []
    monkeypatch.setattr(csv_file, "_BLOCK", 20_000)
    add = tables.Growing.add

    def counting(self, columns):
        columns = list(columns)
        blocks.append([len(one) for one in columns])
        add(self, columns)

    monkeypatch.setattr(tables.Growing, "add", counting)
    table = read_table(path, {"q0"}, lambda now, total: done.append(now / total))
    assert [len(table.columns), len(table.column("q0")[1])] == [1, 6000]
    assert all(len(one) == 1 and one[0] <= 6000 // 10 for one in blocks)
    assert done == sorted(done)
    assert done[-1] == 1.0


def _long(rows: int) -> dict[str, np.ndarray]:
    return {name: np.resize(values, rows) for name, values in columns().items()}


def test_a_unit_that_there_is_not_is_refused(tmp_path: Path, mapped: Path, robot: pp.Robot) -> None:
    mapped.write_text(MAP.replace("rad/s", "rpm"))
    with pytest.raises(UnknownName, match="rpm"):
        load_log(write_csv(tmp_path / "a.csv", columns()), robot, mapped)


def test_what_is_wrong_with_rows_is_counted_and_cut(tmp_path: Path, mapped: Path, robot: pp.Robot) -> None:
    n = 400
    time = np.arange(n) * 0.004
    time[200:] -= 0.5  # a reset
    table = {"t": time}
    for name, f in (("q", np.sin), ("v", np.cos), ("u", np.cos)):
        table |= {f"{name}{k}": f(np.arange(n) * 0.004 + k) for k in range(2)}
    for name in table:
        if name != "t":
            table[name][50] = table[name][49]
    table["u0"][90] = np.nan
    keep = np.delete(np.arange(n), [120, 121])
    motion = cleaned(load_log(write_csv(tmp_path / "a.csv", {k: v[keep] for k, v in table.items()}), robot, mapped))
    assert motion.counts["repeated"] == 1
    assert motion.counts["without_numbers"] == 1
    assert motion.counts["resets"] == 1
    assert motion.counts["missing"] == 4
    assert len(motion.runs) == 2
    assert motion.period == pytest.approx(0.004)


def test_the_filter_has_no_phase() -> None:
    from palpate.tools.logs.cleaning import Filter

    t = np.arange(2000) * 0.001
    wave = np.sin(2 * np.pi * 2.0 * t)
    out = Filter(10.0, 0.001)(wave[:, None])[:, 0]
    inner = slice(300, -300)
    lag = np.argmax(np.correlate(out[inner], wave[inner], "same")) - np.argmax(
        np.correlate(wave[inner], wave[inner], "same")
    )
    assert lag == 0
    assert np.max(np.abs(out[inner] - wave[inner])) < 2 * 0.2**8
