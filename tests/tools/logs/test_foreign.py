"""Files as others write them: fingers beside the arm, shared topics, makers' names, no header, units, commas, lists."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput
from palpate.toml import toml_data
from palpate.tools.logs.columns import load_log, write_template
from palpate.tools.logs.readers.naming import joint_order, proposed

ROWS = 60
TIME = 3.0 + 0.01 * np.arange(ROWS)
PANDA = tuple(f"joint{k}" for k in range(1, 8))
rng = np.random.default_rng(5)
Q = 0.3 * np.sin(TIME[:, None] * 5 + np.arange(7))
V, TAU = 1.5 * np.cos(TIME[:, None] * 5 + np.arange(7)), rng.normal(size=(ROWS, 7))


@pytest.fixture(scope="module")
def panda() -> pp.Robot:
    return pp.load_robot("panda")


def test_fingers_prefixes_and_makers_names_are_sorted_out() -> None:
    fingers = ["panda_finger_joint1", "panda_finger_joint2", *(f"panda_{name}" for name in PANDA)]
    assert joint_order(fingers, PANDA, "panda")[0] == [f"panda_{name}" for name in PANDA]
    universal = ["elbow_joint", "shoulder_lift_joint", "shoulder_pan_joint", "wrist_1_joint", "wrist_2_joint"]
    order = joint_order([*universal, "wrist_3_joint"], PANDA[:6], "ur5e")[0]
    assert [name.split("_joint")[0] for name in order] == [
        "shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3",
    ]  # fmt: skip
    kuka = [f"lbr_A{k}" for k in (7, 6, 5, 4, 3, 2, 1)]
    assert joint_order(kuka, PANDA, "iiwa14")[0] == kuka[::-1]
    with pytest.raises(InvalidInput, match="two arms"):
        joint_order([f"{side}_{name}" for side in ("left", "right") for name in PANDA], PANDA, "panda")
    with pytest.raises(InvalidInput, match="5 joints"):
        joint_order(universal, PANDA, "panda")


def joint_state(store, names: list[str], k: int, columns: tuple[np.ndarray, ...], header: str = "std_msgs/msg/Header"):
    kinds = store.types
    stamp = kinds["builtin_interfaces/msg/Time"](int(TIME[k]), round(1e9 * (TIME[k] % 1)))
    parts = (0, stamp, "") if "seq" in kinds[header].__dataclass_fields__ else (stamp, "")
    return kinds["sensor_msgs/msg/JointState"](kinds[header](*parts), names, *(x[k].copy() for x in columns))


def write_shared_topics(path: Path) -> None:
    """A gripper's messages come first and in between, commanded states lie in a topic of their own."""
    from rosbags.typesys import Stores, get_typestore

    store, bag = get_typestore(Stores.ROS2_HUMBLE), sqlite3.connect(path)
    bag.execute("CREATE TABLE topics(id INTEGER, name TEXT, type TEXT, serialization_format TEXT)")
    bag.execute("CREATE TABLE messages(id INTEGER, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    kind = "sensor_msgs/msg/JointState"
    topics = [(1, "/joint_states_desired", kind), (2, "/joint_states", kind), (3, "/camera", "sensor_msgs/msg/Image")]
    bag.executemany("INSERT INTO topics VALUES (?, ?, ?, 'cdr')", topics)
    arm, fingers = [f"fr3_{name}" for name in PANDA], ["fr3_finger_joint1", "fr3_finger_joint2"]
    for k in range(ROWS):
        sent = [(2, fingers, (Q[:, :2], V[:, :2], V[:, :2])), (1, arm, (Q + 1, V, TAU)), (2, arm, (Q, V, TAU))]
        for topic, names, columns in sent:
            data = bytes(store.serialize_cdr(joint_state(store, names, k, columns), kind))
            bag.execute("INSERT INTO messages VALUES (?, ?, ?, ?)", (k, topic, round(1e9 * TIME[k]), data))
        bag.execute("INSERT INTO messages VALUES (?, 3, ?, ?)", (k, round(1e9 * TIME[k]), b"no image at all"))
    bag.commit()
    bag.close()


def test_the_arm_is_found_among_publishers_that_share_a_topic(tmp_path: Path, panda: pp.Robot) -> None:
    write_shared_topics(tmp_path / "a.db3")
    log = load_log(tmp_path / "a.db3", panda)
    assert log.tau is not None
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, TAU)
    assert any("/joint_states" in note and "desired" not in note for note in log.notes)
    assert any("/camera" in note for note in log.notes)


