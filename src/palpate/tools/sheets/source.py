"""A document as it is written, and the pieces of it that can hold formulas.

Markdown, LaTeX, plain text, notebooks, Python and Matlab programs are read. Nothing in them is run. Every piece keeps
its position in the text of the document, so that a verdict can be put where the formula stands.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palpate.errors import InvalidInput
from palpate.files import read_text
from palpate.tools.review.algebra.effort import MOST_BYTES
from palpate.tools.review.read.dialects import rows_by_lines, translated
from palpate.tools.review.read.lexer import MACRO, blanked
from palpate.tools.review.read.printed_pages import is_palpate_page
from palpate.tools.review.read.statements import without_other_text, without_prose, without_scaffold

_DISPLAYS = "equation|align|alignat|gather|multline|eqnarray|displaymath|flalign|math|dmath"
_MATH = re.compile(
    r"(?P<fence>^[ \t]*(?P<mark>```+|~~~+)[^\n]*\n(?P<code>.*?)^[ \t]*(?P=mark)[ \t]*$)"
    r"|(?<!\\)\$\$(?P<dollars>.*?)(?<!\\)\$\$"
    r"|(?<!\\)\\\[(?P<brackets>.*?)\\\]"
    rf"|\\begin\{{(?P<name>{_DISPLAYS})(?P<star>\*?)\}}(?P<environment>.*?)\\end\{{(?P=name)(?P=star)\}}"
    r"|(?<!\\)\\\((?P<inline>.*?)\\\)"
    r"|(?<![\\$])\$(?P<dollar>[^$\n]+(?:\n[^$\n]+){0,3})(?<!\\)\$(?!\$)"
    r"|(?<![`\w])`(?P<quoted>[^`\n]+)`(?!`)",
    re.DOTALL | re.MULTILINE,
)
_KINDS = {
    "code": "code", "dollars": "display", "brackets": "display", "environment": "display", "inline": "inline",
    "dollar": "inline", "quoted": "inline",
}  # fmt: skip
_CODE = {".py": "python", ".m": "matlab"}
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_PROMPT = re.compile(r"^[ \t]*(?:>>>?|In \[\d*\]:|octave:\d+>)[ \t]?", re.MULTILINE)

_DECLARED = re.compile(
    r"@\([\w, ]*\)|^[ \t]*(?:const[ \t]+)?(?:double|float|auto|var|let|local|real)[ \t]+(?=\w+[ \t]*=)", re.MULTILINE
)
_COUNTED = re.compile(
    r"^[ \t]*(?:Eq(?:uation|n)?\.?[ \t]*)?\((?:\d+\.)*\d+[a-z]?\)[ \t]*(?::|(?<=\))(?=[ \t]))", re.MULTILINE
)  # the number of an equation before it


@dataclass(frozen=True)
class Piece:
    """A part of a document that may hold formulas.

    Attributes:
        kind: "display", "inline", "code" or "plain".
        start, end: its position in the document's text, without the signs around it.
    """

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A document.

    Attributes:
        name: of its file.
        text: as it is written; of a notebook, its cells one after another.
        clean: the same with comments blanked, every character in its place.
        pieces: that may hold formulas, in order.
        cells: where the cells of a notebook begin; empty for other documents.
    """

    name: str
    text: str
    clean: str
    pieces: tuple[Piece, ...]
    cells: tuple[int, ...] = ()

    def line(self, at: int) -> int:
        """The line of a position, from 1; of a notebook, within its cell."""
        begin = self.cells[self.cell(at) - 1] if self.cells else 0
        return self.text.count("\n", begin, at) + 1

    def cell(self, at: int) -> int:
        """The cell of a position, from 1; 0 in a document without cells."""
        return bisect_right(self.cells, at) if self.cells else 0

    def where(self, at: int) -> str:
        """A position in words."""
        return f"cell {self.cell(at)}, line {self.line(at)}" if self.cells else f"line {self.line(at)}"


def read_source(path: str | Path) -> Source:
    """Read a document.

    Raises:
        FileError: no such file, or not a text file.
        InvalidInput: a notebook that is none.
    """
    path = Path(path)
    text = read_text(path, most_bytes=MOST_BYTES)
    if path.suffix == ".ipynb":
        return _notebook(path, text)
    return source_of(text, path.name, _CODE.get(path.suffix, "text"))


