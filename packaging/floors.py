"""The lowest versions that pyproject.toml allows, as constraints for pip: `make floors` installs and tests them."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
_FLOOR = re.compile(r"([A-Za-z0-9._-]+)\s*>=\s*([0-9][^;,\s]*)")


def floors(text: str) -> Iterator[str]:
    """`name==version` of each requirement of the package and of its extras that names a lowest version."""
    project = tomllib.loads(text)["project"]
    extras = [one for name, listed in project["optional-dependencies"].items() if name != "all" for one in listed]
    for requirement in (*project["dependencies"], *extras):
        found = _FLOOR.match(requirement)
        if found is None:
            sys.exit(f"{requirement} names no lowest version")
        yield f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    print("\n".join(floors(PROJECT.read_text(encoding="utf-8"))))
