"""What of a file is formulas: prose, page layout and the scaffolding of programs are blanked, positions stay.

Understood are LaTeX documents, Markdown with $$ … $$, Python and Matlab programs, and the pages that palpate prints.
"""

from __future__ import annotations

import re

_FRAME = (
    r"aligned|alignedat|align|split|gathered|gather|equation|multline|eqnarray|displaymath|math|subequations|document"
)
_BLANKED = re.compile(
    rf"\\(?:begin|end)\{{(?:{_FRAME})\*?\}}(?:\{{\d+\}})?|\\(?:maketitle|noindent|par|newpage|clearpage)\b"
    r"|\\(?:documentclass|usepackage)(?:\[[^\]]*\])?\{[^{}]*\}"
)
_HEADING = re.compile(
    r"\\(?:section|subsection|subsubsection|paragraph|chapter|title|author|date|textbf|emph|caption)\*?\{"
)
_COMMENT = re.compile(r"(?<!\\)%.*|^\s*#.*|(?<=\s)#\s.*", re.MULTILINE)
_NUMBER_ALONE = re.compile(r"^[ \t$]*\(\d+\w?\)[ \t.$]*$|(?<=\$\$)[ \t]*\(\d+\w?\)[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"(?<![\\\w])[A-Za-z]{3,}(?![\w(\[])")
_FORMULA_WORDS = {
    "sin", "cos", "tan", "sqrt", "array", "Matrix", "alpha", "beta", "gamma", "delta", "theta", "phi", "psi", "tau",
    "omega", "rho",
}  # fmt: skip
_RULE = "───"
_SCAFFOLD = re.compile(
    r"\s*(?:(?:import|def|return|class|if|for|print|function|end|clear|close|clc|syms?|from\s+\S+\s+import)\b|@|[\"']"
    r"|[A-Z_]{4,}\s*=|\w+\s*=\s*(?:\w+\.)?(?:empty|zeros|symbols|asarray|broadcast_shapes)\(|[\w ,]+,[\w ,]*=)"
)
_PROGRAM = re.compile(r"^\s*(?:import\s|from\s+\S+\s+import\s|def\s+\w+\(|function\b|syms\s)", re.MULTILINE)


def prepared(text: str) -> str:
    """The text with everything that is no formula replaced by blanks; every character keeps its position."""
    if _RULE in text:
        text = _page(text)
    elif _PROGRAM.search(text):
        text = _program(text)
    text = _COMMENT.sub(_blank, text)
    text = _without_headings(text)
    text = _NUMBER_ALONE.sub(_blank, _BLANKED.sub(_blank, text))
    text = "".join(_blanked(line) if _is_prose(line) else line for line in _outside_displays(text))
    return re.sub(r"(?<!\\)\\[\[\]()]|(?<!\\)\$", _blank, text)


def _blank(match: re.Match[str]) -> str:
    return _blanked(match[0])


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_headings(text: str) -> str:
    """Without \\section{…} and the like, braces inside counted."""
    at = 0
    while match := _HEADING.search(text, at):
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: match.start()] + _blanked(text[match.start() : end]) + text[end:]
        at = end
    return text


def _outside_displays(text: str) -> list[str]:
    """The text in pieces: displayed formulas whole, the rest line by line."""
    pieces: list[str] = []
    at = 0
    for match in re.finditer(r"\$\$.*?\$\$|\\\[.*?\\\]", text, re.DOTALL):
        pieces += text[at : match.start()].splitlines(keepends=True)
        pieces.append(match[0])
        at = match.end()
    return [*pieces, *text[at:].splitlines(keepends=True)]


def _is_prose(piece: str) -> bool:
    """Whether a line is words: three of them at least, formulas between dollars left out."""
    if piece.startswith(("$$", "\\[")):
        return False
    words = [word for word in _WORD.findall(re.sub(r"\$[^$]*\$", " ", piece)) if word not in _FORMULA_WORDS]
    return len(words) >= 3


def _program(text: str) -> str:
    """A program without imports, signatures, docstrings, allocations and returns; its assignments stay."""
    text = re.sub(r"^[A-Z_]{4,}\s*=\s*\{[^}]*\}", _blank, text, flags=re.MULTILINE)
    text = re.sub(r"\"\"\".*?\"\"\"|'''.*?'''", _blank, text, flags=re.DOTALL)
    lines = text.splitlines(keepends=True)
    return "".join(_blanked(line) if _SCAFFOLD.match(line) else line for line in lines)


# ------------------------------------------------------------------ palpate's own pages


def _page(text: str) -> str:
    """A page of palpate: titles, notes and lists of symbols blanked, matrices drawn with brackets made lists."""
    lines = text.split("\n")
    kept = [re.sub(r".", " ", line) for line in lines]
    ending = next((i for i, line in enumerate(lines) if line.startswith(("Shorthand:", "Symbols:"))), len(lines))
    for i in range(ending):
        if lines[i].startswith("  ") and not lines[i].rstrip().endswith("entries not shown are zero"):
            kept[i] = lines[i]
    rows = [i for i in range(len(kept)) if re.match(r"[^\[\]]*\[ .* \]\s*$", kept[i])]
    for block in _runs(rows):
        _draw_in_lists(kept, block)
    return re.sub(r"\[(\d{1,2})\](?= = )", r"_\1 ", "\n".join(kept))


def _runs(numbers: list[int]) -> list[list[int]]:
    """Numbers that follow each other, together; a run ends where the next row has a name of its own."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _draw_in_lists(lines: list[str], block: list[int]) -> None:
    """[ a   b ] over [ c   d ] becomes [ a , b ; c , d ]; the name moves to the first row."""
    heads = [lines[i].index("[ ") for i in block]
    named = next((i for i, at in zip(block, heads) if lines[i][:at].strip()), block[0])
    label = lines[named][: heads[block.index(named)]]
    for i, at in zip(block, heads):
        row = lines[i][at + 1 :].rstrip()[:-1]
        entries = re.sub(r" {3,}(?=\S)", lambda gap: "," + " " * (len(gap[0]) - 1), row.rstrip()).ljust(len(row))
        opened = f"{label}[" if i == block[0] else " " * (at + 1)
        lines[i] = opened + entries + ("]" if i == block[-1] else ";")
