"""The statements of a document: a left side, and what it is said to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from palpate.tools.review.algebra.effort import MOST_FORMULAS, check_count
from palpate.tools.review.algebra.names import spelled
from palpate.tools.review.algebra.wanted import QUANTITIES, label_quantity
from palpate.tools.review.read.lexer import FRAME, MACRO, blanked, macros
from palpate.tools.review.read.statements import chunks
from palpate.tools.sheets.source import Piece, Source, piece_text, prelude

_MARKS = re.compile(
    r"\\begin\b|\\end\b|\\\\|\\[{}]|\\left\s*\.|\\right\s*\.|[()\[\]{}]|\\q?quad\b|&|(?<![<>!=:])=(?!=)|:=|\\(?:equiv|triangleq|doteq|coloneqq)\b"
)
_OPENING, _CLOSING = ("(", "[", "{", "\\{", "\\begin"), (")", "]", "}", "\\}", "\\end")
_EQUALS = ("=", ":=", "\\equiv", "\\triangleq", "\\doteq", "\\coloneqq")
_WORDS = re.compile(r"\\(?:text|mbox|textrm|quad\s*\\rm)\s*\{(?P<words>[^{}]*)\}")
_GAP = re.compile(r"\\q?quad\b")
_NUMBERED = re.compile(r"\\tag\*?\{\s*(?P<tag>[^{}]+?)\s*\}|(?:\\q?quad|\s)\s*\((?P<number>\d+\w?)\)\s*$")
_AFTER = re.compile(r"\s*(?:\$\$)?\s*\((?P<number>\d+\w?)\)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Statement:
    """A formula of a document.

    Attributes:
        kind: that of its piece: "display", "inline", "code", "plain" or "page".
        text: of its piece.
        sides: positions in that text of the parts between its equals signs; the first is the left side.
        offset: where the text begins in the document.
        number: of the equation, "" if it has none.
        notes: how it was put together.
        keyword: the quantity that a line such as "tau: …" or "equation: … = 0" names; "" elsewhere.
        before: what stands before the text: blanks, so that positions are the document's, and abbreviations.
    """

    kind: str
    text: str
    sides: tuple[tuple[int, int], ...]
    offset: int
    number: str = ""
    notes: tuple[str, ...] = ()
    keyword: str = ""
    before: str = field(default="", repr=False, compare=False)

    @property
    def start(self) -> int:
        """Where it begins in the document."""
        return self.offset + min(first for first, _ in self.sides)

    @property
    def end(self) -> int:
        """Where it ends in the document."""
        return self.offset + max(last for _, last in self.sides)

    def side(self, number: int) -> str:
        """A part between equals signs; of the left one the document's abbreviations are written out."""
        text = self.text[slice(*self.sides[number])]
        return _written_out(text, self.before) if number == 0 and "\\" in text and "\\" in self.before else text

    def alone(self, number: int) -> str:
        """A part by itself, in its position in the document."""
        first, last = self.sides[number]
        return self.before + blanked(self.text[:first]) + _as_row(_in_one_line(self.text[first:last]))

    @property
    def whole(self) -> str:
        """All of it, in its position in the document."""
        first, (right, last) = self.sides[0][0], self.sides[-1]
        left = _in_one_line(self.text[first:right])
        return self.before + blanked(self.text[:first]) + left + _as_row(_in_one_line(self.text[right:last]))


def _written_out(text: str, before: str) -> str:
    """A left side with abbreviations of at most one argument written out."""
    for name, (count, meaning) in macros(before)[1].items():
        if count == 0:
            text = re.sub(rf"\\{name}(?![A-Za-z])", lambda _, m=meaning: m, text)
        elif count == 1:
            text = re.sub(rf"\\{name}\s*\{{([^{{}}]*)\}}", lambda match, m=meaning: m.replace("#1", match[1]), text)
    return text


_TUPLE = re.compile(
    r"(?P<lead>\s*)(?:\\left\s*)?\((?P<inside>.*)\)(?P<above>\s*\^\s*\{?\s*(?:T|\\top|\\mathsf\{T\}|\\mathrm\{T\})\s*\}?)?",
    re.DOTALL,
)


