"""Words that records carry from tick to tick, by their addresses: saved, restored, and found by name.

    words = CarriedWords(carried_fields(loop, "loop", skip=("nominal",)))
    saved = words.save()
    ...
    words.restore(saved)

A field is carried where its record says so (`State`, `Kept`, `Carried`). A user's memory in which no field
says anything is carried whole: what of it is scratch is not known.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from palpate.engine.kernels import kernel
from palpate.engine.kinds import Kind
from palpate.engine.records import Carried, Integers, Record
from palpate.engine.signatures import instructions
from palpate.errors import InvalidInput

WORD = 8  # bytes
_UNMARKED = Carried()


@dataclass(frozen=True)
class CarriedField:
    """A field that is carried: its path of names, where its words lie, and how it is carried.

    Attributes:
        path: such as "loop.drives.sent".
        address: of its first word.
        shape: of the array; () for a single number.
        real: whether its words are numbers with a fraction, not integers.
        how: as its record marks it.
        record: that it is a field of.
    """

    path: str
    address: int
    shape: tuple[int, ...]
    real: bool
    how: Carried
    record: Record

    @property
    def size(self) -> int:
        """How many words it has."""
        return math.prod(self.shape)

    def name_of(self, word: int) -> str:
        """Name of one of its words: its path, and the index there."""
        if len(self.shape) < 2:
            return f"{self.path}[{word}]" if self.shape else self.path
        return f"{self.path}[{', '.join(str(int(i)) for i in np.unravel_index(word, self.shape))}]"


@cache
def marks_any(record: type[Record]) -> bool:
    """Whether a record, or one inside it, says of any field that it is carried."""
    return any(
        field.carried is not None or (not isinstance(field.kind, Kind) and marks_any(field.kind))
        for field in record.fields.values()
    )


def carried_fields(record: Record, path: str, skip: Collection[str] = ()) -> list[CarriedField]:
    """The fields that a record and those inside it carry, each once; `skip` names fields that are left out."""
    return list(_walk(record, path, set(), skip, whole=False))


def carried_memory(memory: Record, path: str) -> list[CarriedField]:
    """The same of the memory of a law or sensor; all of it, where nothing is marked."""
    return list(_walk(memory, path, set(), (), whole=not marks_any(type(memory))))


def _walk(record: Record, path: str, seen: set[int], skip: Collection[str], *, whole: bool) -> Iterator[CarriedField]:
    if id(record) in seen:
        return
    seen.add(id(record))
    for name, field in record.fields.items():
        if name in skip:
            continue
        if not isinstance(field.kind, Kind):
            if not (whole or marks_any(field.kind)):
                continue
            inner = getattr(record, name) if field.listed else [getattr(record, name)]
            for k, item in enumerate(inner):
                here = f"{path}.{name}[{k}]" if field.listed else f"{path}.{name}"
                yield from _walk(item, here, seen, skip, whole=whole)
        elif field.carried is not None or whole or record.carried_whole:
            yield _field(record, name, f"{path}.{name}", field.carried or _UNMARKED)


def _field(record: Record, name: str, path: str, how: Carried) -> CarriedField:
    kind, offset = record.fields[name].kind, record.fields[name].offset
    if kind.element == types.int32:
        raise InvalidInput(f"{path} has words of 4 bytes, and cannot be carried from tick to tick")
    real = kind.element == types.float64
    if kind.dimensions or kind.behind:
        array = record._held[name]
        return CarriedField(path, array.__array_interface__["data"][0], array.shape, real, how, record)
    return CarriedField(path, record.address + WORD * offset, (), real, how, record)


class CarriedWords:
    """All words of carried fields, in their order."""

    def __init__(self, fields: Sequence[CarriedField]) -> None:
        self.fields = tuple(fields)
        counts = np.array([field.size for field in fields], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(counts)])  # of each field among the words
        first = np.array([field.address for field in fields], dtype=np.int64) - WORD * self.starts[:-1]
        self.addresses: NDArray[np.int64] = np.repeat(first, counts) + WORD * np.arange(self.starts[-1])
        self.real: NDArray[np.bool_] = np.repeat(np.array([field.real for field in fields], dtype=bool), counts)

    def __len__(self) -> int:
        return len(self.addresses)

    def save(self) -> NDArray[np.int64]:
        """The words as they are now, bit for bit."""
        words = np.zeros(len(self), np.int64)
        gather(self.addresses, words)
        return words

    def restore(self, words: NDArray[np.int64]) -> None:
        """Let them be again what they were."""
        scatter(self.addresses, words)

    def name_of(self, word: int) -> str:
        """Name of a word: its field's path, and its index in it."""
        k = int(np.searchsorted(self.starts, word, side="right")) - 1
        return self.fields[k].name_of(word - int(self.starts[k]))

    @property
    def layout(self) -> list[tuple[str, tuple[int, ...]]]:
        """Path and shape of every field: equal where saved words can be restored."""
        return [(field.path, field.shape) for field in self.fields]


def _pointer(builder: Any, address: Any, context: Any) -> Any:
    return builder.inttoptr(address, context.get_data_type(types.int64).as_pointer())


@instructions(types.int64, types.int64)
def word_at(context: Any, builder: Any, address: Any) -> Any:
    """The word at an address."""
    return builder.load(_pointer(builder, address, context))


@instructions(types.void, types.int64, types.int64)
def put_word(context: Any, builder: Any, address: Any, word: Any) -> None:
    """Write a word to an address."""
    builder.store(word, _pointer(builder, address, context))


@instructions(types.float64, types.int64)
def real_at(context: Any, builder: Any, address: Any) -> Any:
    """The number at an address."""
    return builder.load(builder.inttoptr(address, context.get_data_type(types.float64).as_pointer()))


@instructions(types.void, types.int64, types.float64)
def put_real(context: Any, builder: Any, address: Any, number: Any) -> None:
    """Write a number to an address."""
    builder.store(number, builder.inttoptr(address, context.get_data_type(types.float64).as_pointer()))


@kernel
def gather(addresses: Integers, words: Integers) -> None:
    """words = what lies at the addresses."""
    for k in range(addresses.size):
        words[k] = word_at(addresses[k])  # pyright: ignore[reportCallIssue]


@kernel
def scatter(addresses: Integers, words: Integers) -> None:
    """Write words to their addresses."""
    for k in range(addresses.size):
        put_word(addresses[k], words[k])  # pyright: ignore[reportCallIssue]
