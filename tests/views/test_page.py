from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import FileError, InvalidInput
from palpate.escape.documents import html_json
from palpate.metrics import Bound, evaluate
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views import compare, report
from palpate.views.pages.comparison import differences
from palpate.views.pages.equation import equation_of, mathml
from palpate.views.pages.markup import count, facts, metrics_table, verdicts
from palpate.views.pages.page import report_html

SCRIPT = "<script>window.hacked"


@pytest.fixture(scope="module")
def text(trace: Trace) -> str:
    return report_html(trace, evaluate(trace, {"force_peak": Bound(most=20.0), "bounces": Bound(most=0)}))


def without_libraries(text: str) -> str:
    """The page without its scripts, which speak for themselves."""
    return re.sub(r"<script>.*?</script>", "", text, flags=re.S)


def test_the_report_says_what_was_run_and_how_it_ended(text: str) -> None:
    for part in (
        "pressing joint: panda under law joint", "completed at 2 s (tick 2000): ran its 2 s joint",
        "1 of 2 bounds kept", "beware of joint", "assume joint", "torque limit: 300 control ticks", "Seed",
        "palpate 0.1.0", "✓<span", "✗<span", "torque limit changed the command",
    ):  # fmt: skip
        assert part in text, part


def test_nothing_in_the_report_is_fetched(text: str) -> None:
    page = without_libraries(text)
    assert not re.search(r"""(?:src|href)\s*=(?!\s*["']?(?:data:|#))""", page)
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page


def test_names_are_escaped_everywhere(hostile: Trace) -> None:
    page = without_libraries(report_html(hostile, evaluate(hostile)))
    assert SCRIPT not in page
    assert page.count("&lt;script&gt;window.hacked") > 5  # title, heading, law, warnings, scenario…


def test_the_script_data_cannot_leave_its_element() -> None:
    hostile = {"name": "</script><script>alert(1)</script>&amp;"}
    text = html_json(hostile)
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
    assert re.search(r"Of 100001 samples.*1500.*drawn", text)
    chart = json.loads(re.findall(r'id="charts" type="application/json">(.*?)</script>', text)[0])[0]
    assert len(chart["series"][0]["x"]["bdata"]) < 1500 * 4 * 1.4


def test_the_table_puts_verdicts_first_and_reasons_last(trace: Trace) -> None:
    results = evaluate(trace, {"chatter": Bound(most=1.0), "smallest_singular_value": Bound(least=0.1)})
    table = verdicts(results) + metrics_table(results)
    assert table.index("chatter") < table.index("position_rise_time")
    assert "— the run did not record it" in table
    assert "≥ 0.1" in table
    assert "no force" in table


def test_small_pieces_of_markup() -> None:
    assert [count(n, "event") for n in (0, 1, 2)] == ["0 events", "1 event", "2 events"]
    assert facts({"a": None, "<b>": "<c>"}) == "<dl><div><dt>&lt;b&gt;</dt><dd>&lt;c&gt;</dd></div></dl>"


