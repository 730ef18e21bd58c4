"""Where a sweep's runs are made on a cluster, as `--cluster` names it.

tcp://HOST:PORT     a Dask scheduler that runs (also tls://)
scheduler.json      the same, by the file that it wrote
local:N             N workers on this machine
slurm:FILE.toml     jobs of SLURM; FILE.toml says which
pbs:FILE.toml       jobs of PBS
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import shutil
from dataclasses import dataclass
from typing import Any

from palpate.config import Config, required, setting
from palpate.errors import FileError, InvalidInput, StudyError, UnknownName
from palpate.files import read_text
from palpate.toml import toml_data

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
        """How many workers there will be for so many runs; one at least of a scheduler that others have started."""
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


# ----------------------------------------------------------------------------------------------
# The jobs that a batch system is asked for, as a file describes them, and what they will cost.


_NO_PROFILE = "export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False"  # it would grow with every second of a worker
_START = 30.0  # s: a worker's start on a node, first compilation not counted
LEAST_MEMORY = 0.5e9  # bytes of a worker process
_SIZE = re.compile(r"(\d+(?:\.\d+)?) *(k|M|G|T)i?B")
_TIME = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)")


class JobFile(Config):
    """The jobs that a batch system is asked for, each with one worker process per core."""

    jobs: int = required("1", "jobs that are kept running", ge=1, le=10_000)
    cores: int = required("1", "processors of each job", ge=1, le=1024)
    memory: str = required("1", 'of each job, such as "16GB"')
    walltime: str = required("1", 'of each job, such as "02:00:00"')
    queue: str | None = setting(None, "1", "partition or queue")
    account: str | None = setting(None, "1", "who pays")
    interface: str | None = setting(None, "1", 'network of scheduler and workers, such as "ib0"')
    prologue: tuple[str, ...] = setting((), "1", "lines of shell before the workers start")
    directives: tuple[str, ...] = setting((), "1", 'further directives, such as "--exclusive"')
    python: str | None = setting(None, "1", "interpreter on the nodes; this one if not given")
    scratch: str | None = setting(None, "1", "folder on the nodes for temporary files")
    logs: str | None = setting(None, "1", "folder for what the jobs print")
    price: float | None = setting(None, "1", "of a core for an hour, for the estimate", ge=0)

    @property
    def seconds(self) -> int:
        """The wall time, s."""
        days, hours, minutes, seconds = (int(part or 0) for part in _matched(_TIME, self.walltime, "walltime").groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds

    @property
    def margin(self) -> float:
        """How long before its wall time a job takes no more work, s: 5 %, two minutes at least, half at most."""
        return min(max(120.0, 0.05 * self.seconds), 0.5 * self.seconds)

    @property
    def lifetime(self) -> float:
        """How long a worker takes work, s."""
        return self.seconds - self.margin

    @property
    def bytes(self) -> float:
        """The memory of a job."""
        number, unit = _matched(_SIZE, self.memory, "memory").groups()
        return float(number) * {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[unit]

    def options(self) -> dict[str, Any]:
        """As dask-jobqueue takes them."""
        stagger = self.margin / 4  # so that not all workers end at once
        optional = {
            "queue": self.queue, "account": self.account, "interface": self.interface, "python": self.python,
            "local_directory": self.scratch, "log_directory": self.logs,
        }  # fmt: skip
        return {
            "cores": self.cores, "processes": self.cores, "memory": self.memory, "walltime": self.walltime,
            "job_name": "palpate", "job_script_prologue": [_NO_PROFILE, *self.prologue],
            "job_extra_directives": list(self.directives),
            "worker_extra_args": ["--lifetime", f"{self.lifetime:.0f}s", "--lifetime-stagger", f"{stagger:.0f}s"],
            **{key: value for key, value in optional.items() if value is not None},
        }  # fmt: skip


def _matched(pattern: re.Pattern[str], text: str, key: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        example = '"16GB"' if key == "memory" else '"02:00:00"'
        raise InvalidInput(f"{key} = {text!r} is not understood", hint=f"write {key} = {example}")
    return match


def read_job_file(path: str) -> JobFile:
    """The jobs that a file asks for.

    Raises:
        FileError: it cannot be read.
        InvalidInput: a key is missing, unknown or impossible.
    """
    try:
        data = toml_data(read_text(path))
    except InvalidInput as error:
        raise InvalidInput(f"the job file {path} is not valid TOML: {error}") from error
    needed = [name for name, field in JobFile.model_fields.items() if field.is_required()]
    missing = [name for name in needed if name not in data]
    if missing:
        plural = "keys" if len(missing) > 1 else "key"
        raise InvalidInput(f"the job file {path} lacks the {plural} {', '.join(missing)}", hint="docs/cluster.md")
    try:
        file = JobFile.model_validate(data)
        each = file.bytes / file.cores
        if file.seconds < 60:
            raise InvalidInput(f"a walltime of {file.seconds} s is too short: a worker needs some seconds to start")
    except InvalidInput as error:
        raise InvalidInput(f"the job file {path}: {error.args[0]}", hint=error.hint) from error
    if each < LEAST_MEMORY:
        raise InvalidInput(
            f"the job file {path}: {file.memory} for {file.cores} worker processes is {each / 1e9:.2g} GB each",
            hint=f"a worker takes up to {LEAST_MEMORY / 1e9:g} GB: ask for more memory, or fewer cores",
        )
    return file


def jobs_for(file: JobFile, runs: int) -> int:
    """How many jobs so many runs are worth: no more than have a run for each core."""
    return min(file.jobs, math.ceil(runs / file.cores))


def estimated_cost(file: JobFile, seconds: float, runs: int) -> str:
    """What runs that take so many seconds each will cost on a batch system."""
    jobs = jobs_for(file, runs)
    hours = seconds * runs / 3600
    whole = jobs * file.cores * (_START + seconds * runs / (jobs * file.cores)) / 3600
    price = "" if file.price is None else f", {whole * file.price:.3g} at {file.price:g} each"
    return (
        f"cost: {jobs} jobs of {file.cores} cores, about {hours:.3g} core hours of work and {whole:.3g} with starting"
        f"{price}; each job takes work for {file.lifetime / 3600:.2g} h of its {file.walltime}"
    )
