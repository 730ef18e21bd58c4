"""Files of compiled kernels: plain data with a checksum, in a folder that no other user can write to.

    a line     magic and version of this format
    a line     description (JSON), with the length of the object code
    ...        object code, then bitcode
    32 bytes   SHA-256 of everything before it

Whatever does not end with the checksum of its own bytes is no kernel. A checksum finds damage, not malice: machine code
is run, so a folder is used only if it belongs to the user and no other user can write there, as ssh and pip do. Links
in the folder are not followed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from pathlib import Path
from typing import NamedTuple, Self

from palpate.errors import FileError

SUFFIX = ".kernel"
_MAGIC = b"\x93palpate kernel 2\n"
_CHECKSUM_BYTES = 32
_LARGEST = 256 << 20  # bytes
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
WRITE_BY_OTHERS = 0o022  # the rights of group and others to write


class Callee(NamedTuple):
    """A kernel that is called by its symbol: where it is found, and the symbol its callers refer to."""

    module: str
    name: str
    symbol: str


class KeptKernel(NamedTuple):
    """A compiled kernel as it is kept.

    Attributes:
        key: everything that the machine code depends on, as text.
        library: name of the module of machine code.
        unique_name, symbol, environment: names that the compiler gave to function, code and environment variable.
        inline: whether it is to be copied into its callers.
        environments: (variable, module) of every function whose code was copied into this one.
        callees: kernels that the code refers to by symbol.
        object_code: an object file of this system.
        bitcode: LLVM bitcode of what callers may copy.
    """

    key: str
    library: str
    unique_name: str
    symbol: str
    environment: str
    inline: bool
    environments: list[tuple[str, str]]
    callees: tuple[Callee, ...]
    object_code: bytes
    bitcode: bytes


def pack(kernel: KeptKernel) -> bytes:
    """A kernel as the bytes of its file."""
    description = {name: value for name, value in kernel._asdict().items() if name not in ("object_code", "bitcode")}
    text = json.dumps(description | {"code_bytes": len(kernel.object_code)}).encode()
    content = b"".join([_MAGIC, text, b"\n", kernel.object_code, kernel.bitcode])
    return content + hashlib.sha256(content).digest()


def checksum(data: bytes) -> str:
    """The checksum that a kernel's file states."""
    return data[-_CHECKSUM_BYTES:].hex()


def unpack(data: bytes) -> KeptKernel | None:
    """The kernel in a file's bytes; None if any byte is not as it was written."""
    content = data[:-_CHECKSUM_BYTES]
    if not content.startswith(_MAGIC) or hashlib.sha256(content).digest() != data[-_CHECKSUM_BYTES:]:
        return None
    text, _, code = content[len(_MAGIC) :].partition(b"\n")
    try:
        meta = json.loads(text)
        size = meta.pop("code_bytes")
        meta["callees"] = tuple(Callee(*callee) for callee in meta["callees"])
        return KeptKernel(**meta, object_code=code[:size], bitcode=code[size:])
    except (ValueError, TypeError, KeyError):
        return None


class Folder:
    """An open folder of kernels: files are named relative to it, so that it cannot be exchanged for another later."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self._descriptor = path, descriptor

    @classmethod
    def opened(cls, path: Path) -> Self:
        """A folder without a check of who may write to it."""
        return cls(path, _open_folder(str(path), None) if _HAS_DESCRIPTORS else None)

    @classmethod
    def private(cls, root: Path, *below: str) -> Self:
        """A folder below `root`, made if it is not there; each of them must be the user's alone.

        Raises:
            FileError: one belongs to another user, is a link, or can be written by others.
            OSError: it cannot be made, or nothing can be written there.
        """
        _make_folders(root)
        path = Path(os.path.realpath(root))
        if not _HAS_DESCRIPTORS:  # Windows: a user's folders are guarded by lists of rights
            path = path.joinpath(*below)
            path.mkdir(parents=True, exist_ok=True)
            return cls(path, None)._checked_writable()
        descriptor = _open_folder(str(path), None)
        _demand_private(descriptor, path)
        for name in below:
            descriptor, path = _step_into(descriptor, path, name), path / name
            _demand_private(descriptor, path)
        return cls(path, descriptor)._checked_writable()

    def _checked_writable(self) -> Self:
        """The folder, once a file could be written there."""
        name = f".try-{secrets.token_hex(8)}"
        os.close(os.open(self._at(name), _WRITE, 0o600, dir_fd=self._descriptor))
        self.remove(name)
        return self

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)

    def status(self) -> os.stat_result:
        """Owner and rights of the folder."""
        return os.stat(self.path if self._descriptor is None else self._descriptor)

    def read(self, name: str) -> bytes | None:
        """Content of a regular file that no other user can have written; None if there is no such file."""
        try:
            file = os.open(self._at(name), _READ, dir_fd=self._descriptor)
        except OSError:  # none, or a link
            return None
        with open(file, "rb", buffering=0) as stream:
            status, folder = os.fstat(file), self.status()
            safe = stat.filemode(status.st_mode)[0] == "-" and status.st_size <= _LARGEST
            others = status.st_mode & ~folder.st_mode & WRITE_BY_OTHERS
            if not safe or status.st_uid != folder.st_uid or others:
                return None
            return stream.readall()

    def write(self, name: str, data: bytes) -> None:
        """Put a whole file in the place of what has that name, a link included."""
        temporary = f".{secrets.token_hex(8)}.part"
        file = os.open(self._at(temporary), _WRITE, 0o600, dir_fd=self._descriptor)
        try:
            with open(file, "wb") as stream:
                stream.write(data)
            descriptor = self._descriptor
            os.replace(self._at(temporary), self._at(name), src_dir_fd=descriptor, dst_dir_fd=descriptor)
        except BaseException:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        try:
            os.unlink(self._at(name), dir_fd=self._descriptor)
        except OSError:
            return

    def names(self) -> list[str]:
        """Names of the files."""
        return os.listdir(self.path if self._descriptor is None else self._descriptor)

    def age(self, name: str, now: float) -> float:
        """How long ago a file was written, s."""
        return now - os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False).st_mtime


_HAS_DESCRIPTORS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "geteuid")


def _make_folders(path: Path) -> None:
    """Make a folder and what it lies in, for the user alone."""
    if not path.is_dir():
        _make_folders(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def _open_folder(name: str, inside: int | None) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=inside)


def _step_into(descriptor: int, path: Path, name: str) -> int:
    try:
        if name not in os.listdir(descriptor):
            os.mkdir(name, 0o700, dir_fd=descriptor)
        return _open_folder(name, descriptor)
    except FileExistsError:  # made by another process at this moment
        return _open_folder(name, descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise FileError(f"{path / name} is a link or a file") from None
        raise
    finally:
        os.close(descriptor)


def _demand_private(descriptor: int, path: Path) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        os.close(descriptor)
        raise FileError(f"{path} belongs to another user ({_user_name(status.st_uid)})")
    if status.st_mode & WRITE_BY_OTHERS:
        os.close(descriptor)
        raise FileError(f"other users can write to {path} (mode {status.st_mode & 0o7777:o})")


def _user_name(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"number {number}"
