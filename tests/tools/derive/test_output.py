"""What a person sees: text, LaTeX, HTML, worked steps; names, shorthand and notes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

import palpate as pp
from palpate.equations.model.naming import CoordinateNames
from palpate.equations.spelling import Latex, MathML, Text
from palpate.errors import InvalidInput, UnknownName
from palpate.tools.derive import Derivation, derive_from_energy
from palpate.tools.derive.writing.notation import Notation

NAMES = CoordinateNames(("q1", "q2", "theta"), ("dq1", "dq2", "dtheta"), ("ddq1", "ddq2", "ddtheta"), (), ("q1", "q2"))
GROUPS = {
    "m1": "mass",
    "m2": "mass",
    "l1": "length",
    "l2": "length",
    "g": "gravity",
    "dq1": "rate",
    "dq2": "rate",
    "ddq1": "acceleration",
}


def written(text: str, style: Any = None) -> str:
    return Notation(style or Text(), NAMES, GROUPS).write(sp.parse_expr(text, {"g": sp.Symbol("g")}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l1*m1*g*cos(q1)", "m1 g l1 c1"),
        ("-m2*l1*l2*sin(q2)*dq2", "−m2 l1 l2 s2 q̇2"),
        ("m1*l1**2/3", "m1 l1²/3"),
        ("m1*x/(2*z**2)", "m1 x/(2 z²)"),
        ("cos(q1 + q2)*ddq1", "c12 q̈1"),
        ("cos(2*q1 + q2)", "cos(2 q1 + q2)"),
        ("cos(theta)**2", "(cos θ)²"),
        ("(-a - b)*c", "−c (a + b)"),
        ("sqrt(l1**2 - x**2)", "√(l1² − x²)"),
        ("1/z", "1/z"),
        ("a - b/2", "a − b/2"),
        ("3*dtheta", "3 θ̇"),
    ],
)
def test_text_reads_like_mathematics(text: str, expected: str) -> None:
    assert written(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l1*m1*cos(q1+q2)", r"m_{1} l_{1} c_{12}"),
        ("dq1**2", r"{\dot{q}_{1}}^{2}"),
        ("ddtheta", r"\ddot{\theta}"),
        ("m1/2", r"\tfrac{1}{2} m_{1}"),
        ("x_AB/z", r"\frac{x_{AB}}{z}"),
        ("(a+b)/z", r"\frac{a + b}{z}"),
        ("1e-7*m1", r"1 \cdot 10^{-7} m_{1}"),
    ],
)
def test_latex_is_latex(text: str, expected: str) -> None:
    assert written(text, Latex()) == expected


def test_mathml_is_well_formed() -> None:
    text = written("m1*l1**2*dq1**2/2 + sqrt(x)*cos(theta) - (a+b)/z", MathML())
    ET.fromstring(f"<math>{text}</math>")
    assert "<msub><mi>m</mi><mn>1</mn></msub>" in text


def test_the_textbook_two_link_arm_reads_as_in_a_textbook() -> None:
    text = pp.derive(pp.load_robot("planar2")).text()
    assert "M = [ m1 l1² + m2 (l1² + 2 l1 l2 c2 + l2²)   m2 l2 (l1 c2 + l2) ]" in text
    assert "C = m2 l1 l2 [ −s2 q̇2   −s2 (q̇1 + q̇2) ]" in text
    assert "g = [ g (m1 l1 c1 + m2 (l1 c1 + l2 c12)) ]" in text
    assert "c12 = cos(q1 + q2)" in text
    assert re.search(r"m1 +1 kg +mass of link 1", text)


def test_a_spatial_arm_has_squares_and_common_factors(three_link: Derivation) -> None:
    text = three_link.text("M", "C")
    assert "m3 (r3z² + (a2 c2 + r3x c23)²)" in text
    assert "C[23] = −m3 a2 r3x s3 (q̇2 + q̇3)" in text


def test_only_symbols_that_were_written_are_explained(three_link: Derivation) -> None:
    text = three_link.text("g")
    assert "a2" in text
    assert "I2xx" not in text
    assert "d1 " not in text


def test_numbers_are_written_as_decimals() -> None:
    derivation = pp.derive(pp.load_robot("planar3", length=0.5, mass=5.0), parameters="numbers")
    assert "M[11] = 5 + 3.75 c2 + 1.25 c23 + 1.25 c3" in derivation.text("M")


@pytest.mark.parametrize("method", ["lagrange", "newton-euler", "projected"])
def test_worked_steps_end_in_the_equations_of_motion(method: Any) -> None:
    derivation = pp.derive(pp.load_robot("planar2"), method)
    titles = [section.title for section in derivation.steps()]
    assert titles[0] == "Coordinates"
    assert titles[-1] == "Equations of motion"
    marks = {
        "lagrange": "Lagrange's equations",
        "newton-euler": "Inwards: what each joint passes on",
        "projected": "Gravity",
    }
    assert marks[method] in titles
    assert "τ2 = m2 l2 (l1 c2 + l2) q̈1 + m2 l2² q̈2 + m2 l1 l2 s2 q̇1² + m2 g l2 c12" in derivation.steps_text()


def test_each_step_of_lagrange_is_right() -> None:
    """∂L/∂q̇, d/dt and ∂L/∂q of every row add up to the torque of the row."""
    derivation = pp.derive(pp.load_robot("planar2"))
    section = next(s for s in derivation.steps() if s.title == "Lagrange's equations")
    rows = {formula.label: formula.expression for formula in section.formulas}
    for i in (1, 2):
        left = rows[f"d/dt ∂L/∂dq{i}"] - rows[f"∂L/∂q{i}"] - rows[f"tau{i}"]
        assert derivation.forms.tidy(left) == 0
        momentum = sp.diff(derivation.T, sp.Symbol(f"dq{i}"))
        assert derivation.forms.tidy(momentum - rows[f"∂L/∂dq{i}"]) == 0


def test_steps_of_a_long_arm_are_its_lines() -> None:
    text = pp.derive(pp.load_robot("iiwa14")).steps_text()
    assert "Newton–Euler recursion" in text
    assert "227 multiplications" in text
    assert "τ7 = " in text


def test_latex_of_everything_has_balanced_braces(three_link: Derivation) -> None:
    for text in (three_link.latex("M", "C", "g", "J"), three_link.steps_latex()):
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
        assert not re.search(r"[^\x00-\x7f]", text), re.search(r"[^\x00-\x7f]", text)


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    robot = pp.load_robot("planar2")
    derivation = pp.derive(robot)
    path = tmp_path / "page.html"
    text = derivation.html(path, verification=derivation.check(robot, states=5))
    assert path.read_text(encoding="utf-8") == text
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=", text)
    assert "agrees with the numeric" in text
    for math in re.findall(r"<math.*?</math>", text, re.S):
        ET.fromstring(math)
    assert len(re.findall("<math", text)) > 12


def test_a_name_cannot_break_a_page() -> None:
    system = derive_from_energy("m*dx**2/2", "0", "x", name="<script>alert(1)</script>")
    assert "<script>" not in system.html()


@pytest.mark.browser
@pytest.mark.browser
def test_a_browser_draws_the_formulas(browser: Any, tmp_path: Path) -> None:
    pp.derive(pp.load_robot("planar2")).html(tmp_path / "page.html")
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    boxes = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().width)")
    table = page.evaluate("getComputedStyle(document.querySelector('mtable')).display")
    page.close()
    assert min(boxes) > 20
    assert "table" in table  # drawn as a table, not as a row of text
    assert not problems


# ---------------------------------------------------------------------- names, notes, refusals


def test_symbols_may_be_renamed_and_merged() -> None:
    derivation = pp.derive(pp.load_robot("planar2"), names={"l1": "l", "l2": "l", "q1": "alpha", "q2": "beta"})
    assert derivation.names.q == ("alpha", "beta")
    assert sp.Symbol("dalpha") in derivation.C.free_symbols
    assert "l" in derivation.parameters


def test_one_name_for_different_values_is_refused() -> None:
    robot = pp.load_robot("planar2", length=(1.0, 0.5))
    with pytest.raises(InvalidInput, match=r"'l' cannot stand.*1 and 0\.5 m"):
        pp.derive(robot, names={"l1": "l", "l2": "l"})


def test_an_unknown_symbol_to_rename_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown symbol of planar2 'l9'"):
        pp.derive(pp.load_robot("planar2"), names={"l9": "L"})


def test_rods_and_points_are_recognised_only_where_they_are() -> None:
    assert "lc1" not in pp.derive(pp.load_robot("planar3")).parameters
    assert "r2x" in pp.derive(pp.load_robot("ur5e-3link")).parameters  # half its link, but no rod's tensor


def test_a_long_arm_says_that_it_is_too_long_for_a_closed_form() -> None:
    derivation = pp.derive(pp.load_robot("ur5e"))
    assert re.search(r"ur5e has 6.*form \(at most 3\)", derivation.notes[0])
    assert derivation.method == "newton-euler"
    with pytest.raises(InvalidInput, match=r"7.*many.*form") as caught:
        pp.derive(pp.load_robot("panda"), engine="closed")
    assert "engine='recursive'" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "kane"}, "unknown method 'kane'"),
        ({"parameters": "letters"}, "unknown parameters 'letters'"),
        ({"engine": "closd"}, "unknown engine 'closd'"),
        ({"frame": "tol"}, "unknown frame 'tol'"),
        ({"task": ["z"]}, "never moves.*z"),
        ({"task": ["w"]}, "unknown task direction 'w'"),
        ({"task": ["x", "y", "rz"]}, "at most 2"),
        ({"frame": "base"}, "stands still"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=message):
        pp.derive(pp.load_robot("planar2"), **options)


def test_an_unknown_quantity_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="unknown quantity 'MM'"):
        _ = pp.derive(pp.load_robot("planar2"))["MM"]


def test_a_ball_joint_is_refused() -> None:
    ball = '<mujoco><worldbody><body><joint type="ball" name="b"/><geom size=".1"/></body></worldbody></mujoco>'
    with pytest.raises(InvalidInput, match=r"joint 'b'.*ball"):
        pp.derive(pp.Robot.from_mjcf_text(ball))


def test_another_frame_has_its_own_pose_and_jacobian() -> None:
    robot = pp.load_robot("planar3")
    derivation = pp.derive(robot, frame="link3")
    assert derivation.check(robot, states=5).ok
    assert sp.Symbol("l3") not in derivation["position"].free_symbols


def test_a_derivation_is_checked_with_its_own_robot() -> None:
    with pytest.raises(InvalidInput, match=r"check.*derived"):
        pp.derive(pp.load_robot("planar2")).check(pp.load_robot("planar3"))


def test_the_front_door_has_the_function_of_the_package() -> None:
    import palpate.tools.derive.start

    assert pp.derive is palpate.tools.derive.start.derive
    assert repr(pp.derive(pp.load_robot("pendulum"))).startswith("Derivation('pendulum', 1 degrees of freedom")
