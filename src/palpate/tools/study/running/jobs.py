"""The jobs that a batch system is asked for, as a file describes them, and what they will cost."""

from __future__ import annotations

import math
import re
from typing import Any

from palpate.config import Config, required, setting
from palpate.errors import InvalidInput
from palpate.files import read_text
from palpate.toml import toml_data

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
    """Number of jobs for a number of runs: no more than have a run for each core."""
    return min(file.jobs, math.ceil(runs / file.cores))


def estimated_cost(file: JobFile, seconds: float, runs: int) -> str:
    """The cost of runs on a batch system, in words; `seconds` is the time of one run."""
    jobs = jobs_for(file, runs)
    hours = seconds * runs / 3600
    whole = jobs * file.cores * (_START + seconds * runs / (jobs * file.cores)) / 3600
    price = "" if file.price is None else f", {whole * file.price:.3g} at {file.price:g} each"
    return (
        f"cost: {jobs} jobs of {file.cores} cores, about {hours:.3g} core hours of work and {whole:.3g} with starting"
        f"{price}; each job takes work for {file.lifetime / 3600:.2g} h of its {file.walltime}"
    )
