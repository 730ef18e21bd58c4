"""Readers of recordings, one file per format, all by libraries; `read_table` picks one by the file's name and bytes."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from palpate.errors import FileError, InvalidInput
from palpate.files import a_path, open_regular
from palpate.tools.logs.readers.table import Progress, Table

MOST_FILE = 64 << 30  # bytes
_DIGEST = 0.1  # share of the time that the file's hash takes
READERS = {
    ".csv": "palpate.tools.logs.readers.csv_file:read",
    ".txt": "palpate.tools.logs.readers.csv_file:read",
    ".parquet": "palpate.tools.logs.readers.parquet_file:read",
    ".npz": "palpate.tools.logs.readers.npz_file:read",
    ".mcap": "palpate.tools.logs.readers.mcap_file:read",
    ".db3": "palpate.tools.logs.readers.rosbag_file:read",
    ".bag": "palpate.tools.logs.readers.rosbag_file:read_ros1",
    ".mat": "palpate.tools.logs.readers.mat_file:read",
}


def read_table(
    path: str | os.PathLike[str], wanted: Collection[str] | None = None, progress: Progress | None = None
) -> Table:
    """Read the numbers of a recording.

    Args:
        path: a .csv, .txt, .parquet, .npz, .mcap, .db3, .bag or .mat file, or the folder of a rosbag2.
        wanted: columns to keep; all if None.
        progress: called with the bytes done and their total.

    Raises:
        FileError: missing, not readable, damaged, or of no kind that is read.
        TooLarge: more than fits in bounded memory.
    """
    place = _file(a_path(path, "a recording"))
    suffix = place.suffix.lower()
    if suffix not in READERS:
        known = ", ".join(sorted(READERS))
        raise FileError(f"cannot read {path}: a recording ends in one of {known}, or is the folder of a rosbag2")
    tell = progress or (lambda done, total: None)
    digest = _digest(place, lambda done, total: tell(int(_DIGEST * done), total))
    table = _reader(suffix)(place, wanted, lambda done, total: tell(int(_DIGEST * total + (1 - _DIGEST) * done), total))
    return replace(table, path=os.fspath(path), sha256=digest)


def _digest(path: Path, progress: Progress) -> str:
    """The SHA-256 of a file's bytes."""
    digest, done = hashlib.sha256(), 0
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        while block := file.read(1 << 20):
            digest.update(block)
            done += len(block)
            progress(done, size)
    return digest.hexdigest()


def _reader(suffix: str) -> Callable[[Path, Collection[str] | None, Progress], Table]:
    module, function = READERS[suffix].split(":")
    return getattr(importlib.import_module(module), function)


def _opened(path: Path) -> BinaryIO:
    try:
        return open_regular(path, most_bytes=MOST_FILE)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"cannot read {path}: {reason}", hint="check the path") from error


def _file(path: Path) -> Path:
    """The one file of a rosbag2's folder, or the file itself."""
    if not path.is_dir():
        return path
    inside = sorted(p for p in path.iterdir() if p.suffix in (".db3", ".mcap"))
    if len(inside) != 1:
        listed = ", ".join(p.name for p in inside) or "none"
        raise InvalidInput(f"{path} must hold one .db3 or .mcap file, got {listed}", hint="name the file itself")
    return inside[0]
