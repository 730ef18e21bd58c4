"""Running chunks on this machine: in this process, or in several of their own.

A process that dies is replaced and its chunk made again; a run that kills two in a row is left as a row of its own.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import palpate
from palpate.errors import PalpateError, StudyError
from palpate.study.plan import CRASHED
from palpate.study.serve import receive, send
from palpate.study.worker import Job, Result, Task, empty_row, run_chunk

Chunk = list[Task]
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
ATTEMPTS = 2  # how often a chunk may kill its process before its runs are made one by one


class Executor(Protocol):
    """Makes chunks of runs, in any order."""

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Result]]]:
        """Each chunk with what came of it, as they are done."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Here:
    """Runs in this process, one after the other."""

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Result]]]:
        """Each chunk in turn."""
        for chunk in chunks:
            yield chunk, run_chunk(job, chunk)

    def close(self) -> None:
        """Nothing to give back."""


class _Dead(StudyError):
    """The process ended without an answer."""


class _Process:
    """A worker process and its two pipes."""

    def __init__(self) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        root = str(Path(palpate.__file__).parents[1])
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "palpate.study.serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": paths, "PALPATE_SWEEP": str(os.getpid())},
        )  # fmt: skip
        try:
            self._read()
        except _Dead:
            raise StudyError(f"a worker process did not start: {self.last_words()}") from None

    def ask(self, job: Job, chunk: Chunk) -> list[Result]:
        try:
            send(self.process.stdin, (job, chunk))  # pyright: ignore[reportArgumentType]
        except OSError as error:
            raise _Dead("no answer") from error
        return self._read()

    def _read(self) -> Any:
        try:
            answer = receive(self.process.stdout)  # pyright: ignore[reportArgumentType]
        except (EOFError, OSError, ValueError) as error:
            raise _Dead("no answer") from error
        if isinstance(answer, PalpateError):
            raise ours(answer)
        return answer

    def last_words(self) -> str:
        self.process.wait()
        self.log.seek(0)
        lines = self.log.read()[-2000:].decode(errors="replace").strip().splitlines()
        return f"exit code {self.process.returncode}" + (f", {lines[-1]}" if lines else "")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            with contextlib.suppress(OSError):  # what was still to be written has no reader any more
                stream.close()  # pyright: ignore[reportOptionalMemberAccess]


class LocalPool:
    """Runs in processes of their own, as many at a time as there are workers; they stay until `close`."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.processes: list[_Process | None] = [None] * workers

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Generator[tuple[Chunk, list[Result]], None, None]:
        """Each chunk with what came of it, as they are done."""
        work, lock = iter(chunks), threading.Lock()
        done: queue.Queue[Any] = queue.Queue(maxsize=2 * self.workers)
        hands = [_Hand(self, place, job, done) for place in range(self.workers)]
        threads = [threading.Thread(target=hand.work_off, args=(work, lock), daemon=True) for hand in hands]
        for thread in threads:
            thread.start()
        try:
            busy = len(hands)
            while busy:
                answer = done.get()
                if isinstance(answer, BaseException):
                    raise ours(answer) from answer
                busy -= answer is None
                if answer is not None:
                    yield answer
        finally:  # an error, an interruption, or a reader that left early: what is under way is given up
            for hand in hands:
                hand.stop()
            while any(thread.is_alive() for thread in threads):
                try:
                    done.get(timeout=0.05)
                except queue.Empty:
                    continue

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            if process is not None:
                process.end()
        self.processes = [None] * self.workers


class _Hand:
    """A thread's work: fetch a chunk, let its process make it, hand the rows in."""

    def __init__(self, pool: LocalPool, place: int, job: Job, done: queue.Queue[Any]) -> None:
        self.pool, self.place, self.job, self.done = pool, place, job, done
        self.stopped, self.finished = False, False

    def work_off(self, work: Iterator[Chunk], lock: threading.Lock) -> None:
        try:
            while not self.stopped:
                with lock:
                    chunk = next(work, None)
                if chunk is None:
                    break
                rows = self._made(chunk)
                if not self.stopped:
                    self.done.put((chunk, rows))
            self.finished = True
            self.done.put(None)
        except BaseException as error:  # it belongs to whoever waits for the rows
            self.done.put(error)

    def _made(self, chunk: Chunk) -> list[Result]:
        words = ""
        for _ in range(ATTEMPTS):
            process = self.pool.processes[self.place] or _Process()
            self.pool.processes[self.place] = process
            try:
                return process.ask(self.job, chunk)
            except _Dead:
                words = process.last_words()
                process.end()
                self.pool.processes[self.place] = None
                if self.stopped:
                    return []
        if len(chunk) > 1:
            return [result for task in chunk for result in self._made([task])]
        reason = f"the process ended during this run ({words})"
        return [Result(chunk[0].run, empty_row(CRASHED, reason, self.job.metrics))]

    def stop(self) -> None:
        """Let the process go, whatever it is at."""
        self.stopped = True
        process = self.pool.processes[self.place]
        if process is not None and not self.finished:
            process.process.kill()


def ours(error: BaseException) -> PalpateError:
    """What went wrong elsewhere, as an error of the house's."""
    if isinstance(error, PalpateError):
        return error
    return StudyError(f"the sweep's own work failed: {type(error).__name__}: {error}")


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
