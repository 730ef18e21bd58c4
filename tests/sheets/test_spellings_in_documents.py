"""What people write: programs, Unicode, Mathematica, Typst, Word, definitions in the prose; right, and with a slip."""

from __future__ import annotations

import pytest

import palpate as pp
from palpate.sheets import Sheet, check_document, source_of

# A name, the text, its kind, the arm, and how many formulas are right in it.
RIGHT = [
    ('numpy entries', 'M = np.zeros((2,2))\nM[0,0] = (m1+m2)*l1**2 + m2*l2**2 + 2*m2*l1*l2*np.cos(q[1])\nM[0,1] = m2*l2**2 + m2*l1*l2*np.cos(q[1])\nM[1,0] = M[0,1]\nM[1,1] = m2*l2**2\n', 'python', 'planar2', 4),
    ('numpy entries2', 'M[0][0] = (m1+m2)*l1**2 + m2*l2**2 + 2*m2*l1*l2*np.cos(q[1])\nM[0][1] = m2*l2**2 + m2*l1*l2*np.cos(q[1])\nM[1][0] = M[0][1]\nM[1][1] = m2*l2**2\n', 'python', 'planar2', 4),
    ('matlab entries', 'M(1,1) = (m1+m2)*l1^2 + m2*l2^2 + 2*m2*l1*l2*cos(q(2));\nM(1,2) = m2*l2^2 + m2*l1*l2*cos(q(2));\nM(2,1) = M(1,2);\nM(2,2) = m2*l2^2;', 'matlab', 'planar2', 4),
    ('chain', '$$M_{12} = M_{21} = m_2 l_2^2 + m_2 l_1 l_2 c_2$$', 'text', 'planar2', 1),
    ('where', '$$C = \\begin{bmatrix} h\\dot q_2 & h(\\dot q_1+\\dot q_2)\\\\ -h\\dot q_1 & 0\\end{bmatrix}$$ where $h = -m_2 l_1 l_2 s_2$', 'text', 'planar2', 1),
    ('let', 'Let $a_1 = (m_1+m_2)l_1^2 + m_2 l_2^2$, $a_2 = m_2 l_1 l_2$ and $a_3 = m_2 l_2^2$. Then\n$$M = \\begin{bmatrix} a_1 + 2a_2 c_2 & a_3 + a_2 c_2\\\\ a_3 + a_2 c_2 & a_3\\end{bmatrix}$$', 'text', 'planar2', 1),
    ('label', '\\begin{equation}\\label{eq:1} \\tau_2 = m_2 l_2^2(\\ddot q_1+\\ddot q_2) + m_2 l_1 l_2 c_2 \\ddot q_1 + m_2 l_1 l_2 s_2 \\dot q_1^2 + m_2 g l_2 c_{12}\\end{equation}', 'text', 'planar2', 1),
    ('T_2', '$$T_2 = m_2 l_2^2(\\ddot q_1+\\ddot q_2) + m_2 l_1 l_2 c_2 \\ddot q_1 + m_2 l_1 l_2 s_2 \\dot q_1^2 + m_2 g l_2 c_{12}$$', 'text', 'planar2', 1),
    ('KE', '$$KE = \\frac12 m_1 l_1^2 \\dot q_1^2 + \\frac12 m_2\\left(l_1^2\\dot q_1^2 + l_2^2(\\dot q_1+\\dot q_2)^2 + 2 l_1 l_2 c_2 \\dot q_1(\\dot q_1 + \\dot q_2)\\right)$$', 'text', 'planar2', 1),
    ('PE', 'PE = m1*g*l1*s1 + m2*g*(l1*s1 + l2*s12)', 'text', 'planar2', 1),
    ('x2y2', '$$x_2 = l_1 c_1 + l_2 c_{12}, \\quad y_2 = l_1 s_1 + l_2 s_{12}$$', 'text', 'planar2', 2),
    ('xe', '$$x_e = l_1 c_1 + l_2 c_{12}$$', 'text', 'planar2', 1),
    ('xdot', '$$\\dot x_2 = -l_1 s_1 \\dot q_1 - l_2 s_{12}(\\dot q_1+\\dot q_2)$$', 'text', 'planar2', 1),
    ('0T2', '$${}^0T_2 = \\begin{bmatrix} c_{12} & -s_{12} & 0 & l_1 c_1 + l_2 c_{12}\\\\ s_{12} & c_{12} & 0 & l_1 s_1 + l_2 s_{12}\\\\0&0&1&0\\\\0&0&0&1\\end{bmatrix}$$', 'text', 'planar2', 1),
    ('ell', '$$V = m_1 g \\ell_1 s_1 + m_2 g(\\ell_1 s_1 + \\ell_2 s_{12})$$', 'text', 'planar2', 1),
    ('bm', '$$\\bm{M}(\\bm{q}) = \\begin{bmatrix} (m_1+m_2) l_1^2 + m_2 l_2^2 + 2 m_2 l_1 l_2 c_2 & m_2 l_2^2 + m_2 l_1 l_2 c_2 \\\\ m_2 l_2^2 + m_2 l_1 l_2 c_2 & m_2 l_2^2\\end{bmatrix}$$', 'text', 'planar2', 1),
    ('newcommand', '\\newcommand{\\cq}[1]{\\cos q_{#1}}\n$$V = m_1 g l_1 \\sin q_1 + m_2 g (l_1 \\sin q_1 + l_2 \\sin(q_1+q_2))$$\n$$M_{12} = m_2 l_2^2 + m_2 l_1 l_2 \\cq{2}$$', 'text', 'planar2', 2),
    ('thddot', '$$\\ddot\\theta = -\\frac{g}{l}\\sin\\theta$$', 'text', 'pendulum', 1),
    ('mlth', '$$m l^2 \\ddot\\theta + m g l\\sin\\theta = 0$$', 'text', 'pendulum', 1),
    ('mlth tau', '$$m l^2 \\ddot\\theta + m g l\\sin\\theta = \\tau$$', 'text', 'pendulum', 1),
    ('Cq', '$$C\\dot q = \\begin{bmatrix} -m_2 l_1 l_2 s_2 (2\\dot q_1\\dot q_2 + \\dot q_2^2)\\\\ m_2 l_1 l_2 s_2 \\dot q_1^2\\end{bmatrix}$$', 'text', 'planar2', 1),
    ('tauvec', '$$\\begin{bmatrix}\\tau_1\\\\ \\tau_2\\end{bmatrix} = \\begin{bmatrix} (m_1+m_2) l_1^2 + m_2 l_2^2 + 2 m_2 l_1 l_2 c_2 & m_2 l_2^2 + m_2 l_1 l_2 c_2 \\\\ m_2 l_2^2 + m_2 l_1 l_2 c_2 & m_2 l_2^2\\end{bmatrix}\\begin{bmatrix}\\ddot q_1\\\\ \\ddot q_2\\end{bmatrix} + \\begin{bmatrix} -m_2 l_1 l_2 s_2 (2\\dot q_1\\dot q_2 + \\dot q_2^2)\\\\ m_2 l_1 l_2 s_2 \\dot q_1^2\\end{bmatrix} + \\begin{bmatrix} (m_1+m_2) g l_1 c_1 + m_2 g l_2 c_{12}\\\\ m_2 g l_2 c_{12}\\end{bmatrix}$$', 'text', 'planar2', 1),
    ('unicode', 'g₂ = m₂gl₂cos(θ₁+θ₂)\nM₁₂ = m₂l₂² + m₂l₁l₂cos θ₂', 'text', 'planar2', 2),
    ('unicode rates', 'τ₂ = m₂l₂²(θ̈₁+θ̈₂) + m₂l₁l₂cos θ₂ θ̈₁ + m₂l₁l₂sin θ₂ θ̇₁² + m₂gl₂cos(θ₁+θ₂)', 'text', 'planar2', 1),
    ('mathematica', 'M = {{(m1 + m2) l1^2 + m2 l2^2 + 2 m2 l1 l2 Cos[q2], m2 l2^2 + m2 l1 l2 Cos[q2]}, {m2 l2^2 + m2 l1 l2 Cos[q2], m2 l2^2}}', 'text', 'planar2', 1),
    ('typst', '$ M = mat((m_1 + m_2) l_1^2 + m_2 l_2^2 + 2 m_2 l_1 l_2 cos(q_2), m_2 l_2^2 + m_2 l_1 l_2 cos(q_2); m_2 l_2^2 + m_2 l_1 l_2 cos(q_2), m_2 l_2^2) $', 'text', 'planar2', 1),
    ('typst rates', '$ T = frac(1, 2) m_1 l_1^2 dot(q)_1^2 + frac(1,2) m_2 (l_1^2 dot(q)_1^2 + l_2^2 (dot(q)_1 + dot(q)_2)^2 + 2 l_1 l_2 cos(q_2) dot(q)_1 (dot(q)_1 + dot(q)_2)) $', 'text', 'planar2', 1),
    ('word', 'M=[■((m_1+m_2)l_1^2+m_2 l_2^2+2m_2 l_1 l_2 cos\u2061〖θ_2〗&m_2 l_2^2+m_2 l_1 l_2 cos\u2061〖θ_2〗@m_2 l_2^2+m_2 l_1 l_2 cos\u2061〖θ_2〗&m_2 l_2^2)]', 'text', 'planar2', 1),
    ('FKrow', 'FK = [l1*c1 + l2*c12, l1*s1 + l2*s12]', 'text', 'planar2', 1),
    ('th1', 'V = m1*g*l1*sin(th1) + m2*g*(l1*sin(th1) + l2*sin(th1+th2))', 'text', 'planar2', 1),
    ('C code', 'g[0] = (m1+m2)*g*l1*cos(q[0]) + m2*g*l2*cos(q[0]+q[1]);\ng[1] = m2*g*l2*cos(q[0]+q[1]);', 'python', 'planar2', 2),
    ('units', '$$V = m_1 g l_1 s_1 + m_2 g (l_1 s_1 + l_2 s_{12}) \\quad\\text{[J]}$$', 'text', 'planar2', 1),
    ('mathbf12', '$$T = \\mathbf{\\frac12} m_1 l_1^2 \\dot q_1^2 + \\frac12 m_2(l_1^2\\dot q_1^2 + l_2^2(\\dot q_1+\\dot q_2)^2 + 2 l_1 l_2 c_2 \\dot q_1(\\dot q_1 + \\dot q_2))$$', 'text', 'planar2', 1),
    ('Ekin', '$$E_{kin} = \\frac12 m_1 l_1^2 \\dot q_1^2 + \\frac12 m_2(l_1^2\\dot q_1^2 + l_2^2(\\dot q_1+\\dot q_2)^2 + 2 l_1 l_2 c_2 \\dot q_1(\\dot q_1 + \\dot q_2))$$', 'text', 'planar2', 1),
    ('L', '$$\\mathcal{L} = \\frac12 m_1 l_1^2 \\dot q_1^2 + \\frac12 m_2(l_1^2\\dot q_1^2 + l_2^2(\\dot q_1+\\dot q_2)^2 + 2 l_1 l_2 c_2 \\dot q_1(\\dot q_1 + \\dot q_2)) - m_1 g l_1 s_1 - m_2 g(l_1 s_1 + l_2 s_{12})$$', 'text', 'planar2', 1),
    (
        "solved",
        r"$$\ddot q_2 = \frac{-(1+c_2)(\tau_1 + s_2(2\dot q_1\dot q_2 + \dot q_2^2) - 2 g c_1 - g c_{12})"
        r" + (3+2c_2)(\tau_2 - s_2\dot q_1^2 - g c_{12})}{(3+2c_2) - (1+c_2)^2}$$",
        "text", "planar2", 1,
    ),
]  # fmt: skip
WRONG = [
    ("l3", "$$M_{22} = m_2 l_3^2$$", "planar2", "wrong index: m2*l3**2 should be m2*l2**2"),
    (
        "9.8",
        "$$g = \\begin{bmatrix} 2\\cdot 9.8 c_1 + 9.8 c_{12}\\\\ 9.8 c_{12}\\end{bmatrix}$$",
        "planar2",
        "wrong number throughout: 9.8 should be 9.81",
    ),
    (
        "divslip",
        "$$\\ddot\\theta + \\frac{g}{l^2}\\sin\\theta = 0$$",
        "pendulum",
        r"exponent: \frac{g}{l_{1}^{2}} \sin\left(q_{1}\right) should be \frac{g}{l_{1}} \sin\left(q_{1}\right)",
    ),
]


