"""Slips in documents of arms of up to seven joints: none is missed, and a right document raises no alarm.

PALPATE_SLIPS=full makes many; PALPATE_SLIPS_SEED chooses others.
"""

from __future__ import annotations

import os
from random import Random

import pytest

import palpate as pp
from palpate.tools.sheets import Sheet, check_document, source_of
from tools.sheets.pen_slips import slips

FULL = os.environ.get("PALPATE_SLIPS") == "full"
SEED = int(os.environ.get("PALPATE_SLIPS_SEED", "20261118"))
SMALL, LARGE = ("M", "C", "g", "J", "position", "T"), ("g", "J", "position")
ARMS = {
    "planar2": (SMALL, 12),
    "ur5e-3link": (SMALL, 8),
    "scara": (("M", "g", "J", "position"), 6),
    "ur5e": (LARGE, 3),
    "panda": (LARGE, 2),
}


def document(robot: pp.Robot, what: str) -> str:
    return f"The result of this section is\n\n{pp.derive(robot).latex(what)}\n\nwhich ends it."


def judged(robot: pp.Robot, text: str) -> Sheet:
    return check_document(robot, source_of(text))


@pytest.mark.parametrize("name", ARMS)
def test_a_slip_is_never_called_right(name: str) -> None:
    robot, random = pp.load_robot(name), Random(SEED)
    quantities, count = ARMS[name]
    for _ in range(count * (20 if FULL else 1)):
        what = random.choice(quantities)
        kind, at, text = next(slips(document(robot, what), robot.nv, random))
        sheet = judged(robot, text)
        assert sheet.wrong or sheet.of("skipped"), (what, kind, text[max(0, at - 40) : at + 40])


@pytest.mark.parametrize("name", ARMS)
def test_a_right_document_raises_no_alarm(name: str) -> None:
    robot = pp.load_robot(name)
    for what in ARMS[name][0]:
        sheet = judged(robot, document(robot, what))
        assert [one.mark for one in sheet.judged] == ["agrees"], what
        assert not sheet.of("skipped")


def test_the_sign_of_a_kinetic_energy_alone_is_a_slip_and_another_zero_is_none() -> None:
    robot = pp.load_robot("planar2")
    text = document(robot, "T")
    at = text.index("+ 2 m_{2} l_{2}")
    (wrong,) = judged(robot, text[:at] + "-" + text[at + 1 :]).wrong
    assert wrong.slips[0].startswith("sign: ")
    assert any("q2 in the" in note for note in wrong.notes)
    (lifted,) = judged(robot, r"$$V = m_1 g l_1 s_1 + m_2 g (l_1 s_1 + l_2 s_{12}) + 3 m_1 g l_2$$").judged
    assert lifted.verdict is not None
    assert "zero" in lifted.verdict.convention


def test_a_slip_in_a_line_that_cancels_is_told_though_the_result_is_right() -> None:
    text = r"Let $a = s_1$. Then $$g_2 = m_2 g l_2 c_{12} + a - a$$"
    (right,) = judged(pp.load_robot("planar2"), text).judged
    assert right.mark == "agrees"
    assert right.notes == ("it does not depend on a: what is said of it there was not judged",)
    (used,) = judged(pp.load_robot("planar2"), r"Let $a = m_2 g l_2$. Then $$g_2 = a c_{12}$$").judged
    assert not used.notes
