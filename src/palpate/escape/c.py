"""Foreign text in C and C++."""

from __future__ import annotations

import re

from palpate.errors import printable
from palpate.escape.text import ended_line

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


def c_comment(text: str) -> str:
    """Text inside /* … */ or behind //: it ends no comment, begins none and continues no line."""
    text = printable(text).replace("??/", "? ?/")  # the trigraph of a backslash
    text = re.sub(r"\*(?=/)|/(?=\*)", lambda match: f"{match[0]} ", text)
    before, after = " " * text.startswith("/"), " " * text.endswith(("*", "/", "??"))
    return f"{before}{ended_line(text)}{after}"


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
