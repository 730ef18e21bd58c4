"""What a newcomer waits for and stores: the report's size and load time, and the weight of an installation."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from importlib import metadata
from pathlib import Path

import palpate as pp
from benchmarks import Measurement
from benchmarks.peers.elsewhere import NOT_COMPARED

_NAME = re.compile(r"^[A-Za-z0-9._-]+")


def measure() -> list[Measurement]:
    """A report of 4 s, then what is installed for it."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pp.simulate("panda-wall")
        begin = time.perf_counter()
        page = pp.report(trace, Path(folder) / "report.html")
        rows = [
            Measurement("writing the report of 4 s", time.perf_counter() - begin, "s", 2.0),
            Measurement("size of the report of 4 s", page.stat().st_size / 1e6, "MB", 3.5),
        ]
        rows += _opened(page)
    return [*rows, Measurement("palpate and what it needs, installed", _weight("palpate", set()) / 1e6, "MB", 600.0)]


def _opened(page: Path) -> list[Measurement]:
    """Until every chart is drawn, in headless Chromium; nothing where there is none."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print(f"Playwright is not installed (it comes with the extra 'dev'): opening the report, {NOT_COMPARED}")
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
    return [Measurement("opening it in Chromium", taken, "s", 2.0)]


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
