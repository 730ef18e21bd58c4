"""Two real recordings: a Panda without its hand, a UR10 with a bare flange. Skipped where they are not at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.robot.catalogue.joint_facts import facts_about

ROOT = Path(__file__).parents[3]
FOLDERS = [folder / "shared" / "logs" for folder in (ROOT.parent, ROOT.parent.parent)]
UR10 = Path(__file__).parent / "ur10.toml"


def recorded(name: str) -> str:
    path = next((folder / name for folder in FOLDERS if (folder / name).is_file()), None)
    if path is None:
        pytest.skip("the real recordings are not in ../shared/logs")
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main(["log", *words, "--json", "--no-rollouts"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_panda_has_no_hand_and_the_friction_of_the_literature(capsys: pytest.CaptureFixture[str]) -> None:
    data = told(capsys, recorded("panda_exciting_trajectory.db3"), "--robot", "panda")
    assert data["counts"]["rows"] == 727
    mass = data["quantities"]["mass"]
    assert -0.78 < mass["low"] < mass["high"] < -0.55
    assert any("hand (0.73 kg) is not" in text for text in data["remarks"])
    assert next(iter(data["explained"])) == "load"
    assert max(data["residual"]["with both"]) < 0.4
    published = next(fact for fact in facts_about("panda") if fact.quantity == "coulomb_friction").values
    q = [data["quantities"][f"coulomb {joint}"] for joint in published]
    inside = [one["low"] < value < one["high"] for one, value in zip(q, published.values())]
    assert sum(inside) >= 4  # another Panda, another day


def test_the_ur10_carries_nothing_and_friction_explains_its_torques(capsys: pytest.CaptureFixture[str]) -> None:
    data = told(capsys, recorded("ur10_exciting_trajectory.db3"), "--robot", str(UR10))
    assert data["counts"]["rows"] == 3441
    mass = data["quantities"]["mass"]
    assert -0.6 < mass["low"] < 0.0 < mass["high"] < 0.2  # the flange is bare
    assert any("nothing" in text for text in data["remarks"])
    assert data["explained"]["friction"] > 0.95
    for joint, least in zip(range(1, 7), (8, 8, 5, 2, 2, 2)):
        assert data["quantities"][f"coulomb joint{joint}"]["low"] > least * 0.7
