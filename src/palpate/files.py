"""The one door through which palpate writes files: whole or not at all, and never through a symbolic link."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from palpate.errors import FileError, InUse, InvalidInput, PalpateError, TooLarge, shortened

_EXACT = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_ABANDONED = 86400.0  # s after which a temporary file is taken for litter where files cannot be locked


def atomic_write(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> Path:
    """Let `write` fill a file that appears at `path` only when it is complete.

    The bytes go to a temporary neighbour, reach the disk, and replace `path` in one step. Whatever interrupts the
    writing (an exception, Ctrl-C, a full disk) leaves the old file as it was and no litter.

    Args:
        path: the file to create or replace; a symbolic link is refused, whether its target exists or not.
        write: receives the open binary file.

    Returns:
        The file written, with the links of its folder resolved.

    Raises:
        FileError: the folder is missing, the target is a link or no regular file, or the system refuses.
    """
    target = _replaceable(Path(path))
    remove_litter(target.parent)
    temporary = target.with_name(f".palpate-{uuid.uuid4().hex}.part")
    try:
        with refusals(path), _temporary(temporary) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":  # where a file that is open cannot be moved
                file.close()
            os.replace(temporary, target)  # replaces the name itself: a link planted meanwhile is not followed
    finally:
        with contextlib.suppress(OSError):  # gone already when all went well
            temporary.unlink()
    return target


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write text (as UTF-8) or bytes by `atomic_write`."""
    return atomic_write(path, lambda file: file.write(content.encode() if isinstance(content, str) else content))


def checksum(content: str | bytes) -> str:
    """The SHA-256 of a file's content, text as UTF-8; it tells whether a file was changed."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def refuse_changed(folder: Path, names: Iterable[str], written: Mapping[str, str]) -> None:
    """Refuse to replace files that were changed since, or that palpate did not write.

    Args:
        folder: where they are.
        names: files that are to be replaced; one that is not there is fine.
        written: checksum of each file as palpate wrote it, or is about to write it, by name.

    Raises:
        FileError: names every such file.
    """
    there = [name for name in names if (folder / name).is_file()]
    changed = [name for name in there if checksum((folder / name).read_bytes()) != written.get(name)]
    if changed:
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise FileError(
            f"{folder}: {', '.join(changed[:5])}{more} changed since palpate wrote it, or not written by palpate;"
            " nothing was replaced",
            hint="--force (in Python force=True) replaces it; or give another folder",
        )


def open_new(path: Path) -> BinaryIO:
    """Open a file that grows while others read it; an older file there is replaced, a link is refused.

    Raises:
        FileError: a link or no regular file, or the system refuses.
    """
    target = _replaceable(path)
    with refusals(path):
        target.unlink(missing_ok=True)
        return os.fdopen(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | _EXACT, 0o666), "wb")


def open_lock(path: Path) -> BinaryIO:
    """Open a lock file and lock it; the system lets go of it when the process ends, however it ends.

    Raises:
        InUse: another process holds it.
        FileError: a link or no regular file, or the system refuses.
    """
    target = _replaceable(path)
    with refusals(path):
        file = os.fdopen(os.open(target, os.O_RDWR | os.O_CREAT | _EXACT, 0o666), "r+b")
    if not _lock(file):
        file.close()
        raise InUse(f"another run is writing into {path.parent}", hint="wait for it, or give another folder")
    return file


def make_folder(path: str | os.PathLike[str], *, exist_ok: bool = True) -> Path:
    """Make a folder and those above it; one that is there already is fine, a symbolic link to one is not.

    Raises:
        FileError: a link or a file is there, or the system refuses.
        FileExistsError: it exists, and may not.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", os.fspath(path)):
        raise FileError(
            f"{path} is no folder of this machine", hint="write into a folder, and copy it there afterwards"
        )
    folder = Path(path)
    if exist_ok and folder.is_symlink():
        raise FileError(
            f"{shortened(str(folder), 300)} is a symbolic link, and palpate writes through none",
            hint=f"give the folder itself: {os.path.realpath(folder)}",
        )
    try:
        folder.mkdir(parents=True, exist_ok=exist_ok)
    except OSError as error:
        if isinstance(error, FileExistsError) and not exist_ok:
            raise
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror or str(error)
        raise FileError(
            f"cannot make the folder {shortened(str(folder), 300)}: {reason}", hint="give another folder"
        ) from error
    return folder


def remove_litter(folder: Path) -> None:
    """Delete the temporary files that killed processes have left in a folder: those that no writer holds locked."""
    for litter in folder.glob(".palpate-*.part"):
        with contextlib.suppress(OSError):
            if os.name == "nt":  # where what somebody has open is not deleted
                litter.unlink()
                continue
            flags = os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | _EXACT
            with os.fdopen(os.open(litter, flags), "rb") as file:
                old = time.time() - os.fstat(file.fileno()).st_mtime > _ABANDONED
                if os.path.isfile(file.fileno()) and (_lock(file, certain=True) or old):
                    litter.unlink()


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[BinaryIO]:
    """A new file, locked for as long as it is written, so that no other process takes it for litter."""
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _EXACT, 0o666), "wb")
        with file:
            _lock(file, wait=True)
            if path.exists():  # else it was taken for litter between these two lines
                yield file
                return


def _lock(file: BinaryIO, *, wait: bool = False, certain: bool = False) -> bool:
    """Lock an open file for this process; `certain`: no where the system cannot lock, else yes."""
    try:
        import fcntl
    except ImportError:  # Windows, where a file that is open cannot be deleted anyway
        return _lock_windows(file) if not (wait or certain) else not certain
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return not certain
    return True


def _lock_windows(file: BinaryIO) -> bool:
    import msvcrt

    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    except OSError:
        return False
    return True


@contextlib.contextmanager
def refusals(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors of the system while a file is written as a `FileError` that names the file."""
    try:
        yield
    except OSError as error:
        reason, hint = error.strerror or str(error), "check free space and permissions of the folder"
        raise FileError(f"cannot write {path}: {reason}", hint=hint) from error


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


def read_text(path: str | os.PathLike[str], *, most_bytes: int = 100_000_000) -> str:
    """The text of a regular file in UTF-8.

    Raises:
        FileError: missing, not readable, no regular file, or no UTF-8 text; the message names it.
        TooLarge: more than `most_bytes`.
    """
    try:
        with open_regular(path, most_bytes=most_bytes) as file:
            return file.read().decode()
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8 text ({error.reason} at byte {error.start})"
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        if isinstance(error, PalpateError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
    raise FileError(f"cannot read {shortened(os.fspath(path), 300)}: {reason}")


def _replaceable(path: Path) -> Path:
    """`path` with its folder's links resolved, refused unless it can be replaced: never a link, folder or device."""
    if not path.name:
        raise FileError(f"cannot write {path}: it is a folder", hint="give the path of a file")
    target = Path(os.path.realpath(path.parent)) / path.name
    if target.is_symlink():
        hint = f"delete the link, or give the file itself: {os.path.realpath(target)}"
        raise FileError(f"cannot write {path}: it is a symbolic link, and palpate writes through none", hint=hint)
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "no regular file"
        raise FileError(f"cannot write {path}: it is {kind}", hint="give the path of a file")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}", hint="create the folder first")
    return target
