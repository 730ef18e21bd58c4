"""Foreign text in pages and documents: XML, HTML, Markdown, LaTeX."""

from __future__ import annotations

import html
import json
import re

from palpate.errors import printable

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Text of an XML element or attribute; what XML 1.0 cannot hold becomes U+FFFD."""
    return html.escape(_NOT_IN_XML.sub("\ufffd", text))


def html_text(text: str) -> str:
    """Text of an HTML element or of an attribute in quotes."""
    return html.escape(text)


def html_json(data: object) -> str:
    """JSON inside a page's script element, which nothing in it ends."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def markdown_text(text: str) -> str:
    """Text of a Markdown paragraph: no HTML, no link, no image, no code, no heading, no list."""
    text = " ".join(printable(" ".join(text.split())).split())
    text = re.sub(r"([\\`*\[\]|])", r"\\\1", text).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"^([#>+=~-]|\d+(?=[.)](?:\s|$)))", lambda match: f"&#{ord(match[0][0])};{match[0][1:]}", text)


def markdown_code(text: str) -> str:
    """A code span of Markdown, its backticks included: more of them than stand together in the text."""
    text = printable(text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks, space = "`" * (longest + 1), " " if longest or not text.strip() else ""
    return f"{ticks}{space}{text}{space}{ticks}"


_LATEX = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}


def latex_text(text: str) -> str:
    """Text of LaTeX outside mathematics: no command, no comment, no mathematics."""
    return re.sub(r"[\\{}$&#%^_~]", lambda match: _LATEX.get(match[0], f"\\{match[0]}"), printable(text))
