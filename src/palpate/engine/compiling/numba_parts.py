"""The one door to numba's inner parts.

On a version that was verified, `accelerated.py` compiles kernels with parts that numba does not promise to keep:
each kernel once, kept on disk. On any other version `plain.py` does the same by numba's public interface: more
slowly, in each process anew, with the same numbers. `PALPATE_NUMBA=plain` asks for the second on any version.

What records cannot do without on either path is named here. Where numba has it no longer, the error says what.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from palpate.engine.bounds import VERIFIED_NUMBA, is_verified
from palpate.engine.notes import note
from palpate.errors import UnsupportedVersion
from palpate.forking import inherited_free


def _part(module: str, name: str) -> Any:
    """An inner part of numba.

    Raises:
        UnsupportedVersion: this numba has it no longer; the message names it.
    """
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UnsupportedVersion(
            f"numba {importlib.metadata.version('numba')} has no {module}.{name}, which palpate's records need",
            hint=f"pip install 'numba>={VERIFIED_NUMBA[0]},<{VERIFIED_NUMBA[1]}', or a newer palpate",
        ) from error


AttributeTemplate: Any = _part("numba.core.typing.templates", "AttributeTemplate")  # types of fields
Conversion: Any = _part("numba.core.typeconv.castgraph", "Conversion")  # a record where its parent is asked for
default_type_manager: Any = _part("numba.core.typeconv.rules", "default_type_manager")  # an address for a record
populate_array: Any = _part("numba.np.arrayobj", "populate_array")  # an array over memory that is there already
ExternalFunction: Any = _part("numba.core.types", "ExternalFunction")  # functions of the physics engine


def _free_locks_in_children() -> None:
    """Let a child process compile that was forked while a thread of its parent held numba's or LLVM's lock."""
    for module, owner in (("numba.core.compiler_lock", "global_compiler_lock"), ("llvmlite.binding.ffi", "lib")):
        lock = getattr(getattr(importlib.import_module(module), owner, None), "_lock", None)
        inner = getattr(lock, "_lock", lock)  # LLVM's is wrapped
        if hasattr(inner, "_at_fork_reinit"):
            inherited_free(inner)


_free_locks_in_children()


class Choice(NamedTuple):
    """The module that compiles kernels, and why it is the slower one; nothing if it is not."""

    module: str
    reason: str = ""


@cache
def choice() -> Choice:
    """How kernels are compiled on this version of numba."""
    version, (first, below) = importlib.metadata.version("numba"), VERIFIED_NUMBA
    plain = "palpate.engine.compiling.plain"
    if os.environ.get("PALPATE_NUMBA") == "plain":
        return Choice(plain, "PALPATE_NUMBA=plain is set")
    if not is_verified(version):
        advice = f"pip install 'numba>={first},<{below}' starts faster"
        return Choice(plain, f"numba {version} is not one of the versions from {first} to below {below}; {advice}")
    accelerated = "palpate.engine.compiling.accelerated"
    try:
        importlib.import_module(accelerated)
    except Exception as error:  # a numba that differs from what its version says
        return Choice(plain, f"numba {version} lacks something ({type(error).__name__}: {error})")
    return Choice(accelerated)


def compiler() -> ModuleType:
    """The module that compiles kernels on this version of numba."""
    return importlib.import_module(choice().module)


observers: list[Any] = []  # each has begin(kernel) and end(kernel)


@contextmanager
def compiling(kernel: Any) -> Iterator[None]:
    """Tell every observer that a kernel is being compiled."""
    if choice().reason:
        note(
            "kernels are compiled in each process anew, some 80 s for a first run, without numba's inner parts;"
            f" numbers are the same. Why: {choice().reason}"
        )
    watching = list(observers)
    for observer in watching:
        observer.begin(kernel)
    try:
        yield
    finally:
        for observer in watching:
            observer.end(kernel)
