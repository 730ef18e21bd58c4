"""Foreign text in files of builds and data: CMake, Make, JSON, YAML, and comments behind #."""

from __future__ import annotations

import json
import re

from palpate.errors import printable
from palpate.escape.text import ended_line, quoted


def hash_comment(text: str) -> str:
    """Text behind the # of YAML, TOML, Python, CMake or a Makefile: one line, which does not continue."""
    return ended_line(printable(text))


def cmake_string(text: str) -> str:
    """Text between the quotes of CMake."""
    return re.sub(r'([\\"$@])', r"\\\1", printable(text))


def make_text(text: str) -> str:
    """Text in a Makefile: nothing of it is expanded, no comment begins and no line continues."""
    return ended_line(printable(text)).replace("$", "$$").replace("#", "\\#")


def json_text(text: str) -> str:
    """Text between the quotes of JSON."""
    return json.dumps(text, ensure_ascii=not text.isprintable())[1:-1]


def yaml_string(text: str) -> str:
    """A double-quoted string of YAML, quotes included."""
    return quoted(text)
