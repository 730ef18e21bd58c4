"""What a kernel's machine code is made of: the digest of its sources, the user's own files included.

A kernel is made of its own file and of every file of the package that this one leads to by imports. A kernel of a
user's file is described by more than that: by its byte code, by the values of the constants that it names, wherever
they came from, and by the functions that it calls, with their files, down to the last.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

from palpate.errors import NotApplicable

_PACKAGE = Path(__file__).parents[2]
_COMPILER = Path(__file__).with_name("accelerated.py")  # chosen at run time, so no import statement leads to it
_OURS = ("palpate", "palpate_documents")
_FROM = re.compile(r"^from ((?:palpate|palpate_documents)(?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
# Packages whose text shapes no machine code beyond what their versions say, and what comes with Python.
_FOREIGN = {"numpy", "numba", "llvmlite", "mujoco", "scipy", "sympy", "pydantic", "rich", *sys.stdlib_module_names}


@cache
def is_ours(file: Path) -> bool:
    """Whether a file is one of palpate, or of the package that comes with it."""
    return any(file.is_relative_to(_PACKAGE.parent / name) for name in _OURS)


def sources_of(file: Path) -> set[Path]:
    """A file, and every file of the package that its kernels may have taken something from by imports."""
    reached, waiting = set(), [file, _COMPILER]
    while waiting:
        source = waiting.pop()
        if source not in reached:
            reached.add(source)
            waiting += _imports(source)
    return reached


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Files of the package that a file imports from."""
    imported = []
    for module, names in _FROM.findall(text_of(file).decode("utf-8", "replace")):
        folder = _PACKAGE.parent.joinpath(*module.split("."))
        inside = [folder / name.split(" as ")[0].strip() for name in names.strip("()").split(",")]
        imported += [folder.with_suffix(".py"), folder / "__init__.py"]
        imported += [path for name in inside for path in (name.with_name(f"{name.name}.py"), name / "__init__.py")]
    return tuple(path for path in imported if path.is_file() and path != _PACKAGE / "__init__.py")


@cache
def text_of(file: Path) -> bytes:
    """The text of a source as it was when first asked for."""
    return file.read_bytes()


def remember_source(file: Path) -> None:
    """Read a source now, as it was imported: one that is replaced while the process runs must not stamp old code."""
    if file.is_file():
        text_of(file)


def digest_of_files(files: Iterable[Path], basis: str) -> str:
    """A digest of the text of files, and of something else that matters."""
    return hashlib.sha256(basis.encode() + b"".join(_digest_of_file(source) for source in sorted(files))).hexdigest()


@cache
def _digest_of_file(file: Path) -> bytes:
    return file.name.encode() + b"\0" + hashlib.sha256(text_of(file)).digest()


# ------------------------------------------------------------------------------------------- functions and values


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
        add(_digest_of_file(file))
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
