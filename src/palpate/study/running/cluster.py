"""Running chunks on a Dask cluster.

Dask itself makes the chunk of a lost worker again on another one. Only a few chunks per worker are under way at a time,
so that neither scheduler nor sweep ever holds them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from palpate.errors import PalpateError, StudyError
from palpate.study.plans.plan import CRASHED, versions
from palpate.study.running.pool import Chunk
from palpate.study.running.worker import Job, Result, empty_row, run_chunk

AHEAD = 3  # chunks under way per thread of the cluster
PATIENCE = 30.0  # s until a scheduler answers


class DaskCluster:
    """Runs on the workers of a Dask scheduler.

    Args:
        address: of the scheduler, such as "tcp://10.0.0.1:8786".

    Raises:
        StudyError: Dask is not installed, no scheduler answers there, or its workers have another palpate.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise StudyError("--cluster needs Dask", hint="pip install 'palpate[cluster]'") from error
        self.address = address
        try:
            self.client: Any = Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise StudyError(
                f"no Dask scheduler answers at {address} ({error or type(error).__name__})",
                hint="start one with `dask scheduler`, and workers with `dask worker ADDRESS`",
            ) from error
        self._same_versions()

    def _same_versions(self) -> None:
        try:
            worker_versions = self.client.run(versions)
        except Exception as error:
            raise StudyError(f"the workers at {self.address} cannot run palpate ({error})") from error
        mine = versions()
        for worker, theirs in worker_versions.items():
            wrong = [f"{name} {theirs[name]} (here {mine[name]})" for name in mine if theirs[name] != mine[name]]
            if wrong:
                raise StudyError(
                    f"the worker {worker} would give other numbers: it has {', '.join(wrong)}",
                    hint="install the same versions everywhere",
                )

    def results(self, job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Result]]]:
        """Each chunk with what came of it, as they are done."""
        from distributed import as_completed

        work, under_way = iter(chunks), {}

        def submit(chunk: Chunk) -> Any:
            future = self.client.submit(run_chunk, job, chunk, pure=False)
            under_way[future.key] = chunk
            return future

        waiting = as_completed([submit(chunk) for chunk in islice(work, self._ahead())], loop=self.client.loop)
        for future in waiting:
            chunk = under_way.pop(future.key)
            yield chunk, self._result(future, job, chunk)
            future.release()
            for following in islice(work, max(self._ahead() - len(under_way), 0)):
                waiting.add(submit(following))

    def _ahead(self) -> int:
        return AHEAD * max(1, sum(self.client.nthreads().values()))

    def _result(self, future: Any, job: Job, chunk: Chunk) -> list[Result]:
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            return self._one_by_one(job, chunk, str(error))
        except PalpateError:
            raise
        except (OSError, TimeoutError) as error:
            raise StudyError(f"the scheduler at {self.address} is gone ({error})") from error
        except Exception as error:
            if "cancelled" in str(error).lower() or type(error).__name__ == "CancelledError":
                raise StudyError(f"the scheduler at {self.address} is gone ({type(error).__name__})") from error
            raise StudyError(f"a chunk failed on the cluster: {type(error).__name__}: {error}") from error

    def _one_by_one(self, job: Job, chunk: Chunk, reason: str) -> list[Result]:
        """A chunk that killed several workers: its runs alone, so that only the culprit is lost."""
        if len(chunk) == 1:
            return [Result(chunk[0].run, empty_row(CRASHED, f"its worker died each time ({reason})", job.metrics))]
        futures = [self.client.submit(run_chunk, job, [task], pure=False) for task in chunk]
        return [result for task, future in zip(chunk, futures) for result in self._result(future, job, [task])]

    def close(self) -> None:
        """Leave the cluster as it was found."""
        self.client.close()
