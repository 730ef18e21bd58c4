"""Every field of every settings class can be explained, with unit and help."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from palpate.cli.main import main
from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.errors import UnknownName
from palpate.metrics import METRICS
from palpate.scenario.explanation import default_text, explain, summary_of_law
from palpate.scenario.fields import Setting, settings_of, tagged_settings
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario, law_class


def every_key(settings: dict[str, Setting], prefix: str) -> Iterator[tuple[str, Setting]]:
    for key, one in settings.items():
        yield f"{prefix}{key}", one
        if one.table is not None and not one.named:
            yield from every_key(settings_of(one.table), f"{prefix}{key}.")


PLAIN = {key: one for key, one in settings_of(Scenario).items() if key not in ("control", "reference")}
KEYS = dict(every_key(PLAIN, ""))
for _law in LAWS:
    KEYS.update(every_key(tagged_settings("control", _law), f"control.{_law}."))
for _kind in REFERENCES:
    KEYS.update(every_key(tagged_settings("reference", _kind), f"reference.{_kind}."))


def test_there_are_many_keys() -> None:
    assert len(KEYS) > 200


def test_every_key_is_explained_with_unit_and_help() -> None:
    silent = []
    for key, one in KEYS.items():
        found = explain(key)
        if found.key != key or not one.help or not one.unit or not one.allowed or not default_text(one):
            silent.append(key)
    assert silent == []


@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_explained_by_its_equation_and_gains(law: str) -> None:
    found = explain(f"control.{law}")
    assert found == explain(law)
    assert set(found.settings) == {"law", *law_class(law).model_fields}
    assert summary_of_law(law) == found.text.split("\n")[0]
    assert len(summary_of_law(law)) > 20


def test_sections_laws_kinds_and_metrics_are_listed() -> None:
    assert set(explain("").settings) == set(Scenario.model_fields)
    assert set(explain("control").choices) == set(LAWS)
    assert set(explain("reference").choices) == set(REFERENCES)
    assert set(explain("metrics").choices) == set(METRICS)
    assert set(explain("metrics.bounces").settings) == {"least", "most"}


def test_a_gain_of_several_laws_is_told_for_each() -> None:
    assert "control.joint-impedance.stiffness" in explain("control.stiffness").choices


def test_a_number_says_its_unit_bounds_and_default() -> None:
    one = explain("world.surfaces.stiffness").settings["stiffness"]
    assert (one.unit, one.allowed, default_text(one)) == ("N/m", "a number greater than 0, in N/m", "10000.0")
    assert explain("world.surfaces.0.stiffness") == explain("world.surfaces.stiffness")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("wrld", "world"),
        ("world.surfces", "surfaces"),
        ("control.cartesian-impedence", "cartesian-impedance"),
        ("control.cartesian-impedance.stifness", "stiffness"),
        ("reference.lin", "line"),
        ("metrics.bounce", "bounces"),
        ("run.duration.x", None),
    ],
)
def test_an_unknown_key_names_the_nearest(key: str, nearest: str | None) -> None:
    with pytest.raises(UnknownName) as caught:
        explain(key)
    assert nearest is None or f"did you mean {nearest!r}" in str(caught.value)


@pytest.mark.parametrize("name", [*METRICS, *REFERENCES])
def test_a_metric_and_a_kind_of_reference_are_explained_by_their_names_alone(name: str) -> None:
    assert explain(name) == explain(f"{'metrics' if name in METRICS else 'reference'}.{name}")


def test_a_setting_is_explained_by_the_last_part_of_its_key() -> None:
    found = explain("stiffness").choices
    assert {"world.surfaces.stiffness", "control.cartesian-impedance.stiffness"} <= set(found)
    assert set(found) == {key for key in KEYS if key.endswith(".stiffness")}
    assert explain("timestep") == explain("run.timestep")


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_is_explained_by_its_parts(name: str) -> None:
    found, scenario = explain(name), load_scenario(name)
    assert found.text.startswith(scenario.description)
    assert (found.choices["law"], found.choices["reference"]) == (scenario.control.name, scenario.reference.kind)


def test_an_unknown_word_is_answered_with_the_nearest_of_all_kinds() -> None:
    for word, meant in {"force_peek": "force_peak", "panda-wal": "panda-wall", "stifness": "stiffness"}.items():
        with pytest.raises(UnknownName, match=f"did you mean '{meant}'"):
            explain(word)


@pytest.mark.parametrize("name", ["contact_force", "q", "tool_position"])
def test_a_channel_is_explained_on_the_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name]) == 0
    assert f"{name}: a recorded channel" in capsys.readouterr().out
