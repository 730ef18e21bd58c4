"""Names and lines in any generated text: characters that no name may have, lines that end, and quotes."""

from __future__ import annotations

import re
import unicodedata


def control_characters(name: str) -> list[str]:
    """The characters of a name that no name may have, as escapes: control characters and separators of lines."""
    bad = dict.fromkeys(c for c in name if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp"))
    return [c.encode("unicode_escape").decode() for c in bad]


def ended_line(text: str) -> str:
    """One line that does not go on in the next: compilers take a backslash for that even where blanks follow it."""
    return re.sub(r"\\(\s*)$", r"\\x5c\1", text)


def quoted(text: str) -> str:
    """A string in double quotes as Python and YAML read it."""
    letters = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(letters.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'
