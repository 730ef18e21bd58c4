"""Conventions that do not excuse, and slips that touch a whole sum or two entries."""

from __future__ import annotations

from pathlib import Path

import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import UnknownName
from palpate.tools.derive.derivation import Derivation
from palpate.tools.review import check_derivation

TAU = (
    "[(m1*l1**2 + m2*(l1**2 + 2*l1*l2*c2 + l2**2))*ddq1 + m2*l2*(l1*c2 + l2)*ddq2 - m2*l1*l2*s2*(2*dq1*dq2 + dq2**2)"
    " {sign} ((m1 + m2)*g*l1*c1 + m2*g*l2*c12);"
    " m2*l2*(l1*c2 + l2)*ddq1 + m2*l2**2*ddq2 + m2*l1*l2*s2*dq1**2 {sign} m2*g*l2*c12]"
)
V = "{sign}(m1*g*l1*s1 + m2*g*(l1*s1 + l2*s12))"


@pytest.fixture(scope="module")
def arm() -> Derivation:
    return pp.derive("planar2")


@pytest.mark.parametrize(("what", "text"), [("tau", TAU), ("V", V)])
def test_the_sign_of_gravity_is_a_convention_unless_conventions_are_strict(
    arm: Derivation, what: str, text: str
) -> None:
    wrong, right = text.format(sign="-"), text.format(sign="+")
    assert check_derivation(wrong, arm, what).convention
    strict = check_derivation(wrong, arm, what, conventions="strict")
    assert not strict
    assert any("another convention" in note for note in strict.notes)
    assert strict.repaired
    assert check_derivation(right, arm, what, conventions="strict")


def test_another_zero_of_the_potential_does_not_count_as_right_when_strict(arm: Derivation) -> None:
    text = V.format(sign="") + " + m1*g*l1"
    assert check_derivation(text, arm, "V").convention.startswith("another zero")
    assert not check_derivation(text, arm, "V", conventions="strict")


def test_the_command_takes_strict_conventions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "v.txt"
    path.write_text("V = " + V.format(sign="-"), encoding="utf-8")
    assert main(["derive", "planar2", "--check", str(path)]) == 0
    assert main(["derive", "planar2", "--check", str(path), "--conventions", "strict"]) == 1
    assert "sign" in capsys.readouterr().out


def test_an_unknown_choice_of_conventions_is_refused(arm: Derivation) -> None:
    with pytest.raises(UnknownName, match="strict"):
        check_derivation("m1", arm, "T", conventions="loose")  # type: ignore[arg-type]


def test_two_entries_in_each_others_place_are_one_slip(arm: Derivation) -> None:
    verdict = check_derivation("[m2*g*l2*c12; (m1 + m2)*g*l1*c1 + m2*g*l2*c12]", arm, "g")
    assert [one.kinds for one in verdict.differences] == [("swapped entries",)] * 2
    assert verdict.cost == 1.5
    assert check_derivation(verdict.mended, arm, "g")


def test_entries_that_are_not_exchanged_are_mended_one_by_one(arm: Derivation) -> None:
    verdict = check_derivation("[m2*g*l2*s12; (m1 + m2)*g*l1*c1 + m2*g*l2*c12]", arm, "g")
    assert not any("swapped entries" in one.kinds for one in verdict.differences)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("(m1 + m2)*l1*c1 + m2*l2*c12", "missing factor"),  # g is lost
        ("2*(m1 + m2)*g*l1*c1 + 2*m2*g*l2*c12", "factor of two"),
        ("-(m1 + m2)*g*l1*c1 - m2*g*l2*c12", "sign"),
        ("g**2*(m1 + m2)*l1*c1 + g**2*m2*l2*c12", "missing factor"),  # divided by g
    ],
)
def test_a_factor_lost_from_a_whole_sum_is_put_back(arm: Derivation, given: str, kind: str) -> None:
    verdict = check_derivation(given, arm, "g", entry=(0, 0))
    assert verdict.differences[0].kinds == (kind,)
    assert check_derivation(verdict.mended, arm, "g", entry=(0, 0))


def test_two_symbols_lost_from_a_whole_sum_are_put_back() -> None:
    verdict = check_derivation("m1*l1*c1 + m2*(l1*c1 + l2*c12)", "h*g*(m1*l1*c1 + m2*(l1*c1 + l2*c12))")
    assert verdict.differences[0].kinds == ("missing factor",)
    assert verdict.repaired