FRANKA = "std_msgs/Header header\nfloat64[7] q\nfloat64[7] dq\nfloat64[7] tau_J\nfloat64[7] q_d\nfloat64[7] theta\n"


def test_a_bag_of_ros_1_with_messages_of_its_own_is_read(tmp_path: Path, panda: pp.Robot) -> None:
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store, kind = get_typestore(Stores.ROS1_NOETIC), "franka_msgs/msg/FrankaState"
    store.register(get_types_from_msg(FRANKA, kind))
    with Writer(tmp_path / "a.bag") as writer:
        connection = writer.add_connection("/franka_states", kind, typestore=store)
        for k in range(ROWS):
            header = getattr(joint_state(store, [""], k, (Q, V, TAU)), "header")  # noqa: B009
            parts = (Q, V, TAU, Q + 0.1, Q + TAU / 1e4)
            message = store.types[kind](header, *(part[k].copy() for part in parts))
            writer.write(connection, round(1e9 * TIME[k]), store.serialize_ros1(message, kind))
    log = load_log(tmp_path / "a.bag", panda)
    assert log.q_desired is not None
    assert log.q_motor is not None
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.q_motor, Q + TAU / 1e4)
    assert any("libfranka" in note for note in log.notes)
    (tmp_path / "a.bag").write_bytes((tmp_path / "a.bag").read_bytes()[:5000])
    with pytest.raises(pp.errors.FileError, match="damaged"):
        load_log(tmp_path / "a.bag", panda)


NUMBERS = np.column_stack([TIME, Q[:, :2], V[:, :2], TAU[:, :2]])
NAMES = ["time", "q1", "q2", "dq1", "dq2", "tau1", "tau2"]


def rows(separator: str = ",", cell: Callable[[float], str] = repr) -> str:
    return "".join(separator.join(cell(float(x)) for x in row) + "\n" for row in NUMBERS)


TABLES = {
    "no header": (rows(), [f"column {k}" for k in range(1, 8)]),
    "header in a remark": ("# made by a test\n# " + " ".join(NAMES) + "\n" + rows(" "), NAMES),
    "units below the names": (",".join(NAMES) + "\n[s],[rad],[rad],[rad/s],[rad/s],[Nm],[Nm]\n" + rows(), NAMES),
    "commas for points": (";".join(NAMES) + "\n" + rows(";", lambda x: repr(x).replace(".", ",")), NAMES),
    "quoted, spaced names": (", ".join(f'"{n}"' for n in NAMES) + "\r\n" + rows(", ").replace("\n", "\r\n"), NAMES),
    "aligned by blanks": (" ".join(NAMES) + "\n" + rows("  ", lambda x: f"{x!r:>24}"), NAMES),
    "tabs and blanks": ("\t".join(NAMES) + "\n" + rows(" ").replace(" ", " \t", 3), NAMES),
    "tabs": ("\t".join(NAMES) + "\n" + rows("\t"), NAMES),
}


def map_of(names: list[str]) -> str:
    parts = {"q": (names[1:3], "rad"), "v": (names[3:5], "rad/s"), "tau": (names[5:], "N·m")}
    text = f'[time]\ncolumn = "{names[0]}"\nunit = "s"\n'
    return text + "".join(f'[{role}]\ncolumns = {columns!r}\nunit = "{u}"\n' for role, (columns, u) in parts.items())


