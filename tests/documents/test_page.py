"""The review page: formulas as MathML, numbers side by side, drawn by a browser without a network, and printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.dom.minidom import parseString

import pytest

from palpate.cli.main import main
from palpate_documents import documents, verify
from palpate_documents.claim import Trajectories
from palpate_documents.mathml import as_text, broken, formula_html, marked, mathml
from palpate_documents.page import review_html, svg, write_review

LAPTOP, PHONE = (1280, 800), (390, 700)
# Formulas that reach beyond their own box without a way to scroll there, and elements that lie on one another.
OVERLAPS = """() => { const found = [];
  for (const c of document.querySelectorAll('.claim')) {
    const parts = [...c.children].map(x => x.getBoundingClientRect());
    for (let i = 1; i < parts.length; i++) if (parts[i].top < parts[i-1].bottom - 1.5) found.push(c.id); }
  for (const m of document.querySelectorAll('.side')) for (const f of m.querySelectorAll('.formula')) {
    if (f.getBoundingClientRect().right > m.getBoundingClientRect().right + 1) found.push('wide'); }
  return found }"""


def test_every_formula_of_every_claim_is_well_formed_mathml() -> None:
    for one in documents():
        for claim in one.claims:
            for text in (claim.printed, claim.corrected):
                parsed = parseString(formula_html(text)) if text else None
                assert parsed is None or "\\" not in "".join(node.data for node in _texts(parsed.documentElement)), (
                    f"{claim.id}: {text}"
                )


def _texts(node: Any) -> list[Any]:
    if node.nodeType == node.TEXT_NODE:
        return [node]
    return [text for child in node.childNodes for text in _texts(child)]


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\frac{1}{2}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        (r"\ddot{x}_A^2", '<msubsup><mi class="marked">x\u0308</mi>'),
        (
            r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}",
            '<mtable class="matrix"><mtr><mtd><mrow><mi>a</mi></mrow></mtd>',
        ),
        (r"\text{if } x", "<mtext>if\u00a0</mtext>"),
        (r"J_0^{\#}", "<mo>#</mo>"),
        ("a < b", "&lt;"),
    ],
)
def test_latex_becomes_mathml(latex: str, part: str) -> None:
    assert part in mathml(latex)


def test_a_long_sum_is_broken_at_its_signs_and_a_matrix_is_not() -> None:
    lines = broken(" + ".join(["a_1 b_2 c_3 d_4"] * 20), 78)
    assert len(lines) > 2
    assert all(line.lstrip("\\quad ").startswith("+") for line in lines[1:])
    matrix = r"\begin{bmatrix} " + " & ".join(["a + b"] * 20) + r" \end{bmatrix}"
    assert broken(matrix, 20) == [matrix]


def test_the_wrong_term_is_marked_in_both_forms() -> None:
    wrong, right = r"a + b - 2 \frac{x}{y} = f", r"a + b + 2 \frac{x}{y} = f"
    assert marked(wrong, right, "slip") == r"a + b \slip{- 2 \frac{x}{y} }= f"
    assert marked("I_{12,2} c", "I_{32,2} c", "slip") == r"I_{\slip{12},2} c"
    assert '<mrow class="slip">' in mathml(marked(wrong, right, "slip"))
    assert marked("x", "y + z", "slip") == "x"
    text = review_html(verify(["000"], "7"))
    assert text.count('class="slip"') == 1
    assert text.count('class="mend"') == 1


def test_latex_becomes_a_line_of_text() -> None:
    assert as_text(r"-2 \frac{x_{AB} \dot{y}_{AB}}{z_{AB}^{3}}") == "-2 (x_AB y\u0307_AB)/(z_AB^3)"
    assert as_text(r"\sin\left(2 \theta_{1}\right) \mathrm{pl}_{31}") == "sin(2 θ_1) pl_31"


def test_a_form_that_no_document_prints_says_so() -> None:
    text = review_html(verify(["000"], "third-law"))
    assert "document, not" in text
    assert ">printed<" not in text


def test_the_page_shows_both_forms_the_numbers_and_a_plot() -> None:
    text = review_html(verify(["001"], "ex1-u"))
    assert text.count("<math") >= 2
    assert "70.6" in text
    assert "data:image/svg+xml;base64," in text
    assert "https://" not in text


def test_a_changed_verdict_stands_at_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    import palpate as pp

    monkeypatch.setattr(pp.Robot, "task_inertia", lambda *a, **k: 1 / 0)
    assert "001.Mp is failed, on record agrees" in review_html(verify(["001"], "Mp"))


def test_curves_are_drawn_the_same_way_twice() -> None:
    curves = Trajectories("t", "x", "y", (("a", [0, 1], [0, 1]), ("b", [0, 1], [1, 0])))
    assert svg(curves).startswith(b"<?xml")


def test_html_is_written_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "review.html"
    assert main(["verify", "--claim", "001.J0", "--html", str(out)]) == 0
    assert f"wrote {out}" in capsys.readouterr().out
    assert "exercise 1, J_0" in out.read_text("utf-8")
    assert main(["verify", "--claim", "001.J0", "--html", str(tmp_path / "no" / "x.html")]) == 2


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_review(verify(["002"]), tmp_path_factory.mktemp("review") / "002.html")


@pytest.mark.browser
@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_the_review_is_drawn_offline_without_overlap(browser: Any, review: Path, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(review.as_uri())
    flat = "() => [...document.querySelectorAll('math')].filter(m => m.getBoundingClientRect().height < 8).length"
    assert page.evaluate("() => document.querySelectorAll('math').length") > 60
    assert page.evaluate(flat) == 0
    fraction = "() => { const f = document.querySelector('mfrac').getBoundingClientRect(); return f.height > 15 }"
    assert page.evaluate(fraction)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth + 1")
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("() => [...document.images].every(i => i.naturalWidth > 100)")
    context.close()
    assert not complaints


@pytest.mark.browser
def test_the_review_prints(browser: Any, review: Path, tmp_path: Path) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(review.as_uri())
    paper = tmp_path / "review.pdf"
    page.pdf(path=str(paper), format="A4")
    assert paper.stat().st_size > 50_000
    assert paper.read_bytes().count(b"/Type /Page\n") + paper.read_bytes().count(b"/Type /Page ") != 1
    context.close()
