"""Python sources as trees."""

from __future__ import annotations

import ast
import gc


def parsed(source: str | bytes) -> ast.Module:
    """A source as a tree; without the collector, whose finalisers can spoil CPython 3.11's count of nested nodes."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if was_on:
            gc.enable()
