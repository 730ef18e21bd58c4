"""Compiled kernels kept between runs: where they lie, and when a kept one may be used.

A kernel is machine code made from its own file and from every file that this one takes something from, by given
versions of Python, numba, llvmlite and MuJoCo. Its key says all of these: a kernel whose key differs is compiled again,
whatever the dates of files say. Kernels lie in one folder per set of versions below the user's cache folder
(`PALPATE_CACHE_DIR` names another). A folder that other users could write to is not used; there, and where nothing
can be written, kernels lie in a folder that ends with the process. A digest of the sources is part of a kernel's file
name, so that processes of two states of the sources never write into each other's files.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from palpate.engine.compiling.function_digests import function_digest
from palpate.engine.compiling.kernel_files import SUFFIX, Folder, KeptKernel, pack, unpack
from palpate.engine.compiling.sources import digest_of_files, sources_of
from palpate.engine.notes import note
from palpate.errors import FileError

SHAPING = ("BOUNDSCHECK", "OPT", "DEBUGINFO", "CPU_NAME", "CPU_FEATURES", "LOOP_VECTORIZE", "SLP_VECTORIZE")
_DAY = 86400.0  # s

Function = Callable[..., Any]


def user_cache_folder() -> Path:
    """The folder that `PALPATE_CACHE_DIR` names, or the one this system keeps caches in."""
    named = os.environ.get("PALPATE_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "palpate" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "palpate"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palpate"


@cache
def versions() -> str:
    """Versions and settings that shape machine code besides its sources."""
    settings = (f"{name}={os.environ[f'NUMBA_{name}']}" for name in SHAPING if os.environ.get(f"NUMBA_{name}"))
    return ", ".join([f"Python {platform.python_version()} {platform.machine()}", *packages(), *settings])


@cache
def packages() -> tuple[str, ...]:
    """The packages whose versions shape machine code."""
    return tuple(f"{name} {importlib.metadata.version(name)}" for name in ("numba", "llvmlite", "mujoco-core"))


class FolderInUse(NamedTuple):
    """The folder in use, and why it is a temporary one; nothing if it is not."""

    folder: Folder
    problem: str = ""


@cache
def folder_in_use() -> FolderInUse:
    """Where kernels are kept: the user's folder, or a temporary one where that is unsafe or cannot be written."""
    below = "kernels", hashlib.sha256(versions().encode()).hexdigest()[:16]
    try:
        return FolderInUse(Folder.private(user_cache_folder(), *below))
    except FileError as error:
        problem = str(error)
        _note(problem)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
        problem = f"{error}"
    temporary = tempfile.mkdtemp(prefix="palpate-kernels-")
    atexit.register(_remove, temporary, os.getpid())
    os.environ["PALPATE_CACHE_DIR"] = temporary  # processes started from here on share it
    return FolderInUse(Folder.private(Path(temporary), *below), problem)


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _note(problem: str) -> None:
    """Say why nothing is kept."""
    note(
        f"compiled kernels are not kept between runs: {problem};"
        " PALPATE_CACHE_DIR names a folder of your own that nobody else can write to (chmod 700)"
    )


@cache
def stamp(file: Path) -> str:
    """A digest of every file that a kernel in `file` is made of, and of the versions."""
    return digest_of_files(sources_of(file), versions())


class Origin(NamedTuple):
    """Origin of machine code: a position in a file, a name, and a digest of what the file does not tell.

    `digest` is None for what no digest can describe; such code is not kept.
    """

    file: Path
    line: int
    name: str
    digest: str | None


def origin_of(function: Function) -> Origin:
    """Where a function's kernel comes from; its file must be there. The name begins its kept files' names."""
    code, file = function.__code__, Path(function.__code__.co_filename)
    name = f"{file.stem}.{function.__qualname__}".replace("<", "").replace(">", "")
    return Origin(file, code.co_firstlineno, name, function_digest(function))


class KernelStore:
    """The kept kernels of one origin in one folder: a help that may fail. What cannot be used is compiled again.

    Args:
        origin: what they are made from.
        folder: where their files lie.
        stamp: digest of their sources.
        path: of the origin's file, which tells functions of the same name apart.
    """

    def __init__(self, origin: Origin, folder: Folder, stamp: str, path: str) -> None:
        self.folder, self.stamp, self.digest = folder, stamp, origin.digest
        mark = hashlib.sha256(f"{path}:{origin.line}".encode()).hexdigest()[:12]
        self.of_all_stamps = f"{origin.name}-{mark}-"
        self.of_stamp = f"{self.of_all_stamps}{stamp[:12]}-"

    def key(self, signature: str, processor: str) -> str | None:
        """Everything that the machine code depends on; None for a function that cannot be described."""
        return None if self.digest is None else "\n".join([self.stamp, self.digest, signature, processor])

    def file(self, key: str) -> str:
        """Name of the file of a key."""
        return f"{self.of_stamp}{hashlib.sha256(key.encode()).hexdigest()[:12]}{SUFFIX}"

    def data(self, name: str) -> bytes | None:
        """Content of one of its files."""
        return self.folder.read(name)

    def read(self, signature: str, processor: str) -> KeptKernel | None:
        """The kept kernel; None if there is none, or its file is damaged."""
        key = self.key(signature, processor)
        data = None if key is None else self.data(self.file(key))
        kept = None if data is None else unpack(data)
        return kept if kept is not None and kept.key == key else None

    def write(self, signature: str, processor: str, kernel: KeptKernel) -> None:
        """Keep a kernel where that is possible, in place of those of older sources."""
        key = self.key(signature, processor)
        if key is None:
            return
        try:
            self.folder.write(self.file(key), pack(kernel._replace(key=key)))
            self._remove_older()
        except OSError:  # a full disk, a folder that went away
            return
        if folder_in_use().problem:
            _note(folder_in_use().problem)

    def _remove_older(self) -> None:
        """Drop what this kernel was before its sources changed, unless another process may still use it."""
        now = time.time()
        for name in self.folder.names():
            older = name.startswith(self.of_all_stamps) and not name.startswith(self.of_stamp)
            if older and self.folder.age(name, now) > _DAY:
                self.folder.remove(name)


class KeptKernels(NamedTuple):
    """Content of the kernel cache: its folder, files and bytes of these versions, and of all.

    `problem` says why the folder is a temporary one; nothing if it is not.
    """

    folder: Path
    files: int
    size: int
    all_files: int
    all_size: int
    problem: str


def kept_kernels() -> KeptKernels:
    """Content of the kernel cache now."""
    folder, problem = folder_in_use()
    mine, all_of_them = _sizes(folder.path), _sizes(_all_kernels())
    return KeptKernels(folder.path, len(mine), sum(mine), len(all_of_them), sum(all_of_them), problem)


def _all_kernels() -> Path | None:
    try:
        return user_cache_folder() / "kernels"
    except RuntimeError:  # no home folder
        return None


def _sizes(folder: Path | None) -> list[int]:
    try:
        return [file.stat().st_size for file in folder.rglob("*") if file.is_file()] if folder is not None else []
    except OSError:
        return []


def clear_kernels() -> int:
    """Delete every kept kernel of every version; how many files that were."""
    folder = _all_kernels()
    count = len(_sizes(folder))
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    folder_in_use.cache_clear()
    return count
