"""As much of Protocol Buffers as a log of numbers needs: what messages are made of, and their bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palpate.parquet.thrift import varint

DOUBLE, INT64, INT32, STRING, MESSAGE = 1, 3, 5, 9, 11  # the numbers of types in a descriptor
_VARINT, _EIGHT_BYTES, _LENGTH = 0, 1, 2  # how a value is laid out


class Field(NamedTuple):
    """A field of a message; `message` is the full name of the type of a field that is one, with a dot in front."""

    name: str
    kind: int = DOUBLE
    message: str = ""
    repeated: bool = False


def integer(number: int, value: int) -> bytes:
    """The field of that number as a whole number of at least 0."""
    return varint(number << 3 | _VARINT) + varint(value)


def double(number: int, value: float) -> bytes:
    """The field of that number as a float64."""
    return varint(number << 3 | _EIGHT_BYTES) + struct.pack("<d", value)


def text(number: int, value: str) -> bytes:
    """The field of that number as a text."""
    return message(number, value.encode())


def message(number: int, content: bytes) -> bytes:
    """The field of that number as a message within the message."""
    return varint(number << 3 | _LENGTH) + varint(len(content)) + content


def rows(values: np.ndarray) -> list[bytes]:
    """A message per row of an (n, columns) array: column k is the double of number k + 1."""
    length, columns = values.shape
    numbers = np.ascontiguousarray(values, "<f8").view(np.uint8).reshape(length, columns, 8)
    parts = []
    for column in range(columns):
        mark = np.frombuffer(varint((column + 1) << 3 | _EIGHT_BYTES), np.uint8)
        parts += [np.broadcast_to(mark, (length, mark.size)), numbers[:, column]]
    return [row.tobytes() for row in np.hstack(parts)] if parts else [b""] * length


def identifiers(labels: Iterable[str]) -> list[str]:
    """Labels as names that fields may have: letters, digits and underscores, a letter first.

    Decoders refuse a message with two fields whose names differ by underscores and capitals alone; the later of such
    labels gets its place as an ending.
    """
    found: dict[str, str] = {}
    for place, label in enumerate(labels):
        name = re.sub(r"\W", "_", label, flags=re.ASCII)
        name = name if name[:1].isalpha() else f"column_{name}"
        while _alike(name) in found:
            name = f"{name}_at_{place}"
        found[_alike(name)] = name
    return list(found.values())


def _alike(name: str) -> str:
    return name.replace("_", "").lower()


def descriptor(file: str, package: str, messages: Mapping[str, Sequence[Field]], imports: Sequence[str] = ()) -> bytes:
    """A file of message types (FileDescriptorProto), for `descriptor_set`."""
    content = text(1, file) + text(2, package) + b"".join(text(3, other) for other in imports)
    content += b"".join(message(4, _message_type(name, fields)) for name, fields in messages.items())
    return content + text(12, "proto3")


def descriptor_set(*files: bytes) -> bytes:
    """Files of message types with all that they import, imported ones first (FileDescriptorSet)."""
    return b"".join(message(1, file) for file in files)


def _message_type(name: str, fields: Sequence[Field]) -> bytes:
    return text(1, name) + b"".join(message(2, _field(number, field)) for number, field in enumerate(fields, 1))


def _field(number: int, field: Field) -> bytes:
    content = text(1, field.name) + integer(3, number) + integer(4, 3 if field.repeated else 1) + integer(5, field.kind)
    return content + (text(6, field.message) if field.message else b"")