def _as_row(text: str) -> str:
    """(a, b)ᵀ as [a, b]: a list in round brackets is a row."""
    match = _TUPLE.fullmatch(text.rstrip())
    if match is None:
        return text
    depth, comma = 0, False
    for letter in match["inside"]:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return text
        comma = comma or (letter == "," and depth == 0)
    if not comma:
        return text
    inside = match["inside"]
    inside = re.sub(r"\\right\s*$", lambda one: blanked(one[0]), inside)
    made = text[: match.start("inside") - 1] + "[" + inside + "]" + blanked(text[match.end("inside") + 1 :])
    return re.sub(r"\\left(?=\s*\[)", "     ", made, count=1)


def _in_one_line(text: str) -> str:
    """A formula without the marks of its layout outside of matrices."""
    inside = 0  # of environments
    for mark, _, start, end in _walk(text):
        inside += {"\\begin": 1, "\\end": -1}.get(mark, 0)
        if inside == 0 and mark in ("\\\\", "&"):
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def statements(source: Source) -> list[Statement]:
    """Every statement of a document that has an equals sign, in order.

    Raises:
        TooLarge: there are too many.
    """
    made: list[Statement] = []
    opened: Statement | None = None  # a display that goes on in the next one
    blank = prelude(source)
    for piece in source.pieces:
        text = piece_text(source, piece)
        if piece.kind == "display" and opened is not None and not _has_equals(text):
            made[-1] = opened = _continued(opened, text, piece)
            opened = opened if _is_open(opened) else None
            continue
        number, before = _number(source, piece), blank[: piece.start]
        new = [replace(one, number=one.number or number, before=before) for one in _statements_of(text, piece)]
        made += new
        check_count(len(made), MOST_FORMULAS, "formulas")
        if piece.kind == "display":
            opened = new[-1] if new and _is_open(new[-1]) else None
    return made


def _has_equals(text: str) -> bool:
    return any(mark in _EQUALS for mark, depth, *_ in _walk(text) if depth == 0)


def _depth(text: str) -> int:
    """How many brackets are open at the end of a text."""
    depth = 0
    for mark, before, *_ in _walk(text):
        depth = before + (mark in _OPENING)
    return depth


_GOES_ON = re.compile(r"(?:[+\-*/=]|\\cdot|\\times)$")


def _is_open(one: Statement) -> bool:
    """Whether a formula goes on: it ends with a sign of operation, or a bracket is open."""
    text = one.text[one.sides[0][0] : one.sides[-1][1]].rstrip()
    return bool(_GOES_ON.search(text)) or _depth(text) > 0


def _continued(first: Statement, more: str, piece: Piece) -> Statement:
    """A formula with the display that it goes on in."""
    notes, end = first.notes, first.sides[-1][1]
    gap = piece.start - first.offset - end
    mine = first.text[:end]
    needs_sign = not re.search(r"(?:[+\-*/=(]|\\cdot)$", mine.rstrip()) and not re.match(
        r"\s*(?:[+\-*/)]|\\right)", more
    )
    if needs_sign and gap:
        notes = (*notes, "read with a + where the line breaks")
    text = (mine + ("+" if needs_sign and gap else "")).ljust(end + gap) + more.rstrip()
    if _depth(text[first.sides[0][0] :]) == 1 and not _GOES_ON.search(text):
        text, notes = text + ")", (*notes, "read with the ) that is missing at its end")
    return replace(first, text=text, sides=(*first.sides[:-1], (first.sides[-1][0], len(text))), notes=notes)


