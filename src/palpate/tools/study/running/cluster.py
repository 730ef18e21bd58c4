"""Running chunks on a Dask cluster.

Dask itself makes the chunk of a lost worker again on another one. Only a few chunks per worker are under way at a time,
so that neither scheduler nor sweep ever holds them all. The scenario's files go once to the scheduler, which hands them
to every worker, those that come later included.

Memory stays flat because what Dask keeps for its developers is cut short (`FLAT`): the last 1000 messages of each
connection, which hold the chunks that were sent, the load of every half second and, on a worker, a profile of every
second of the last hour.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, LocalCluster, WorkerPlugin, as_completed
from distributed.scheduler import KilledWorker

from palpate.errors import PalpateError, StudyError
from palpate.tools.study.plans.plan import CRASHED, versions
from palpate.tools.study.running.address import ClusterAddress, check_command
from palpate.tools.study.running.jobs import jobs_for
from palpate.tools.study.running.pool import Chunk
from palpate.tools.study.running.shipping import forget_copies, mark_of, use_scratch
from palpate.tools.study.running.worker import Job, RunResult, check_files, empty_row, run_chunk

AHEAD = 3  # chunks under way per thread of the cluster
PATIENCE = 30.0  # s until a scheduler answers
REMINDER = 600.0  # s between two notes that no worker has come
FLAT = {
    "distributed.admin.low-level-log-length": 10,
    "distributed.admin.system-monitor.log-length": 60,
    "distributed.worker.profile.enabled": False,
}
PART_OF_LIFE = 0.1  # share of a worker's life that a piece of work may take
_received: dict[str, Mapping[str, bytes]] = {}  # on a worker: the files of sweeps, by their mark


class Files(WorkerPlugin):
    """The files of a sweep, on their way to a worker."""

    def __init__(self, mark: str, contents: Mapping[str, bytes]) -> None:
        """Take files by their paths; `mark` is that of their contents."""
        self.name, self.mark, self.contents = f"palpate-{mark}", mark, contents

    def setup(self, worker: Any) -> None:
        """Keep them; copies go to the worker's own folder, which Dask deletes."""
        use_scratch(worker.local_directory)
        _received[self.mark] = self.contents

    def teardown(self, worker: Any) -> None:
        """Let them go."""
        _received.pop(self.mark, None)
        forget_copies()


def run_there(job: Job, mark: str, wanted: Mapping[str, str], chunk: Chunk) -> list[RunResult]:
    """The work of a Dask worker: a chunk, with the files that were handed to it.

    Raises:
        StudyError: other versions are installed here, so that the numbers would be others.
    """
    here = versions()
    if wrong := [f"{name} {here[name]} (there {wanted[name]})" for name in wanted if here[name] != wanted[name]]:
        raise StudyError(
            f"a worker would give other numbers: it has {', '.join(wrong)}", hint="install the same versions everywhere"
        )
    return run_chunk(replace(job, contents=_received[mark]) if mark else job, chunk)


