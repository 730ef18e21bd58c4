"""Records as one block of memory that can be laid down anywhere: words, and which of them are addresses inside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palpate.engine.kinds import Kind
from palpate.engine.records import Field, Record
from palpate.errors import NotApplicable
from palpate.escape.c import c_field


@dataclass(frozen=True)
class Part:
    """A number or an array of a record: its name with the records it lies in, its first word and its shape."""

    path: tuple[str, ...]
    word: int
    shape: tuple[int, ...]
    real: bool

    @property
    def name(self) -> str:
        """Its name in C and C++, whose own words it may not be."""
        return c_field("_".join(self.path))

    @property
    def count(self) -> int:
        """Words that it takes."""
        return math.prod(self.shape)


@dataclass
class Image:
    """Words of a block; `blocks` says where each of the original pieces of memory stands, by its address."""

    words: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)  # first byte, byte after the last, word
    addresses: list[int] = field(default_factory=list)  # words that hold offsets inside the image
    _parts: list[Part] = field(default_factory=list)
    _tables: dict[int, int] = field(default_factory=dict)

    def parts_of(self, record: Record) -> list[Part]:
        """Put a record into the image; its numbers and arrays, in the order of its fields."""
        before = len(self._parts)
        self.add(record)
        return self._parts[before:]

    def add(self, record: Record, pointers: Mapping[str, Record] | None = None, path: tuple[str, ...] = ()) -> int:
        """Put a record, and everything in it, into the image; the word at which its table stands.

        Args:
            record: what to put.
            pointers: fields that hold the addresses of records as plain numbers.
            path: names of the records that it lies in.
        """
        if record.address in self._tables:
            return self._tables[record.address]
        start = self._tables[record.address] = self._append(record._table)
        for each in record.fields.values():
            self._add_field(record, each, start + each.offset, (*path, each.name))
        for name, other in (pointers or {}).items():
            self._set_offset(start + record.fields[name].offset, self.add(other))
        return start

    def _add_field(self, record: Record, each: Field, word: int, path: tuple[str, ...]) -> None:
        if each.listed:
            items, tables = record._held[each.name]
            first = self._append(tables)
            self._set_offset(word, first)
            for k, item in enumerate(items):
                self._set_offset(first + k, self.add(item, path=(*path[:-1], f"{each.name}_{k}")))
        elif not isinstance(each.kind, Kind):
            self._set_offset(word, self.add(record._held[each.name], path=path))
        elif each.kind.dimensions or each.kind.behind:
            array = record._held[each.name]
            at = self.word_of(array)
            self._set_offset(word, at)
            self._parts += [Part(path, at, array.shape, array.dtype == np.float64)] if array.size else []
        else:
            self._parts.append(Part(path, word, (), each.real))

    def word_of(self, array: Any) -> int:
        """Where an array's numbers stand in the image; the memory behind it is put there if it is not yet."""
        address = array.__array_interface__["data"][0]
        for first, after, word in self.blocks:
            if first <= address and address + array.nbytes <= after and array.nbytes:
                return word + (address - first) // 8
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not root.flags.c_contiguous or root.dtype.itemsize != 8:
            raise NotApplicable(f"an array of {root.dtype} in the law's records cannot be exported")
        return self._append(root) + (address - root.__array_interface__["data"][0]) // 8

    def _append(self, array: Any) -> int:
        word, address = len(self.words), array.__array_interface__["data"][0]
        self.words += array.reshape(-1).view(np.int64).tolist() or [0]
        self.blocks.append((address, address + array.nbytes, word))
        return word

    def _set_offset(self, word: int, offset: int) -> None:
        self.words[word] = offset
        self.addresses.append(word)
