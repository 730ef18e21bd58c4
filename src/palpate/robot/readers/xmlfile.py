"""Reading untrusted XML: every element with its line and position, DTDs and bombs refused.

Built on expat because it tells where each element stands. Nothing is resolved, expanded or executed here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from palpate.errors import PalpateError, nearest
from palpate.escape.text import control_characters
from palpate.robot.readers.findings import Finding, Level, printable, quoted

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 500
MAX_ELEMENTS = 200_000

_LONGEST_TEXT = 200  # of an element's text: only numbers are ever read from there
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass(frozen=True)
class SourceFile:
    """A file as the caller named it, and its bytes."""

    file: str
    data: bytes


@dataclass(eq=False)
class Element:
    """An element of the file, with its position: line and column from 1, byte offset of its `<` from 0."""

    tag: str
    attributes: dict[str, str]
    source: SourceFile
    line: int
    column: int
    offset: int
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """The children called `tag`."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child called `tag`."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in document order."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    @property
    def label(self) -> str:
        """How a message calls it: the nearest named element above, then the elements down to it."""
        steps: list[str] = []
        element: Element | None = self
        while element is not None and element.parent is not None:
            name = element.attributes.get("name")
            steps.append(f"{element.tag} {quoted(name)}" if name is not None else element.tag)
            if name is not None:
                break
            element = element.parent
        return " > ".join(reversed(steps)) or self.tag


@dataclass
class Report:
    """Collects the findings of one file. Without `dynamics`, what spoils only dynamics becomes a warning."""

    file: str
    dynamics: bool = True
    findings: list[Finding] = field(default_factory=list)

    def error(self, at: Element | None, problem: str, rule: str, hint: str = "", *, line: int | None = None) -> None:
        """A problem that makes the model unusable."""
        self._add("error", at, problem, rule, hint, line)

    def warning(self, at: Element | None, problem: str, rule: str, hint: str = "", *, line: int | None = None) -> None:
        """A doubt, or something that is ignored."""
        self._add("warning", at, problem, rule, hint, line)

    def dynamics_error(self, at: Element | None, problem: str, rule: str, hint: str = "") -> None:
        """A problem that makes the dynamics wrong and leaves the kinematics usable."""
        self._add("error" if self.dynamics else "warning", at, problem, rule, hint, None)

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(finding.level == "error" for finding in self.findings)

    def _add(self, level: Level, at: Element | None, problem: str, rule: str, hint: str, line: int | None) -> None:
        file = at.source.file if at else self.file
        where = line if line is not None else (at.line if at else 0)
        self.findings.append(Finding(level, file, where, at.label if at else "", problem, rule, hint))


def read_bytes(path: Path, report: Report) -> bytes | None:
    """The content of a model file, or None with the reason reported."""
    try:
        if path.is_dir():
            problem = "is a directory", "a model is a file", "name the .urdf or .xml file in it"
        elif path.exists() and not path.is_file():  # a pipe or device would never end
            problem = "is not a regular file", "a model is a file"
        elif (size := path.stat().st_size) > MAX_BYTES:
            problem = f"has {size / 2**20:.0f} MiB", f"a model file has at most {MAX_BYTES // 2**20} MiB"
        elif (data := path.read_bytes()).strip():
            return data
        else:
            problem = "the file is empty", "a model starts with <robot> (URDF) or <mujoco> (MJCF)"
    except FileNotFoundError:
        problem = "file not found", "a model is a .urdf or MJCF .xml file", _neighbours(path)
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {error}", "a model is a readable file"
    report.error(None, *problem)
    return None


def parse(source: SourceFile, report: Report) -> Element | None:
    """The root element of `source`, or None with the reason reported."""
    builder = _Builder(source)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: builder.start(parser, tag, attributes)
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(source.data, True)
    except _Refused as refusal:
        report.error(None, refusal.problem, refusal.rule, refusal.hint or "", line=parser.CurrentLineNumber)
    except expat.ExpatError as error:
        _report_broken_xml(error, builder, report)
    except (ValueError, LookupError) as error:  # an encoding that Python knows no table for
        report.error(None, f"cannot be decoded: {printable(str(error))}", "a model is UTF-8 text")
    else:
        return builder.root
    return None


def check_names_in(root: Element, report: Report) -> None:
    """Reports names with control characters, of whatever element: they could end a line of a text that holds them."""
    for element in root.walk():
        for attribute in ("name", "model"):
            if bad := control_characters(element.attributes.get(attribute, "")):
                problem = f"{attribute}={quoted(element.attributes[attribute])} contains {', '.join(bad)}"
                report.error(element, problem, "a name has no control characters", "rename it")


