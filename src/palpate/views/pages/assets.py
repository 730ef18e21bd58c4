"""Styles and scripts of a page, from the files of views/assets."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def asset(name: str) -> str:
    """The text of a style sheet or a script."""
    return (resources.files("palpate.views") / "assets" / name).read_text(encoding="utf-8")


def style(*names: str) -> str:
    """A style element with these files."""
    return "<style>" + "\n".join(map(asset, names)) + "</style>"


def script(*names: str) -> str:
    """A script element with these files, in this order."""
    return "<script>" + "\n".join(map(asset, names)) + "</script>"
