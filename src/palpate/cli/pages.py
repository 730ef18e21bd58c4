"""Figures and report of a run whose trace is written, in a process of its own: the caller goes on meanwhile.

python -m palpate.cli.pages FOLDER
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from pathlib import Path

from palpate.errors import harmless

COMMAND = (sys.executable, "-m", "palpate.cli.pages")


def write_pages(folder: Path) -> Path:
    """Write figures and report of a run into its folder, and return the report's file."""
    import palpate as pp
    from palpate.cli.folder import TRACE, RunFolder
    from palpate.cli.judged import judged

    with RunFolder(folder, made=False) as run:
        trace = pp.load_trace(folder / TRACE)
        [results] = judged([folder / TRACE], [trace], code=False, bounded=True)
        return run.write_pages(trace, results)


class PagesWriter:
    """Writes pages of one folder after the other, beside whatever else the command does."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._folders: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[str] | None = None
        self._given_up = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def add(self, folder: Path) -> None:
        """Write the pages of a folder as soon as those before it are done."""
        self._folders.put(folder)

    def _work(self) -> None:
        while (folder := self._folders.get()) is not None:
            if not self._given_up:
                self._write(folder)

    def _write(self, folder: Path) -> None:
        command = [*COMMAND, str(folder)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            self._process = process
            complaint = process.communicate()[1]
        if process.returncode != 0 and not self._given_up:
            said = complaint.strip().splitlines()[-1:] or [f"it ended with code {process.returncode}"]
            print(harmless(f"palpate: no report of {folder} ({said[0]}); the trace is kept"), file=sys.stderr)
        elif process.returncode == 0 and not self._quiet:
            print(harmless(f"the report of {folder} is written"), flush=True)

    def finish(self) -> None:
        """Wait until all pages are written."""
        self._folders.put(None)
        while self._thread.is_alive():
            self._thread.join(0.1)

    def give_up(self) -> None:
        """Write no more; what is being written is left out."""
        self._given_up = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self._folders.put(None)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
