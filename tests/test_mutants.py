"""The tool that breaks formulas: what it changes, and that a seed repeats its draw."""

from __future__ import annotations

import ast
from pathlib import Path

import mutants

SOURCE = """
@kernel
def spring(k, x, d, v):
    \"\"\"Not a formula: 1.0 + 2.0.\"\"\"
    words = "a" + name + "b"
    rows = [1.0] + others
    return -(k * x + 0.5 * d * v)
"""


def changes() -> set[tuple[str, str]]:
    return {(m.before, m.after) for m in mutants.mutants_of(Path("spring.py"), SOURCE)}


def test_signs_factors_and_products_of_a_formula_are_changed() -> None:
    assert ("k * x + 0.5 * d * v", "(k * x - 0.5 * d * v)") in changes()
    assert ("0.5 * d", "(1.0 * d)") in changes()
    assert ("-(k * x + 0.5 * d * v)", "(k * x + 0.5 * d * v)") in changes()


def test_texts_lists_and_docstrings_are_left_alone() -> None:
    assert not [before for before, _ in changes() if "words" in before or "name" in before or "others" in before]


def test_a_mutant_put_in_place_is_a_program_that_differs_there_alone() -> None:
    for mutant in mutants.mutants_of(Path("spring.py"), SOURCE):
        text = SOURCE.encode()
        broken = (text[: mutant.start] + mutant.after.encode() + text[mutant.end :]).decode()
        assert ast.unparse(ast.parse(broken)) != ast.unparse(ast.parse(SOURCE))


def test_a_seed_repeats_its_draw_and_every_package_has_its_share() -> None:
    first, again = mutants.drawn(60, 7), mutants.drawn(60, 7)
    assert first == again
    assert {m.package for m in first} == {m.package for m in mutants.every()}
