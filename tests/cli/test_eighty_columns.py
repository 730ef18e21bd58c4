"""Nothing that explain, show, list and design tell is lost or torn apart in a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios

import pytest
from rich.cells import cell_len

from moments import ENDLESS
from palpate.cli.main import main
from palpate.control import LAWS
from palpate.robot import catalogue
from palpate.scenario.explanation import explain
from palpate.scenario.file.folders import shipped

Capture = pytest.CaptureFixture[str]
SECTIONS = tuple(explain("").choices or explain("").settings)
KEYS = ("", *SECTIONS, "world.surfaces", "world.sensors", "world.driver", "stiffness", "contact_force", "panda-wall")
COMMANDS = {
    "explain": [["explain", key] if key else ["explain"] for key in KEYS],
    "laws": [["explain", f"control.{law}"] for law in LAWS],
    "references": [["explain", f"reference.{kind}"] for kind in explain("reference").choices],
    "list": [["list", name] for name in ("robots", "scenarios", "laws", "references", "metrics", "channels")],
    "robots": [["show", name] for name in catalogue.names()],
    "scenarios": [["show", name] for name in sorted(shipped())[::4]],
    "design": [["design", "panda-wall"], ["design", "cartesian2-press"]],
}
LONGEST_WHOLE = 14  # letters of a word that is never broken; file names in a narrow column may be
TOML = re.compile(r"^ +[\w.]+ = ")  # a line of a scenario's file is shown as it stands there


def shown(words: list[str], capsys: Capture) -> str:
    capsys.readouterr()
    assert main(words) in (0, 3)
    return capsys.readouterr().out


@pytest.mark.parametrize("group", COMMANDS)
def test_no_word_is_lost_or_broken_and_no_line_is_too_long(
    group: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in COMMANDS[group]:
        whole = shown(words, capsys)
        with monkeypatch.context() as terminal:
            for name, value in {"COLUMNS": "80", "TTY_COMPATIBLE": "1", "NO_COLOR": "1", "TERM": "xterm"}.items():
                terminal.setenv(name, value)
            narrow = re.sub(r"\x1b\[[0-9;]*m", "", shown(words, capsys))
        told = " ".join(words)
        long = [line for line in narrow.splitlines() if cell_len(line) > 80 and not TOML.match(line)]
        assert not long, f"{told}: {long[0]}"
        lost = {word for word in whole.split() if len(word) <= LONGEST_WHOLE} - set(narrow.split())
        assert not lost, f"{told}: {lost}"


def test_a_real_terminal_folds_between_words() -> None:
    """The command as a person starts it, its output a pseudo-terminal."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "TTY_COMPATIBLE")}
    command = [sys.executable, "-m", "palpate", "explain", "control.cartesian-impedance"]
    process = subprocess.Popen(
        command, stdout=slave, stderr=subprocess.DEVNULL, stdin=slave, env={**environment, "TERM": "xterm"}
    )
    os.close(slave)
    text = b""
    while chunk := _read(master):
        text += chunk
    os.close(master)
    assert process.wait(ENDLESS) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r", "").splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert re.search(r"spring.*damper", lines[0])
    assert any(line.startswith("stiffness ") for line in lines)


def _read(descriptor: int) -> bytes:
    """What a terminal shows next; nothing once its other side is closed."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
