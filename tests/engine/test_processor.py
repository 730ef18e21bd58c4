"""A processor that MuJoCo's library cannot run on is named before the library is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from palpate.engine import processor
from palpate.engine.processor import check_processor
from palpate.errors import PalpateError, UnsupportedProcessor

OLD = "processor\t: 0\nmodel name\t: Atom N270\nflags\t\t: fpu mmx sse sse2 ssse3\n"
NEW = OLD.replace("ssse3", "ssse3 avx avx2")


def test_a_processor_without_avx_is_refused_by_its_name():
    with pytest.raises(UnsupportedProcessor, match="AVX, and Atom N270 has none"):
        check_processor(OLD, "x86_64")
    assert issubclass(UnsupportedProcessor, PalpateError)


@pytest.mark.parametrize(("info", "machine"), [(NEW, "x86_64"), (OLD, "aarch64"), ("", "x86_64"), ("flags", "arm64")])
def test_others_and_what_does_not_tell_are_not(info: str, machine: str):
    check_processor(info, machine)


def test_what_cannot_be_read_refuses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(processor, "_INFO", str(tmp_path / "nothing"))
    check_processor(machine="x86_64")


SOURCES = Path(processor.__file__).parents[1]
IMPORTERS = [file for file in SOURCES.rglob("*.py") if "\nimport mujoco\n" in file.read_text(encoding="utf-8")]
FIRST_OF_PACKAGE = {file.relative_to(SOURCES).parts[0]: file.relative_to(SOURCES) for file in sorted(IMPORTERS)}


@pytest.mark.parametrize("name", [".".join(path.with_suffix("").parts) for path in FIRST_OF_PACKAGE.values()])
def test_no_door_leads_to_mujoco_before_the_processor_is_looked_at(name: str):
    code = f"""
import builtins, sys, palpate.errors
plain = builtins.__import__
def watched(name, *args):
    if name.split(".")[0] == "mujoco":
        print("palpate.engine.processor" in sys.modules)
        raise SystemExit
    return plain(name, *args)
builtins.__import__ = watched
import palpate.{name}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
