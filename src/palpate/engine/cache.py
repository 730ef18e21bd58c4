"""Where compiled kernels are kept between runs, and when a kept one may be used.

A kernel is machine code made from its own file and from every file of the package that file imports, by given versions
of Python, numba, llvmlite and MuJoCo. Its stamp is a digest of all of these: a kernel whose stamp differs is compiled
anew, whatever the dates of files say. Kernels lie in one folder per set of versions below the user's cache folder
(`PALPATE_CACHE_DIR` names another), or in a folder that ends with the process where nothing can be written. The stamp
is part of a kernel's file name, so that processes of two states of the sources never write into each other's files.
"""

from __future__ import annotations

import atexit
import glob
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from palpate.engine.bounds import check_versions

check_versions()  # before numba's inner parts are touched

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator  # noqa: E402

from palpate.engine.linking import bind, called_places  # noqa: E402

_PACKAGE = Path(__file__).parents[1]
_SHAPING = ("BOUNDSCHECK", "OPT", "DEBUGINFO", "CPU_NAME", "CPU_FEATURES", "LOOP_VECTORIZE", "SLP_VECTORIZE")
_DAY = 86400.0  # s
_FROM = re.compile(r"^from (palpate(?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


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
    """What else than sources shapes machine code."""
    settings = (f"{name}={os.environ[f'NUMBA_{name}']}" for name in _SHAPING if os.environ.get(f"NUMBA_{name}"))
    return ", ".join([f"Python {platform.python_version()} {platform.machine()}", *packages(), *settings])


@cache
def packages() -> tuple[str, ...]:
    """The packages whose versions shape machine code."""
    return tuple(f"{name} {importlib.metadata.version(name)}" for name in ("numba", "llvmlite", "mujoco-core"))


@cache
def kernel_folder() -> Path:
    """Where kernels are kept; a temporary folder where nothing can be written."""
    folder = user_cache_folder() / "kernels" / hashlib.sha256(versions().encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        passing = Path(tempfile.mkdtemp(prefix="palpate-kernels-"))
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
        return passing


def sources_of(file: Path) -> set[Path]:
    """A file, and every file of the package that it leads to by imports."""
    reached, waiting = set(), [file]
    while waiting:
        source = waiting.pop()
        if source not in reached:
            reached.add(source)
            waiting += _imports(source)
    return reached


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    found = []
    for module, names in _FROM.findall(_text(file).decode()):
        folder = _PACKAGE.joinpath(*module.split(".")[1:])
        inside = [folder / f"{name.split(' as ')[0].strip()}.py" for name in names.strip("()").split(",")]
        packages = [
            folder / f"{name.split(' as ')[0].strip()}" / "__init__.py" for name in names.strip("()").split(",")
        ]
        found += [folder.with_suffix(".py"), folder / "__init__.py", *inside, *packages]
    return tuple(path for path in found if path.is_file() and path != _PACKAGE / "__init__.py")


@cache
def _text(file: Path) -> bytes:
    return file.read_bytes()


@cache
def stamp(file: Path) -> str:
    """A digest of everything that a kernel in `file` is made of."""
    digest = hashlib.sha256(versions().encode())
    for source in sorted(sources_of(file)):
        digest.update(source.name.encode() + b"\0" + hashlib.sha256(_text(source)).digest())
    return digest.hexdigest()


def remember_source(file: Path) -> None:
    """Read a source now, as it was imported: one that is replaced while the process runs must not stamp old code."""
    if file.is_file():
        _text(file)


class _Locator(_CacheLocator):
    """Numba's question where a function's cache is, answered with our folder and our stamp."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._file = Path(function.__code__.co_filename)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return str(kernel_folder())

    def get_source_stamp(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return stamp(self._file)

    def get_disambiguator(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return hashlib.sha256(f"{self._file}:{self._line}".encode()).hexdigest()[:12]

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func)


class _Implementation(CompileResultCacheImpl):
    locator_class = _Locator

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._lineno = py_func.__code__.co_firstlineno
        self._locator = self.locator_class(py_func)
        # Named after module and function; the locator's mark tells checkouts and lines apart.
        name = f"{Path(py_func.__code__.co_filename).stem}.{py_func.__qualname__}".replace("<", "").replace(">", "")
        self.of_all_stamps = f"{name}-{self._locator.get_disambiguator()}"
        self._filename_base = f"{self.of_all_stamps}-{self._locator.get_source_stamp()[:12]}"

    def reduce(self, cres: Any) -> Any:
        """What is kept: the kernels called by their symbols, and numba's own form of the rest."""
        return called_places(cres.library), super().reduce(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Code out of what was kept, bound to the kernels it calls; None where one of them is another now."""
        called, kept = payload
        if not bind(called):
            return None
        result = super().rebuild(target_context, kept)
        result.library.called = called
        result.library.object_code = kept[0][2][0]
        return result


def load(cache: FunctionCache, sig: Any, target_context: Any, allocates: bool) -> Any:
    """What is kept, or None; half a second of imports by numba is spent only where code allocates, which needs them."""
    if allocates:
        return FunctionCache.load_overload(cache, sig, target_context)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(sig, target_context)


class KernelCache(FunctionCache):
    """The disk cache of one kernel: a help that may fail. What cannot be read is compiled anew, and said to nobody."""

    _impl_class = _Implementation

    def __init__(self, py_func: Callable[..., Any], allocates: bool = True) -> None:
        super().__init__(py_func)
        self._allocates = allocates

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kept kernel, or None: also where its file is damaged."""
        try:
            return load(self, sig, target_context, self._allocates)
        except Exception:  # a truncated or foreign file can fail anywhere in numba's reader
            Path(self._cache_file._index_path).unlink(missing_ok=True)  # pyright: ignore[reportAttributeAccessIssue]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel where that is possible, in place of those of older sources."""
        try:
            super().save_overload(sig, data)
            self._forget_older()
        except OSError:  # a full disk, a folder that went away
            return

    def _forget_older(self) -> None:
        """Drop what this kernel was before its sources changed, unless somebody may still be at work with it."""
        mine, all_stamps = self._impl.filename_base, self._impl.of_all_stamps  # pyright: ignore[reportAttributeAccessIssue]
        for file in kernel_folder().glob(f"{glob.escape(all_stamps)}-*"):
            if not file.name.startswith(mine) and time.time() - file.stat().st_mtime > _DAY:
                file.unlink(missing_ok=True)


def is_kept(file: Path, function: str) -> bool:
    """Whether a kernel of these very sources is kept already."""
    return any(kernel_folder().glob(f"{file.stem}.{function}-*-{stamp(file)[:12]}*.nbi"))


class KeptKernels(NamedTuple):
    """What the kernel cache holds: where, files and bytes of these versions, and of all."""

    folder: Path
    files: int
    size: int
    all_files: int
    all_size: int
    temporary: bool


def kept_kernels() -> KeptKernels:
    """What is kept now."""
    here = kernel_folder()
    mine, all_of_them = _sizes(here), _sizes(_all_kernels())
    temporary = _all_kernels() != here.parent
    return KeptKernels(here, len(mine), sum(mine), len(all_of_them), sum(all_of_them), temporary)


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
    return count
