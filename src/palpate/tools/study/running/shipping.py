"""Files of a scenario on a machine that has not got them: models, meshes, tables and own code.

Copies keep the folders over them, below one folder of their own, so that whatever a model finds by the names of folders
is found again. A process keeps the copies of one sweep at a time.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from palpate.files import make_folder, write_file
from palpate.module_copies import use_copies
from palpate.scenario.file.places import below, placed_below

_lock = threading.Lock()
_folders: dict[str, str] = {}  # the folder over the copies that this process works with, by the mark of their contents
_scratch: list[str] = []


def use_scratch(folder: str) -> None:
    """Put copies below a folder that others clean up, also where this process is killed."""
    _scratch[:] = [folder]


def mark_of(contents: Mapping[str, bytes]) -> str:
    """A name for contents of files, the same for the same."""
    return _digest(repr([(path, _digest(content)) for path, content in sorted(contents.items())]).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def moved(scenario: Mapping[str, Any], contents: Mapping[str, bytes]) -> dict[str, Any]:
    """A scenario's data as they are to be run here: its files where they are, or copies where these differ."""
    data = dict(scenario)
    if all(os.path.isfile(path) and Path(path).read_bytes() == content for path, content in contents.items()):
        use_copies(())
        return data
    return placed_below(data, _unpacked(contents))


def _unpacked(contents: Mapping[str, bytes]) -> str:
    mark = mark_of(contents)
    with _lock:
        if mark not in _folders:
            folder = tempfile.mkdtemp(prefix="palpate-files-", dir=_scratch[0] if _scratch else None)
            for path, content in contents.items():
                copy = Path(below(path, folder))
                make_folder(copy.parent)
                write_file(copy, content)
            forget_copies()
            _folders[mark] = os.path.realpath(folder)
        use_copies([Path(below(path, _folders[mark])) for path in contents])
        return _folders[mark]


@atexit.register
def forget_copies() -> None:
    """Delete the copies of the sweep before."""
    while _folders:
        shutil.rmtree(_folders.popitem()[1], ignore_errors=True)


def bare_names(text: str, files: Iterable[str]) -> str:
    """A message without the folders of files: it reads alike on every machine, and tells nothing of this one."""
    for path in files:
        for whole in (*(below(path, folder) for folder in _folders.values()), path):
            for shown in (whole, os.path.relpath(whole)):
                text = text.replace(shown, os.path.basename(path))
    return text
