"""Expands one xacro file and prints the URDF. Runs alone, in a process of its own.

Called by path as `python -I xacro_child.py FILE SECONDS BYTES OPTIONS`, OPTIONS being JSON with `arguments` (xacro
arguments by name) and `roots` (folders in which `$(find package)` is looked up). A xacro file is a program: it is run
only where the user asked for it, and here it may neither write files nor take more than its share.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import types
from pathlib import Path
from typing import Any


def _limit(seconds: float, memory: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        cpu = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2))  # a signal first, then the end
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


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
    """Limits itself first, then loads xacro."""
    file, seconds, memory, options = sys.argv[1:]
    _limit(float(seconds), int(memory))
    settings = json.loads(options)
    _offer_packages([Path(root) for root in settings["roots"]])
    import xacro

    try:
        document: Any = xacro.process_file(file, mappings=dict(settings["arguments"]))
        text = document.toprettyxml(indent="  ")
    except Exception as error:  # xacro raises whatever its file provokes
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.buffer.write(text.encode())


if __name__ == "__main__":
    main()
