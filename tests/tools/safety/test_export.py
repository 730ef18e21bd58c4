"""Reactions leave with the exported law."""

from __future__ import annotations

from pathlib import Path

import pytest

import palpate as pp


@pytest.mark.slow  # half a minute of compiling each
@pytest.mark.parametrize("name", ["panda-felt-wall", "panda-fenced"])
def test_an_exported_law_reacts_as_the_loop_does(name: str, tmp_path: Path) -> None:
    scenario = pp.load_scenario(name).replace(run__duration=0.6)
    done = pp.export(scenario, tmp_path / "out", sheet=False)
    assert done.ticks == 601
    assert done.difference < 1e-12
    header = next((tmp_path / "out").glob("*.h")).read_text()
    assert "term_change" in header
    assert "around_reaction_mode" in header
