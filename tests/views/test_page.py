from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileError, InvalidInput
from palpate.metrics import Bound, evaluate
from palpate.trace import Channel, Outcome, Trace
from palpate.views import compare, report
from palpate.views.interactive import as_script
from palpate.views.markup import count, facts, metrics_table
from palpate.views.page import report_html

SCRIPT = "<script>window.hacked"


@pytest.fixture(scope="module")
def text(trace: Trace) -> str:
    return report_html(trace, evaluate(trace, {"force_peak": Bound(most=20.0), "bounces": Bound(most=0)}))


def without_libraries(text: str) -> str:
    """The page without plotly's script and the replay, which speak for themselves."""
    return re.sub(r"<script>.*?</script>", "", re.sub(r'srcdoc="[^"]*"', "", text), flags=re.S)


def test_the_report_says_what_was_run_and_how_it_ended(text: str) -> None:
    for part in (
        "pressing joint: panda under law joint", "completed at 2 s (tick 2000): ran its 2 s joint",
        "1 of 2 bounds kept", "beware of joint", "assume joint", "torque limit: 300 control ticks", "Seed",
        "palpate 0.1.0", "✓ pass", "✗ fail", "torque limit cut the command",
    ):  # fmt: skip
        assert part in text, part


def test_nothing_in_the_report_is_fetched(text: str) -> None:
    page = without_libraries(text)
    assert not re.search(r"""(?:src|href)\s*=(?!\s*["']?data:)""", page)
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page


def test_names_are_escaped_everywhere(hostile: Trace) -> None:
    page = without_libraries(report_html(hostile, evaluate(hostile)))
    assert SCRIPT not in page
    assert page.count("&lt;script&gt;window.hacked") > 5  # title, heading, law, warnings, scenario…


def test_the_script_data_cannot_leave_its_element() -> None:
    hostile = {"name": "</script><script>alert(1)</script>&amp;"}
    text = as_script(hostile)
    assert not set("<>&") & set(text)
    assert json.loads(text) == hostile


def test_a_report_without_a_scene_says_so_and_shows_the_rest(tmp_path: Path) -> None:
    q = Channel("q", "rad", (1,), labels=("elbow",))
    plain = Trace([0.0, 1.0], {q: [[0.0], [1.0]]}, Outcome("diverged", "the state is not a number", 1.0, 1))
    text = report(plain, tmp_path / "report.html").read_text("utf-8")
    assert "cannot be replayed" in text
    assert 'class="outcome bad"' in text
    assert 'id="plot-0"' in text


def test_a_long_trace_is_thinned_and_says_so() -> None:
    time = np.linspace(0.0, 1.0, 100_001)
    values = np.sin(50 * time)
    long = Trace(time, {Channel("contact_force", "N"): values}, Outcome("completed", "done", 1.0, 1))
    text = report_html(long, [])
    assert "Of 100001 samples at most 1500 per line are drawn" in text
    chart = json.loads(re.findall(r'type="application/json">(.*?)</script>', text)[0])[0]
    assert len(chart["data"][0]["x"]["bdata"]) < 1500 * 4 * 1.4


def test_the_table_puts_verdicts_first_and_reasons_last(trace: Trace) -> None:
    table = metrics_table(evaluate(trace, {"chatter": Bound(most=1.0), "smallest_singular_value": Bound(least=0.1)}))
    assert table.index("chatter") < table.index("position_rise_time")
    assert "— the run did not note it" in table
    assert "≥ 0.1" in table
    assert "no force is asked for" in table


def test_small_pieces_of_markup() -> None:
    assert [count(n, "event") for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
    assert facts({"a": None, "<b>": "<c>"}) == "<dl><div><dt>&lt;b&gt;</dt><dd>&lt;c&gt;</dd></div></dl>"


def test_a_folder_that_is_missing_is_said(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no folder"):
        report(trace, tmp_path / "missing" / "report.html")


def test_a_comparison_sets_metrics_side_by_side(trace: Trace, tmp_path: Path) -> None:
    text = compare([trace, trace.slice(0.0, 1.5)], ["soft", "<stiff>"], tmp_path / "c.html").read_text("utf-8")
    assert "<th class=number>soft<th class=number>&lt;stiff&gt;" in text
    assert "<td class=number>30 N<td class=number>20 N" in text  # force_peak


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_runs_to_compare_need_names_that_differ(trace: Trace, tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(InvalidInput, match="two or more runs with a name each"):
        compare([trace, trace], names, tmp_path / "c.html")
