"""The command line's manners: exit codes, messages, suggestions, interrupts, closed pipes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import palpate
from moments import ENDLESS
from palpate.cli import main as cli, show
from palpate.errors import InvalidInput, UnknownName

COMMAND = [sys.executable, "-m", "palpate.cli.main"]


def test_the_first_page_describes_eight_commands_and_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in cli.FIRST)
    assert all(re.search(rf"\b{name}\b", out) for name in cli.COMMANDS)
    assert "examples:" in out
    assert len(out.splitlines()) <= 25
    assert max(map(len, out.splitlines())) <= 80


def test_every_command_is_described_in_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "commands", "--json"]) == 0
    listed = {one["name"]: one["help"] for one in json.loads(capsys.readouterr().out)["commands"]}
    assert set(listed) == set(cli.COMMANDS)
    assert all(listed.values())


@pytest.mark.parametrize("old", cli._MOVED)
def test_an_old_spelling_answers_with_the_new_one(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([old, "x"]) == 2
    assert f"'palpate {old}' is 'palpate {cli._MOVED[old]}' now" in capsys.readouterr().err
    assert cli.main([cli._MOVED[old].split()[0], "--help"]) == 0


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert f"usage: palpate {command}" in capsys.readouterr().out


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"palpate {palpate.__version__}\n"


def test_no_command_prints_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: palpate" in captured.err


def test_a_misspelt_command_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["shwo", "iiwa14"]) == 2
    assert capsys.readouterr().err == (
        f"palpate: unknown command 'shwo'; known: {', '.join(sorted(cli.COMMANDS))}\n  hint: did you mean 'show'?\n"
    )


@pytest.mark.parametrize("words", [["show", "iiwa14", "--jsn"], ["show", "--jsn", "iiwa14"], ["show", "x", "--jsn=1"]])
def test_a_misspelt_option_suggests_the_nearest(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert "unknown option of 'palpate show' '--jsn'" in err
    assert "mean '--json'" in err


def test_an_option_is_never_guessed_from_its_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "iiwa14", "--js"]) == 2
    assert "unknown option" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["show"], ["show", "iiwa14", "panda"]])
def test_missing_and_surplus_arguments_show_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    assert "usage: palpate show" in capsys.readouterr().err


def test_an_error_is_told_with_its_hint_and_without_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "iiwa41"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("palpate: unknown robot 'iiwa41'")
    assert captured.err.endswith("hint: did you mean 'iiwa14'?\n")


@pytest.mark.parametrize("words", [["--debug", "show", "iiwa41"], ["show", "iiwa41", "--debug"]])
def test_debug_shows_the_traceback(words: list[str]) -> None:
    with pytest.raises(UnknownName):
        cli.main(words)


def _run_that(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def run(args: object) -> int:
        raise error

    monkeypatch.setattr(show, "run", run)
    return cli.main(["show", "iiwa14"])


def test_an_interrupt_is_one_line_and_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run_that(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "palpate: interrupted\n"


def test_a_defect_is_not_dressed_up_as_a_user_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run_that(monkeypatch, ZeroDivisionError()) == 70
    assert re.search(r"defect.*palpate", capsys.readouterr().err)


def test_the_error_tree_is_caught_below_its_root(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run_that(monkeypatch, InvalidInput("too heavy", hint="eat less")) == 2
    assert capsys.readouterr().err == "palpate: too heavy\n  hint: eat less\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes close differently there")
def test_a_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, "list"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=ENDLESS)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_process_ends_with_the_code_of_main() -> None:
    done = subprocess.run([*COMMAND, "lst"], capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_ascii_terminal_gets_question_marks_not_a_traceback() -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*COMMAND, "show", "pendulum"], capture_output=True, text=True, env=ascii_only, timeout=ENDLESS
    )
    assert done.returncode == 0
    assert "mass matrix M(q), kg?m?" in done.stdout