def source_of(text: str, name: str = "text", kind: str = "text") -> Source:
    """A text as a document; `kind` is "text", "python" or "matlab"."""
    if kind != "text":
        return Source(name, text, text, tuple(_program_pieces(text, 0)))
    clean = _COMMENT.sub(lambda match: blanked(match[0]), text) if _is_latex_document(text) else text
    return Source(name, text, clean, tuple(sorted(_text_pieces(clean), key=lambda piece: piece.start)))


def _is_latex_document(text: str) -> bool:
    return "\\begin{document}" in text or "\\documentclass" in text


def _notebook(path: Path, text: str) -> Source:
    """The cells of a notebook as one text; outputs are left out."""
    try:
        data: Any = json.loads(text)
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in data["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{path} is no notebook: {error}", hint="a notebook is JSON with a list of cells") from error
    whole, pieces, starts = "", [], []
    for kind, source in cells:
        starts.append(len(whole))
        if kind == "code":
            pieces += _program_pieces(source, len(whole))
        elif kind == "markdown":
            pieces += [Piece(p.kind, p.start + len(whole), p.end + len(whole)) for p in _text_pieces(source)]
        whole += source + "\n\n"
    return Source(path.name, whole, whole, tuple(sorted(pieces, key=lambda p: p.start)), tuple(starts))


def _text_pieces(text: str) -> list[Piece]:
    """Displays, inline formulas, code, and what stands outside of all of them on lines of its own."""
    if is_palpate_page(text):
        return [Piece("page", 0, len(text))]
    pieces: list[Piece] = []
    rest, at = [], 0
    for match in _MATH.finditer(text):
        group = next(name for name in _KINDS if match[name] is not None)
        kind = _KINDS[group]
        if kind == "code":
            pieces += _program_pieces(match[group], match.start(group))
        else:
            pieces.append(Piece(kind, match.start(group), match.end(group)))
        rest += [text[at : match.start()], blanked(match[0]) if kind != "inline" else match[0]]
        at = match.end()
    outside = "".join([*rest, text[at:]])
    return [*pieces, *_plain_pieces(outside, bool(pieces))]


def _plain_pieces(text: str, marked: bool) -> list[Piece]:
    """Formulas that no sign sets apart: lines that are no prose, up to the next empty line outside of brackets."""
    clean = without_other_text(text) if not marked else without_prose(text)
    if marked:  # an inline formula in such a line is a piece of its own
        clean = re.sub(r"(?<!\\)\$[^$\n]*\$|`[^`\n]*`", lambda m: blanked(m[0]), clean)
    return [Piece("plain", 0, len(text))] if "=" in clean or re.search(r"^\s*\w+\s*:", clean, re.MULTILINE) else []


def _program_pieces(code: str, offset: int) -> list[Piece]:
    return [Piece("code", offset, offset + len(code))] if "=" in code else []


def piece_text(source: Source, piece: Piece) -> str:
    """A piece with everything in it that is no formula blanked."""
    inside = translated(source.clean[piece.start : piece.end])
    if piece.kind == "code":
        inside = _PROMPT.sub(lambda match: blanked(match[0]), inside)
        return rows_by_lines(without_scaffold(_DECLARED.sub(lambda match: blanked(match[0]), inside)))
    if piece.kind == "plain":
        inside = _COUNTED.sub(lambda match: blanked(match[0]), inside)
    if piece.kind == "page":
        return without_other_text(inside)
    if piece.kind != "plain":
        return inside
    others = [p for p in source.pieces if p.kind != "plain" and piece.start <= p.start < piece.end]
    for one in others:
        first, last = one.start - piece.start, one.end - piece.start
        inside = inside[:first] + blanked(inside[first:last]) + inside[last:]
    return without_prose(_without_marks(inside)) if others else without_other_text(inside)


def _without_marks(text: str) -> str:
    """Without the signs around formulas that were taken out, headings, lists' bullets and tables."""
    text = re.sub(r"\$\$?|```[^\n]*|`", lambda m: blanked(m[0]), text)
    return re.sub(r"^[ \t]*(?:#|\||>|[-*+] |\d+[.)] )[^\n]*", lambda m: blanked(m[0]), text, flags=re.MULTILINE)


def prelude(source: Source) -> str:
    """The document with everything blank but its abbreviations (\\newcommand and the like)."""
    blank = blanked(source.clean)
    for match in MACRO.finditer(source.clean):
        end = source.clean.find("\n", match.end())
        end = len(blank) if end < 0 else end
        blank = blank[: match.start()] + source.clean[match.start() : end] + blank[end:]
    return blank
