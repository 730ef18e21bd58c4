"""Settings and a browser that every test shares; two drivers in one process do not get on."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import skips

# The same examples on every run: a red run can be repeated, and machines of any speed agree.
ANY_SPEED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # which is measured in seconds
settings.register_profile("house", derandomize=True, **ANY_SPEED)
settings.register_profile("fresh", max_examples=500, **ANY_SPEED)  # of make fuzz, which prints its seed
settings.load_profile(os.environ.get("PALPATE_HYPOTHESIS", "house"))

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would the commands that are interrupted.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Software rendering: no graphics card is needed.
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

LONG = (
    "test_docs",
    "test_fuzz",
    "test_cluster",
    "test_interrupt",
    "test_site",
    "test_arriving",
    "test_runs",
    "test_pool",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long begin first, so that two processes end together."""
    items.sort(key=lambda item: item.path.stem not in LONG)


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the collector of cycles goes over it no more."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests were skipped, and why, before the line that counts all of them."""
    reports = terminalreporter.stats.get("skipped", [])
    for line in skips.lines(report.longrepr[2] for report in reports):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, installed once where that is allowed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = _chromium() or _install_chromium()
    if path is None:
        pytest.skip("no Chromium here, and it could not be installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


def _chromium() -> str | None:
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


def _install_chromium() -> str | None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium"]):
        try:
            subprocess.run(command, capture_output=True, timeout=300, check=True)  # clock: then they are skipped
        except (subprocess.SubprocessError, OSError):
            return None
    return _chromium()
