"""`--open`: the page in the user's browser, or one line where there is none."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from palpate.cli import console
from palpate.cli.main import main


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    pages: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: pages.append(url) or True)
    monkeypatch.setattr(console.sys, "platform", "linux")
    return pages


def test_without_a_display_one_line_says_where_the_page_is(opened, monkeypatch, tmp_path: Path, capsys) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    console.open_page(tmp_path / "report.html")
    said = capsys.readouterr().err
    assert said == f"palpate: --open: no display and no browser here; open {tmp_path / 'report.html'} elsewhere\n"
    assert opened == []


def test_a_run_shows_its_report(opened, monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    out = tmp_path / "o"
    assert main(["run", "planar2-drop", "--quiet", "--open", "--out", str(out)]) == 0
    assert main(["report", str(out), "--open"]) == 0
    assert main(["report", str(out), "--replay", "--open"]) == 0
    assert main(["compare", str(out), str(out), "--open", "--out", str(tmp_path / "c.html")]) == 0
    names = [url.rpartition("/")[2] for url in opened]
    assert names == ["report.html", "report.html", "replay.html", "c.html"]
    assert all(url.startswith("file:///") for url in opened)
    assert main(["run", "planar2-drop", "--quiet", "--open", "--no-report", "--out", str(tmp_path / "p")]) == 0
    assert "--open" in capsys.readouterr().err
