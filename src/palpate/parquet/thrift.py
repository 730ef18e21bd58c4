"""Thrift's compact protocol, which Parquet's descriptions are written in: structs as dicts by the number of a field."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from palpate.errors import DamagedTable

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
_DEEPEST = 16  # structs and lists inside one another; Parquet needs seven


def varint(number: int) -> bytes:
    """Seven bits at a time, the lowest first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    """0, −1, 1, −2, … as 0, 1, 2, 3, …"""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def encoded(fields: Mapping[int, tuple[int, Any]]) -> bytes:
    """A struct of fields {number: (type, value)}, numbers rising; a list's value is (type of its items, items)."""
    out, last = bytearray(), 0
    for number, (kind, value) in fields.items():
        step = number - last
        out += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + zigzag(number)
        out += _value(kind, value)
        last = number
    return bytes(out) + b"\x00"


def _value(kind: int, value: Any) -> bytes:
    if kind in (I32, I64):
        return zigzag(value)
    if kind == BINARY:
        content = value.encode() if isinstance(value, str) else value
        return varint(len(content)) + content
    if kind == LIST:
        inner, items = value
        head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([0xF0 | inner]) + varint(len(items))
        return head + b"".join(_value(inner, item) for item in items)
    return encoded(value)


class Decoder:
    """Reads one value after another; what is damaged ends in IndexError or DamagedTable, never beyond the content."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at
        self._depth = 0

    def structure(self) -> dict[int, Any]:
        """A struct: each field has a step of its number and a type, a zero ends it."""
        self._depth += 1
        found: dict[int, Any] = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            found[number] = head & 15 == 1 if head & 15 in (1, 2) else self.value(head & 15)
        self._depth -= 1
        return found

    def value(self, kind: int) -> Any:
        """A value of a type; a boolean is a byte here, since only a field's own head can carry it."""
        if self._depth > _DEEPEST or kind not in _KINDS:
            raise DamagedTable("a description that no Parquet file has")
        return _KINDS[kind](self)

    def listed(self) -> list[Any]:
        """A list, its length and type in one byte where it is short."""
        self._depth += 1
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        found = [self.value(head & 15) for _ in range(count)]
        self._depth -= 1
        return found

    def byte(self) -> int:
        """One byte."""
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        """A number without a sign."""
        found = shift = 0
        while shift < 70:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
        raise DamagedTable("a number without an end")

    def integer(self) -> int:
        """A number with a sign."""
        found = self.varint()
        return (found >> 1) ^ -(found & 1)

    def binary(self) -> bytes:
        """Bytes behind their length."""
        return self.take(self.varint())

    def double(self) -> float:
        """Eight bytes."""
        return struct.unpack("<d", self.take(8))[0]

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > len(self.content) - self.at:
            raise DamagedTable("it ends too soon")
        self.at += count
        return self.content[self.at - count : self.at]


_KINDS: dict[int, Any] = {
    1: Decoder.byte,
    2: Decoder.byte,
    3: Decoder.byte,
    4: Decoder.integer,
    I32: Decoder.integer,
    I64: Decoder.integer,
    7: Decoder.double,
    BINARY: Decoder.binary,
    LIST: Decoder.listed,
    STRUCT: Decoder.structure,
}
