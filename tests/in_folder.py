"""A command of palpate in this process, in a working folder of its own."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from palpate.cli.main import main


def run_command(words: list[str], folder: Path) -> tuple[int, str]:
    """Exit code of a command in a working folder, and everything that it printed."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        return main(words), printed.getvalue()
