"""The memory that a long recording takes does not grow with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.tools.logs.made import motion

import palpate as pp
from palpate.tools.logs.model import Arm

ROLES = (("q", "rad"), ("v", "rad/s"), ("tau", "N·m"))
MOST = 1.1e9  # bytes; docs/logs.md tells 0.94 GB for 0.5 GB and 0.97 GB for 2 GB
PEAK = (
    "import resource, subprocess, sys\n"
    "subprocess.run([sys.executable, '-m', 'palpate', 'log', *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def write_recording(path: Path, size: float) -> None:
    """Seven joints at 1 kHz; the motion repeats after 100 s, the clock goes on."""
    arm = Arm.of(pp.load_robot("panda"))
    time, rng = np.arange(0.0, 100.0, 0.001), np.random.default_rng(0)
    q, v, a = motion(arm, time)
    tau = np.concatenate(
        [arm.rigid(q[k : k + 10_000], v[k : k + 10_000], a[k : k + 10_000]) for k in range(0, len(time), 10_000)]
    )
    rows = np.column_stack([q, v, tau + np.sign(v) + 0.1 * rng.normal(size=tau.shape)])
    texts = [",".join(map(repr, row)) for row in rows.tolist()]
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(["t", *(f"{role}{k}" for role, _ in ROLES for k in range(7))]) + "\n")
        for turn in range(10_000):
            file.write("".join(f"{100 * turn + 0.001 * k:.3f},{text}\n" for k, text in enumerate(texts)))
            if file.tell() > size:
                return


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in KiB on Linux")
def test_half_a_gigabyte_of_csv_takes_one_of_memory(tmp_path: Path) -> None:
    write_recording(tmp_path / "long.csv", 5e8)
    parts = [f'[{role}]\ncolumns = {[f"{role}{k}" for k in range(7)]}\nunit = "{unit}"\n' for role, unit in ROLES]
    (tmp_path / "map.toml").write_text('[time]\ncolumn = "t"\nunit = "s"\n' + "".join(parts))
    words = [str(tmp_path / "long.csv"), "--robot", "panda", "--map", str(tmp_path / "map.toml"), "--no-rollouts"]
    told = subprocess.run(
        [sys.executable, "-c", PEAK, *words],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert 1024 * int(told.stdout.split()[-1]) < MOST
