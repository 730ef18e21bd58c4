"""What a law does not read of the reference is said before the run, in the trace and in the report."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.control.unread import unread_of_reference
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario

# Law on panda-wall, what is said of it, and the part of the reference that is changed to see that nothing changes.
MOTION, WRENCH = "reference.offset=[0.02, 0, 0.01]", "reference.wrench=[-5, 0, 0, 0, 0, 0]"
CASES = [
    ("computed-torque", "computed-torque reads the targets of the joints alone: the motion of the reference (line)"
     " and the desired wrench (reference.wrench) are ignored; the joints stay at the start posture", (MOTION, WRENCH)),
    ("joint-impedance", "joint-impedance reads the targets of the joints alone: the motion", (MOTION, WRENCH)),
    ("gravity-compensation", "gravity-compensation follows no target: the motion", (MOTION, WRENCH)),
    ("operational-space", "operational-space controls motion alone: the desired wrench (reference.wrench) is ignored;"
     " the contact force is what the motion makes of it", (WRENCH,)),
    ("hybrid-force", "hybrid-force controls force along z alone: what reference.wrench wants along x is ignored",
     (WRENCH,)),
    ("integral-force", "integral-force reads the desired wrench only: the motion of the reference (line) is ignored",
     (MOTION,)),
]  # fmt: skip


@pytest.mark.parametrize(("law", "said", "changes"), CASES)
def test_what_is_said_to_be_ignored_changes_nothing(law: str, said: str, changes: tuple[str, ...]):
    settings = [f'control={{law="{law}"}}', "run.duration=0.4"]
    plain = pp.simulate(load_scenario("panda-wall", settings))
    assert any(remark.startswith(said) for remark in plain.facts.remarks)
    changed = pp.simulate(load_scenario("panda-wall", [*settings, *changes]))
    assert np.array_equal(plain["tau"], changed["tau"])


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_law_reads_all_that_its_reference_asks_for(name: str):
    scenario = load_scenario(name)
    assert unread_of_reference(scenario.control, scenario.reference) == []


def test_a_force_along_a_controlled_direction_is_not_remarked():
    scenario = load_scenario("panda-wall", ['control={law="hybrid-force", force=["x"], motion=["y", "z"]}'])
    assert unread_of_reference(scenario.control, scenario.reference) == []


def test_the_sentence_stands_once_on_the_terminal_and_in_the_report(tmp_path, capsys):
    words = ["run", "panda-wall", "--set", "control.law=computed-torque", "--set", "run.duration=0.05"]
    main([*words, "--out", str(tmp_path / "a")])
    out, err = capsys.readouterr()
    assert "note: computed-torque reads" in err
    assert "reads the targets" not in out
    assert "computed-torque reads" in (tmp_path / "a" / "report.html").read_text()
