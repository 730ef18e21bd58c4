"""Running chunks on this machine: in this process, in threads of it, or in several processes.

A process that dies or hangs is replaced and its chunk made again; a run that ends two in a row is left as a row of its
own. The library's concurrent.futures hands the chunks to threads, one for each process of `multiprocessing`: its own
pool of processes gives up all of them when one dies, and does not say which run was at fault.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from types import ModuleType
from typing import Any

from palpate.errors import PalpateError, StudyError
from palpate.tools.study.plans.plan import CRASHED
from palpate.tools.study.running.worker import Job, RunResult, RunTask, empty_row, run_chunk

Chunk = list[RunTask]
_SPAWN = multiprocessing.get_context("spawn")
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
_STARTING = threading.Lock()
ATTEMPTS = 2  # how often a chunk may end its process before its runs are made one by one
# A process hangs if it takes longer than HUNG s, and than TIMES the slowest chunk so far.
HUNG, TIMES = 600.0, 100.0
HAND_OVER = 0.05  # s of work that a thread takes at a time


class InProcess:
    """Runs in this process, one after the other."""

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[RunResult]]]:
        """Each chunk in turn."""
        for chunk in chunks:
            yield chunk, run_chunk(job, chunk)

    def close(self) -> None:
        """Nothing to give back."""


class NoRuns:
    """In the place of an executor where a folder is only read: a run that is missing there is not made."""

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[RunResult]]]:
        """Refuse the first chunk."""
        for chunk in chunks:
            raise StudyError(f"run {chunk[0].run} of the sweep is missing in its folder")
        yield from ()

    def close(self) -> None:
        """Nothing to give back."""


class _Dead(StudyError):
    """The process ended without an answer, or hangs."""


class _Process:
    """A worker process and its pipe."""

    def __init__(self) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=serve, args=(theirs,), daemon=True)
        with _bare_environment():
            self.process.start()
        theirs.close()
        try:
            send_handle(self.pipe, self.log.fileno(), self.process.pid)
            self.answer()
        except (_Dead, OSError):
            raise StudyError(f"a worker process did not start: {self._exit_message()}") from None

    def ask(self, job: Job, chunk: Chunk, limit: float | None) -> list[RunResult]:
        """Send a chunk and return its results; `limit` is the longest wait, s."""
        with contextlib.suppress(OSError):  # it is dead, as its answer shows
            self.pipe.send((job, chunk))
        return self.answer(limit)

    def answer(self, limit: float | None = None) -> Any:
        """The next message."""
        try:
            if not self.pipe.poll(limit):
                raise _Dead(f"no answer within {limit:.0f} s")
            answer = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise _Dead(self._exit_message()) from error
        if isinstance(answer, PalpateError):
            raise as_palpate_error(answer)
        return answer

    def _exit_message(self) -> str:
        self.process.join()
        self.log.seek(0)
        lines = self.log.read()[-2000:].decode(errors="replace").strip().splitlines()
        return f"exit code {self.process.exitcode}" + (f", {lines[-1]}" if lines else "")

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.log.close()


@contextlib.contextmanager
def _bare_environment() -> Iterator[None]:
    """Let a process start with one thread for linear algebra, without running the caller's script,
    and without modules from the folder it runs in.
    """
    changed = {**_ONE_THREAD, "PALPATE_SWEEP": str(os.getpid()), "PYTHONSAFEPATH": "1"}
    with _STARTING:
        before, main = {name: os.environ.get(name) for name in changed}, sys.modules["__main__"]
        os.environ.update(changed)
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            for name in changed:
                os.environ.pop(name)
            os.environ.update({name: value for name, value in before.items() if value is not None})


def serve(pipe: Connection) -> None:
    """The work of a process: answer chunks until there are none, or the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the sweep's to handle
    log = recv_handle(pipe)  # for whatever is printed
    os.dup2(log, 1)
    os.dup2(log, 2)
    pipe.send("ready")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            job, chunk = pipe.recv()
            try:
                pipe.send(run_chunk(job, chunk))
            except PalpateError as error:
                pipe.send(error)
            if gc.get_freeze_count() == 0:  # what the first chunk has made stays: it need not be looked through again
                gc.collect()
                gc.freeze()


