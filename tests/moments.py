"""Moments of a command's life, reached by its work and never by a clock.

    python -P tests/moments.py '{"point": "MODULE:NAME", "call": 1, "settings": {}}' WORD …

runs `palpate WORD …`, and waits before the n-th call of a function of the package: a file `reached` appears in the
folder where it runs, and the command goes on once a file `go` is there. Signals are heard meanwhile. Tests start it by
`held`. MODULE is the one that looks the name up: `palpate.files:os.replace` is the moment when the first file is
complete and not yet under its name. Settings are constants of modules, such as {"palpate.run.after.keep:EVERY": 0}.
"""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "palpate.cli.main")
# s: the one limit of whatever a test waits for. The longest such wait takes about a minute on an idle machine; it is
# there for commands that never end, and no test measures anything by it.
ENDLESS = 3600
REACHED, GO = "reached", "go"


def started(program: Sequence[str], words: Sequence[str]) -> subprocess.Popen[str]:
    """A program that hears Ctrl-C even where the tests themselves run in the background."""
    return subprocess.Popen(
        [*program, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def to_be_held(
    words: Sequence[str], point: str, call: int = 1, settings: Mapping[str, float] | None = None
) -> subprocess.Popen[str]:
    """A command in the current folder that will wait for `let_go` at a call of a function; see `wait_until_held`."""
    where = json.dumps({"point": point, "call": call, "settings": dict(settings or {})})
    return started([sys.executable, "-P", __file__, where], words)


def wait_until_held(process: subprocess.Popen[str]) -> None:
    """Wait until a command has come to the call."""
    wait_until(Path(REACHED).exists, process)


def held(
    words: Sequence[str], point: str, call: int = 1, settings: Mapping[str, float] | None = None
) -> subprocess.Popen[str]:
    """A command in the current folder that has come to a call of a function, and waits there for `let_go`."""
    process = to_be_held(words, point, call, settings)
    wait_until_held(process)
    return process


def let_go() -> None:
    """Let the held command of the current folder go on."""
    Path(GO).touch()


def wait_until(there: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait for something that happens sooner or later, and before a process ends if one is given."""
    until = time.monotonic() + ENDLESS  # clock: ends a wait for what never happens
    while not there():
        if process is not None and process.poll() is not None:
            assert there(), process.communicate()
            return
        assert time.monotonic() < until  # clock: as above
        time.sleep(0.01)  # clock: how often it is looked at; nothing depends on it


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process has printed from now to its end."""
    return process.communicate(timeout=ENDLESS)


def _owner(point: str) -> tuple[Any, str]:
    """The module or class that has a name, and the name."""
    module, _, path = point.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    return owner, name


def _hold(point: str, call: int) -> None:
    owner, name = _owner(point)
    plain, calls = getattr(owner, name), []

    def waiting(*args: Any, **named: Any) -> Any:
        calls.append(None)
        if len(calls) == call:
            Path(REACHED).touch()
            wait_until(Path(GO).exists)
        return plain(*args, **named)

    setattr(owner, name, waiting)


def main() -> int:
    """Run the command, held where the first argument says."""
    from palpate.cli.main import main as palpate

    _, where, *words = sys.argv
    asked = json.loads(where)
    for constant, value in asked["settings"].items():
        setattr(*_owner(constant), value)
    _hold(asked["point"], asked["call"])
    sys.argv[1:] = words
    return palpate()


if __name__ == "__main__":
    sys.exit(main())
