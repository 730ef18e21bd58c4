"""Kernels that come with a wheel: compiled where the wheel was built, for any processor of its kind.

`make wheel` puts them into the folder `shipped/` beside this file. A shipped kernel serves where the versions of Python
(major and minor), numba, llvmlite and MuJoCo and the text of every source that it is made of are those of the build;
anything else is compiled as if nothing had been shipped. What this machine has compiled itself is taken first.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

from palpate.engine import cache as own

_PACKAGE = Path(__file__).parents[1]
_HERE = Path(__file__).parent / "shipped"


def shipping_folder() -> Path | None:
    """Where kernels are put to be shipped, while a wheel is built: `PALPATE_SHIP_KERNELS`."""
    named = os.environ.get("PALPATE_SHIP_KERNELS")
    return Path(named) if named else None


@cache
def stamp(file: Path) -> str:
    """A digest of everything that a shipped kernel in `file` is made of; no folder of this machine is in it."""
    python = ".".join(platform.python_version_tuple()[:2])
    digest = hashlib.sha256(", ".join([python, sys.platform, platform.machine(), *own.packages()]).encode())
    for source in sorted(own.sources_of(file)):
        digest.update(source.name.encode() + b"\0" + hashlib.sha256(own._text(source)).digest())
    return digest.hexdigest()


def is_shipped(file: Path, function: str) -> bool:
    """Whether a kernel of these very sources came with the wheel."""
    return any(_HERE.glob(f"{file.stem}.{function}-*-{stamp(file)[:12]}*.nbi"))


class _Locator(own._Locator):
    def get_cache_path(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return str(shipping_folder() or _HERE)

    def get_source_stamp(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return stamp(self._file)

    def get_disambiguator(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        place = self._file.relative_to(_PACKAGE).as_posix()
        return hashlib.sha256(f"{place}:{self._line}".encode()).hexdigest()[:12]


class _Implementation(own._Implementation):
    locator_class = _Locator


class _ShippedCache(FunctionCache):
    """The shipped kernels of one function; whichever processor asks, since they are made for all."""

    _impl_class = _Implementation

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        signature, _, code = super()._index_key(sig, codegen)  # pyright: ignore[reportAttributeAccessIssue]
        return signature, (sys.platform, platform.machine()), code


class KernelCache(own.KernelCache):
    """The disk cache of one kernel, with what was shipped behind it."""

    def __init__(self, py_func: Callable[..., Any], allocates: bool = True) -> None:
        super().__init__(py_func, allocates)
        inside = Path(py_func.__code__.co_filename).is_relative_to(_PACKAGE)
        there = _HERE.is_dir() or shipping_folder() is not None
        self._shipped = _ShippedCache(py_func) if inside and there and _plain() else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """This machine's kernel, or the shipped one, or None."""
        found = super().load_overload(sig, target_context)
        if found is None and self._shipped is not None:
            try:
                return own.load(self._shipped, sig, target_context, self._allocates)
            except Exception:  # damaged, or of a numba that differs more than its version says: compiled anew
                return None
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel; to be shipped as well while a wheel is built."""
        super().save_overload(sig, data)
        if self._shipped is not None and shipping_folder() is not None:
            self._shipped.save_overload(sig, data)


@cache
def _plain() -> bool:
    """Whether nothing shapes machine code otherwise than when the wheel was built; there the processor is named."""
    named = [name for name in own._SHAPING if os.environ.get(f"NUMBA_{name}")]
    return not named or (shipping_folder() is not None and named == ["CPU_NAME"])
