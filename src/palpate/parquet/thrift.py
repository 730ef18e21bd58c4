"""Thrift's compact protocol, by templates: the structs that our files hold are written and read, nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from palpate.errors import DamagedTable

I32, I64, BINARY = 5, 6, 8
SIGNED = I32 | 16  # a number that may be negative; every other one counts something
_LIST, _STRUCT = 9, 12
_MOST_BITS = 63  # before the last byte of a number


class Struct:
    """A struct: its fields by name, each with its number and type, numbers rising; `optional` ones may be absent."""

    def __init__(self, optional: str = "", **fields: tuple[int, Wire]) -> None:
        self.fields, self.required = fields, fields.keys() - set(optional.split())
        self.by_number = {number: (name, kind, _code(kind)) for name, (number, kind) in fields.items()}


@dataclass(frozen=True)
class Many:
    """A list: the type of its items, and how many there are at most."""

    item: Wire
    most: int


Wire = int | Struct | Many


def _code(kind: Wire) -> int:
    return kind & 15 if isinstance(kind, int) else _LIST if isinstance(kind, Many) else _STRUCT


def varint(number: int) -> bytes:
    """A number without a sign, seven bits to a byte."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def encoded(kind: Wire, value: Any) -> bytes:
    """A value of a type: numbers, bytes or texts, lists, and structs as mappings from the names of fields."""
    if isinstance(kind, Struct):
        return _encoded_struct(kind, value)
    if isinstance(kind, Many):
        code = _code(kind.item)
        head = bytes([len(value) << 4 | code]) if len(value) < 15 else bytes([0xF0 | code]) + varint(len(value))
        return head + b"".join(encoded(kind.item, item) for item in value)
    if kind == BINARY:
        content = value.encode() if isinstance(value, str) else value
        return varint(len(content)) + content
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)  # 0, −1, 1, −2, … as 0, 1, 2, 3, …


def _encoded_struct(struct: Struct, values: Mapping[str, Any]) -> bytes:
    out, last = bytearray(), 0
    for name, (number, kind) in struct.fields.items():
        if name in values:
            out += bytes([(number - last) << 4 | _code(kind)]) + encoded(kind, values[name])
            last = number
    return bytes(out) + b"\x00"


class Decoder:
    """Reads one value after another, never beyond the content and never back.

    Raises (from every method):
        DamagedTable: the content is not what the template says.
        IndexError: it ends too soon.
    """

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def value(self, kind: Wire) -> Any:
        """A value of a type."""
        if isinstance(kind, Struct):
            return self.struct(kind)
        if isinstance(kind, Many):
            return list(self._items(kind))
        number = self.varint()
        if kind == BINARY:
            return self.take(number)
        if number & 1 and kind != SIGNED:
            raise DamagedTable("a negative count")
        return (number >> 1) ^ -(number & 1)

    def struct(self, struct: Struct, **lists: Callable[[Iterator[Any], dict[str, Any]], Any]) -> dict[str, Any]:
        """A struct: each field has the step from the number before and a type; a zero ends it.

        Args:
            struct: the template.
            lists: what is kept of a list, made from its items, one after the other, and the fields before it.
        """
        values: dict[str, Any] = {}
        number = 0
        while head := self._byte():
            number += head >> 4
            name, kind, code = struct.by_number.get(number, ("", 0, -1))
            if code != head & 15 or name in values:
                raise DamagedTable("a description that palpate does not write")
            if isinstance(kind, Many) and name in lists:
                values[name] = lists[name](self._items(kind), values)
            else:
                values[name] = self.value(kind)
        if not struct.required <= values.keys():
            raise DamagedTable("an incomplete description")
        return values

    def _items(self, kind: Many) -> Iterator[Any]:
        head = self._byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        if head & 15 != _code(kind.item) or count > kind.most:
            raise DamagedTable(f"a list that palpate does not write ({count} items)")
        for _ in range(count):
            yield self.value(kind.item)

    def varint(self) -> int:
        """A number without a sign."""
        number = shift = 0
        while (byte := self._byte()) > 127:
            number |= (byte & 127) << shift
            shift += 7
            if shift > _MOST_BITS:
                raise DamagedTable("a number without an end")
        return number | byte << shift

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > len(self.content) - self.at:
            raise DamagedTable("it ends too soon")
        self.at += count
        return self.content[self.at - count : self.at]
