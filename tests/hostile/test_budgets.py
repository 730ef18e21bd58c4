"""Short texts and files that stand for much: each is answered or refused within a budget that is counted, not timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from moments import ENDLESS
from palpate.errors import TooLarge
from palpate.tools.review.algebra import effort
from palpate.tools.review.check import check_derivation

SQUARE = r"\begin{bmatrix} l_1+m_1 & m_2 \\ m_2 & m_2+l_2 \end{bmatrix}"
THREE = (
    r"\begin{bmatrix} "
    + r" \\ ".join(" & ".join(f"l_{k}+m_{j}" for j in (1, 2, 3)) for k in (1, 2, 3))
    + r" \end{bmatrix}"
)


def _laughs(uses: int) -> str:
    """Abbreviations of abbreviations, ten deep."""
    names = ["a" * (k + 1) for k in range(10)]
    bodies = [rf"\{below} " * uses for below in names[1:]] + ["l_1 "]
    return "".join(rf"\newcommand{{\{name}}}{{{body}}}" for name, body in zip(names, bodies)) + "\nV = \\a"


# Text, and whether it must be refused (else any answer will do).
BOMBS: dict[str, tuple[str, bool]] = {
    "an inverse of palpate's own Coriolis matrix": ("", False),
    "a power of a matrix": (f"M = {SQUARE}^{{200}}", True),
    "a product of many matrices": ("M = m_1 " + SQUARE * 30, True),
    "inverses of inverses": (f"M = ((({THREE}^{{-1}})^{{-1}})^{{-1}})^{{-1}}", True),
    "an inverse times itself": ("M = m_1 " + f"{THREE}^{{-1}}" * 6, True),
    "many terms": ("V = " + "+".join(["l1"] * 200_000), True),
    "20 000 terms": ("V = " + "+".join(["l1"] * 20_000), False),
    "cotangents of cotangents": ("V = " + r"\cot(" * 35 + "q_1" + ")" * 35, True),
    "abbreviations": (_laughs(10), True),
    "definitions of definitions": (
        "x0 = l1*m1\n" + "\n".join(f"x{k} = x{k - 1}*x{k - 1}+x{k - 1}" for k in range(1, 40)) + "\nV = x39", True,
    ),
    "a number of many digits": ("V = " + "9" * 400_000, True),
    "a power of ten": ("V = l1*1e999999999", True),
    "an exponent of exponents": ("V = l1^(9" + "^8" * 38 + ")", True),
    "an angle of exponents": ("V = cos(q1*(2" + "^8" * 12 + "))", True),
    "an angle that is a long polynomial": ("V = cos((q1+q2+q3+l1+m1+m2)^8*(q1+q2+q3+l1+m1+m2)^8)", True),
    "many equal signs": ("V " + "= l1 " * 20_000, True),
    "many formulas": ("\n".join(["V = m1*l1*cos(q1)"] * 3000), True),
    "many definitions": ("\n".join(f"x{k} = l1" for k in range(30_000)) + "\nV = x1", True),
    "nested definitions": (r"\newcommand{\a}{" * 20_000 + "}" * 20_000 + "\nV = \\a", True),
    "wide spaces": ("V = l_1" + r"\quad " * 50_000 + "(3)", True),
    "a large matrix": (
        r"M = \begin{bmatrix}" + r"\\".join("&".join(["1"] * 300) for _ in range(300)) + r"\end{bmatrix}", True,
    ),
    "rates of rates": ("V = " + r"\frac{d}{dt} " * 5000 + "q_1", True),
    "brackets": ("V = " + "q(" * 30_000, True),
    "words": ("V = " + "l1m1" * 20_000, False),
    "a wrong sum": ("V = " + "+".join(f"m{1 + k % 2}*l1*cos(q{1 + k % 2}+{k}*q1)" for k in range(1500)), False),
    "a program": ("__import__('os').system('touch marker')\nV = l1", False),
}  # fmt: skip

CHECK = """
import json, resource, sys
import palpate as pp
from palpate.errors import PalpateError
from palpate.tools.review.check import check_file

resource.setrlimit(resource.RLIMIT_CPU, (400, 400))  # the last fence: what is not counted does not hang the tests
derivation, answers = pp.derive(pp.load_robot("planar3")), {}
with open(sys.argv[1], "w") as file:  # its own Coriolis matrix, inverted
    file.write(derivation.latex("C").replace("\\end{bmatrix}", "\\end{bmatrix}^{-1}"))