def value_span(element: Element, attribute: str) -> tuple[int, int] | None:
    """First byte of an attribute's value in its file, and the byte behind it; None unless ASCII text."""
    data, start = element.source.data, element.offset + 1
    end = start + len(element.tag)
    if data[start:end] != element.tag.encode():
        return None
    while match := _ATTRIBUTE.match(data, end):
        if match[1] == attribute.encode():
            return match.start(2) + 1, match.end(2) - 1
        end = match.end()
    return None


def numbers(element: Element, attribute: str, report: Report, count: int | None = None) -> list[float] | None:
    """The finite numbers of an attribute, `count` of them.

    None if the attribute is absent, and None with the reason reported if it is wrong.
    """
    text = element.attributes.get(attribute)
    if text is None:
        return None
    words = text.split()
    values: list[float] = []
    for word in words:
        value = parse_number(word)
        if value is None or not math.isfinite(value):
            _report_bad_word(element, attribute, word, value, report)
            return None
        values.append(value)
    if count is not None and len(values) != count:
        problem = f"{attribute}={quoted(text)} holds {len(values)} number{'s' if len(values) != 1 else ''}"
        report.error(element, problem, f"{attribute} takes {count}")
        return None
    return values


def number_list(values: Sequence[float]) -> str:
    """Numbers as a message shows them."""
    return "(" + " ".join(f"{value:g}" for value in values) + ")"


def parse_number(word: str) -> float | None:
    """`word` as a float (nan and inf included), or None if it is no number."""
    if _NUMBER.match(word):
        return float(word)
    bare = word.lower().lstrip("+-")
    return math.nan if bare == "nan" else math.inf if bare in ("inf", "infinity") else None


def _report_bad_word(element: Element, attribute: str, word: str, value: float | None, report: Report) -> None:
    line, column = _word_position(element, attribute, word)
    problem = f"{attribute}={quoted(element.attributes[attribute])}, {quoted(word)} in column {column}"
    if value is not None:
        report.error(element, problem, "the value is not finite", line=line)
        return
    hint = ""
    if re.fullmatch(r"[+-]?\d+,\d+", word):
        hint = f"a decimal comma? write {word.replace(',', '.')}"
    elif "${" in element.attributes[attribute]:
        hint = "this looks like xacro, a program, which is run only on request: --xacro"
    report.error(element, problem, "this is not a number", hint, line=line)


def _word_position(element: Element, attribute: str, word: str) -> tuple[int, int]:
    span = value_span(element, attribute)
    if span is None:
        return element.line, element.column
    data = element.source.data
    inside = data.find(word.encode(), *span)
    position = inside if inside >= 0 else span[0]
    line = element.line + data.count(b"\n", element.offset, position)
    return line, position - data.rfind(b"\n", 0, position)


class _Refused(PalpateError):  # leaves the parser's callbacks, never this module
    def __init__(self, problem: str, rule: str, hint: str = "") -> None:
        super().__init__(problem, hint=hint or None)
        self.problem, self.rule = problem, rule


def _refuse_doctype(*_: object) -> None:
    raise _Refused(
        "has a document type declaration (DTD)",
        "a DTD is refused: it can define entities that grow without bound or read other files",
        "delete the <!DOCTYPE …> line",
    )


class _Builder:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0

    def start(self, parser: expat.XMLParserType, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise _Refused(f"elements nested deeper than {MAX_DEPTH}", "the depth limit protects the engines")
        if self.count > MAX_ELEMENTS:
            raise _Refused(f"more than {MAX_ELEMENTS} elements", "the size limit protects the engines")
        location = parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, parser.CurrentByteIndex
        parent = self.open[-1] if self.open else None
        element = Element(tag, attributes, self.source, *location, parent)
        if parent:
            parent.children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        if self.open and not text.isspace():
            self.open[-1].text += text[:_LONGEST_TEXT]


def _report_broken_xml(error: expat.ExpatError, builder: _Builder, report: Report) -> None:
    reason = expat.ErrorString(error.code) or "not well-formed"
    hint = ""
    if builder.open:
        last = builder.open[-1]
        hint = f"the last element left open is <{last.tag}> ({last.label}), opened on line {last.line}"
    where = f"column {error.offset + 1}: {reason}"
    report.error(None, where, "this is not well-formed XML", hint, line=error.lineno)


def _neighbours(path: Path) -> str:
    try:
        models = [p.name for p in path.parent.iterdir() if p.suffix in (".urdf", ".xml")]
    except OSError:
        return f"there is no folder {path.parent}"
    near = nearest(path.name, models)
    return f"did you mean {' or '.join(near)}?" if near else ""
