"""A cell of a notebook checked: %load_ext palpate.tools.sheets, then %%derivation planar2 above formulas."""

from __future__ import annotations

from typing import Any

from palpate.errors import InvalidInput
from palpate.tools.sheets.judge import check_document
from palpate.tools.sheets.result import Sheet
from palpate.tools.sheets.source import source_of


def derivation(line: str, cell: str) -> Sheet:
    """%%derivation ROBOT …: judge the formulas of a cell (Markdown, LaTeX or plain text) by one or more robots."""
    import palpate as pp

    names = line.split()
    if not names:
        raise InvalidInput("%%derivation needs a robot", hint="write %%derivation planar2")
    return check_document([pp.load_robot(name) for name in names], source_of(cell, "cell"))


def load_ipython_extension(shell: Any) -> None:
    """Register the magic with IPython."""
    shell.register_magic_function(derivation, "cell", "derivation")
