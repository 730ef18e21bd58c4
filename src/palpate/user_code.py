"""Code that a scenario names, `my_module:Mine`: an object of a file beside the scenario, or of an installed module.

The first use of a module is announced on stderr, and `allow(False)` (`--no-code`) refuses it. A file that has changed
since it was loaded is loaded again. What goes wrong in such code is told with its file and line.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import os
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from palpate.errors import InvalidInput, PalpateError, nearest

_LOCK = threading.RLock()
_files: dict[str, Path] = {}  # file of each module that a scenario named
_loaded: dict[str, tuple[tuple[Any, ...], ModuleType]] = {}  # modules as executed, with the state of their files
_copies: set[Path] = set()  # modules of another machine that lie here
_announced: set[str] = set()
_allowed = True


def is_address(name: object) -> bool:
    """Whether a name is `module:object` and not one of a table."""
    if not isinstance(name, str) or name.count(":") != 1:
        return False
    return all(part.isidentifier() for part in name.replace(":", ".").split("."))


def allow(allowed: bool) -> None:
    """Say whether scenarios may run code of their own in this process."""
    global _allowed
    _allowed = allowed


def use_files(modules: Mapping[str, str]) -> None:
    """Say in which files the modules of a scenario are.

    Raises:
        InvalidInput: a module of that name was loaded from another file with other content.
    """
    for name, file in modules.items():
        path, known = Path(os.path.realpath(file)), _files.get(name)
        if not path.is_file():
            raise InvalidInput(f"the module {name!r} is to be read from {_shown(path)}, and there is no such file")
        if known not in (None, path) and name in _loaded and not _copies & {known, path} and known.is_file():
            if known.read_bytes() != path.read_bytes():
                raise InvalidInput(
                    f"two different files hold a module {name!r}: {_shown(known)} and {_shown(path)}",
                    hint="rename one of them, or run the scenarios in processes of their own",
                )
            continue
        _files[name] = path


def load(address: str) -> Any:
    """The object that `module:object` names.

    Raises:
        InvalidInput: code is forbidden, there is no such module or object, or executing the module failed.
    """
    name, _, attribute = address.partition(":")
    if not _allowed:
        raise InvalidInput(f"{address!r} is code that the scenario brings along, and --no-code forbids to run it")
    with _LOCK:
        module = _from_file(name, _files[name]) if name in _files else _installed(name)
    if not hasattr(module, attribute):
        known = sorted(key for key in vars(module) if not key.startswith("_"))
        near = nearest(attribute, known)
        raise InvalidInput(
            f"{_shown(Path(module.__file__ or name))} has no {attribute!r}",
            hint=f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'nothing'}",
        )
    return getattr(module, attribute)


def _installed(name: str) -> ModuleType:
    try:
        with blamed(name):
            module = importlib.import_module(name)
    except InvalidInput as error:
        missing = isinstance(error.__cause__, ModuleNotFoundError) and error.__cause__.name == name.partition(".")[0]
        if not missing:
            raise
        raise InvalidInput(
            f"there is no file {name.replace('.', '/')}.py beside the scenario, and no installed module {name!r}",
            hint='elsewhere it is named in the table [modules]: name = "folder/name.py"',
        ) from error
    _announce(name, f"the installed module {name}")
    return module


def _from_file(name: str, file: Path) -> ModuleType:
    """The module of a file as it is now."""
    try:
        state = file.stat()
        stamp = (file, state.st_mtime_ns, state.st_size)
        if name in _loaded and _loaded[name][0] == stamp:
            return _loaded[name][1]
        source = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {_shown(file)}: {error.strerror}") from error
    _announce(str(file), _shown(file))
    module = _executed(name, file, source)
    _loaded[name] = stamp, module
    return module


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
    """Tell an error of a user's code with its file and line, as an error of the house's."""
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
    if key not in _announced:
        _announced.add(key)
        print(f"note: this scenario runs code from {what}", file=sys.stderr, flush=True)


def _shown(path: Path) -> str:
    """A path as seen from the working folder, where that is shorter."""
    with contextlib.suppress(ValueError):
        return min(str(path), os.path.relpath(path), key=len)
    return str(path)


# ---------------------------------------------------------------------------------------------- other machines


def texts_of(modules: Mapping[str, str]) -> dict[str, bytes]:
    """The files of modules, and those beside them that they import, by their paths: for other machines."""
    folders = {os.path.dirname(file) for file in modules.values()}
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    beside = [file for file in loaded if file is not None and os.path.dirname(file) in folders]
    return {file: Path(file).read_bytes() for file in {*modules.values(), *beside} if os.path.isfile(file)}


def use_copies(files: Iterable[Path]) -> None:
    """Read modules, and what they import from beside them, from copies of another machine's files from now on."""
    with _LOCK:
        new = {file for file in files if file.suffix == ".py"}
        if new == _copies:
            return
        for file in _copies | new:
            sys.modules.pop(file.stem, None)  # that of a job before
        before = {file.parent for file in _copies}
        sys.path[:] = [*{str(file.parent) for file in new}, *(p for p in sys.path if Path(p) not in before)]
        _copies.clear()
        _copies.update(new)