@pytest.mark.parametrize("kind", TABLES)
def test_tables_as_people_write_them_are_read_to_the_last_digit(kind: str, tmp_path: Path) -> None:
    text, names = TABLES[kind]
    (tmp_path / "a.csv").write_bytes(text.encode())
    (tmp_path / "m.toml").write_text(map_of(names))
    log = load_log(tmp_path / "a.csv", pp.load_robot("planar2"), tmp_path / "m.toml")
    for got, true in ((log.time, TIME), (log.q, Q[:, :2]), (log.v, V[:, :2]), (log.tau, TAU[:, :2])):
        np.testing.assert_array_equal(got, true)


def test_a_matrix_inside_a_structure_of_matlab_is_read_to_the_last_digit(tmp_path: Path) -> None:
    from scipy.io import savemat

    arm = {"t": TIME, "q": Q[:, :2].T, "v": V[:, :2], "tau": TAU[:, :2]}
    savemat(tmp_path / "a.mat", {"log": {"arm": arm, "note": "x"}, "M": np.eye(7)})
    names = ["log.arm.t", *(f"log.arm.{n}[{k}]" for n in ("q", "v", "tau") for k in range(2))]
    (tmp_path / "m.toml").write_text(map_of(names))
    log = load_log(tmp_path / "a.mat", pp.load_robot("planar2"), tmp_path / "m.toml")
    for got, true in ((log.time, TIME), (log.q, Q[:, :2]), (log.v, V[:, :2]), (log.tau, TAU[:, :2])):
        np.testing.assert_array_equal(got, true)
    assert any("log.note" in note for note in log.notes)


def test_a_numpy_archive_of_several_rates_is_read_by_its_map(tmp_path: Path) -> None:
    """Arrays of another length are kept apart; pickled objects are left out and never loaded."""
    more = {"slow_tau": TAU[::3, :2], "mask": np.ones(ROWS, dtype=bool), "what": np.array([{}], dtype=object)}
    np.savez(tmp_path / "a.npz", time_s=TIME, q_rad=Q[:, :2], dq_rad_s=V[:, :2], tau_J_Nm=TAU[:, :2], **more)
    robot = pp.load_robot("planar2")
    made = toml_data(write_template(tmp_path / "a.npz", robot))
    assert made["time"]["column"] == "time_s"
    assert made["v"]["columns"] == ["dq_rad_s[0]", "dq_rad_s[1]"]
    assert made["tau"]["columns"] == ["tau_J_Nm[0]", "tau_J_Nm[1]"]
    names = [made["time"]["column"], *(n for role in ("q", "v", "tau") for n in made[role]["columns"])]
    (tmp_path / "m.toml").write_text(map_of(names))
    log = load_log(tmp_path / "a.npz", robot, tmp_path / "m.toml")
    for got, true in ((log.time, TIME), (log.q, Q[:, :2]), (log.v, V[:, :2]), (log.tau, TAU[:, :2])):
        np.testing.assert_array_equal(got, true)
    assert any("'what'" in note for note in log.notes)
    (tmp_path / "m.toml").write_text(map_of([*names[:5], "slow_tau[0]", "slow_tau[1]"]))
    with pytest.raises(InvalidInput, match=r"tau has 20 rows, q.*60"):
        load_log(tmp_path / "a.npz", robot, tmp_path / "m.toml")


def test_rows_without_a_clock_come_at_the_rate_of_the_map(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",".join(NAMES) + "\n" + rows())
    (tmp_path / "m.toml").write_text(map_of(NAMES).replace('column = "time"\nunit = "s"', "rate = 100"))
    log = load_log(tmp_path / "a.csv", pp.load_robot("planar2"), tmp_path / "m.toml")
    np.testing.assert_allclose(log.time, 0.01 * np.arange(ROWS), rtol=0, atol=1e-15)
    for wrong, word in (("rate = 100", "both"), ("", r"time\.unit")):
        (tmp_path / "m.toml").write_text(map_of(NAMES).replace('unit = "s"', wrong))
        with pytest.raises(InvalidInput, match=word):
            load_log(tmp_path / "a.csv", pp.load_robot("planar2"), tmp_path / "m.toml")


FR3 = """std_msgs/Header header
sensor_msgs/JointState measured_joint_state
sensor_msgs/JointState desired_joint_state
sensor_msgs/JointState measured_joint_motor_state
"""


