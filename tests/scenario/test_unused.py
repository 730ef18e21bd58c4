"""Settings that change nothing are named; what was given can be taken away again."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import PalpateError, UnknownName
from palpate.scenario.checking.unused import unused_settings
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario


@pytest.mark.parametrize("name", shipped())
def test_every_setting_of_a_shipped_scenario_is_read(name: str):
    assert unused_settings(load_scenario(name)) == []


CASES = [
    ("control.damping_ratio=0.3", "control.damping_ratio is not used: damping is given"),
    ("world.surfaces.wall.dissipation=2.0", 'world.surfaces.wall.dissipation is not used: model is "kelvin-voigt"'),
    (
        'world.pushes=[{frequency=3.0, force=[1.0, 0, 0]}]',
        'world.pushes.push.frequency is not used: kind is not "sine"',
    ),
    ('world.faults=[{what="wrench-nan", at=9, share=0.5}]', "world.faults.fault.share is not used: no command is lost"),
    ("world.sensors.camera.rate=30.0", "world.sensors.camera is not used: it watches a pole"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), CASES)
def test_a_setting_without_effect_is_named_and_has_none(change: str, said: str):
    scenario = load_scenario("panda-wall", [change, "run.duration=0.05"])
    (note,) = unused_settings(scenario)
    assert note.startswith(said)
    if "pushes" not in change:
        plain = pp.simulate(load_scenario("panda-wall", ["run.duration=0.05"]))
        changed = pp.simulate(scenario)
        assert all(np.array_equal(plain[name], changed[name]) for name in plain)


def test_an_inherited_gain_that_the_laws_equation_does_not_have_is_named():
    scenario = load_scenario("panda-wall", ["control={law='integral-force', directions=['x'], proportional=0.5}"])
    assert unused_settings(scenario) == ["control.proportional is not used: its equation has no proportional term"]


def test_the_note_is_printed_before_a_run(tmp_path, capsys):
    words = ["--set", "control.damping_ratio=0.3", "--set", "run.duration=0.01", "--no-report"]
    main(["run", "panda-wall", *words, "--out", str(tmp_path / "a")])
    assert "note: control.damping_ratio is not" in capsys.readouterr().err


def test_what_was_given_can_be_taken_away_on_the_command_line_and_in_python():
    scenario = load_scenario("panda-wall")
    typed = load_scenario("panda-wall", ["control.damping=", "control.damping_ratio=0.3"])
    replaced = scenario.replace(control__damping=None, control__damping_ratio=0.3)
    assert typed.control == replaced.control
    assert typed.control.damping is None  # pyright: ignore[reportAttributeAccessIssue]
    assert unused_settings(typed) == []
    assert load_scenario("panda-wall", ["world.surfaces.wall="]).world.surfaces == ()
    assert load_scenario("panda-wall", ["world.gravity="]) == scenario  # not given anyway


def test_a_misspelt_key_cannot_be_taken_away():
    with pytest.raises(UnknownName, match=r"mean 'control\.damping'"):
        load_scenario("panda-wall", ["control.dampin="])


def test_one_number_for_six_is_refused_with_the_line_to_type():
    with pytest.raises(PalpateError) as refused:
        load_scenario("panda-wall", ["control.stiffness=400"])
    assert "numbers or 6×6 numbers" in str(refused.value)
    line = "control.stiffness=[400, 400, 400, 20, 20, 20]"
    assert f"for all translations write {line}" in str(refused.value)
    assert load_scenario("panda-wall", [line]) == load_scenario("panda-wall")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "nan", "inf", "1e300"])
def test_a_number_beyond_use_gets_no_line_to_type(number: str):
    with pytest.raises(PalpateError) as refused:
        load_scenario("panda-wall", [f"control.stiffness={number}"])
    assert "for all translations" not in str(refused.value)
