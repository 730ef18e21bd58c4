"""Foreign text inside generated text: one function for each language and position.

Names of robots, links, joints, frames, scenarios, laws and files are other people's. Before one of them enters C,
Python, CMake, a Makefile, YAML, XML, HTML, Markdown or LaTeX, it goes through the function of this module for that
position. An ordinary name comes out as it went in.

`fill` fills a template: every value is escaped for the template's language, except `Written`, which is written in that
language already.
"""

from __future__ import annotations

import html
import json
import keyword
import re
import unicodedata
from collections.abc import Callable, Mapping

from palpate.errors import printable

# Words of C23 and C++20, alternative spellings included.
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
co_return co_yield compl concept const consteval constexpr constinit const_cast continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Headers of the C library: a file of such a name beside a program would be included in their place.
_HEADERS = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit
stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar wchar wctype
"""
WORDS_OF_C, HEADERS_OF_C = frozenset(_WORDS.split()), frozenset(_HEADERS.split())
# Macros that compilers or headers define, and words that YAML takes for a truth value or nothing.
_TAKEN = frozenset(["linux", "unix", "i386", "stdin", "stdout", "stderr", "null"])
_TAKEN |= frozenset(["y", "n", "yes", "no", "on", "off", "true", "false"])
_PLACEHOLDER = re.compile(r"@([A-Z][A-Z0-9_]*)@")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Written(str):
    """Text that is written in the language of its template already."""

    __slots__ = ()


def fill(template: str, values: Mapping[str, object], escape: Callable[[str], str]) -> str:
    """A template with every @NAME@ filled in, in one pass: a value that contains @NAME@ is not filled again."""

    def value_of(match: re.Match[str]) -> str:
        value = values[match[1]]
        return value if isinstance(value, Written) else escape(str(value))

    return _PLACEHOLDER.sub(value_of, template)


def control_characters(name: str) -> list[str]:
    """The characters of a name that no name may have, as escapes: control characters and separators of lines."""
    bad = dict.fromkeys(c for c in name if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp"))
    return [c.encode("unicode_escape").decode() for c in bad]


# ------------------------------------------------------------ C and C++


def c_comment(text: str) -> str:
    """Text inside /* … */ or behind //: it ends no comment, begins none and continues no line."""
    text = printable(text).replace("??/", "? ?/")  # the trigraph of a backslash
    text = re.sub(r"\*(?=/)|/(?=\*)", lambda match: f"{match[0]} ", text)
    before, after = " " * text.startswith("/"), " " * text.endswith(("*", "/", "??"))
    return f"{before}{_ended(text)}{after}"


def _ended(text: str) -> str:
    """One line that does not go on in the next: compilers take a backslash for that even where blanks follow it."""
    return re.sub(r"\\(\s*)$", r"\\x5c\1", text)


def c_string(text: str) -> str:
    """A string literal of C and C++, quotes included; bytes beyond ASCII in octal, which no letter behind changes."""
    escaped = {'"': '\\"', "\\": "\\\\", "?": "\\?"}
    return '"' + "".join(escaped.get(c) or (c if " " <= c <= "~" else _octal(c)) for c in text) + '"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "backslashreplace"))


def c_identifier(name: str, prefix: str = "_") -> str:
    """A name of C and C++ out of any text: ASCII, no keyword, macro or header of the C library; else with a prefix.

    It also serves as the name of a file, of a target of CMake or Make, and as a plain key of YAML.
    """
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", name)
    taken = cleaned.lower() in WORDS_OF_C | HEADERS_OF_C | _TAKEN
    return cleaned if cleaned[:1].isalpha() and not taken else f"{prefix}{cleaned}"


def c_field(name: str) -> str:
    """The name of a struct's field out of a Python name: ASCII, and followed by _ where it is a keyword."""
    cleaned = re.sub(r"[^A-Za-z0-9_]", lambda match: f"u{ord(match[0]):x}", name)
    return f"{cleaned}_" if cleaned in WORDS_OF_C else cleaned


# ------------------------------------------------------------ Python


def python_docstring(text: str) -> str:
    """Text inside a docstring's triple quotes."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def python_string(text: str) -> str:
    """A string literal of Python, quotes included."""
    return _quoted(text)


def _quoted(text: str) -> str:
    """A string in double quotes as Python and YAML read it."""
    letters = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(letters.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'


def python_identifier(name: str) -> str:
    """A name of Python out of any text; followed by _ where it is a keyword."""
    cleaned = re.sub(r"\W", "_", name)
    cleaned = cleaned if cleaned.isidentifier() else re.sub(r"[^A-Za-z0-9_]", "_", f"_{cleaned}")
    return f"{cleaned}_" if keyword.iskeyword(cleaned) or keyword.issoftkeyword(cleaned) else cleaned


# ------------------------------------------------------------ files of builds and data


def hash_comment(text: str) -> str:
    """Text behind the # of YAML, TOML, Python, CMake or a Makefile: one line, which does not continue."""
    return _ended(printable(text))


def cmake_string(text: str) -> str:
    """Text between the quotes of CMake."""
    return re.sub(r'([\\"$@])', r"\\\1", printable(text))


def make_text(text: str) -> str:
    """Text in a Makefile: nothing of it is expanded, no comment begins and no line continues."""
    return _ended(printable(text)).replace("$", "$$").replace("#", "\\#")


def json_text(text: str) -> str:
    """Text between the quotes of JSON."""
    return json.dumps(text, ensure_ascii=not text.isprintable())[1:-1]


def yaml_string(text: str) -> str:
    """A double-quoted string of YAML, quotes included."""
    return _quoted(text)


# ------------------------------------------------------------ pages and documents


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
