"""What people write: programs, Unicode, Mathematica, Typst, Word, definitions in the prose; right, and with a slip."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import palpate as pp
from palpate.tools.sheets import Sheet, check_document, source_of

DATA = tomllib.loads((Path(__file__).parent / "data" / "spellings.toml").read_text(encoding="utf-8"))
RIGHT = [(one["text"], one["kind"], one["robot"], one["count"]) for one in DATA["right"].values()]
WRONG = [(one["text"], one["robot"], one["slip"]) for one in DATA["wrong"].values()]
FAMILIES = tomllib.loads((Path(__file__).parent / "data" / "families.toml").read_text(encoding="utf-8"))


def sheet_of(text: str, kind: str, robot: str) -> Sheet:
    return check_document(pp.load_robot(robot), source_of(text, "text", kind))


@pytest.mark.parametrize(("text", "kind", "robot", "count"), RIGHT, ids=list(DATA["right"]))
def test_a_right_formula_is_read_as_it_is_written(text: str, kind: str, robot: str, count: int) -> None:
    sheet = sheet_of(text, kind, robot)
    assert [one.mark for one in sheet.judged] == ["agrees"] * count, str(sheet)
    assert not sheet.of("skipped")


@pytest.mark.parametrize(("text", "robot", "slip"), WRONG, ids=list(DATA["wrong"]))
def test_a_slip_is_named(text: str, robot: str, slip: str) -> None:
    (wrong,) = sheet_of(text, "text", robot).wrong
    assert wrong.slips == (slip,)


@pytest.mark.parametrize(("text", "kind", "robot", "count"), RIGHT, ids=list(DATA["right"]))
def test_the_same_with_a_slip_is_not_called_right(text: str, kind: str, robot: str, count: int) -> None:
    doubled = [("\\sin", "2\\sin")] if robot == "pendulum" else []  # a cosine there is another zero of the angle
    swaps = [
        ("c_2", "s_2"),
        ("cos", "sin"),
        ("Cos", "Sin"),
        ("s_1", "c_1"),
        ("s1", "c1"),
        ("sin", "cos"),
        ("s_2", "c_2"),
    ]
    for was, becomes in (*doubled, *swaps, ("c_{12}", "s_{12}")):
        at = text.rfind(was)
        if at >= 0:
            text = text[:at] + becomes + text[at + len(was) :]
            break
    assert not sheet_of(text, kind, robot)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_spellings_is_read_and_a_slip_in_each_is_found(family: str) -> None:
    for one in FAMILIES[family]:
        sheet = sheet_of(one["text"], one["kind"], one["robot"])
        assert [finding.mark for finding in sheet.judged] == ["agrees"] * one["count"], one["text"]
        assert not sheet.of("skipped"), one["text"]
        before, was, after = one["text"].rpartition(one["was"])
        assert was
        assert sheet_of(before + one["becomes"] + after, one["kind"], one["robot"]).wrong, one["text"]


def test_a_number_before_a_formula_is_no_factor_and_a_wrong_shorthand_is_found() -> None:
    assert sheet_of("(4)  m l^2 θ̈ + m g l sin θ = 0", "text", "pendulum")
    program = "c12 = sin(q1 + q2);\nG = [(m1+m2)*g*l1*cos(q1) + m2*g*l2*c12; m2*g*l2*c12];"
    (wrong,) = sheet_of(program, "matlab", "planar2").wrong
    assert wrong.slips[0].startswith("sine for cosine in the definition of c12")


def test_nine_point_eight_is_told_once_for_the_document() -> None:
    text = (
        r"$$g = \begin{bmatrix} 2\cdot 9.8 c_1 + 9.8 c_{12}\\ 9.8 c_{12}\end{bmatrix}$$" + "\n\n"
        r"$$V = 9.8 s_1 + 9.8 (s_1 + s_{12})$$"
    )
    sheet = sheet_of(text, "text", "planar2")
    assert sheet.throughout == ("wrong number throughout: 9.8 should be 9.81 (lines 1, 3)",)


def test_nothing_in_a_document_runs_and_no_text_breaks_the_reading() -> None:
    for text in (
        "$$",
        "$$M = $$",
        "```\nM = [\n```",
        "\\newcommand{\\x",
        "$M = \\begin{bmatrix}$",
        "M[0,0] = __import__('os')",
    ):
        sheet = sheet_of(text, "text", "planar2")
        assert not sheet.of("agrees")
    assert "&lt;script&gt;" in sheet_of("<script> $M = 1$", "text", "planar2").html()
