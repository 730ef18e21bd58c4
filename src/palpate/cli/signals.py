"""Ctrl-C and SIGTERM: both end a command in the same way, and neither costs what is finished already.

A signal raises KeyboardInterrupt in the main thread, once: what comes while the command cleans up changes nothing. If
it was lost on the way (compiled modules turn it into errors of their own, which others catch) it is raised again.
Where an exception would only be printed and dropped (in callbacks of LLVM, in destructors) it is raised a moment later.
While a finished run is saved the first one waits for the save, and says so; the next one gives the save up.
A command that heard a signal ends with 130, whatever it had done by then, unless a signal is how it is ended (serve).
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

GRACE = 2.0  # s to clean up in, during which further signals are not heard
_MOMENT = 0.01  # s until a signal is raised that came where it could not be
# Functions that C calls: an exception in them is printed and dropped.
_CALLED_BY_C = ("__del__", "_raw_object_cache_notify", "_raw_object_cache_getbuffer")
_ALARM = getattr(signal, "SIGALRM", None)  # not on Windows
_KINDS = (signal.SIGINT, signal.SIGTERM, *(() if _ALARM is None else (_ALARM,)))


class _Heard:
    """State of the signal handler of this process, of which there is one.

    Attributes:
        saving: message to a user who interrupts a save; None where nothing is being saved.
        waited: whether the user has interrupted it.
        postponed: whether signals wait for the end of a step that is not to be divided.
        pending: whether one waits.
        came: whether a signal was heard.
        over: whether the command is ending, whatever else is heard.
    """

    def __init__(self) -> None:
        self.saving: str | None = None
        self.waited = self.postponed = self.pending = self.came = self.over = False
        self.raised = -math.inf  # when KeyboardInterrupt was raised last, s

    def __call__(self, number: int, frame: Any) -> None:
        again = number == _ALARM and self.pending  # one that came in a callback
        late = number == _ALARM and self.raised == -math.inf and not again  # it had its effect meanwhile
        if self.over or time.monotonic() - self.raised < GRACE or late:
            return
        self.came = True
        if self.postponed:
            self.pending = True
            return
        self.pending = _ALARM is not None and _is_called_by_c(frame)
        if self.pending:
            signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        elif self.saving is not None and not self.waited:
            self.waited = True
            with contextlib.suppress(OSError):  # not print: it may be interrupted in the middle of one
                os.write(2, f"palpate: {self.saving}\n".encode())
        else:
            self.raised = time.monotonic()
            if _ALARM is not None:
                signal.setitimer(signal.ITIMER_REAL, 1.1 * GRACE)
            signal.default_int_handler(number, frame)


def _is_called_by_c(frame: Any) -> bool:
    """Whether a frame belongs to a function whose exceptions are not propagated."""
    while frame is not None:
        if frame.f_code.co_name in _CALLED_BY_C:
            return True
        frame = frame.f_back
    return False


_heard = _Heard()


class Listening:
    """For the time of a command: SIGTERM is heard as SIGINT is. What was ignored before stays so (nohup, `&`)."""

    def __init__(self, last: bool) -> None:
        """`last`: the process ends with this command, and its signals change nothing any more once it is over."""
        self.last, self.before = last, {}

    def __enter__(self) -> Listening:
        _heard.__init__()
        with contextlib.suppress(ValueError):  # not in the main thread, which alone hears signals
            for kind in _KINDS:
                if signal.getsignal(kind) not in (signal.SIG_IGN, None):
                    self.before[kind] = signal.signal(kind, _heard)
        return self

    def __exit__(self, *_: object) -> None:
        _heard.over = True
        if _ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for kind, handler in self.before.items():
            signal.signal(kind, signal.SIG_IGN if self.last else handler)


def ignore_further() -> bool:
    """The command is ending, and signals change nothing any more; whether it is a signal that has ended it."""
    _heard.over = True
    return _heard.raised > -math.inf


def was_interrupted() -> bool:
    """Whether the command heard a signal."""
    return _heard.came


def had_its_effect() -> None:
    """An interruption was caught, and what it was meant to end has ended: the command goes on."""
    _heard.raised = -math.inf


def was_expected() -> None:
    """The signal that was caught is how this command is ended: it is no interruption."""
    _heard.raised, _heard.came = -math.inf, False


def leave(code: int) -> None:
    """End the process with this code. CPython ends with −2 after an interruption in a text that was being executed."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or not there
            stream.flush()
    os._exit(code)


class Saving:
    """While it is entered and begun, the first signal waits for the save; the next one gives it up.

    Attributes:
        waited: whether a signal came while it was saved.
    """

    waited = False

    def __enter__(self) -> Saving:
        return self

    def begin(self) -> None:
        """From now on there is something to save."""
        _heard.waited, _heard.raised = False, -math.inf
        _heard.saving = "the run has ended and is being saved; interrupt once more to cancel the save"

    def __exit__(self, *_: object) -> None:
        self.waited, _heard.saving, _heard.waited = _heard.waited, None, False


@contextlib.contextmanager
def asked_for() -> Iterator[Callable[[], bool]]:
    """Let signals be asked for instead of raised: what is inside ends by itself, in its own way, after one came."""
    outer, _heard.postponed = _heard.postponed, True
    try:
        yield lambda: _heard.pending
    finally:
        _heard.postponed = outer
        if _heard.pending and not outer:
            _heard.pending = False
            was_expected()


@contextlib.contextmanager
def undivided() -> Iterator[None]:
    """Let signals wait until the block is done: for a few quick steps of which none may be left out."""
    outer, _heard.postponed = _heard.postponed, True
    try:
        yield
    finally:
        _heard.postponed = outer
        if _heard.pending and not outer:
            _heard.pending = False
            _heard(signal.SIGINT, None)
