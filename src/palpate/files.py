"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from palpate.errors import FileError, InvalidInput, TooLarge, shortened


def atomic_write(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> Path:
    """Let `write` fill a file that appears at `path` only when it is complete.

    The bytes go to a temporary neighbour, reach the disk, and take the place of `path` in one step. Whatever
    interrupts the writing (an exception, Ctrl-C, a full disk) leaves the old file as it was and no litter.

    Args:
        path: the file to create or replace; a symbolic link is followed.
        write: receives the open binary file.

    Returns:
        The file written, with links resolved.

    Raises:
        FileError: the folder is missing, the target is no regular file, or the system refuses.
    """
    target = _replaceable(Path(path))
    _forget_litter(target.parent)
    temporary = target.with_name(f".palpate-{uuid.uuid4().hex}.part")
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(
            f"cannot write {path}: {reason}", hint="check free space and permissions of the folder"
        ) from error
    finally:
        with contextlib.suppress(OSError):  # gone already when all went well
            temporary.unlink()
    return target


def _forget_litter(folder: Path) -> None:
    """Delete what processes that were killed while writing have left here, a day ago or longer."""
    for litter in folder.glob(".palpate-*.part"):
        with contextlib.suppress(OSError):
            if time.time() - litter.stat().st_mtime > 86400.0:
                litter.unlink()


def is_there(path: Path) -> bool:
    """Whether something is at a path; nothing is where the path cannot be: too long, a null character in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def a_path(value: object, what: str) -> Path:
    """`value` as a path, refused unless it is a text or a path."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise InvalidInput(f"{what} is a name or a path, got {type(value).__name__}")
    return Path(value)


def open_regular(path: str | os.PathLike[str], *, most_bytes: int) -> BinaryIO:
    """Open a file for reading, refused unless it is a regular one and not too large: a FIFO would wait for ever.

    Raises:
        FileError: a folder, FIFO, socket or device.
        TooLarge: more than `most_bytes`.
        OSError: missing, or not readable.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        if not os.path.isfile(descriptor):
            kind = "a folder" if os.path.isdir(descriptor) else "no regular file"
            raise FileError(f"cannot read {shortened(os.fspath(path))}: it is {kind}", hint="give the path of a file")
        if size > most_bytes:
            raise TooLarge(f"{shortened(os.fspath(path))} is larger than the {most_bytes} bytes that are read")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _replaceable(path: Path) -> Path:
    """The file behind `path`, refused unless it can be replaced: never a folder or a device."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "no regular file"
        raise FileError(f"cannot write {path}: it is {kind}", hint="give the path of a file")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}", hint="create the folder first")
    return target