def test_a_state_of_franka_ros2_brings_torques_targets_and_motors(tmp_path: Path, panda: pp.Robot) -> None:
    from mcap.writer import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store, kind = get_typestore(Stores.ROS2_HUMBLE), "franka_msgs/msg/FrankaRobotState"
    store.register(get_types_from_msg(FR3, kind))
    names, nobody = [f"fr3_{name}" for name in PANDA], np.empty((ROWS, 0))
    with open(tmp_path / "a.mcap", "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema(kind, "ros2msg", FR3.encode())
        channel = writer.register_channel("/franka_robot_state_broadcaster/robot_state", "cdr", schema)
        for k in range(ROWS):
            parts: list[Any] = [
                joint_state(store, names, k, (Q, V, TAU)),
                joint_state(store, [], k, (Q + 0.1, V, TAU)),
                joint_state(store, [], k, (Q + TAU / 1e4, V, nobody)),
            ]
            message = store.types[kind](parts[0].header, *parts)
            writer.add_message(channel, round(1e9 * TIME[k]), bytes(store.serialize_cdr(message, kind)), 0)
        writer.finish()
    log = load_log(tmp_path / "a.mcap", panda)
    assert log.q_desired is not None
    assert log.q_motor is not None
    for got, true in ((log.q, Q), (log.torque, TAU), (log.q_desired, Q + 0.1), (log.q_motor, Q + TAU / 1e4)):
        np.testing.assert_array_equal(got, true)


def test_dates_are_seconds(tmp_path: Path) -> None:
    dates = [str(np.datetime64("2024-05-01T12:00:00", "ns") + np.timedelta64(10 * k, "ms")) for k in range(ROWS)]
    lines = [f"{d},{','.join(repr(float(x)) for x in row[1:])}" for d, row in zip(dates, NUMBERS)]
    (tmp_path / "a.csv").write_text(",".join(NAMES) + "\n" + "\n".join(lines))
    (tmp_path / "m.toml").write_text(map_of(NAMES))
    log = load_log(tmp_path / "a.csv", pp.load_robot("planar2"), tmp_path / "m.toml")
    np.testing.assert_allclose(np.diff(log.time), 0.01, atol=1e-6)


def test_lists_of_a_parquet_become_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    lists = {"t": TIME, "state.q": Q[:, :2].tolist(), "dq": V[:, :2].tolist(), "tau": TAU[:, :2].tolist()}
    parquet.write_table(pa.table({**lists, "task": ["x"] * ROWS}), tmp_path / "a.parquet")
    robot = pp.load_robot("planar2")
    made = toml_data(write_template(tmp_path / "a.parquet", robot))
    assert made["q"]["columns"] == ["state.q[0]", "state.q[1]"]
    assert made["tau"]["columns"] == ["tau[0]", "tau[1]"]
    assert made["tau"]["unit"] == "?"  # which no name tells
    names = ["t", *made["q"]["columns"], *made["v"]["columns"], *made["tau"]["columns"]]
    (tmp_path / "m.toml").write_text(map_of(names))
    log = load_log(tmp_path / "a.parquet", robot, tmp_path / "m.toml")
    np.testing.assert_array_equal(log.q, Q[:, :2])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["t", "q1", "q2", "qd1", "qd2", "tau1", "tau2"], {"time", "q", "v", "tau"}),
        (["Time [s]", "pos_0 [rad]", "pos_1 [rad]", "effort_0 [Nm]", "effort_1 [Nm]"], {"time", "q", "tau"}),
        (["timestamp", "joint_1_position", "joint_2_position", "joint_1_velocity", "joint_2_velocity"],
         {"time", "q", "v"}),
        (["a", "b", "q1", "q2", "q3"], set()),
    ],
)  # fmt: skip
def test_a_template_proposes_columns_whose_names_say_what_they_are(names: list[str], expected: set[str]) -> None:
    assert set(proposed(names, 2)) == expected


def test_a_ragged_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,q1,q2\n" + rows())
    with pytest.raises(InvalidInput, match=r"3 names.*rows.*7 columns"):
        write_template(tmp_path / "a.csv", pp.load_robot("planar2"))
