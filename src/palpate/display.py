"""How the nouns show themselves: pages of `palpate.views` for a notebook, found when one is first asked for.

`views` registers its functions here, so that a trace, a robot or a scenario can draw itself without importing what is
above it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

_SHOWN: dict[str, Callable[..., Any]] = {}
F = TypeVar("F", bound=Callable[..., Any])


def shows(function: F) -> F:
    """Register a function, or a class, under its own name."""
    _SHOWN[function.__name__] = function
    return function


def shown(name: str) -> Callable[..., Any]:
    """The function that was registered under a name."""
    if name not in _SHOWN:
        importlib.import_module("palpate.views.notebook")
    return _SHOWN[name]


def notebook_progress() -> Callable[..., None] | None:
    """The progress bar of a notebook, if this process is one's kernel."""
    return shown("NotebookProgress")() if "ipykernel" in sys.modules else None
