"""A damaged file in a folder is named, and what does not need it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile.damage import Damage, prepare
from in_folder import run_command
from moments import ENDLESS
from palpate.cli.main import MISUSE

TRIES = 80


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage")
    prepare(folder)
    return folder


def test_a_damaged_file_of_a_folder_is_named_and_nothing_else_suffers(folders: Path):
    damage = Damage(folders)
    for seed in range(TRIES):
        damage.one_try(seed)
    assert damage.faults == {}
    assert damage.counts["exit 0"] > TRIES // 5
    assert damage.counts["exit 2"] > TRIES // 5


@pytest.mark.parametrize("more", [[], ["--replay"]], ids=["report", "replay"])
@pytest.mark.parametrize(
    "content", [b"\xff", b"[" * 100_000, b"modules = 3\n", b'[modules]\nx = 3\ny = "nowhere.py"\n']
)
def test_a_whole_trace_is_shown_beside_a_damaged_scenario(more: list[str], content: bytes, folders: Path):
    folder = folders / f"beside{''.join(more)}"
    folder.mkdir(exist_ok=True)
    (folder / "trace.parquet").write_bytes((folders / "run" / "trace.parquet").read_bytes())
    (folder / "scenario.toml").write_bytes(content)
    code, told = run_command(["report", folder.name, *more], folders)
    assert code == 0, told


def test_every_flipped_byte_of_a_plan_is_noticed(folders: Path):
    from palpate.errors import FileError
    from palpate.tools.study.plans.plan import plan_from_text

    text = (folders / "sweep" / "sweep.json").read_text()
    for at in range(0, len(text), 37):
        spoilt = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]
        if spoilt.split() != text.split():
            with pytest.raises(FileError, match=r"sweep\.json"):
                plan_from_text(spoilt, "sweep.json")


@pytest.mark.parametrize("words", [["new", "mine"], ["sweep", "pendulum", "--runs", "2"], ["list", "robots"]])
def test_a_deleted_working_folder_is_no_defect(words: list[str], tmp_path: Path):
    program = "import os, sys; os.rmdir(os.getcwd()); from palpate.cli.main import main; sys.exit(main(sys.argv[1:]))"
    folder = tmp_path / "gone"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *words], cwd=folder, capture_output=True, text=True, timeout=ENDLESS
    )
    assert done.returncode in (0, MISUSE), done.stderr
    assert "Traceback" not in done.stderr
    assert not os.path.exists(folder)
