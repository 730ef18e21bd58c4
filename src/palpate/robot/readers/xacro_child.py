"""Expands one xacro file and prints the URDF. Runs alone, in a process of its own.

Called by `limited.py` with the arguments FILE and OPTIONS, the latter being JSON with `arguments` (xacro
arguments by name) and `roots` (folders in which `$(find package)` is looked up). A xacro file is a program: it is run
only where the user asked for it, and here it may neither write files nor take more than its share.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any


def _package(name: str, roots: list[Path]) -> str:
    for root in roots:
        if root.name == name and root.is_dir():
            return str(root)
        if (root / name).is_dir():
            return str(root / name)
    sys.exit(f"no package {name!r}: declare the folder that holds it as a package root")


def _offer_packages(roots: list[Path]) -> None:
    """Answers xacro's question for a ROS package, which without ROS has nobody to ask."""
    index, packages = types.ModuleType("ament_index_python"), types.ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = lambda name: _package(name, roots)  # pyright: ignore[reportAttributeAccessIssue]
    index.packages = packages  # pyright: ignore[reportAttributeAccessIssue]
    sys.modules |= {"ament_index_python": index, "ament_index_python.packages": packages}


def main() -> None:
    """Expand and print."""
    settings = json.loads(sys.argv[2])
    _offer_packages([Path(root) for root in settings["roots"]])
    import xacro

    try:
        document: Any = xacro.process_file(sys.argv[1], mappings=dict(settings["arguments"]))
        text = document.toprettyxml(indent="  ")
    except Exception as error:  # xacro raises whatever its file provokes
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.buffer.write(text.encode())


if __name__ == "__main__":
    main()
