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
from palpate.scenario.file.folders import shipped


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


def test_without_a_section_a_line_for_each_says_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 13
    counts = {line.split()[0]: line.split()[1] for line in lines if line.split()[:1] and line.split()[0] in SECTIONS}
    assert counts.keys() == SECTIONS.keys()
    told = {"robots": catalogue.names(), "laws": LAWS, "metrics": METRICS, "scenarios": shipped()}
    assert {name: int(counts[name]) for name in told} == {name: len(things) for name, things in told.items()}


def test_every_section_lists_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", *SECTIONS]) == 0
    out = capsys.readouterr().out
    for section in SECTIONS:
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
    assert "mean 'robots'" in captured.err
