"""What a kernel's machine code is made of: the digest of its sources, the user's own files included.

A kernel of the package is made of its own file and of every file of the package that this one leads to by imports. A
kernel of a user's file is described by more than files: by its own code, by the values of the constants that it names,
wherever they came from, and by the functions that it calls, down to the last.
"""

from __future__ import annotations

import ast
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
from palpate.syntax import parsed

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
    """A file, and every file that its kernels may have taken something from by imports."""
    reached, waiting = set(), [file, _COMPILER]
    while waiting:
        source = waiting.pop()
        if source not in reached:
            reached.add(source)
            waiting += _imports(source)
            if not is_ours(source):
                reached.update(_borrowed(source))
    return reached


@cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Files that a file imports from and that are followed further."""
    if not is_ours(file):
        return tuple(imported for imported in _imported_files(file) if _is_followed(imported, file))
    imported = []
    for module, names in _FROM.findall(text_of(file).decode()):
        folder = _PACKAGE.parent.joinpath(*module.split("."))
        inside = [folder / name.split(" as ")[0].strip() for name in names.strip("()").split(",")]
        imported += [folder.with_suffix(".py"), folder / "__init__.py"]
        imported += [path for name in inside for path in (name.with_name(f"{name.name}.py"), name / "__init__.py")]
    return tuple(path for path in imported if path.is_file() and path != _PACKAGE / "__init__.py")


def _borrowed(file: Path) -> Iterable[Path]:
    """Files of installed packages that a user's file imports from: they count, what they import does not."""
    return (path for path in _imported_files(file) if not _is_followed(path, file))


def _is_followed(file: Path, by: Path) -> bool:
    """Whether imports of an imported file count too: those of the user's files, and of the importer's own package."""
    return is_ours(file) or _installed_package(file) in (None, _installed_package(by))


def _installed_package(file: Path) -> str | None:
    """The package of an installed file; None for a file of the user."""
    for k, part in enumerate(file.parts):
        if part in ("site-packages", "dist-packages"):
            return file.parts[k + 1]
    return None


@cache
def _imported_files(file: Path) -> tuple[Path, ...]:
    """Files of the modules that the import statements of a file name, as far as they are loaded."""
    try:
        tree = parsed(text_of(file))
    except (OSError, SyntaxError, ValueError):  # typed in, made by a program, or not Python
        return ()
    names = {name for node in ast.walk(tree) for name in _names_imported(node, _package_of(file))}
    modules = (sys.modules.get(name) for name in sorted(names) if name.partition(".")[0] not in _FOREIGN)
    paths = (Path(module.__file__) for module in modules if getattr(module, "__file__", None))  # pyright: ignore[reportArgumentType, reportOptionalMemberAccess]
    return tuple(path for path in paths if path.suffix == ".py" and path != _PACKAGE / "__init__.py" and path.is_file())


def _names_imported(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = alias.name.split(".")
            yield from (".".join(parts[: k + 1]) for k in range(len(parts)))
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")
        base = above[: len(above) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _package_of(file: Path) -> str:
    """The package whose relative imports a file makes."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(file):
            return getattr(module, "__package__", None) or ""
    return ""


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


def _describe_function(function: Any, put: Callable[[bytes], None], seen: set[Any]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    file = Path(function.__code__.co_filename)
    put(f"function {function.__module__}.{function.__qualname__} ".encode())
    if function.__closure__ is None and is_ours(file):
        put(digest_of_files(sources_of(file), "").encode())
        return
    if (function.__module__ or "").partition(".")[0] in _FOREIGN:
        return
    names = list(_describe_code(function.__code__, put))
    for cell in function.__closure__ or ():
        _describe(cell.cell_contents, names, put, seen)
    for name in names:
        if name in function.__globals__:
            put(f"{name} = ".encode())
            _describe(function.__globals__[name], names, put, seen)


def _describe_code(code: CodeType, put: Callable[[bytes], None]) -> Iterator[str]:
    """Describe byte code and constants; the global names that it mentions."""
    put(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _describe_code(constant, put)
        else:
            put(repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode())
    yield from code.co_names


def _describe(value: Any, names: list[str], put: Callable[[bytes], None], seen: set[Any]) -> None:
    """Describe a value that a function takes from outside; NotApplicable if no bytes can say whether it is the same."""
    function = getattr(value, "py_func", None) or getattr(value, "__wrapped__", None) or value
    if isinstance(function, FunctionType):
        _describe_function(function, put, seen)
    elif isinstance(value, ModuleType):
        _describe_attributes(value, names, put, seen)
    elif isinstance(value, np.ndarray | np.generic):
        put(f"{value.dtype!r} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, tuple | list):
        put(f"{type(value).__qualname__} of {len(value)} ".encode())
        for item in value:
            _describe(item, names, put, seen)
    elif isinstance(value, type):
        put(f"{value.__module__}.{value.__qualname__} {getattr(value, 'digest', '')}".encode())
    elif isinstance(value, bool | int | float | complex | str | bytes | None | Enum | types.Type):
        put(f"{type(value).__name__} {value!r};".encode())
    elif type(value).__module__.partition(".")[0] in _FOREIGN and callable(value):  # abs, numpy.sin
        put(f"{type(value).__name__} {getattr(value, '__name__', '')}".encode())
    else:
        raise NotApplicable(f"a kernel takes {value!r} from outside")


def _describe_attributes(module: ModuleType, names: list[str], put: Callable[[bytes], None], seen: set[Any]) -> None:
    """Describe what a function may take from a module: every attribute whose name it mentions."""
    if module.__name__.partition(".")[0] in _FOREIGN:
        return
    for name in names:
        if hasattr(module, name) and (module.__name__, name) not in seen:
            seen.add((module.__name__, name))
            _describe(getattr(module, name), names, put, seen)
