"""The pages about the documents name what exists: scenarios, claims, laws, commands and equations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from palpate.control import LAWS
from palpate.scenario import shipped
from palpate_documents import DOCUMENTS, document
from palpate_documents.library import scenarios_of

FOLDER = Path(__file__).parents[2] / "docs" / "documents"
# What the sections, figures and examples of each document are called on its map.
SECTIONS = {
    "000": ["1, state", "sub-system", "2, ", "the arm balancing", "min τᵀτ"],
    "001": [
        "exercise 1", "Figures 2, 3", "Figures 1, 4", "examples 1 to 3", "exercise 2", "T_1, T_2, T_3", "M_p at q*",
        "exercise 3",
    ],
    "002": [
        "first figure", "two, one, no degrees of freedom", "θ2 = −2θ1", "T_1 (that is T_1 − 2 T_2)", "T_2 free",
        "position along the wall", "tip forces and joint torques", "the Matlab example", "force control",
        "simulation results, figure", "the Matlab code",
    ],
    "003": [
        "Position", "Euler angles", "angle-axis", "matrix", "quaternion", "Angular velocity", "Transformation",
        "Generalised and operational coordinates", "Forward and differential kinematics", "3-DOF planar manipulator",
        "Inverse differential kinematics", "Multi-task", "Inverse kinematics", "Floating base", "Virtual work",
        "Newton–Euler", "Lagrange", "least action", "pendulum", "Projected Newton–Euler", "Joint impedance",
        "Inverse dynamics", "End-effector dynamics and control", "Figures 1, 7", "Figure 2", "Figure 3", "Figure 4",
        "Figure 5", "Figure 6", "Figures 8, 9", "Figure 10",
    ],
    "004": [
        "Table 1, Figure 1", "1.1", "1.2", "1.3", "tensors", "1.5", "1.6", "1.7", "1.8, Figure 2", "2.1", "2.2", "2.3 ",
        "2.3.1", "2.3.2", "3, Figures 3–5",
    ],
}  # fmt: skip
LAST_EQUATION = {"000": 15, "001": 16, "002": 0, "003": 1, "004": 50}


@pytest.fixture(params=list(DOCUMENTS))
def page(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, (FOLDER / f"{request.param}.md").read_text("utf-8")


def test_scenarios_named_on_a_page_exist_and_name_the_document(page: tuple[str, str]) -> None:
    number, text = page
    named = set(re.findall(r"palpate run ([a-z0-9-]+)", text))
    for cell in re.findall(r"scenarios? ((?:`[a-z0-9-]+`(?:, )?)+)", text):
        named |= set(re.findall(r"`([a-z0-9-]+)`", cell))
    assert named
    assert named <= set(shipped())
    assert named <= set(scenarios_of(number))


def test_every_scenario_of_a_document_is_on_its_page(page: tuple[str, str]) -> None:
    number, text = page
    mine = scenarios_of(number)
    assert len(mine) >= 3
    assert [name for name in mine if f"`{name}`" not in text and f"run {name}`" not in text] == []


def test_every_scenario_of_a_document_bounds_more_than_saturation(page: tuple[str, str]) -> None:
    for name, data in scenarios_of(page[0]).items():
        assert set(data["metrics"]) - {"saturation_time"}, name


def test_every_section_of_a_document_is_on_the_map(page: tuple[str, str]) -> None:
    number, text = page
    table = text.split("## Where each part lives")[1]
    assert [section for section in SECTIONS[number] if section not in table] == []


def test_claims_named_on_a_page_exist(page: tuple[str, str]) -> None:
    number, text = page
    known = {claim.id for claim in document(number).claims}
    assert set(re.findall(rf"\b{number}\.[A-Za-z0-9-]+", text)) - {f"{number}.md", f"{number}.html"} <= known


def test_laws_named_on_a_page_exist(page: tuple[str, str]) -> None:
    assert set(re.findall(r"\.\./laws/([a-z-]+)\.md", page[1])) <= set(LAWS)


def test_every_numbered_equation_is_on_the_map(page: tuple[str, str]) -> None:
    number, text = page
    table = text.split("## Where each part lives")[1]
    covered: set[int] = set()
    for first, last in re.findall(r"\((\d+)\)(?:–\((\d+)\))?", table):
        covered |= set(range(int(first), int(last or first) + 1))
    assert set(range(1, LAST_EQUATION[number] + 1)) <= covered
