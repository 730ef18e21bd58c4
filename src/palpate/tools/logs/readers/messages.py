"""Messages of a bag as columns: every number of a message by the path of its field."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from palpate.tools.logs.readers.table import Growing, Room, Stream

_MOST_NUMBERS = 512  # of one message: a larger one is an image or a cloud
_GATHERED = 1024  # messages that become a chunk together
_CLOCKS = ("stamp", "received")  # which are the first two columns of a form
_MOST_FORMS = 16  # of one topic: publishers that share it
_HEAVY = re.compile(r"Image|PointCloud|Marker|OccupancyGrid|LaserScan|TFMessage|/Log$|String$")


def is_heavy(kind: str) -> bool:
    """Whether messages of this type hold pictures, clouds or texts: they are not decoded."""
    return bool(_HEAVY.search(kind))


class Topic:
    """The messages of one topic on their way to columns.

    A message of names and values, as sensor_msgs/JointState, gives columns by name: /joint_states.position[elbow].
    Publishers that share a topic, such as an arm and its gripper, send messages of other joints: each form is a stream.
    """

    def __init__(self, name: str, room: Room, wanted: Collection[str] | None) -> None:
        self.name, self.room, self.wanted = name, room, wanted
        self.forms: dict[frozenset[str], _Form] = {}
        self.skipped = 0

    def add(self, message: Any, received: float) -> None:
        """Take one message; `received` is the recorder's clock, s. One that is too large is counted."""
        values = dict(numbers(message, self.name))
        key = frozenset(values)
        form = self.forms.get(key)
        if form is None:
            if len(values) > _MOST_NUMBERS or len(self.forms) >= _MOST_FORMS:
                self.skipped += 1
                return
            names = [n for n in values if self.wanted is None or n in self.wanted]
            form = self.forms[key] = _Form(names, self.room)
        form.add([stamp_of(message), received, *(values[name] for name in form.names)])

    def streams(self) -> list[Stream]:
        """The columns of each form with numbers, the most frequent form first; a column belongs to one of them."""
        taken: set[str] = set()
        out = []
        for form in sorted(self.forms.values(), key=lambda one: -one.count):
            stream = form.stream(self.name, taken)
            taken |= set(stream.columns)
            if stream.columns:
                out.append(stream)
        return out


class _Form:
    """Messages of the same fields."""

    def __init__(self, names: list[str], room: Room) -> None:
        self.names, self.count, self.gathered = names, 0, array("d")
        self.growing = Growing((*_CLOCKS, *names), room)

    def add(self, row: list[float]) -> None:
        """Take the clocks and numbers of one message; of one without wanted numbers only the count."""
        self.count += 1
        if self.names:
            self.gathered.extend(row)
        if len(self.gathered) >= _GATHERED * len(row):
            self._hand_over()

    def _hand_over(self) -> None:
        rows, self.gathered = np.frombuffer(self.gathered).reshape(-1, len(self.growing.names)), array("d")
        self.growing.add(rows.T)

    def stream(self, topic: str, taken: Collection[str]) -> Stream:
        if self.gathered:
            self._hand_over()
        columns, begins = self.growing.ended()
        stamps, received = (columns.pop(name, np.empty(0)) for name in _CLOCKS)
        own = stamps if len(stamps) and np.isfinite(stamps).all() and np.ptp(stamps) > 0 else None
        columns = {name: values for name, values in columns.items() if name not in taken}
        clocks = received if own is None else own, None if own is None else received
        return Stream(topic, columns, *clocks, begins)


def stamp_of(message: Any) -> float:
    """The time in a message's header, s; NaN without one."""
    header = _get(message, "header")
    stamp = _get(header, "stamp") if header is not None else None
    if stamp is None:
        return float("nan")
    fine = _get(stamp, "nanosec")
    return float(_get(stamp, "sec") or 0) + 1e-9 * float(fine if fine is not None else _get(stamp, "nsec") or 0)


def numbers(message: Any, path: str) -> Iterator[tuple[str, float]]:
    """Every number of a message with the path of its field; labels of `name` replace indices of equal length."""
    labels = _get(message, "name")
    labels = [str(label) for label in labels] if isinstance(labels, list | tuple | np.ndarray) else []
    for field, value in _fields(message):
        yield from _numbers_of(value, f"{path}.{field}", labels)


def _numbers_of(value: Any, path: str, labels: list[str]) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool | int | float | np.number):
        yield path, float(value)
    elif isinstance(value, str | bytes) or value is None:
        return
    elif isinstance(value, list | tuple | np.ndarray):
        marks: Iterable[Any] = labels if len(labels) == len(value) else range(len(value))
        for mark, item in zip(marks, value[: _MOST_NUMBERS + 1]):
            yield from _numbers_of(item, f"{path}[{mark}]", [])
    else:
        yield from numbers(value, path)


def _fields(message: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(message, dict):
        return [(k, v) for k, v in message.items() if k != "header"]
    names = getattr(message, "__dataclass_fields__", None) or getattr(message, "__slots__", ())
    return [(n, getattr(message, n)) for n in names if n != "header" and not n.startswith("_")]


def _get(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
