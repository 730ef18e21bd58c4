"""A run ends with how many tests were skipped, and why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import skips
from moments import ENDLESS


def test_reasons_are_counted_in_one_line_each() -> None:
    assert skips.lines([]) == []
    assert skips.lines(["Skipped: no cc", "no\n  git", "Skipped: no cc"]) == ["skipped: 3", "  2  no cc", "  1  no git"]


def test_the_last_lines_of_a_run_tell_them_before_the_count(tmp_path: Path) -> None:
    body = "".join(f"def test_{name}():\n    pytest.skip('no {name} here')\n" for name in ("tool", "net"))
    (tmp_path / "test_it.py").write_text(f"import pytest\n{body}def test_fine():\n    pass\n")
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", "/dev/null"]
    command = [sys.executable, "-m", "pytest", *options, "-p", "conftest", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=ENDLESS)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, count, first, second, last = done.stdout.splitlines()
    assert (count, first, second) == ("skipped: 2", "  1  no net here", "  1  no tool here")
    assert last.startswith("1 passed, 2 skipped in ")
