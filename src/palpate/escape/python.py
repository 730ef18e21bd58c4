"""Foreign text in Python."""

from __future__ import annotations

import keyword
import re

from palpate.errors import printable
from palpate.escape.text import quoted


def python_docstring(text: str) -> str:
    """Text inside a docstring's triple quotes."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def python_string(text: str) -> str:
    """A string literal of Python, quotes included."""
    return quoted(text)


def python_identifier(name: str) -> str:
    """A name of Python out of any text; followed by _ where it is a keyword."""
    cleaned = re.sub(r"\W", "_", name)
    cleaned = cleaned if cleaned.isidentifier() else re.sub(r"[^A-Za-z0-9_]", "_", f"_{cleaned}")
    return f"{cleaned}_" if keyword.iskeyword(cleaned) or keyword.issoftkeyword(cleaned) else cleaned