class DaskCluster:
    """Runs on the workers of a Dask scheduler, or of one that is started here for them.

    Args:
        address: which cluster.
        runs: how many there will be; a batch system gets jobs for that number.
        seconds: how long a run takes about, s; work is handed out in pieces that are short against a worker's life.

    Raises:
        StudyError: no scheduler answers, jobs cannot be handed in, or a run takes longer than a job lives.
    """

    def __init__(self, address: ClusterAddress, runs: int = 1, seconds: float = 0.0) -> None:
        """Connect, or start the workers."""
        self.address, self.most, self.started = address, sys.maxsize, None
        logging.getLogger("distributed").setLevel(logging.ERROR)
        self._config = dask.config.set(FLAT)  # until `close`; workers that are started here take it over
        self._plugins: list[str] = []
        try:
            self.client: Any = self._start(runs, seconds)
        except BaseException:
            self._config.__exit__(None, None, None)
            raise

    def _start(self, runs: int, seconds: float) -> Any:
        address = self.address
        if address.kind == "local":
            local: dict[str, Any] = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
            workers = min(int(address.target), runs)
            self.started = LocalCluster(n_workers=workers, silence_logs=logging.ERROR, **local)
        elif address.job_file is not None:
            self.most = _largest_piece(address, seconds)
            self.started = _submitted_jobs(address, jobs_for(address.job_file, runs))
        return self._connected()

    def _connected(self) -> Any:
        kind, target = self.address.kind, self.address.target
        scheduler: dict[str, Any] = (
            {"scheduler_file": target} if kind == "file" else {"address": self.started or target}
        )
        try:
            return Client(**scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StudyError(
                f"no Dask scheduler answers at {self.address.text} ({error or type(error).__name__})",
                hint="start one with `dask scheduler`, and workers with `dask worker ADDRESS`",
            ) from error

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[RunResult]]]:
        """Each chunk with what came of it, as they are done."""
        send = self._sender(job)
        self._await_a_worker()
        pieces, under_way = _pieces(chunks, self.most), {}
        made: dict[int, list[RunResult]] = {}

        def submit(piece: tuple[Chunk, Chunk]) -> Any:
            future = send(piece[1])
            under_way[future.key] = piece
            return future

        waiting = as_completed([submit(piece) for piece in islice(pieces, self._ahead())], loop=self.client.loop)
        for future in waiting:
            chunk, part = under_way.pop(future.key)
            results = made.setdefault(chunk[0].run, [])
            results += self._result(future, send, job, part)
            future.release()
            if len(results) == len(chunk):
                yield chunk, sorted(made.pop(chunk[0].run), key=lambda result: result.run)
            for following in islice(pieces, max(self._ahead() - len(under_way), 0)):
                waiting.add(submit(following))

    def _sender(self, job: Job) -> Any:
        """A function that hands a chunk to the cluster, whose workers get the files of the scenario first."""
        files = {path: digest for path, digest in job.files.items() if path not in job.contents}
        check_files(files)
        contents = {**{path: Path(path).read_bytes() for path in files}, **job.contents}
        mark, wanted = mark_of(contents) if contents else "", versions()
        if contents:
            plugin = Files(mark, contents)
            with self._as_study_errors():
                self.client.register_plugin(plugin)
            self._plugins.append(plugin.name)
        light = replace(job, contents={})
        return lambda chunk: self.client.submit(run_there, light, mark, wanted, chunk, pure=False)

    def _await_a_worker(self) -> None:
        """Wait until there is one; a note says what is waited for."""
        last_note, first = time.monotonic(), True
        while not self.client.nthreads():
            if first or time.monotonic() - last_note > REMINDER:
                last_note, first = time.monotonic(), False
                print(f"note: waiting for the first worker of {self.address.text}", file=sys.stderr, flush=True)
            time.sleep(0.1)

    def _ahead(self) -> int:
        return AHEAD * max(1, sum(self.client.nthreads().values()))

    def _result(self, future: Any, send: Any, job: Job, chunk: Chunk) -> list[RunResult]:
        try:
            with self._as_study_errors():
                return future.result()
        except KilledWorker as error:
            return self._one_by_one(send, job, chunk, str(error))

    def _one_by_one(self, send: Any, job: Job, chunk: Chunk, reason: str) -> list[RunResult]:
        """A chunk that killed several workers: its runs alone, so that only the culprit is lost."""
        if len(chunk) == 1:
            return [RunResult(chunk[0].run, empty_row(CRASHED, f"its worker died each time ({reason})", job.metrics))]
        futures = [send([task]) for task in chunk]
        return [result for task, future in zip(chunk, futures) for result in self._result(future, send, job, [task])]

    @contextlib.contextmanager
    def _as_study_errors(self) -> Iterator[None]:
        """Raise errors of the cluster as StudyError."""
        try:
            yield
        except (PalpateError, KilledWorker):
            raise
        except ImportError as error:
            raise StudyError(
                f"the workers of {self.address.text} cannot run palpate ({error})",
                hint="install palpate, in the same version, for the Python of the workers",
            ) from error
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if isinstance(error, OSError) or "cancelled" in text.lower():  # its futures are, when a scheduler ends
                raise StudyError(f"the scheduler at {self.address.text} is gone ({text})") from error
            raise StudyError(f"a chunk failed on the cluster: {text}") from error

    def close(self) -> None:
        """Leave the cluster as it was found; what was started for this sweep is ended."""
        for name in self._plugins:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self.client.unregister_worker_plugin(name)
        self.client.close()
        if self.started is not None:
            self.started.close()
        self._config.__exit__(None, None, None)


def _pieces(chunks: Iterable[Chunk], most: int) -> Iterator[tuple[Chunk, Chunk]]:
    """Each chunk in parts of at most `most` runs; a chunk is still written as a whole."""
    for chunk in chunks:
        for first in range(0, len(chunk), most):
            yield chunk, chunk[first : first + most]


def _largest_piece(address: ClusterAddress, seconds: float) -> int:
    """How many runs a worker is given at a time, so that its job's end costs little."""
    assert address.job_file is not None
    lifetime = address.job_file.lifetime
    if seconds > 0.5 * lifetime:
        raise StudyError(
            f"a run takes about {seconds:.0f} s here, and a worker takes work for {lifetime:.0f} s",
            hint=f"ask for a longer walltime in {address.target}",
        )
    return max(1, min(sys.maxsize, int(PART_OF_LIFE * lifetime / max(seconds, 1e-6))))


def _submitted_jobs(address: ClusterAddress, jobs: int) -> Any:
    """A scheduler in this process, and jobs whose workers come to it; those that end are replaced."""
    assert address.job_file is not None
    check_command(address.kind)
    try:
        cluster = address.batch_cluster(**address.job_file.options(), scheduler_options={"dashboard_address": None})
    except (OSError, ValueError, RuntimeError) as error:
        raise StudyError(f"no scheduler for {address.text} could be started: {error}") from error
    cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    return cluster
