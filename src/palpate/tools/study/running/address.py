"""Where a sweep's runs are made on a cluster, as `--cluster` names it.

tcp://HOST:PORT     a Dask scheduler that runs (also tls://)
scheduler.json      the same, by the file that it wrote
local:N             N workers on this machine
slurm:FILE.toml     jobs of SLURM; FILE.toml says which
pbs:FILE.toml       jobs of PBS
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from typing import Any

from palpate.errors import FileError, InvalidInput, StudyError, UnknownName
from palpate.tools.study.running.jobs import JobFile, jobs_for, read_job_file

KNOWN = ("tcp://HOST:PORT", "scheduler.json", "local:N", "slurm:FILE.toml", "pbs:FILE.toml")
QUEUES = {"slurm": ("SLURMCluster", "sbatch"), "pbs": ("PBSCluster", "qsub")}  # its class, and how jobs are handed in
_INSTALL = "pip install 'palpate[cluster]'"


@dataclass(frozen=True)
class ClusterAddress:
    """A cluster, as `--cluster` names it.

    Attributes:
        text: as it was given.
        kind: "scheduler", "file", "local", or a batch system.
        target: address, path, or number of workers.
        job_file: of a batch system.
    """

    text: str
    kind: str
    target: str
    job_file: JobFile | None = None

    @property
    def batch_cluster(self) -> Any:
        """dask-jobqueue's class for the batch system."""
        return getattr(_jobqueue(), QUEUES[self.kind][0])

    def workers(self, runs: int) -> int:
        """Number of workers for a number of runs; at least one of a scheduler that is already running."""
        if self.job_file is not None:
            return jobs_for(self.job_file, runs) * self.job_file.cores
        return min(int(self.target), runs) if self.kind == "local" else 1

    def job_script(self) -> str:
        """The script that is handed to the batch system, for a scheduler at an address that is not known yet."""
        options = {} if self.job_file is None else self.job_file.options()
        return self.batch_cluster.job_cls("tcp://THIS-MACHINE:PORT", name="palpate-0", **options).job_script()


def cluster_address(text: str) -> ClusterAddress:
    """Read `--cluster`; what can be refused before anything is run is refused here.

    Raises:
        UnknownName: no such kind of cluster.
        InvalidInput: what follows the kind is not understood.
        FileError: there is no such file.
        StudyError: a package is not installed.
    """
    kind, target = _parts(text)
    if importlib.util.find_spec("distributed") is None:
        raise StudyError("--cluster needs Dask, which is not installed", hint=_INSTALL)
    if kind == "file" and not os.path.isfile(target):
        raise FileError(f"there is no scheduler file {target}", hint="dask scheduler --scheduler-file writes one")
    if kind == "local" and not (target.isdecimal() and 1 <= int(target) <= 1000):
        raise InvalidInput(f"--cluster local:N takes a number of workers from 1 to 1000, got {target!r}")
    if kind not in QUEUES:
        return ClusterAddress(text, kind, target)
    job_file = read_job_file(target)
    _jobqueue()
    return ClusterAddress(text, kind, target, job_file)


def _parts(text: str) -> tuple[str, str]:
    scheme, colon, target = text.partition(":")
    if target.startswith("//") and scheme in ("tcp", "tls"):
        return "scheduler", text
    if colon and scheme in ("local", *QUEUES):
        return scheme, target
    if scheme in ("k8s", "kubernetes"):
        raise InvalidInput(
            "--cluster k8s: is not built in",
            hint="start a Dask scheduler there with dask-kubernetes, and name its address: --cluster tcp://HOST:8786",
        )
    if text.endswith(".json"):
        return "file", text
    raise UnknownName("kind of cluster", f"{scheme}:" if colon else text, KNOWN)


def _jobqueue() -> Any:
    try:
        return importlib.import_module("dask_jobqueue")
    except ImportError as error:
        raise StudyError(
            "--cluster slurm: and pbs: need dask-jobqueue, which is not installed", hint=_INSTALL
        ) from error


def check_command(kind: str) -> None:
    """Refuse a machine from which no jobs can be handed in."""
    command = QUEUES[kind][1]
    if shutil.which(command) is None:
        raise StudyError(f"there is no {command} on this machine", hint="start the sweep on a login node")
