"""Object files: which symbols they define and miss, and static libraries of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

_SYMBOLS = 2  # ELF: the type of a section that lists symbols


def symbols(data: bytes) -> tuple[set[str], set[str]]:
    """The global symbols of an ELF object of 64 bits: names that others can use, and names that are missing."""
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + k * size) for k in range(count)]
    defined, undefined = set(), set()
    for _, kind, _, _, start, length, link, *_ in headers:
        if kind != _SYMBOLS:
            continue
        for at in range(start, start + length, 24):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            text = _text(data, headers[link][4] + name)
            if section == 0:
                undefined.add(text)
            elif info >> 4:  # global or weak
                defined.add(text)
    return defined, undefined - {"", "_GLOBAL_OFFSET_TABLE_"}


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def static_library(data: bytes, names: Iterable[str]) -> bytes:
    """An archive of one object with the index that linkers look names up in (System V's format).

    The object is called law.o whatever the law is: a name of more than 15 letters would need a table of names.
    """
    listed = sorted(names)
    texts = b"".join(name.encode() + b"\0" for name in listed)
    size = 4 + 4 * len(listed) + len(texts)
    padded = size + size % 2
    offset = 8 + 60 + padded
    index = struct.pack(f">I{len(listed)}I", len(listed), *[offset] * len(listed)) + texts + b"\0" * (padded - size)
    return b"!<arch>\n" + _member("/", index) + _member("law.o/", data)


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)