def test_the_first_screen_has_ending_verdicts_force_and_law_before_the_replay(text: str) -> None:
    order = [
        'class="outcome',
        "beware of joint",
        "✗<span",
        "Contact force",
        'class="law"',
        'id="replay"',
        'id="motion"',
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert text.index('id="motion"') < text.index('id="joints"')
    assert "<details class=print><summary><h2>Joints" in text


def test_contents_lead_to_the_sections_there_are(text: str) -> None:
    links = re.findall(r'<a href="#([\w-]+)"', text)
    assert links[:3] == ["replay", "motion", "forces-and-energy"]
    assert all(f'id="{link}"' in text for link in links)


def facts_of(trace: Trace, **more) -> Trace:
    """The same trace with other facts."""
    data = {trace.channels[name]: trace[name] for name in trace if name != "time"}
    return Trace(trace.time, data, trace.outcome, trace.events, RunFacts.from_data(trace.facts.as_data() | more))


def test_the_law_stands_with_its_equation_and_gains_with_units(trace: Trace) -> None:
    gains = [
        {"name": "stiffness", "value": [400.0] * 3 + [20.0] * 3, "unit": "N/m, N·m/rad", "help": "K", "default": True},
        {"name": "axes", "value": "world", "unit": "1", "help": "of K", "default": True},
        {"name": "damping", "value": 7.0, "unit": "N·s/m", "help": "D", "default": False},
    ]
    page = report_html(facts_of(trace, law_text="A spring: τ = Jᵀ K e.\n\nAssumes: <much>.", gains=gains), [])
    assert "<math" in page
    assert "<msup><mi>J</mi><mi>T</mi></msup>" in page
    assert re.search(r"400 \(x.*\), 20 \(about.*\) N/m, N·m/rad", page)
    assert "Assumes: &lt;much&gt;." in page
    assert page.index("<b>stiffness</b>") < page.index("its other settings") < page.index("<b>axes</b>")


def test_what_differs_from_the_defaults_is_marked_in_the_scenario(trace: Trace) -> None:
    scenario = {
        "run": {"duration": 2.0, "seed": 0},
        "name": "x",
        "world": {"surfaces": [{"name": "wall", "friction": 1.0}]},
    }
    changed = {"name": "x", "run": {"duration": 2.0}, "world": {"surfaces": [{"name": "wall"}]}}
    page = report_html(facts_of(trace, scenario=scenario, changed=changed), [])
    assert "<mark>duration = 2.0</mark>" in page
    assert '<span class="default">seed = 0</span>' in page
    assert '<span class="default">friction = 1.0</span>' in page
    short, _, whole = page[page.index('<section id="scenario">') :].partition("<details>")
    assert whole.index("<mark>name = ") < whole.index("[[world.surfaces]]") < whole.index("[run]")
    assert "duration = 2.0" in short
    assert "seed" not in short  # a default: it stands behind the click


EQUATIONS = {
    "A spring: τ = Jᵀ (K e)_t + b̂(q, v).\n\nMore.": "τ = Jᵀ (K e)_t + b̂(q, v)",
    "Force.\n\nτ = J (Λ u − [c F_m; F_f]) + N τ₀, with m the motion": "τ = J (Λ u − [c F_m; F_f]) + N τ₀",
    "τ = M̂ a + b̂(q, v), e = q_d − q.": "τ = M̂ a + b̂(q, v)",
    "τ = −D v (document 004, section 1.8).": "τ = −D v",
    "Moves: M Δẍ = F, followed through kinematics.": "M Δẍ = F",
    "No equation here.": "",
}


@pytest.mark.parametrize(("text", "equation"), EQUATIONS.items())
def test_an_equation_is_found_among_words(text: str, equation: str) -> None:
    assert equation_of(text) == equation


def test_indices_by_number_and_bars_around_a_size() -> None:
    found = mathml("|J_1 v|² + Σ Jᵢᵀ fᵢ")
    assert "<msub><mi>J</mi><mn>1</mn></msub>" in found
    assert '<msup><mo stretchy="false">|</mo><mn>2</mn></msup>' in found
    assert "<msubsup><mi>J</mi><mi>i</mi><mi>T</mi></msubsup>" in found


def test_an_equation_becomes_mathematics() -> None:
    made = mathml("ë = K⁻¹ x_d,A (a_t)ᵀ τ₀ <b")
    assert '<mover accent="true"><mi>e</mi><mo>¨</mo></mover>' in made
    assert "<msup><mi>K</mi><mi>−1</mi></msup>" in made
    assert "<msub><mi>x</mi><mi>d,A</mi></msub>" in made
    assert "<msup><mrow><mo>(</mo><msub><mi>a</mi><mi>t</mi></msub><mo>)</mo></mrow><mi>T</mi></msup>" in made
    assert "<msub><mi>τ</mi><mn>0</mn></msub>" in made
    assert "&lt;" in made
    assert "<mo>)</mo><mi>a</mi>" in mathml(") a")  # a bracket that was never opened


def test_a_comparison_begins_with_the_settings_that_differ(trace: Trace, tmp_path: Path) -> None:
    def run(stiffness: float) -> Trace:
        world = {"surfaces": [{"name": "wall", "stiffness": stiffness}]}
        return facts_of(trace, scenario={"name": "x", "world": world, "run": {"seed": 0}})

    soft, stiff = run(1e3), run(1e4)
    assert differences([soft, stiff]) == {"world.surfaces.wall.stiffness": ["1000.0", "10000.0"]}
    text = compare([soft, stiff], ["soft", "stiff"], tmp_path / "c.html").read_text("utf-8")
    assert text.index("world.surfaces.wall.stiffness") < text.index("plot-0") < text.index("force_peak")
    assert "same settings" in compare([soft, soft], ["a", "b"], tmp_path / "c.html").read_text("utf-8")


def test_a_folder_that_is_missing_is_said(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no folder"):
        report(trace, tmp_path / "missing" / "report.html")


def test_a_comparison_sets_metrics_side_by_side(trace: Trace, tmp_path: Path) -> None:
    text = compare([trace, trace.slice(0.0, 1.5)], ["soft", "<stiff>"], tmp_path / "c.html").read_text("utf-8")
    assert "<th class=number>soft<th class=number>&lt;stiff&gt;" in text
    assert "<td class=number>30 N<td class=number>20 N" in text  # force_peak


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_runs_to_compare_need_names_that_differ(trace: Trace, tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"two.*more"):
        compare([trace, trace], names, tmp_path / "c.html")
