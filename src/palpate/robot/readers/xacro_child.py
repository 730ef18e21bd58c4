"""Expands one xacro file and prints the URDF. Runs alone, in a process of its own.

Called by `limited.py` with the arguments FILE and OPTIONS, the latter being JSON with `arguments` (xacro arguments by
name), `own` (folders of the model), `roots` (folders that the user declared) and `above` (folders over the model, in
which `$(find package)` looks for packages). A xacro file is a program: it is run only where the user asked for it, and
here it may neither write files, nor read any outside of these folders, nor take more than its share.
"""

from __future__ import annotations

import json
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

_CODE = (".py", ".pyc", ".so", ".pyd")  # what Python itself reads while it imports
_REFUSED = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.startfile", "socket.", "ctypes.")
_FOLDERS = ("os.listdir", "os.scandir", "os.chdir")


class Folders:
    """The folders that a xacro file may read, packages that it found among them."""

    def __init__(self, own: list[str], roots: list[str], above: list[str]) -> None:
        self.readable = [Path(folder) for folder in (*own, *roots)]
        self.roots, self.above = [Path(root) for root in roots], [Path(folder) for folder in above]
        libraries = (*sys.path, sys.prefix, sys.base_prefix)
        self.libraries = {Path(os.path.realpath(folder)) for folder in libraries if folder}

    def package(self, name: str) -> str:
        """The folder of a package: below a declared root, or one with a package.xml on the way up from the model."""
        if re.fullmatch(r"[A-Za-z0-9_-]+", name):
            declared = [root for root in self.roots if root.name == name] + [root / name for root in self.roots]
            found = [folder for folder in declared if folder.is_dir()]
            near = [folder for folder in self.above if folder.name == name] + [folder / name for folder in self.above]
            found += [folder for folder in near if (folder / "package.xml").is_file()]
            if found:
                self.readable.append(Path(os.path.realpath(found[0])))
                return str(found[0])
        sys.exit(f"no package {name!r}: declare the folder that holds it as a package root")

    def check(self, path: Any, listed: bool) -> None:
        """Refuse to open what lies elsewhere, links followed; to import, Python opens and lists its own folders."""
        if isinstance(path, int):
            return
        whole = Path(os.path.realpath(os.fsdecode(path)))
        importing = (listed or whole.suffix in _CODE) and any(whole.is_relative_to(one) for one in self.libraries)
        if not importing and not any(whole.is_relative_to(folder) for folder in self.readable):
            sys.exit(f"{os.fsdecode(path)} lies outside of the model's folders and is not opened")

    def watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at everything that Python does from now on: an audit hook, which nothing can take away again."""
        if event == "open" or (event in _FOLDERS and arguments[0] is not None):
            self.check(arguments[0], event in _FOLDERS)
        elif event.startswith(_REFUSED):
            sys.exit(f"a model may not do {event}")


def _offer_packages(folders: Folders) -> None:
    """Finds a ROS package for xacro where ROS is not installed."""
    index, packages = types.ModuleType("ament_index_python"), types.ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = folders.package  # pyright: ignore[reportAttributeAccessIssue]
    index.packages = packages  # pyright: ignore[reportAttributeAccessIssue]
    sys.modules |= {"ament_index_python": index, "ament_index_python.packages": packages}


def main() -> None:
    """Expand and print."""
    settings = json.loads(sys.argv[2])
    folders = Folders(settings["own"], settings["roots"], settings["above"])
    _offer_packages(folders)
    import xacro

    sys.addaudithook(folders.watch)
    try:
        document: Any = xacro.process_file(sys.argv[1], mappings=dict(settings["arguments"]))
        text = document.toprettyxml(indent="  ")
    except Exception as error:  # xacro raises whatever its file provokes
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.buffer.write(text.encode())


if __name__ == "__main__":
    main()
