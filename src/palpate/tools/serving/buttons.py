"""Buttons at the robot itself: the user stop and guiding, at set times or by keys."""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from palpate.errors import InvalidInput


class Button(Enum):
    """A button at the robot; the value is its word in `--press`, and its first letter its key."""

    STOP = "stop"
    GUIDE = "guide"


@dataclass(frozen=True)
class Press:
    """A button that is held: from which time of the run, and for how long, both in s."""

    button: Button
    at: float
    duration: float


_PRESS = re.compile(r"(?P<button>[a-z]+)@(?P<at>\d*\.?\d+)\+(?P<duration>\d*\.?\d+)")


def read_press(text: str) -> Press:
    """A press as `--press` has it, such as stop@2+0.5.

    Raises:
        InvalidInput: it is none.
    """
    match = _PRESS.fullmatch(text)
    words = {button.value: button for button in Button}
    if match is None or match["button"] not in words:
        raise InvalidInput(
            f"{text!r} is no press of a button",
            hint="WHAT@T+S with stop or guide, such as stop@2+0.5: at 2 s for 0.5 s",
        )
    return Press(words[match["button"]], float(match["at"]), float(match["duration"]))


class Buttons:
    """Which buttons are pressed at a time of the run.

    Args:
        presses: those with a time.
        keys: what has been typed since it was asked last; s and g press and release a button in turn.
    """

    def __init__(self, presses: Sequence[Press] = (), keys: Callable[[], str] = lambda: "") -> None:
        self._presses, self._keys = tuple(presses), keys
        self._held: set[Button] = set()

    def pressed(self, t: float) -> set[Button]:
        """The buttons that are down at a time, s."""
        for key in self._keys():
            self._held ^= {button for button in Button if button.value[0] == key}
        return self._held | {p.button for p in self._presses if p.at <= t < p.at + p.duration}


@contextmanager
def typed_keys(pipes: bool = False) -> Iterator[Callable[[], str]]:
    """Keys as they are typed at a terminal, or sent through a pipe if asked for. Ctrl-C works as always."""
    try:
        stream = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):  # there is no input
        yield _nothing
        return
    if os.isatty(stream):
        with _single_keys(stream):
            yield lambda: _typed(stream) if _in_foreground(stream) else ""
    else:
        yield (lambda: _typed(stream)) if pipes and hasattr(select, "poll") else _nothing


def _nothing() -> str:
    return ""


def _in_foreground(stream: int) -> bool:
    """Whether what is typed at a terminal is meant for this program: one in the background is stopped if it asks."""
    try:
        return os.tcgetpgrp(stream) == os.getpgrp()
    except (AttributeError, OSError):  # Windows; not the terminal of this session
        return False


@contextmanager
def _single_keys(stream: int) -> Iterator[None]:
    """A terminal that hands keys over one by one, as long as this program is in its foreground."""
    if not _in_foreground(stream):
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(stream)
    tty.setcbreak(stream)
    try:
        yield
    finally:
        if _in_foreground(stream):
            termios.tcsetattr(stream, termios.TCSADRAIN, before)


def _typed(stream: int) -> str:
    """Characters typed since the last call; none at the end of a file."""
    ready = select.select([stream], [], [], 0.0)[0]
    return os.read(stream, 64).decode(errors="ignore") if ready else ""
