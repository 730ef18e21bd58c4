"""Compressed pages: zstd as written here; Snappy and gzip as others write them."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

from palpate.errors import DamagedTable

PLAIN, SNAPPY, GZIP, ZSTD = 0, 1, 2, 6  # CompressionCodec
_NAMES = {3: "LZO", 4: "Brotli", 5: "LZ4", 7: "LZ4"}
_LEVEL = 3


def compressed(content: bytes) -> bytes:
    """By zstd."""
    return zstd.compress(content, _LEVEL)


def uncompressed(codec: int, content: bytes, size: int) -> bytes:
    """A page as it was.

    Raises:
        DamagedTable: another codec, damaged, or of another size.
    """
    if codec not in _CODECS:
        raise DamagedTable(f"it is compressed by {_NAMES.get(codec, codec)}; zstd, Snappy, gzip or none are read")
    try:
        found = _CODECS[codec](content, size)
    except (zlib.error, zstd.ZstdError, EOFError, IndexError) as error:
        raise DamagedTable(f"a damaged page ({error})") from error
    if len(found) != size:
        raise DamagedTable(f"a page of {len(found)} bytes where {size} were announced")
    return found


def _zstd(content: bytes, size: int) -> bytes:
    return zstd.ZstdDecompressor().decompress(content, max_length=size)


def _gzip(content: bytes, size: int) -> bytes:
    return zlib.decompressobj(wbits=47).decompress(content, size)


def _snappy(content: bytes, size: int) -> bytes:
    """Literals, and copies of what came before; two bits of a tag tell which."""
    at = next(place for place, byte in enumerate(content) if byte < 128) + 1  # behind the length, which is known
    out = bytearray()
    while at < len(content) and len(out) <= size:
        tag, at = content[at], at + 1
        if tag & 3 == 0:
            length, at = _literal(content, tag >> 2, at)
            out += content[at : at + length]
            at += length
        else:
            length, offset, at = _copy(content, tag, at)
            if not 0 < offset <= len(out):
                raise DamagedTable("a copy from nowhere")
            piece = out[-offset:][:length]
            out += (piece * (length // len(piece) + 1))[:length]
    return bytes(out)


def _literal(content: bytes, head: int, at: int) -> tuple[int, int]:
    more = max(0, head - 59)
    return (int.from_bytes(content[at : at + more], "little") if more else head) + 1, at + more


def _copy(content: bytes, tag: int, at: int) -> tuple[int, int, int]:
    if tag & 3 == 1:
        return (tag >> 2 & 7) + 4, (tag >> 5) << 8 | content[at], at + 1
    more = 2 if tag & 3 == 2 else 4
    return (tag >> 2) + 1, int.from_bytes(content[at : at + more], "little"), at + more


_CODECS: dict[int, Callable[[bytes, int], Any]] = {
    PLAIN: lambda content, size: content,
    SNAPPY: _snappy,
    GZIP: _gzip,
    ZSTD: _zstd,
}
