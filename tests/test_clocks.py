"""No test depends on how fast the machine is: a rule of the house, held by reading the tests.

Whatever reads a clock, sleeps, or gives up after some seconds needs a comment on its line that says why nothing depends
on it: `# clock: how often it is looked at`. The moments of a command are reached by `moments.py`, work is counted by
`counting.py`, and whatever is waited for has the one limit `ENDLESS`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from house_rules import ROOT, complain, parsed, position

TESTS = ROOT / "tests"
_READ = r"(?:time|perf_counter|process_time|thread_time|monotonic|clock_gettime)(?:_ns)?"
CLOCK = re.compile(
    rf"(?:time\.(?:{_READ}|sleep)|asyncio\.sleep|timeit\.\w+|datetime\.(?:now|utcnow|today)|date\.today|os\.times"
    r"|signal\.(?:alarm|setitimer)|threading\.Timer|\w+\.wait_for_timeout)$"
)
IN_TEXT = re.compile(rf"\btime\.(?:{_READ}|sleep)\(|\bsleep\s+\d")  # of a program that a test starts
LIMITS = {"wait", "join", "poll", "settimeout", "set_default_timeout", "communicate"}  # methods that take seconds
KEYWORDS = {"timeout", "deadline"}
REASON = re.compile(r"# clock: \w+")


def clocks(path: Path, source: str) -> Iterator[str]:
    """Clocks, sleeps and limits in seconds of a test without a reason on their line."""
    lines, tree = source.splitlines(), parsed(source)
    bare = {alias.asname or alias.name for node in ast.walk(tree) for alias in _from_time(node)}
    for node in ast.walk(tree):
        what = _clock(node, bare)
        if what and not any(REASON.search(line) for line in lines[node.lineno - 1 : node.end_lineno]):  # pyright: ignore
            yield f"{position(path, node)}: {what} without a reason; see tests/test_clocks.py"


def _from_time(node: ast.AST) -> list[ast.alias]:
    return node.names if isinstance(node, ast.ImportFrom) and node.module == "time" else []


def _clock(node: ast.AST, bare: set[str]) -> str:
    """What a node asks of a clock; nothing for most."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        match = IN_TEXT.search(node.value)
        return f"{match[0]}…) in a text" if match else ""
    if not isinstance(node, ast.Call):
        return (
            "the processor's time" if isinstance(node, ast.Attribute) and node.attr in ("ru_utime", "ru_stime") else ""
        )
    name = ast.unparse(node.func)
    if CLOCK.search(name) or name in bare:
        return name
    limits = [word.value for word in node.keywords if word.arg in KEYWORDS]
    if isinstance(node.func, ast.Attribute) and node.func.attr in LIMITS:
        limits += node.args
    return f"a limit of {name}" if any(_some_seconds(limit) for limit in limits) else ""


def _some_seconds(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value != 0


def test_no_test_reads_a_clock_or_sleeps_without_a_reason() -> None:
    files = sorted(set(TESTS.rglob("*.py")) - {Path(__file__)})
    complain(c for path in files for c in clocks(path, path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "source",
    [
        "import time\nstart = time.perf_counter()",
        "import time as t\nimport time\ntime.sleep(3)",
        "from time import monotonic\nmonotonic()",
        "before = resource.getrusage(0).ru_utime",
        "signal.setitimer(signal.ITIMER_REAL, 2)",
        "page.wait_for_timeout(300)",
        "subprocess.run(words, timeout=60)",
        "process.wait(10)",
        "thread.join(2.5)",
        "settings(deadline=200)",
        'CHILD = "import time; time.sleep(60)"',
        "import time\nx = time.monotonic()  # clock:",
    ],
)
def test_a_clock_is_seen(source: str) -> None:
    assert len(list(clocks(TESTS / "x.py", source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.sleep(0.01)  # clock: how often it is looked at",
        "subprocess.run(words, timeout=ENDLESS)",
        "settings(deadline=None)",
        "process.wait()",
        '", ".join(words)',
        "monkeypatch.setattr(console.time, 'monotonic', lambda: now[0])",
        "trace.time[-1]",
        "resource.getrusage(0).ru_maxrss",
    ],
)
def test_what_depends_on_no_speed_is_allowed(source: str) -> None:
    complain(clocks(TESTS / "x.py", source))
