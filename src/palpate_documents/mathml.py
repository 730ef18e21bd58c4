"""LaTeX as the claims write it, as MathML, which browsers draw by themselves: no script, no font, no network."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "vartheta": "ϑ", "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "ell": "ℓ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ",
    "Omega": "Ω", "partial": "∂", "infty": "∞",
}  # fmt: skip
_SIGNS = {
    "cdot": "·", "times": "×", "le": "≤", "ge": "≥", "neq": "≠", "simeq": "≃", "approx": "≈", "pm": "±", "in": "∈",
    "iff": "⇔", "Rightarrow": "⇒", "rightarrow": "→", "forall": "∀", "exists": "∃", "otimes": "⊗", "therefore": "∴",
    "ldots": "…", "cdots": "⋯", "vdots": "⋮", "sum": "∑", "int": "∫", "to": "→",
}  # fmt: skip
_WORDS = {"cos", "sin", "log", "exp", "max", "min", "ln", "det"}
_ACCENTS = {"dot": "\u0307", "ddot": "\u0308", "bar": "\u0304", "hat": "\u0302", "tilde": "\u0303"}  # combining
_SPACES = {",": "0.17em", ";": "0.28em", "quad": "1em", "!": "0", " ": "0.25em"}
_PLAIN = {"mathbf", "boldsymbol", "mathcal"}
_UPRIGHT = {"text", "mathrm", "operatorname"}
_MARKS = ("slip", "mend")  # what differs in the printed and in the right form
_FIXED = {  # commands that are always written alike
    **{name: f"<mi>{letter}</mi>" for name, letter in _GREEK.items()},
    **{name: f"<mo>{sign}</mo>" for name, sign in _SIGNS.items()},
    **{name: f'<mi mathvariant="normal">{name}</mi><mspace width="0.12em"/>' for name in _WORDS},
    **{name: f'<mspace width="{width}"/>' for name, width in _SPACES.items()},
    **dict.fromkeys(("left", "right", "displaystyle"), ""),
}
_NAMING = {r"\begin", r"\end", r"\text", r"\mathrm", r"\operatorname"}


def mathml(latex: str) -> str:
    """One `<math>` element."""
    return f'<math displaystyle="true"><mrow>{_Reader(latex).everything()}</mrow></math>'


def formula_html(latex: str) -> str:
    """A formula in as many lines as it needs, broken at its relations and signs."""
    lines = [f"<div>{mathml(line)}</div>" for line in broken(latex, 78)]
    return '<div class="formula">' + "".join(lines) + "</div>"


def marked(latex: str, other: str, command: str) -> str:
    """LaTeX with the symbols that the other form does not have in these positions put into `\\command{…}`."""
    mine, theirs = _TOKEN.findall(latex), _TOKEN.findall(other)
    solid = [[token for token in tokens if not token.isspace()] for tokens in (mine, theirs)]
    same = SequenceMatcher(None, *solid, autojunk=False).get_matching_blocks()
    kept = {index for block in same for index in range(block.a, block.a + block.size)}
    if len(kept) < 0.5 * len(solid[0]) or r"\text" in latex:
        return latex  # another formula altogether, or words
    positions = [at for at, token in enumerate(mine) if not token.isspace()]
    changed = {at for index, at in enumerate(positions) if index not in kept}
    out, at, named = [], 0, False
    while at < len(mine):
        token, end = mine[at], at + 1
        named = (named and token != "}") or token in _NAMING
        leaf = token.isalnum() or token in ("+", "-", "/") or token[1:] in _GREEK
        if at in changed and leaf and not named:
            end = _end_of_term(mine, at) if token in ("+", "-") else end
            out.append(f"\\{command}{{{''.join(mine[at:end])}}}")
        else:
            out.append(token)
        at = end
    return "".join(out)


def _end_of_term(tokens: list[str], start: int) -> int:
    """Where the term that begins with a sign ends."""
    depth = 0
    for index in range(start + 1, len(tokens)):
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(tokens[index], 0)
        if depth < 0 or (depth == 0 and tokens[index] in ("+", "-", "=", "&", ",", r"\\", r"\end")):
            return index
    return len(tokens)


def as_text(latex: str) -> str:
    """LaTeX in one line of plain letters, for a terminal or a sentence."""
    text = re.sub(r"\\(left|right|displaystyle)\b|\\[,;!]|\\quad", "", latex)
    text = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}", r"\1", text)
    for name, mark in _ACCENTS.items():
        text = re.sub(rf"\\{name}\{{(\\?\w+)\}}", rf"\1{mark}", text)
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text)
    for _ in range(4):  # from the inside out
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)", text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
        text = re.sub(r"_\{([^{}]*)\}", r"_\1", re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text))
    names = {**_GREEK, **_SIGNS, **{word: word for word in _WORDS}}
    text = re.sub(r"\\([A-Za-z]+)", lambda match: names.get(match[1], match[1]), text)
    return re.sub(r"\s+", " ", text.replace("{", "").replace("}", "")).strip()


def is_long(latex: str) -> bool:
    """Whether a formula needs the width of a page."""
    widest = max((row.count("&") for row in latex.split(r"\\")), default=0)
    return _width(latex) > 42 or widest > 3


def broken(latex: str, width: int) -> list[str]:
    """LaTeX in lines of about `width` symbols, broken before + − = and after ; outside of braces and matrices."""
    pieces, depth, start = [], 0, 0
    for match in _TOKEN.finditer(latex):
        word = match[0]
        depth += {"{": 1, "}": -1, r"\begin": 1, r"\end": -1}.get(word, 0)
        at = match.start()
        sign = word in ("+", "=") or (word == "-" and latex[at - 1 : at] == " " and latex[at + 1 : at + 2] == " ")
        if depth == 0 and at > start and (sign or word == r"\quad"):
            pieces.append(latex[start:at])
            start = at
    pieces.append(latex[start:])
    lines, line = [], ""
    for piece in pieces:
        if line and _width(line + piece) > width:
            lines.append(line)
            line = r"\quad " if not piece.startswith(r"\quad") else ""
        line += piece
    return [*lines, line]


def _width(latex: str) -> int:
    """About how many symbols wide: fractions count their longer half, commands one, matrices their rows once."""
    flat = re.sub(r"\\(text|mathrm|frac|begin|end|dot|ddot|slip|mend)|\{[bp]matrix\}|[{}_^&]", "", latex)
    flat = re.sub(r"\\[A-Za-z]+", "x", flat)
    rows = latex.count(r"\\") + 1
    return len(re.sub(r"\s+", "", flat)) // rows


def _accented(inside: str, mark: str) -> str:
    """A letter with a combining mark: fonts place it well, where a stretched accent may be lost."""
    letter = re.fullmatch(r"(?:<mrow>)?<mi>(.)</mi>(?:</mrow>)?", inside)
    if letter is not None:
        return f'<mi class="marked">{letter[1]}{mark}</mi>'
    return f'<mover accent="true">{inside}<mo>\u00a0{mark}</mo></mover>'


class _Reader:
    """A recursive reader of one formula."""

    def __init__(self, latex: str) -> None:
        self.tokens, self.at = _TOKEN.findall(latex), 0

    def everything(self) -> str:
        """The whole formula; a bracket too many is shown, not refused."""
        parts = []
        while self._peek():
            parts.append(self._run())
            if self._peek():
                parts.append(f"<mo>{escape(self._next())}</mo>")
        return "".join(parts)

    def _run(self) -> str:
        parts = []
        while self._peek() not in ("", "}", "&", r"\\", r"\end"):
            parts.append(self._scripted())
        return "".join(parts)

    def _scripted(self) -> str:
        base = "<mrow></mrow>" if self._peek() in "_^" else self._atom()
        below = above = ""
        while (mark := self._peek()) in ("_", "^", "'"):
            self.at += 1
            script = "<mo>′</mo>" if mark == "'" else self._atom()
            below, above = (script, above) if mark == "_" else (below, script)
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def _atom(self) -> str:
        token = self._next()
        if token == "{":
            inside = self._run()
            self._expect("}")
            return f"<mrow>{inside}</mrow>"
        if token.startswith("\\"):
            return self._command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        return f'<mo stretchy="false">{escape({"-": "−", "*": "·"}.get(token, token))}</mo>'

    def _command(self, name: str) -> str:
        if name in _FIXED:
            return _FIXED[name]
        if name in _ACCENTS:
            return _accented(self._atom(), _ACCENTS[name])
        if name in _UPRIGHT:
            return "<mtext>" + escape(self._text()).replace(" ", "\u00a0") + "</mtext>"
        if name == "frac":
            return f"<mfrac>{self._atom()}{self._atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self._atom()}</msqrt>"
        if name == "begin":
            return self._matrix()
        if name in _MARKS:
            return f'<mrow class="{name}">{self._atom()}</mrow>'
        return self._atom() if name in _PLAIN else f"<mo>{escape(name)}</mo>"

    def _matrix(self) -> str:
        kind = self._text()
        rows, row = [], [self._run()]
        while self._peek() in ("&", r"\\"):
            if self._next() == "&":
                row.append(self._run())
            else:
                rows.append(row)
                row = [self._run()]
        rows.append(row)
        self._expect(r"\end")
        self._text()
        cells = "".join("<mtr>" + "".join(f"<mtd><mrow>{x}</mrow></mtd>" for x in one) + "</mtr>" for one in rows)
        return f'<mtable class="{"round" if kind.startswith("p") else "matrix"}">{cells}</mtable>'

    def _text(self) -> str:
        """The words of \\text{…}, with their spaces."""
        self._expect("{")
        words, depth = "", 1
        for token in self.tokens[self.at :]:
            self.at += 1
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0:
                break
            words += "…" if token == r"\ldots" else token
        return words.replace("{", "").replace("}", "")

    def _peek(self) -> str:
        """The next token that is no space; nothing at the end."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self.at += 1
        return token or " "

    def _expect(self, token: str) -> None:
        if self._peek() == token:
            self.at += 1