def _walk(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Every mark with the number of brackets open around it, and its position."""
    depth = 0
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark in _CLOSING:
            depth = max(0, depth - 1)
        yield mark, depth, match.start(), match.end()
        if mark in _OPENING:
            depth += 1


_KEYWORD = re.compile(r"\s*(\w+)\s*:(?!=)")
_BESIDE = re.compile(FRAME + r"|\\(?:label|tag\*?)\{[^{}]*\}|\\(?:nonumber|notag)\b")


def _statements_of(text: str, piece: Piece) -> Iterator[Statement]:
    """The statements of a piece."""
    body = text
    if piece.kind == "code":
        spans = list(_lines_of_code(text))
    else:
        if MACRO.search(text):
            text = macros(text)[0]
        body = _without_words(_BESIDE.sub(lambda match: blanked(match[0]), text))
        spans = [(a + first, a + last) for a, b in chunks(body) for first, last in _columns(body[a:b])]
    for first, last in spans:
        keyword = _KEYWORD.match(body, first, last) if piece.kind == "plain" else None
        what = keyword and (keyword[1] if keyword[1] in QUANTITIES else label_quantity(spelled(keyword[1])))
        if keyword and what:
            sides = tuple(_sides(body, keyword.end(), last))
            sides = sides if what == "equation" else (keyword.span(1), (sides[0][0], sides[-1][1]))
            yield Statement(piece.kind, body, sides, piece.start, keyword=what)
            continue
        sides = _from_the_name(body, tuple(_sides(body, first, last)))
        if len(sides) > 1 and body[slice(*sides[0])].strip():
            tag = _NUMBERED.search(text, first, last) if piece.kind != "code" else None
            number = (tag["tag"] or tag["number"]) if tag else ""
            yield Statement(piece.kind, body, sides, piece.start, number)


_ENERGY = re.compile(r"[TVULK]|[KP]E|E_\{?(?:k|p|kin|pot)\}?|\\mathcal\{L\}")


def _from_the_name(text: str, sides: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """The sides of a statement, the name of an energy first: m g h = V is V = m g h."""
    swapped = len(sides) == 2 and _ENERGY.fullmatch(text[slice(*sides[1])].strip())
    return sides[::-1] if swapped and not _ENERGY.fullmatch(text[slice(*sides[0])].strip()) else sides


def _without_words(text: str) -> str:
    """Without words beside a formula: \\text{for } i = 1, \\quad \\text{radians}."""

    def blank(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - 12) : match.start()].rstrip()
        return blanked(match[0]) if " " in match["words"].strip() or before.endswith("quad") else match[0]

    return _WORDS.sub(blank, text)


def _lines_of_code(text: str) -> Iterator[tuple[int, int]]:
    """The statements of a program: lines, with what goes on in the next ones while a bracket is open."""
    at, depth = 0, 0
    for match in re.finditer(r"[(\[{]|[)\]}]|\.\.\.[^\n]*\n|[#%][^\n]*|\n|;|\Z", text):
        mark, position = match[0], match.start()
        if mark and mark[0] in "([{":
            depth += 1
        elif mark and mark[0] in ")]}":
            depth = max(0, depth - 1)
        elif not mark.startswith("...") and depth == 0:
            if "=" in text[at:position]:
                yield at, position
            at = match.end()


def _columns(text: str) -> Iterator[tuple[int, int]]:
    """Equations that stand side by side: after & of an alignment, or after a wide space."""
    marks = [(mark, first, last) for mark, depth, first, last in _walk(text) if depth == 0]
    cuts, seen = [0], False
    for number, (mark, _, last) in enumerate(marks):
        if mark in _EQUALS:
            seen = True
        elif seen and (mark == "&" or _GAP.fullmatch(mark)):
            after = marks[number + 1 :]
            equals = next((m for m in after if m[0] in _EQUALS), None)
            gap = next((m for m in after if _GAP.fullmatch(m[0])), None)
            if equals and (gap is None or equals[1] < gap[1]) and re.match(r"\s*[\\\w{]", text[last:]):
                left = text[last : equals[1]]
                if left.count("&") <= 1 and len(left) < 120 and left.strip(" &"):
                    cuts.append(last)
                    seen = False
    yield from zip(cuts, [*cuts[1:], len(text)])


def _sides(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    at = first
    for mark, depth, start, end in _walk(text[first:last]):
        if depth == 0 and mark in _EQUALS:
            yield _trimmed(text, at, first + start)
            at = first + end
    yield _trimmed(text, at, last)


_ENDING = re.compile(
    r"(?:\\\\(?:\[[^\]]*\])?|\\q?quad|\\[,;:! ]|[,;:.$&]|\\wedge|\\therefore|(?:\\q?quad|[ \t}])\(\d+\w?\))$"
)
_LEADING = re.compile(r"(?:\s|&|\\[,;:! ]|\$|\\wedge|\\therefore)*")


def _trimmed(text: str, first: int, last: int) -> tuple[int, int]:
    """Without spaces, marks of alignment, line ends, closing punctuation, and what follows a wide space."""
    part = text[first:last].rstrip()
    while ending := _ENDING.search(part):
        keep = ending.start() + (part[ending.start()] == "}")
        part = part[:keep].rstrip()
    for mark, depth, start, _ in _walk(part):
        if depth == 0 and _GAP.fullmatch(mark) and part[:start].strip(" &"):
            part = part[:start].rstrip(" ,;&")
            break
    lead = _LEADING.match(part)
    skip = lead.end() if lead else 0
    return first + min(skip, len(part)), first + len(part)


def _number(source: Source, piece: Piece) -> str:
    """The number that stands on the line after a display."""
    match = _AFTER.match(source.text, piece.end)
    return match["number"] if match else ""
