"""Formulas as other programs write them: Mathematica, Typst, and the linear form of Word's equations.

A text keeps its length, so that positions stay: what a sign stands for is written over it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MATHEMATICA = re.compile(r"\b(?:Cos|Sin|Tan|Sqrt)\[|\w'*\[t\]")
_OF_TIME = re.compile(r"\bDerivative\[(?P<order>\d)\]\[(?P<moved>\w+)\]\[t\]|\b(?P<name>\w+?)(?P<primes>'*)\[t\]")
_ENERGIES = re.compile(r"\b(?P<letter>[KP])\. ?E\.")
_FUNCTIONS = re.compile(r"\b(Cos|Sin|Tan|Cot|Sec|Csc|Exp|Log|Sqrt|ArcTan|ArcSin|ArcCos)\[")
_WORD = re.compile("[■█〖〗▒⁡\u2061]")
_TYPST = re.compile(r"\b(?:dot(?:\.double)?\(|mat\(|vec\()|\bdot\.double\b")
_DOTTED = re.compile(r"\bdot(?P<two>\.double)?\((?P<name>[^\W\d_]+)(?P<inside>_\w+)?\)(?P<sub>_\w+|_\(\w+\))?")
_DOT_AFTER = re.compile(r"\b(?P<name>[A-Za-z]+\d*)_(?P<dots>d{1,2})ot\b(?P<number>_?\d+)?")
_COLUMN = re.compile(r"[\w)\]'] +(?:[\w(]|[-+](?=[\w(]))")  # between two columns that no comma parts
_LOOSE_DOT = re.compile("(?P<letter>\\w)(?P<space> )(?P<mark>[\u0307\u0308])")


def translated(text: str) -> str:
    """A text in the notation that the parser reads, every character in its place."""
    for is_dialect, translate in _DIALECTS:
        if is_dialect.search(text):
            text = translate(text)
    return text


def _mathematica(text: str) -> str:
    """Cos[q2], q1''[t] and {{a, b}, {c, d}}; := and == stay signs of equality."""
    text = _OF_TIME.sub(_mathematica_rate, text)
    letters = list(text)
    stack: list[str] = []
    starts = {match.end() - 1 for match in _FUNCTIONS.finditer(text)}
    for at, letter in enumerate(text):
        if letter == "[":
            called = at in starts or (at > 0 and text[at - 1].isalnum())
            stack.append(")" if called else "]")
            letters[at] = "(" if called else "["
        elif letter == "{":
            stack.append("]")
            letters[at] = "["
        elif letter in "]}" and stack:
            letters[at] = stack.pop()
    made = "".join(letters)
    made = re.sub(r"\b(Arc)?(Cos|Sin|Tan|Cot|Sec|Csc|Exp|Log|Sqrt)(?=\()", _lowered, made)
    return made.replace(":=", " =").replace("==", " =")


def _mathematica_rate(match: re.Match[str]) -> str:
    dots = int(match["order"]) if match["order"] else len(match["primes"])
    return ("d" * dots + (match["moved"] or match["name"])).ljust(len(match[0]))


def _lowered(match: re.Match[str]) -> str:
    word = match[0].lower()
    return f"a{match[2].lower()}".rjust(len(word)) if match[1] else word


def _typst(text: str) -> str:
    """dot(q)_1, dot.double(q)_1, mat(a, b; c, d), vec(a, b)."""
    text = _DOTTED.sub(_typst_rate, text)
    letters = list(text)
    for match in re.finditer(r"\b(mat|vec)\(", text):
        end = _closing(text, match.end() - 1)
        if end is None:
            continue
        letters[match.start() : match.end()] = "   ["
        letters[end] = "]"
        if match[1] == "vec":
            depth = 0
            for at in range(match.end(), end):
                depth += (text[at] in "([") - (text[at] in ")]")
                if text[at] == "," and depth == 0:
                    letters[at] = ";"
    return "".join(letters)


def _typst_rate(match: re.Match[str]) -> str:
    sub = (match["sub"] or match["inside"] or "").replace("(", "").replace(")", "")
    return (("dd" if match["two"] else "d") + match["name"] + sub).ljust(len(match[0]))


def _closing(text: str, at: int) -> int | None:
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index
    return None


def _word(text: str) -> str:
    """[■(a&b@c&d)] of a matrix, 〖…〗 for invisible brackets, an invisible sign between a function and its argument."""
    letters = list(text)
    for match in re.finditer("[■█]\\(", text):
        end = _closing(text, match.end() - 1)
        if end is None:
            continue
        letters[match.start()] = letters[match.start() + 1] = letters[end] = " "
        if text[match.start() - 1 : match.start()] == "(" and text[end + 1 : end + 2] == ")":
            letters[match.start() - 1], letters[end + 1] = "[", "]"
        for at in range(match.end(), end):
            letters[at] = {"&": ",", "@": ";"}.get(text[at], letters[at])
    made = "".join(letters)
    return made.translate(str.maketrans({"〖": "(", "〗": ")", "▒": " ", "\u2061": " "}))


def _loose_dots(text: str) -> str:
    """A letter, a space and a dot above it, as Word writes q̇."""
    return _LOOSE_DOT.sub(lambda m: f"{m['letter']}{m['mark']} ", text)


def _dots_after(text: str) -> str:
    """theta_ddot and q1_dot of a program as ddtheta and dq1."""
    return _DOT_AFTER.sub(lambda m: f"{m['dots']}{m['name']}{m['number'] or ''}".ljust(len(m[0])), text)


def _energies(text: str) -> str:
    """K.E. and P.E. as KE and PE."""
    return _ENERGIES.sub(lambda match: f"{match['letter']}E".ljust(len(match[0])), text)


def rows_by_lines(text: str) -> str:
    """A program whose matrices have a line for each row and spaces between columns, as in Matlab: as ; and , there."""
    letters, stack = list(text), []
    for at, letter in enumerate(text):
        if letter in "([{":
            stack.append(letter)
        elif letter in ")]}" and stack:
            stack.pop()
        elif letter == "\n" and stack and stack[-1] == "[":
            before, after = text[:at].rstrip(" \t")[-1:], text[at + 1 :].lstrip()[:1]
            if before not in ",;[(+-*/^.\n&|=" and after not in "],;)+*/^.":
                letters[at] = ";"
        elif letter == " " and stack and stack[-1] == "[" and _COLUMN.match(text, at - 1):
            letters[at] = ","
    return "".join(letters)


_DIALECTS: list[tuple[re.Pattern[str], Callable[[str], str]]] = [
    (_MATHEMATICA, _mathematica),
    (_TYPST, _typst),
    (_WORD, _word),
    (_LOOSE_DOT, _loose_dots),
    (_ENERGIES, _energies),
    (_DOT_AFTER, _dots_after),
]
