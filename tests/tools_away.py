"""A palpate without some of its tools: `import tools_away` hides those that PALPATE_TOOLS_AWAY names.

Their modules cannot be imported and the toolbox does not list them, as if their folders were gone. As a plug-in of
pytest it counts a test that asks for a hidden tool as skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from typing import Any

import pytest

AWAY = set(os.environ.get("PALPATE_TOOLS_AWAY", "").split())


class Gone(MetaPathFinder):
    """Refuses the modules of hidden tools."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname.startswith("palpate.tools.") and fullname.split(".")[2] in AWAY:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


if AWAY:
    sys.meta_path.insert(0, Gone())
    from palpate import toolbox

    kept = {name: tool for name, tool in toolbox.installed().items() if name not in AWAY}
    toolbox.installed = lambda: kept  # pyright: ignore[reportAttributeAccessIssue]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test that needs what is away."""
    result = yield
    error = result.excinfo[1] if result.excinfo else None  # pyright: ignore[reportOptionalMemberAccess,reportAttributeAccessIssue]
    name = getattr(error, "name", None) or ""
    if type(error).__name__ == "MissingTool" or (isinstance(error, ModuleNotFoundError) and "palpate.tools" in name):
        result.force_exception(pytest.skip.Exception(f"needs a tool: {error}"))  # pyright: ignore[reportOptionalMemberAccess,reportAttributeAccessIssue]
