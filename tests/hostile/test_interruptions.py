"""Signals at awkward moments: in callbacks whose exceptions are dropped, after the last step, beside a fork."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from moments import ENDLESS
from palpate.cli.main import INTERRUPTED, main
from palpate.cli.signals import Listening
from palpate.forking import cached_property, inherited_free

linux = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))  # the handler runs between two instructions


class _Dying:
    def __del__(self) -> None:
        _interrupt()


def _in_a_destructor() -> None:
    _Dying()


def _in_a_callback_of_llvm() -> None:
    def _raw_object_cache_notify() -> None:
        _interrupt()

    ctypes.CFUNCTYPE(None)(_raw_object_cache_notify)()


def _come_and_wait(come: Callable[[], None]) -> None:
    come()
    for _ in range(6000):  # a minute, if the moment never came
        time.sleep(0.01)  # clock: gives way until the moment comes


@pytest.mark.parametrize("come", [_in_a_destructor, _in_a_callback_of_llvm])
def test_a_signal_in_a_callback_is_raised_behind_it_and_nothing_is_printed(
    come: Callable[[], None], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    with Listening(last=False), pytest.raises(KeyboardInterrupt):
        _come_and_wait(come)
    assert dropped == []
    assert capfd.readouterr().err == ""


def test_a_command_that_was_done_when_the_signal_came_ends_with_130_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from palpate.cli import list as command

    finish = command.run

    def finish_then_hear(args: object) -> int:
        code = finish(args)  # pyright: ignore[reportArgumentType]
        from palpate.cli.signals import had_its_effect

        with pytest.raises(KeyboardInterrupt):
            _interrupt()
        had_its_effect()
        return code

    monkeypatch.setattr(command, "run", finish_then_hear)
    assert main(["list", "laws"]) == INTERRUPTED
    told = capsys.readouterr()
    assert "passive" in told.out
    assert "kept" in told.err


class _Slow:
    """A property that one thread is computing for as long as the test likes."""

    def __init__(self, begun: threading.Event, go: threading.Event) -> None:
        self.begun, self.go = begun, go

    @cached_property
    def value(self) -> int:
        self.begun.set()
        self.go.wait(ENDLESS)
        return 7


class _Quick(_Slow):
    pass


@linux
def test_a_child_reads_a_property_that_a_thread_of_its_parent_is_computing():
    begun, go, done = threading.Event(), threading.Event(), threading.Event()
    done.set()
    slow = _Slow(begun, go)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    begun.wait(ENDLESS)
    child = os.fork()
    if child == 0:
        signal.alarm(ENDLESS)  # clock: the last fence, a child that hangs is killed by it
        os._exit(0 if _Quick(threading.Event(), done).value == 7 else 1)
    try:
        assert os.waitpid(child, 0)[1] == 0
    finally:
        go.set()
        thread.join()


@linux
def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    lock, held, go = inherited_free(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            go.wait(ENDLESS)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(ENDLESS)
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=0) else 1)
    go.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


FORKS = """
import os, signal, sys, threading
import palpate as pp

scenario = pp.load_scenario("pendulum", ["run.duration=0.05"])
pp.simulate(scenario)
ended = threading.Event()


def work():
    while not ended.is_set():
        pp.simulate(scenario)


thread = threading.Thread(target=work)
thread.start()
codes = []
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        pp.simulate(scenario)
        os._exit(0)
    codes.append(os.waitpid(child, 0)[1])
ended.set()
thread.join()
print(codes)
"""


@linux
def test_children_of_a_process_that_simulates_in_a_thread_do_not_hang():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, "8"], capture_output=True, text=True, timeout=ENDLESS
    )
    assert (done.returncode, done.stdout) == (0, f"{[0] * 8}\n"), done.stderr[-2000:]


def test_no_module_uses_the_cached_property_that_locks():
    from house_rules import CORE, complain

    outside = [path for path in CORE if path.name != "forking.py"]
    complain(str(path) for path in outside if "functools import cached_property" in path.read_text(encoding="utf-8"))