for file in sys.argv[1:]:
    try:
        check_file(derivation, file)
        answers[file] = "answered"
    except PalpateError as error:
        answers[file] = type(error).__name__
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
answers["MB"] = int(status["VmHWM"].split()[0]) / 1024  # ru_maxrss would count the test's own process, before exec
print(json.dumps(answers))
"""


def test_no_formula_takes_more_than_its_budget(tmp_path: Path):
    files = {name: tmp_path / f"{number}.tex" for number, name in enumerate(BOMBS)}
    for name, (text, _) in BOMBS.items():
        files[name].write_text(text)
    words = [sys.executable, "-c", CHECK, *map(str, files.values())]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout)
    assert answers.pop("MB") < 1000
    refused = {name for name, file in files.items() if answers[str(file)] != "answered"}
    assert {name for name, (_, must) in BOMBS.items() if must} <= refused
    assert not (tmp_path / "marker").exists()


def test_the_error_says_how_many_terms_there_would_be():
    with pytest.raises(TooLarge, match=r"power 200.*\d{5,} symbols.*at most 200000"):
        check_derivation(f"{SQUARE}^{{200}}", SQUARE, "expression", symbols=["l_1", "l_2", "m_1", "m_2"])


def test_inverses_of_ordinary_matrices_are_written_out():
    given, symbols = f"{THREE}^{{-1}}", [f"{letter}_{k}" for letter in "lm" for k in (1, 2, 3)]
    assert check_derivation(given, given, "expression", symbols=symbols)


def test_a_check_ends_where_its_steps_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(effort._account, "left", 10)
    with pytest.raises(TooLarge, match="steps"):
        check_derivation("a + b + c + d + e", "a + b + c + d", "expression", symbols=list("abcde"))


def test_steps_are_counted_for_each_check_alone():
    for _ in range(3):
        check_derivation("a + b", "b + a", "expression", symbols=list("ab"))
        assert effort._account.left is None


# COLLADA and xacro are read in a process of their own, which the system stops where counting does not.


def test_a_collada_scene_that_shows_one_mesh_a_billion_times_is_counted(tmp_path: Path):
    pytest.importorskip("collada")
    from robot.test_collada import dae, read_collada

    twice = "".join(
        f'<node id="a{k}"><instance_node url="#a{k + 1}"/><instance_node url="#a{k + 1}"/></node>' for k in range(18)
    )
    last = '<node id="a18"><instance_geometry url="#g"/></node>'
    text = dae('<node id="top"><instance_node url="#a0"/></node>')
    library = f"<library_nodes>{last}{twice}</library_nodes>"
    path = tmp_path / "0.dae"
    path.write_text(text.replace("<library_visual_scenes>", f"{library}<library_visual_scenes>"))
    problem = read_collada([path])[path].problem
    assert problem is not None
    assert "triangles" in problem or "could not be read" in problem


XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="base"/>
<xacro:macro name="m0"><link name="x"/></xacro:macro>{macros}<xacro:m{last}/></robot>"""


def test_xacro_macros_of_macros_are_stopped(tmp_path: Path):
    pytest.importorskip("xacro")
    from palpate.robot.readers.guarded import CompileLimits, expand_xacro
    from palpate.robot.readers.xmlfile import Report

    macros = "".join(f'<xacro:macro name="m{k}">{f"<xacro:m{k - 1}/>" * 10}</xacro:macro>' for k in range(1, 12))
    path = tmp_path / "bomb.xacro"
    path.write_text(XACRO.format(macros=macros, last=11))
    report = Report(path.name)
    assert expand_xacro(path, report, {}, limits=CompileLimits(seconds=2.0, memory=2 * 2**30)) is None
    assert report.has_errors


def test_what_reads_strangers_files_may_take_ten_seconds_and_two_gigabytes():
    from palpate.robot.readers import guarded
    from palpate.robot.readers.urdf import collada

    assert guarded.PLAIN_LIMITS == collada._LIMITS
    assert (guarded.PLAIN_LIMITS.seconds, guarded.PLAIN_LIMITS.memory) == (10.0, 2 << 30)
