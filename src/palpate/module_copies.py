"""Modules of a scenario on other machines: their files as bytes, and copies of them that are read here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from palpate.user_code import COPIES, LOCK


def texts_of(modules: Mapping[str, str]) -> dict[str, bytes]:
    """The files of modules, and those beside them that they import, by their paths: for other machines."""
    folders = {os.path.dirname(file) for file in modules.values()}
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    beside = [file for file in loaded if file is not None and os.path.dirname(file) in folders]
    return {file: Path(file).read_bytes() for file in {*modules.values(), *beside} if os.path.isfile(file)}


def use_copies(files: Iterable[Path]) -> None:
    """Read modules, and what they import from beside them, from copies of another machine's files from now on."""
    with LOCK:
        new = {file for file in files if file.suffix == ".py"}
        if new == COPIES:
            return
        for file in COPIES | new:
            sys.modules.pop(file.stem, None)  # that of a job before
        before = {file.parent for file in COPIES}
        sys.path[:] = [*{str(file.parent) for file in new}, *(p for p in sys.path if Path(p) not in before)]
        COPIES.clear()
        COPIES.update(new)
