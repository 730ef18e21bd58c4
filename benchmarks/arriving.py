"""What a newcomer waits for and stores: a run's start, the report's size and load time, the weight of an installation.

"Before" is when arriving was first measured: plots by Plotly, a replay by viser, pyarrow installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import palpate as pp
from benchmarks import Measurement
from benchmarks.peers.elsewhere import NOT_COMPARED

_NAME = re.compile(r"^[A-Za-z0-9._-]+")


def measure() -> list[Measurement]:
    """A report of 4 s, the start of another run, then what is installed for it."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pp.simulate("panda-wall")
        begin = time.perf_counter()
        page = pp.report(trace, Path(folder) / "report.html")
        rows = [
            Measurement("writing the report of 4 s", time.perf_counter() - begin, "s", 2.0),
            Measurement("size of the report of 4 s (before: 7.2 MB)", page.stat().st_size / 1e6, "MB", 3.5),
        ]
        rows += [*_started(Path(folder) / "again"), *_opened(page)]
    return [
        *rows,
        Measurement(
            "palpate and what it needs, installed (before: 895 MB)", _weight("palpate", set()) / 1e6, "MB", 600.0
        ),
    ]


def _started(folder: Path) -> list[Measurement]:
    """A run of one control tick in a process of its own, its kernels compiled before: imports, loading, one tick."""
    command = [sys.executable, "-m", "palpate", "run", "panda-wall", "--no-report", "--quiet", "--out", str(folder)]
    begin = time.perf_counter()
    subprocess.run([*command, "--set", "run.duration=0.001"], stdout=subprocess.DEVNULL, check=False)  # breaks a bound
    return [Measurement("palpate run, until its first tick is done", time.perf_counter() - begin, "s", 5.0)]


def _opened(page: Path) -> list[Measurement]:
    """Until every chart is drawn, in headless Chromium; nothing where there is none."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print(f"Playwright is not installed (it comes with the extra 'bench'): opening the report, {NOT_COMPARED}")
        return []
    if browser is None:
        print(f"there is no Chromium here: opening the report, {NOT_COMPARED}")
        return []
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = chromium.new_page()
        begin = time.perf_counter()
        tab.goto(page.as_uri())
        tab.locator("svg.chart").last.wait_for(state="attached")
        taken = time.perf_counter() - begin
        chromium.close()
    return [Measurement("opening it in Chromium (before: 8.6 s)", taken, "s", 2.0)]


def _weight(package: str, seen: set[str]) -> int:
    """Bytes of a distribution and of everything it requires, extras left out."""
    name = package.lower().replace("_", "-")
    if name in seen:
        return 0
    seen.add(name)
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return 0
    own = sum(
        Path(str(file.locate())).stat().st_size for file in found.files or () if Path(str(file.locate())).is_file()
    )
    needed = [match[0] for line in found.requires or () if "extra ==" not in line and (match := _NAME.match(line))]
    return own + sum(_weight(other, seen) for other in needed)
