"""A copy of the package that a walk of docs/extending.md is done in, and a process that uses it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import palpate
from moments import ENDLESS

ROOT = Path(__file__).parents[2]
PACKAGE = Path(palpate.__file__).parent


class Scratch:
    """palpate with some files changed. `touched` are the files that were.

    Changed files lie in a folder of their own, before the package's, so that everything else keeps its compiled
    kernels; `whole` copies the package instead, for changes that every kernel feels.
    """

    def __init__(self, folder: Path, *, whole: bool = False) -> None:
        self.folder, self.whole, self.touched = folder, whole, set[str]()
        if whole:
            shutil.copytree(PACKAGE, folder / "palpate", ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, file: str, text: str) -> None:
        """A new file."""
        assert not (PACKAGE / file).exists()
        self._put(file, text)

    def add(self, file: str, *, after: str = "", before: str = "", text: str) -> None:
        """Lines put beside a line that is there once."""
        path, anchor = self.folder / "palpate" / file, after or before
        whole = (path if path.exists() else PACKAGE / file).read_text()
        assert whole.count(anchor) == 1, f"{file} has {anchor!r} {whole.count(anchor)} times"
        self._put(file, whole.replace(anchor, after + text + before))

    def _put(self, file: str, text: str) -> None:
        path = self.folder / "palpate" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.touched.add(file)

    def python(self, program: str, **variables: str) -> str:
        """What a program prints that imports the changed package."""
        environment = os.environ | {"PYTHONPATH": str(self.folder if self.whole else PACKAGE.parent)} | variables
        before = "" if self.whole else _BEFORE.format(folder=str(self.folder), package=str(PACKAGE.parent))
        done = subprocess.run(
            [sys.executable, "-c", before + program],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=ENDLESS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


_BEFORE = """
import importlib.abc, importlib.util, os, sys

class Changed(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        for folder in ({folder!r}, {package!r}):
            base = os.path.join(folder, *name.split("."))
            if name.startswith("palpate.") and os.path.isfile(base + ".py"):
                return importlib.util.spec_from_file_location(name, base + ".py")
            if name.startswith("palpate.") and os.path.isfile(os.path.join(base, "__init__.py")):
                both = [os.path.join(f, *name.split(".")) for f in ({folder!r}, {package!r})]
                init = os.path.join(base, "__init__.py")
                return importlib.util.spec_from_file_location(name, init, submodule_search_locations=both)

sys.meta_path.insert(0, Changed())
"""


def files_named(heading: str) -> set[str]:
    """The files of the package that a section of docs/extending.md names, "<law>" and the like still in them."""
    section = (ROOT / "docs" / "extending.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    named = re.findall(r"`(?:src/palpate/)?([\w/<>]+/[\w<>]+\.py)`", section)
    return {name for name in named if not name.startswith("tests/")}
