"""Compressed pages of a Parquet file: zstd, as one frame that tells its size."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from palpate.errors import DamagedTable

if TYPE_CHECKING or sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

_LEVEL = 3
_WINDOW: dict[int, int] = {
    zstd.DecompressionParameter.window_log_max: 23
}  # 8 MB before the output; that of the level is 2 MB


def compressed(content: bytes) -> bytes:
    """By zstd."""
    return zstd.compress(content, _LEVEL)


def most_compressed(size: int) -> int:
    """The most bytes that compressing `size` bytes gives: those of a frame whose blocks did not shrink."""
    return size + (size >> 8) + 128


def uncompressed(content: bytes, size: int) -> bytes:
    """A page as it was, the size of which is known and was found acceptable.

    Raises:
        DamagedTable: damaged, or of another size.
    """
    try:
        announced = zstd.get_frame_info(content).decompressed_size
        if announced != size:
            raise DamagedTable(f"a page of {announced} bytes where {size} were announced")
        unpacker = zstd.ZstdDecompressor(options=_WINDOW)
        page = unpacker.decompress(content, max_length=size + 1)
    except zstd.ZstdError as error:
        raise DamagedTable(f"a damaged page ({error})") from error
    if len(page) != size or not unpacker.eof or unpacker.unused_data:
        raise DamagedTable("a damaged page (it ends elsewhere)")
    return page
