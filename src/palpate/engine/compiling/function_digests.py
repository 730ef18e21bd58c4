"""Digests of functions that their files do not describe: byte code, constants, and the functions that they call."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

from palpate.engine.compiling.sources import digest_of_file, digest_of_files, is_ours, sources_of
from palpate.errors import NotApplicable

# Packages whose text shapes no machine code beyond what their versions say, and what comes with Python.
_FOREIGN = {"numpy", "numba", "llvmlite", "mujoco", "scipy", "sympy", "pydantic", "rich", *sys.stdlib_module_names}


def function_digest(function: Callable[..., Any]) -> str | None:
    """A digest of what the files do not tell of a function; None where it takes something that has no description.

    Empty for a plain function of the package, which its files describe.
    """
    if function.__closure__ is None and is_ours(Path(function.__code__.co_filename)):
        return ""
    digest = hashlib.sha256()
    try:
        _describe_function(function, digest.update, set())
    except NotApplicable:
        return None
    return digest.hexdigest()


def _describe_function(function: Any, add: Callable[[bytes], None], seen: set[Any]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    file = Path(function.__code__.co_filename)
    add(f"function {function.__module__}.{function.__qualname__} ".encode())
    if function.__closure__ is None and is_ours(file):
        add(digest_of_files(sources_of(file), "").encode())
        return
    if (function.__module__ or "").partition(".")[0] in _FOREIGN:
        return
    if file.is_file():
        add(digest_of_file(file))
    names = list(_describe_code(function.__code__, add))
    for cell in function.__closure__ or ():
        _describe(cell.cell_contents, names, add, seen)
    for name in names:
        if name in function.__globals__:
            add(f"{name} = ".encode())
            _describe(function.__globals__[name], names, add, seen)


def _describe_code(code: CodeType, add: Callable[[bytes], None]) -> Iterator[str]:
    """Describe byte code and constants; the global names that it mentions."""
    add(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _describe_code(constant, add)
        else:
            add(repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode())
    yield from code.co_names


def _describe(value: Any, names: list[str], add: Callable[[bytes], None], seen: set[Any]) -> None:
    """Describe a value that a function takes from outside; NotApplicable if no bytes can say whether it is the same."""
    function = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None) or value
    if isinstance(function, FunctionType):
        _describe_function(function, add, seen)
    elif isinstance(value, ModuleType):
        _describe_attributes(value, names, add, seen)
    elif isinstance(value, np.ndarray | np.generic):
        add(f"{value.dtype!r} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, tuple | list):
        add(f"{type(value).__qualname__} of {len(value)} ".encode())
        for item in value:
            _describe(item, names, add, seen)
    elif isinstance(value, type):
        members = [repr(member) for member in value] if issubclass(value, Enum) else ""
        add(f"{value.__module__}.{value.__qualname__} {getattr(value, 'digest', '')} {members}".encode())
    elif isinstance(value, bool | int | float | complex | str | bytes | None | Enum | types.Type):
        add(f"{type(value).__name__} {value!r};".encode())
    elif type(value).__module__.partition(".")[0] in _FOREIGN and callable(value):  # abs, numpy.sin
        add(f"{type(value).__name__} {getattr(value, '__name__', '')}".encode())
    else:
        raise NotApplicable(f"a kernel takes {value!r} from outside")


def _describe_attributes(module: ModuleType, names: list[str], add: Callable[[bytes], None], seen: set[Any]) -> None:
    """Describe what a function may take from a module: every attribute whose name it mentions."""
    if module.__name__.partition(".")[0] in _FOREIGN:
        return
    for name in names:
        if hasattr(module, name) and (module.__name__, name) not in seen:
            seen.add((module.__name__, name))
            _describe(getattr(module, name), names, add, seen)
