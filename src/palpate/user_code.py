"""Code that a scenario names, `my_module:Mine`: an object of a file beside the scenario, or of an installed module.

A scenario is data: reading, showing and comparing load none of it. `load` is the one place where it is executed; it is
called where something runs (`Scenario.with_code`), says so on stderr before it imports anything, and obeys `allowing`.
`loaded` finds again what this process has loaded. A file that has changed since is loaded again.

A model in xacro is a program too: `run_program` announces it in the same way.

What goes wrong in such code is told with its file and line.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import linecache
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from palpate.errors import InvalidInput, PalpateError, harmless, nearest

Allowed = Literal["all", "asked", "nothing"]

LOCK = threading.RLock()
_loaded: dict[str, tuple[tuple[Any, ...], ModuleType]] = {}  # modules of files as executed, with the files' state
_objects: dict[str, Any] = {}  # by address, those that were loaded in this process
_programs: set[str] = set()  # xacro files that may run in this process
COPIES: set[Path] = set()  # modules of another machine that lie here
_announced: set[str] = set()
_allowed: Allowed = "all"


class Unloaded:
    """Settings of an own law, reference or sensor as data, while its class is not loaded."""


def is_address(name: object) -> bool:
    """Whether a name is `module:object` and not one of a table."""
    if not isinstance(name, str) or name.count(":") != 1:
        return False
    return all(part.isidentifier() for part in name.replace(":", ".").split("."))


@contextlib.contextmanager
def allowing(allowed: Allowed) -> Iterator[None]:
    """While it is entered, let this process run only some code of others.

    Args:
        allowed: "all"; "asked", nothing that a scenario names, only programs that the user names on the command line;
            or "nothing" (`--no-code`).
    """
    global _allowed
    before, _allowed = _allowed, allowed
    try:
        yield
    finally:
        _allowed = before


def load(address: str, modules: Mapping[str, str]) -> Any:
    """Execute the code behind `module:object`, unless that was done before, and return the object.

    Args:
        address: what a scenario names.
        modules: files of the scenario's modules, by name; a module that is not among them is an installed one.

    Raises:
        InvalidInput: code is forbidden, there is no such file, module or object, two files have one name, or executing
            the module failed.
    """
    name, _, attribute = address.partition(":")
    _refuse_forbidden(repr(address))
    with LOCK:
        module = _from_file(name, Path(os.path.realpath(modules[name]))) if name in modules else _installed(name)
        if not hasattr(module, attribute):
            known = sorted(key for key in vars(module) if not key.startswith("_"))
            near = nearest(attribute, known)
            raise InvalidInput(
                f"{_shown(Path(module.__file__ or name))} has no {attribute!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'nothing'}",
            )
        _objects[address] = getattr(module, attribute)
        return _objects[address]


def is_loaded(address: str) -> bool:
    """Whether this process has loaded what `module:object` names, and may use it."""
    return address in _objects and _allowed == "all"


def loaded(address: str) -> Any:
    """The object that `module:object` names, as `load` loaded it.

    Raises:
        InvalidInput: it was not loaded in this process.
    """
    if not is_loaded(address):
        why = "--no-code forbids to run it" if _allowed == "nothing" else "its code was not run here"
        raise InvalidInput(
            f"{address!r} is code that the scenario brings along: {why}",
            hint=None if _allowed == "nothing" else "--code runs it; in Python load_scenario(…).with_code()",
        )
    return _objects[address]


def run_program(file: str, *, asked: bool = False) -> None:
    """Let a xacro file run in this process; one that a scenario names is announced.

    Args:
        file: the model file.
        asked: the user has asked for it, by name and option.

    Raises:
        InvalidInput: that is forbidden.
    """
    path = os.path.realpath(file)
    if path in _programs and _allowed != "nothing":
        return
    if not asked:
        _refuse_forbidden(f"{_shown(Path(path))}, a xacro program,")
        _announce(path, f"{_shown(Path(path))}, a xacro program")
    _programs.add(path)


def may_run_program(file: str) -> bool:
    """Whether `run_program` has let a xacro file run in this process."""
    return os.path.realpath(file) in _programs


def refuse_programs(what: str) -> None:
    """Refuse to run a program that the user has asked for, where `--no-code` forbids all code."""
    if _allowed == "nothing":
        raise InvalidInput(f"{what} is a program, and --no-code forbids to run it")


def _refuse_forbidden(what: str) -> None:
    if _allowed == "nothing":
        raise InvalidInput(f"{what} is code that the scenario brings along, and --no-code forbids to run it")
    if _allowed == "asked":
        raise InvalidInput(
            f"{what} is code that the scenario brings along, and this command only looks at it",
            hint="--code runs it",
        )


def _installed(name: str) -> ModuleType:
    top = name.partition(".")[0]
    if name not in sys.modules and top not in sys.modules and importlib.util.find_spec(top) is None:
        raise InvalidInput(
            f"there is no file {name.replace('.', '/')}.py beside the scenario, and no installed module {name!r}",
            hint='elsewhere it is named in the table [modules]: name = "folder/name.py"',
        )
    _announce(name, f"the installed module {name}")
    with blamed(name):
        return importlib.import_module(name)


def _from_file(name: str, file: Path) -> ModuleType:
    """The module of a file as it is now."""
    if not file.is_file():
        raise InvalidInput(f"the module {name!r} is to be read from {_shown(file)}, and there is no such file")
    try:
        state = file.stat()
        stamp = (file, state.st_mtime_ns, state.st_size)
        if name in _loaded and _loaded[name][0] == stamp:
            return _loaded[name][1]
        source = file.read_bytes()
        if (same := _of_another_file(name, file, source)) is not None:
            return same
    except OSError as error:
        raise InvalidInput(f"cannot read {_shown(file)}: {error.strerror}") from error
    _announce(str(file), _shown(file))
    module = _executed(name, file, source)
    _loaded[name] = stamp, module
    return module


def _of_another_file(name: str, file: Path, source: bytes) -> ModuleType | None:
    """The module of this name that was loaded from another file of the same content; None if there is none.

    Raises:
        InvalidInput: the other file has another content.
    """
    if name not in _loaded:
        return None
    known = _loaded[name][0][0]
    if known == file or COPIES & {known, file} or not known.is_file():
        return None
    if known.read_bytes() != source:
        raise InvalidInput(
            f"two different files hold a module {name!r}: {_shown(known)} and {_shown(file)}",
            hint="rename one of them, or run the scenarios in processes of their own",
        )
    return _loaded[name][1]


def _executed(name: str, file: Path, source: bytes) -> ModuleType:
    """A new module from a source; compiled here, because a .pyc file does not notice two edits within a second."""
    taken = sys.modules.get(name)
    if taken is not None and getattr(taken, "__file__", None) != str(file) and name not in _loaded:
        name = f"scenario_{name}"  # an installed module has the name
    module = ModuleType(name)
    module.__file__ = str(file)
    linecache.checkcache(str(file))
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # for what it imports from beside it; installed modules come first
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        with blamed(str(file)):
            exec(compile(source, str(file), "exec", dont_inherit=True), vars(module))
    except InvalidInput:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
        raise
    return module


@contextlib.contextmanager
def blamed(where: str) -> Iterator[None]:
    """Raise an error of a user's code as a PalpateError, with its file and line."""
    try:
        yield
    except PalpateError:
        raise
    except SyntaxError as error:
        raise InvalidInput(f"{_shown(Path(error.filename or where))}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == where] or frames[-1:]
        message = f"{type(error).__name__}: {error}"
        raise InvalidInput(f"{_shown(Path(own[-1].filename))}, line {own[-1].lineno}: {message}") from error


def _announce(key: str, what: str) -> None:
    """Say that code runs, before it does."""
    if key not in _announced:
        _announced.add(key)
        print(harmless(f"note: this scenario runs code from {what}"), file=sys.stderr, flush=True)


def _shown(path: Path) -> str:
    """A path as seen from the working folder, where that is shorter."""
    with contextlib.suppress(ValueError):
        return min(str(path), os.path.relpath(path), key=len)
    return str(path)
