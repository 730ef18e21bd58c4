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