class _Pool(ABC):
    """Chunks that are made side by side, as many at a time as there are workers."""

    def __init__(self, workers: int) -> None:
        self.workers, self._stopped = workers, False
        self._threads = ThreadPoolExecutor(workers)  # stay until `close`, with what they have made ready

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Generator[tuple[Chunk, list[RunResult]], None, None]:
        """Each chunk with what came of it, as they are done."""
        work, self._stopped = iter(chunks), False
        waiting = dict[Future[list[RunResult]], Chunk]()
        try:
            while True:
                for chunk in islice(work, 2 * self.workers - len(waiting)):
                    waiting[self._threads.submit(self._run_chunk, job, chunk)] = chunk
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        except Exception as error:
            raise as_palpate_error(error) from error
        finally:  # an error, an interruption, or a reader that left early: what is under way is given up
            self._stopped = bool(waiting)
            self._give_up()
            for future in waiting:
                future.cancel()
            wait(waiting)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    @abstractmethod
    def _run_chunk(self, job: Job, chunk: Chunk) -> list[RunResult]:
        """Make a chunk; where all is stopped, no more of it."""

    @abstractmethod
    def _give_up(self) -> None:
        """End what is under way."""


class Threads(_Pool):
    """Runs in threads of this process, for compiled loops, which run beside each other free of the interpreter's lock.

    Nothing is started and nothing is sent: kernels are loaded once. Each thread keeps an assembly of its own until
    `close`, and takes several chunks of short runs at a time, which are made in compiled calls of many runs.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._run_time = 0.0  # s, of a run of the last hand-over

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Generator[tuple[Chunk, list[RunResult]], None, None]:
        """Each chunk with what came of it, as they are done."""
        taken: dict[int, list[Chunk]] = {}  # chunks of a hand-over, by its first run
        for tasks, results in super().results(job, self._hand_overs(iter(chunks), taken)):
            made = iter(results)
            for chunk in taken.pop(tasks[0].run):
                yield chunk, list(islice(made, len(chunk)))

    def _hand_overs(self, chunks: Iterator[Chunk], taken: dict[int, list[Chunk]]) -> Iterator[Chunk]:
        """Tasks of one chunk, or of as many as take about `HAND_OVER`."""
        for chunk in chunks:
            together = [chunk]
            most = HAND_OVER / self._run_time if self._run_time else 0.0
            while sum(map(len, together)) + len(chunk) <= most and (following := next(chunks, None)):
                together.append(following)
            taken[chunk[0].run] = together
            yield [task for one in together for task in one]

    def _run_chunk(self, job: Job, chunk: Chunk) -> list[RunResult]:
        began = time.perf_counter()
        results = run_chunk(job, chunk, lambda: self._stopped)
        self._run_time = (time.perf_counter() - began) / len(chunk)
        return results

    def _give_up(self) -> None:
        """Nothing: the runs under way are short, and no other is begun."""


class LocalPool(_Pool):
    """Runs in processes of their own, as many at a time as there are workers; they stay until `close`."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.free: list[_Process] = []
        self.busy: set[_Process] = set()
        self._longest = 0.0

    def _give_up(self) -> None:
        for process in list(self.busy):
            process.process.kill()

    def close(self) -> None:
        """End threads and processes."""
        super().close()
        while self.free:
            self.free.pop().end()

    def _run_chunk(self, job: Job, chunk: Chunk) -> list[RunResult]:
        message = ""
        for _ in range(ATTEMPTS):
            if self._stopped:
                return []
            try:
                return self._run_in_process(job, chunk)
            except _Dead as error:
                message = error.args[0]
        if len(chunk) > 1:
            return [result for task in chunk for result in self._run_chunk(job, [task])]
        reason = f"the process ended during this run ({message})"
        return [RunResult(chunk[0].run, empty_row(CRASHED, reason, job.metrics))]

    def _run_in_process(self, job: Job, chunk: Chunk) -> list[RunResult]:
        """A chunk made by a process that is free, or a new one."""
        process, start = self.free.pop() if self.free else _Process(), time.monotonic()
        self.busy.add(process)
        if self._stopped:  # while it started
            process.process.kill()
        release = self.free.append
        try:
            limit = max(HUNG, TIMES * self._longest) if self._longest else None
            results = process.ask(job, chunk, limit)
            self._longest = max(self._longest, time.monotonic() - start)
            return results
        except _Dead:
            release = _Process.end
            raise
        finally:
            self.busy.discard(process)
            release(process)


def as_palpate_error(error: BaseException) -> PalpateError:
    """An error of another process as a PalpateError."""
    if isinstance(error, PalpateError):
        return error
    return StudyError(f"the sweep's own work failed: {type(error).__name__}: {error}")


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
