"""`palpate list`."""

from __future__ import annotations

import pytest

from palpate.cli.list import SECTIONS
from palpate.cli.main import main
from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.metrics import METRICS
from palpate.robot import catalogue
from palpate.robot.load import load_robot
from palpate.scenario.file.load import shipped


def test_every_robot_is_listed_with_dof_mass_and_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "robots"]) == 0
    title, header, *rows = capsys.readouterr().out.splitlines()
    assert title == "robots:"
    assert header.split() == ["name", "dof", "mass", "[kg]", "what", "it", "is"]
    assert [row.split()[0] for row in rows] == catalogue.names()
    for row, name in zip(rows, catalogue.names(), strict=True):
        _, dof, mass, summary = row.split(maxsplit=3)
        robot = load_robot(name)
        assert (int(dof), float(mass)) == (robot.nv, pytest.approx(robot.mass, abs=5e-4))
        assert summary == catalogue.describe(name).summary


def test_every_section_is_listed_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for section in set(SECTIONS) - {"channels", "runs"}:
        assert f"{section}:\n" in out
    for name in (*LAWS, *METRICS, *REFERENCES, *shipped()):
        assert f"\n{name} " in out


def test_a_section_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "robots"]) == 0
    assert capsys.readouterr().out.startswith("robots:\n")


def test_an_unknown_section_is_refused_before_anything_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "robots", "robts"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean 'robots'" in captured.err
