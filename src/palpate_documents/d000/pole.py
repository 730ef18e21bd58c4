"""Document 000, section 1: pole and end-effector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from palpate_documents.claim import Claim, Comparison, Trajectories
from palpate_documents.compare import arithmetic, both, corrected, formula, printed
from palpate_documents.d000.about import (
    DOCUMENT,
    FORCE,
    HEIGHT,
    PARAMETERS,
    POLE,
    RATES,
    XY,
    as_printed,
    equations,
    model,
    motion,
    raised,
    written_out,
)

Evidence = Iterator[Comparison]
Terms = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
HOW: dict[str, Any] = {"symbols": {**HEIGHT, **{name: None for name in PARAMETERS}}, "coordinates": POLE}
RIGHT = [0.861482595125, -1.815310126833, 1.790134695040, 0.523691453624, -0.031588604832]


@DOCUMENT.check("1")
def _position(c: Claim) -> Evidence:
    r, _ = raised(XY, RATES)
    yield printed("|AB| [m]", 1.0, np.linalg.norm(r))


@DOCUMENT.check("2")
def _velocity(c: Claim) -> Evidence:
    h = 1e-6
    step = (raised(XY + h * RATES, RATES)[0] - raised(XY - h * RATES, RATES)[0]) / (2 * h)
    yield printed("ṙ_AB [m/s]", raised(XY, RATES)[1], step, 1e-8)


_T = (
    r"T = 0.5m_e(\dot{x}_A^2 + \dot{y}_A^2 + \dot{z}_A^2) + 0.5m_s(\dot{x}_A^2 + \dot{y}_A^2 + \dot{z}_A^2 +"
    r" \dot{x}_{AB}^2 +"
    r" \dot{y}_{AB}^2 + \frac{x_{AB}^2\dot{x}_{AB}^2 + y_{AB}^2\dot{y}_{AB}^2 +"
    r" 2x_{AB}y_{AB}\dot{x}_{AB}\dot{y}_{AB}}{l^2 -"
    r" x_{AB}^2 - y_{AB}^2} + 2\dot{x}_A\dot{x}_{AB} + 2\dot{y}_A\dot{y}_{AB} - \frac{2\dot{z}_A(x_{AB}\dot{x}_{AB} +"
    r" y_{AB}\dot{y}_{AB})}{\sqrt{l^2 - x_{AB}^2 - y_{AB}^2}})"
)


@DOCUMENT.check("3")
def _kinetic(c: Claim) -> Evidence:
    yield formula("printed", c.printed, written_out(equations().T), "T", **HOW)


@DOCUMENT.check("4")
def _potential(c: Claim) -> Evidence:
    yield formula("printed", c.printed, written_out(equations().V), "V", **HOW)


_EQUATIONS = {
    "5": (0, r"(m_e + m_s)\ddot{x}_A + m_s\ddot{x}_{AB} = f_x", "3"),
    "6": (1, r"(m_e + m_s)\ddot{y}_A + m_s\ddot{y}_{AB} = f_y", "3"),
    "8": (3, r"m_s(\ddot{x}_A + \ddot{x}_{AB}) - m_s x_{AB}(g + \ddot{z}_A)/z_{AB} + m_s(x_{AB}^2 \ddot{x}_{AB}"
        r" + x_{AB}"
          r" \dot{x}_{AB}^2 + x_{AB} y_{AB} \ddot{y}_{AB} + x_{AB} \dot{y}_{AB}^2)/z_{AB}^2 + m_s(x_{AB}^3"
          r" \dot{x}_{AB}^2 +"
          r" 2x_{AB}^2 y_{AB} \dot{x}_{AB} \dot{y}_{AB} + x_{AB} y_{AB}^2 \dot{y}_{AB}^2)/z_{AB}^4 = 0", "5"),
    "9": (4, r"m_s(\ddot{y}_A + \ddot{y}_{AB}) - m_s y_{AB}(g + \ddot{z}_A)/z_{AB} + m_s(y_{AB}^2 \ddot{y}_{AB}"
        r" + y_{AB}"
          r" \dot{y}_{AB}^2 + y_{AB} x_{AB} \ddot{x}_{AB} + y_{AB} \dot{x}_{AB}^2)/z_{AB}^2 + m_s(y_{AB}^3"
          r" \dot{y}_{AB}^2 +"
          r" 2y_{AB}^2 x_{AB} \dot{y}_{AB} \dot{x}_{AB} + y_{AB} x_{AB}^2 \dot{x}_{AB}^2)/z_{AB}^4 = 0", "5"),
}  # fmt: skip


def _equation(number: str) -> None:
    row, text, rows = _EQUATIONS[number]

    @DOCUMENT.check(number)
    def _of_motion(c: Claim) -> Evidence:
        yield formula("printed", c.printed, motion()[row], "equation", **HOW)


_SEVEN = (
    r"(m_e + m_s)(\ddot{z}_A + g) - m_s (\dot{x}_{AB}^2 \frac{l^2 - y_{AB}^2}{z_{AB}^3} + \frac{x_{AB}}{z_{AB}}"
    r" \ddot{x}_{AB} +"
    r" \dot{y}_{AB}^2 \frac{l^2 - x_{AB}^2}{z_{AB}^3} + \frac{y_{AB}}{z_{AB}} \ddot{y}_{AB} %s 2 \frac{x_{AB} y_{AB}"
    r" \dot{x}_{AB} \dot{y}_{AB}}{z_{AB}^3}) = f_z"
)
_equation("5")
_equation("6")


@DOCUMENT.check("7")
def _vertical(c: Claim) -> Evidence:
    yield from both(c, motion()[2], "equation", **HOW)
    names = ["x_AB", "y_AB", "dx_AB", "dy_AB", "ddz_A", "ddx_AB", "ddy_AB"]
    values = [-0.4834723645, 0.3132702392, 0.1744999659, 1.7402896952, 2.1444256595, -2.7984865482, 1.3779326786]
    at = dict(zip(sp.symbols(names), values)) | dict(zip(sp.symbols("m_e m_s l g f_z"), (1.3, 0.27, 1.1, 9.81, 0)))
    found = float(motion()[2].subs(at))
    yield printed("f_z at a random point [N]", 17.2427866062, found, 2e-9)
    yield corrected("f_z at a random point [N]", 17.3031541404, found, 2e-9)


_equation("8")
_equation("9")


@DOCUMENT.check("10")
def _matrix_form(c: Claim) -> Evidence:
    M, C = model().mass_and_bias(XY, RATES)
    solved = np.linalg.solve(M, [*FORCE, 0, 0] - C)
    a_A, a_B, _ = model().accelerations(*raised(XY, RATES), FORCE)
    yield printed("accelerations [m/s²]", [*a_A, *(a_B - a_A)[:2]], solved)
    yield printed("accelerations [m/s²]", RIGHT, solved)


def _matrix(entry: str) -> str:
    x, y = r"\frac{x_{AB}}{z_{AB}}", r"\frac{y_{AB}}{z_{AB}}"
    mixed = r"m_s \frac{x_{AB} y_{AB}}{z_{AB}^2}"
    rows = [
        "m_e + m_s & 0 & 0 & m_s & 0",
        "0 & m_e + m_s & 0 & 0 & m_s",
        f"0 & 0 & m_e + m_s & {entry} & -m_s {y}",
        rf"m_s & 0 & -m_s {x} & m_s + m_s \frac{{x_{{AB}}^2}}{{z_{{AB}}^2}} & {mixed}",
        rf"0 & m_s & -m_s {y} & {mixed} & m_s + m_s \frac{{y_{{AB}}^2}}{{z_{{AB}}^2}}",
    ]
    return r"M = \begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix}"


def _mass() -> sp.Matrix:
    return sp.Matrix(written_out(equations().M))


@DOCUMENT.check("11")
def _mass_matrix(c: Claim) -> Evidence:
    yield from both(c, _mass(), "M", **HOW)
    numbers = equations().function("M")([0, 0, 0, *XY])
    yield corrected("M of the library's pole", numbers, model().mass_and_bias(XY, RATES)[0])


def _plot() -> Trajectories:
    """Free flight of the pole over an end-effector pushed as in the test state, by the printed and the right model."""
    from scipy.integrate import solve_ivp

    curves = []
    for label, terms in (("as printed (two slips)", as_printed), ("right", model().mass_and_bias)):

        def rate(t: float, y: np.ndarray, terms=terms) -> np.ndarray:
            M, C = terms(y[:2], y[2:4])
            a = np.linalg.solve(M, np.array([*FORCE, 0, 0]) - C)
            return np.array([*y[2:4], *a[3:], a[2]])

        t = np.linspace(0, 0.25, 60)
        y = solve_ivp(rate, (0, 0.25), [*XY, *RATES, 0], t_eval=t, rtol=1e-8).y
        curves.append((label, t.tolist(), y[4].tolist()))
    return Trajectories(
        "Vertical speed of the end-effector under f = (1, −2, 12) N", "t [s]", "ż_A [m/s]", tuple(curves)
    )


@DOCUMENT.check("11-12", plot=_plot)
def _both_slips(c: Claim) -> Evidence:
    M, C = as_printed(XY, RATES)
    text = np.linalg.solve(M, [*FORCE, 0, 0] - C)
    a_A, a_B, _ = model().accelerations(*raised(XY, RATES), FORCE)
    found = [*a_A, *(a_B - a_A)[:2]]
    yield arithmetic(
        "as printed [m/s²]", [0.856172553005, -1.808230070674, 1.999627901943, 0.582101916943, -0.109469222591], text
    )
    yield printed("accelerations [m/s²]", text, found)
    yield corrected("accelerations [m/s²]", RIGHT, found)


_ROW_3 = (
    r"(m_e + m_s)g - m_s (\dot{x}_{AB}^2 \frac{l^2 - y_{AB}^2}{z_{AB}^3} + \dot{y}_{AB}^2 \frac{l^2 -"
    r" x_{AB}^2}{z_{AB}^3} %s 2"
    r" \frac{x_{AB} y_{AB} \dot{x}_{AB} \dot{y}_{AB}}{z_{AB}^3})"
)
_ROW_4 = (
    r"-m_s g \frac{%s_{AB}}{z_{AB}} + m_s %s_{AB} (\frac{\dot{x}_{AB}^2 + \dot{y}_{AB}^2}{z_{AB}^2} +"
    r" \frac{(x_{AB} \dot{x}_{AB} +"
    r" y_{AB} \dot{y}_{AB})^2}{z_{AB}^4})"
)


def _bias(row: int) -> Any:
    return sp.Matrix(written_out(sp.Matrix(equations()["bias"])))[row]


@DOCUMENT.check("12-12")
def _first_rows(c: Claim) -> Evidence:
    for row in (0, 1):
        yield formula("printed", "0", _bias(row), label=f"row {row + 1}", **HOW)


@DOCUMENT.check("12-3")
def _third_row(c: Claim) -> Evidence:
    yield formula("printed", _ROW_3.replace("%s", "-"), _bias(2), **HOW)
    yield formula("corrected", _ROW_3.replace("%s", "+"), _bias(2), **HOW)


def _lower_row(row: int, letter: str) -> None:
    text = _ROW_4.replace("%s", letter)

    @DOCUMENT.check(f"12-{row}")
    def _row(c: Claim) -> Evidence:
        yield formula("printed", text, _bias(row - 1), **HOW)


_lower_row(4, "x")
_lower_row(5, "y")
