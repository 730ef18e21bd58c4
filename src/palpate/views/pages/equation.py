"""A law's equation, as its docstring has it, in MathML, which browsers typeset by themselves.

The house writes equations as plain text: `τ = Jᵀ (K e + D (V_d − V)) + N τ₀ + b̂(q, v)`. Accents are combining marks,
`_d` is an index, `ᵀ`, `⁻¹` and `₀` stand as they are.
"""

from __future__ import annotations

import re
import unicodedata

from palpate.escape.documents import html_text

_ACCENTS = {"\u0302": "ˆ", "\u0307": "˙", "\u0308": "¨", "\u0303": "~", "\u0304": "¯"}
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ", "0123456789+−T")) | {"*": "∗"}
_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉ₚᵢ", "0123456789pi"))
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?)|(?P<sub>_[A-Za-z0-9∥⊥]+(?:,[A-Za-z]+)?|[₀-₉ₚᵢ]+)|(?P<super>[⁰¹²³⁴-⁹⁺⁻ᵀ]+)"
    r"|(?P<word>[A-Za-z]{3,}|or|is|to|at|of|in|if)|(?P<name>[A-Za-zΑ-Ωα-ωϑ½][\u0300-\u036f]*)|(?P<open>[(\[])|(?P<close>[)\]])|(?P<other>.)"
)
# The first thing with an equals sign, up to the end of its sentence or to the words that explain it.
_EQUATION = re.compile(
    r"(?:^|[:.] )((?:[^:.=]|\.(?=\d))*? = .*?)"
    r"(?:\.(?: |$)|; (?=[a-z]{2})|, (?=[a-z]{3,} [a-z])|, (?=\w+ = )|, (?=[A-Z] [a-z]{3})|, with | \(document)"
)
_FUNCTIONS = {"log", "exp", "sin", "cos", "min", "max"}


def equation_of(text: str) -> str:
    """The equation of a law's account, without the words around it; nothing where there is none."""
    match = _EQUATION.search(" ".join(text.split()))
    return match[1].strip().removeprefix("1. ") if match else ""


def typeset(equation: str) -> str:
    """An equation as `math` elements side by side, between which a narrow page breaks the line.

    Browsers do not break lines inside one: a long equation would be cut off.
    """
    return " ".join(mathml(piece, "inline") for piece in pieces(equation))


def pieces(equation: str) -> list[str]:
    """An equation in parts that may stand on lines of their own: behind commas, before = + − ≤, outside brackets."""
    parts, depth, bars = [""], 0, False
    for k, letter in enumerate(equation):
        depth += (letter in "([") - (letter in ")]")
        bars ^= letter == "|"
        alone = depth == 0 and not bars and equation[k - 1 : k] == " " and equation[k + 1 : k + 2] == " "
        if alone and letter in "=+−≤" and parts[-1].strip():
            parts.append("")
        parts[-1] += letter
        if depth == 0 and not bars and letter in ",;" and equation[k + 1 : k + 2] == " ":
            parts.append("")
    return [part.strip() for part in parts if part.strip()]


def mathml(equation: str, display: str = "block") -> str:
    """An equation as a `math` element."""
    tokens = [match for match in _TOKEN.finditer(unicodedata.normalize("NFD", equation)) if match.lastgroup != "space"]
    rows, remaining = _row(tokens)
    while remaining:  # a bracket that was never opened
        bracket = _operator(remaining[0][0])
        more, remaining = _row(remaining[1:])
        rows += bracket + more
    if display == "inline" and rows.startswith("<mo>"):  # a line that goes on with an operator between two terms
        rows = rows.replace("<mo>", '<mo form="infix">', 1)
    return f'<math display="{display}"><mrow>{rows}</mrow></math>'


def _row(tokens: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    """Everything up to a closing bracket, which stays in the rest."""
    done: list[str] = []
    while tokens:
        if tokens[0].lastgroup == "close":
            break
        atom, tokens = _atom(tokens)
        atom, tokens = _scripted(atom, tokens)
        done.append(atom)
    return "".join(done), tokens


def _atom(tokens: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    kind, text, remaining = tokens[0].lastgroup, tokens[0][0], tokens[1:]
    if kind == "open":
        inside, remaining = _row(remaining)
        end, remaining = (remaining[0][0], remaining[1:]) if remaining else ("", remaining)
        return f"<mrow>{_operator(text)}{inside}{_operator(end)}</mrow>", remaining
    if kind == "number":
        return f"<mn>{text}</mn>", remaining
    if kind == "name":
        return _name(text), remaining
    if kind == "word":
        return (
            f"<mi>{text}</mi>" if text in _FUNCTIONS else f"<mtext>&nbsp;{html_text(text)}&nbsp;</mtext>"
        ), remaining
    return _operator(text), remaining


def _name(text: str) -> str:
    letter = f"<mi>{html_text(text[0])}</mi>"
    for mark in text[1:]:
        letter = f'<mover accent="true">{letter}<mo>{_ACCENTS.get(mark, "")}</mo></mover>'
    return letter


def _operator(text: str) -> str:
    fixed = ' stretchy="false"' if text == "|" else ""
    return f"<mo{fixed}>{html_text(text)}</mo>" if text else ""


def _scripted(atom: str, tokens: list[re.Match[str]]) -> tuple[str, list[re.Match[str]]]:
    """An atom with the indices and exponents that follow it, in either order."""
    scripts: dict[str, str] = {}
    while tokens and tokens[0].lastgroup in ("sub", "super") and tokens[0].lastgroup not in scripts:
        kind = str(tokens[0].lastgroup)
        table = _SUB if kind == "sub" else _SUPER
        text = "".join(table.get(letter, letter) for letter in tokens[0][0].removeprefix("_"))
        scripts[kind] = f"<mn>{text}</mn>" if text.isdigit() else f"<mi>{html_text(text)}</mi>"
        tokens = tokens[1:]
    if len(scripts) == 2:
        return f"<msubsup>{atom}{scripts['sub']}{scripts['super']}</msubsup>", tokens
    if scripts:
        kind, mark = next(iter(scripts.items()))
        return f"<m{'sub' if kind == 'sub' else 'sup'}>{atom}{mark}</m{'sub' if kind == 'sub' else 'sup'}>", tokens
    return atom, tokens
