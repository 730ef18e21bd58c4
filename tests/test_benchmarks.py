"""The page that `make bench` writes."""

from __future__ import annotations

from benchmarks import Measurement
from benchmarks.__main__ import Line, names, page


def test_the_page_of_results_begins_with_what_is_lost_and_tells_the_spread() -> None:
    won = Line(Measurement("a tick", 1.2, "×", 1.5), 1.1, 1.4)
    lost = Line(Measurement("a run", 2.0, "×", 1.3), 1.9, 2.2)
    faster = Line(Measurement("threads", 1.2, "×", 1.7, at_least=True), 1.2, 1.2)
    text = page({"loop": [won, faster], "sweep": [lost]}, 3)
    first = text.index("## Where we lose"), text.index("## loop")
    assert "sweep: a run | 2 × | 1.9 … 2.2 | ≤ 1.3: MISSED" in text[first[0] : first[1]]
    assert "loop: threads | 1.2 × |  | ≥ 1.7: MISSED" in text[first[0] : first[1]]
    assert "a tick" not in text[first[0] : first[1]]
    assert "| a tick | 1.2 × | 1.1 … 1.4 | ≤ 1.5: reached |" in text
    assert "processors" in text


def test_every_benchmark_of_the_pages_is_there() -> None:
    assert {"loop", "laws", "sweep", "growth", "rollout", "compile", "before", "priorities"} <= set(names())
