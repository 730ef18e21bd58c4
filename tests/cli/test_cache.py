"""`palpate tools cache`: what is kept, and how to be rid of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.engine.compiling import cache


@pytest.fixture
def folder(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PALPATE_CACHE_DIR", str(tmp_path))
    cache.folder_in_use.cache_clear()
    yield tmp_path
    cache.folder_in_use.cache_clear()


def test_the_cache_is_shown_and_cleared(folder: Path, capsys):
    kept = cache.folder_in_use().folder.path
    (kept / "loop.run_steps-x.kernel").write_bytes(bytes(2_000_000))
    other = folder / "kernels" / "older"
    other.mkdir()
    (other / "loop.kernel").write_bytes(bytes(1_000_000))
    assert main(["tools", "cache"]) == 0
    shown = capsys.readouterr().out
    assert str(kept) in shown
    assert "numba" in shown
    assert "1 files, 2.0 MB" in shown
    assert "others    1 files, 1.0 MB" in shown
    assert main(["tools", "cache", "clear"]) == 0
    assert "2 files deleted" in capsys.readouterr().out
    assert not (folder / "kernels").exists()


def test_where_nothing_can_be_written_it_says_temporary(tmp_path: Path, monkeypatch, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("PALPATE_CACHE_DIR", str(blocked))
    cache.folder_in_use.cache_clear()
    try:
        assert main(["tools", "cache", "show"]) == 0
    finally:
        cache.folder_in_use.cache_clear()
    assert "temporary" in capsys.readouterr().out
