"""Where compiled kernels are kept between runs, and when a kept one may be used.

A kernel is machine code made from its own file and from every file of the package that file imports, by given versions
of Python, numba, llvmlite and MuJoCo. Its stamp is a digest of all of these: a kernel whose stamp differs is compiled
anew, whatever the dates of files say. Kernels lie in one folder per set of versions below the user's cache folder
(`PALPATE_CACHE_DIR` names another), or in a folder that ends with the process where nothing can be written.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

_PACKAGE = Path(__file__).parents[1]
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
    packages = (f"{name} {importlib.metadata.version(name)}" for name in ("numba", "llvmlite", "mujoco-core"))
    return ", ".join([f"Python {platform.python_version()} {platform.machine()}", *packages])


@cache
def kernel_folder() -> Path:
    """Where kernels are kept; a temporary folder where nothing can be written."""
    folder = user_cache_folder() / "kernels" / hashlib.sha256(versions().encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
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
    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._lineno = py_func.__code__.co_firstlineno
        self._locator = _Locator(py_func)
        # Named after module and function; the locator's mark tells checkouts and lines apart.
        name = f"{Path(py_func.__code__.co_filename).stem}.{py_func.__qualname__}".replace("<", "").replace(">", "")
        self._filename_base = f"{name}-{self._locator.get_disambiguator()}"


class KernelCache(FunctionCache):
    """The disk cache of one kernel."""

    _impl_class = _Implementation


def clear_kernels() -> int:
    """Delete every kept kernel of every version; how many files that were."""
    folder = user_cache_folder() / "kernels"
    count = sum(1 for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0
    shutil.rmtree(folder, ignore_errors=True)
    return count
