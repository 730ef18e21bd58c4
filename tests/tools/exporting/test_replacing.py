"""An export over an older one replaces what palpate wrote and nobody changed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import FileError

SCENARIO = "iiwa14-push"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    pp.export(SCENARIO, tmp_path / "e", ticks=5, sheet=False)
    return tmp_path / "e"


def test_an_unchanged_export_is_replaced_and_files_beside_it_stay(older: Path) -> None:
    (older / "mine.txt").write_text("mine")
    assert pp.export(SCENARIO, older, ticks=6, sheet=False).ticks == 6
    assert (older / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["main.c", "Makefile", "manifest.json", "vectors.bin"])
def test_a_changed_file_is_named_and_kept_unless_forced(older: Path, name: str) -> None:
    changed = (older / name).read_bytes().replace(b"iiwa14", b"mine", 1) + b"\n"
    (older / name).write_bytes(changed)
    with pytest.raises(FileError, match=name):
        pp.export(SCENARIO, older, ticks=6, sheet=False)
    assert (older / name).read_bytes() == changed
    assert main(["export", SCENARIO, "--out", str(older), "--ticks", "6", "--no-sheet"]) == 2
    assert main(["export", SCENARIO, "--out", str(older), "--ticks", "6", "--no-sheet", "--force"]) == 0
    assert (older / name).read_bytes() != changed
    pp.load_exported(older)


def test_a_file_of_ones_own_with_a_name_that_a_new_export_needs_is_kept(older: Path) -> None:
    content = json.loads((older / "manifest.json").read_text())
    del content["files"]["README.md"]  # as if an older version had written none
    from palpate.tools.exporting.writing.manifest import sealed

    content.pop("hash")
    (older / "manifest.json").write_text(sealed(content))
    (older / "README.md").write_text("my own notes")
    with pytest.raises(FileError, match=r"README\.md"):
        pp.export(SCENARIO, older, ticks=6, sheet=False)
    assert (older / "README.md").read_text() == "my own notes"
