"""A copy of the package that a walk of docs/extending.md is done in, and a process that uses it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import palpate

ROOT = Path(__file__).parents[2]
PACKAGE = Path(palpate.__file__).parent


class Scratch:
    """A copy of palpate to change. `touched` are the files of it that were."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, set[str]()
        shutil.copytree(PACKAGE, folder / "palpate", ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, file: str, text: str) -> None:
        """A new file."""
        path = self.folder / "palpate" / file
        assert not path.exists()
        path.write_text(text)
        self.touched.add(file)

    def add(self, file: str, *, after: str = "", before: str = "", text: str) -> None:
        """Lines put beside a line that is there once."""
        path, anchor = self.folder / "palpate" / file, after or before
        whole = path.read_text()
        assert whole.count(anchor) == 1, f"{file} has {anchor!r} {whole.count(anchor)} times"
        path.write_text(whole.replace(anchor, after + text + before))
        self.touched.add(file)

    def python(self, program: str, **variables: str) -> str:
        """What a program prints that imports the changed package."""
        environment = os.environ | {"PYTHONPATH": str(self.folder)} | variables
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def files_named(heading: str) -> set[str]:
    """The files of the package that a section of docs/extending.md names, "<law>" and the like still in them."""
    section = (ROOT / "docs" / "extending.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    named = re.findall(r"`(?:src/palpate/)?([\w/<>]+/[\w<>]+\.py)`", section)
    return {name for name in named if not name.startswith("tests/")}
