"""Sources of a kernel's machine code, and the digest of their text.

A kernel is made of its own file and of every file of the package that this one leads to by imports. A kernel of a
user's file is described by more than that (`function_digests.py`): by its byte code, by the values of the constants
that it names, wherever they came from, and by the functions that it calls, with their files, down to the last.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_COMPILER = Path(__file__).with_name("accelerated.py")  # chosen at run time, so no import statement leads to it
_OURS = ("palpate", "palpate_documents")
_FROM = re.compile(r"^from ((?:palpate|palpate_documents)(?:\.\w+)*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


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
    return hashlib.sha256(basis.encode() + b"".join(digest_of_file(source) for source in sorted(files))).hexdigest()


@cache
def digest_of_file(file: Path) -> bytes:
    """A digest of the name and the text of a file."""
    return file.name.encode() + b"\0" + hashlib.sha256(text_of(file)).digest()