def sheet_of(text: str, kind: str, robot: str) -> Sheet:
    return check_document(pp.load_robot(robot), source_of(text, "text", kind))


@pytest.mark.parametrize(("text", "kind", "robot", "count"), [row[1:] for row in RIGHT], ids=[row[0] for row in RIGHT])
def test_a_right_formula_is_read_as_it_is_written(text: str, kind: str, robot: str, count: int) -> None:
    sheet = sheet_of(text, kind, robot)
    assert [one.mark for one in sheet.judged] == ["agrees"] * count, str(sheet)
    assert not sheet.of("skipped")


@pytest.mark.parametrize(("text", "robot", "slip"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_slip_is_named(text: str, robot: str, slip: str) -> None:
    (wrong,) = sheet_of(text, "text", robot).wrong
    assert wrong.slips == (slip,)


@pytest.mark.parametrize(("text", "kind", "robot", "count"), [row[1:] for row in RIGHT], ids=[row[0] for row in RIGHT])
def test_the_same_with_a_slip_is_not_called_right(text: str, kind: str, robot: str, count: int) -> None:
    doubled = [("\\sin", "2\\sin")] if robot == "pendulum" else []  # a cosine there is another zero of the angle
    swaps = [
        ("c_2", "s_2"),
        ("cos", "sin"),
        ("Cos", "Sin"),
        ("s_1", "c_1"),
        ("s1", "c1"),
        ("sin", "cos"),
        ("s_2", "c_2"),
    ]
    for was, becomes in (*doubled, *swaps, ("c_{12}", "s_{12}")):
        at = text.rfind(was)
        if at >= 0:
            text = text[:at] + becomes + text[at + len(was) :]
            break
    assert not sheet_of(text, kind, robot)


def test_nine_point_eight_is_told_once_for_the_document() -> None:
    text = (
        r"$$g = \begin{bmatrix} 2\cdot 9.8 c_1 + 9.8 c_{12}\\ 9.8 c_{12}\end{bmatrix}$$" + "\n\n"
        r"$$V = 9.8 s_1 + 9.8 (s_1 + s_{12})$$"
    )
    sheet = sheet_of(text, "text", "planar2")
    assert sheet.throughout == ("wrong number throughout: 9.8 should be 9.81 (lines 1, 3)",)


def test_nothing_in_a_document_runs_and_no_text_breaks_the_reading() -> None:
    for text in (
        "$$",
        "$$M = $$",
        "```\nM = [\n```",
        "\\newcommand{\\x",
        "$M = \\begin{bmatrix}$",
        "M[0,0] = __import__('os')",
    ):
        sheet = sheet_of(text, "text", "planar2")
        assert not sheet.of("agrees")
    assert "&lt;script&gt;" in sheet_of("<script> $M = 1$", "text", "planar2").html()
