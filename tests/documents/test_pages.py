"""The pages about the documents name what exists: scenarios, claims, laws, commands and equations."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from palpate.control import LAWS
from palpate.documents import DOCUMENTS, document
from palpate.scenario.load import read_data, shipped

FOLDER = Path(__file__).parents[2] / "docs" / "documents"
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
    assert all(read_data(name)[0].get("document") == number for name in named)


def test_every_scenario_of_a_document_is_on_its_page(page: tuple[str, str]) -> None:
    number, text = page
    library = resources.files("palpate.scenario") / "library"  # what a file says itself, not what it extends
    own = {name: tomllib.loads((library / f"{name}.toml").read_text("utf-8")) for name in shipped()}
    mine = [name for name, data in own.items() if data.get("document") == number]
    assert [name for name in mine if name not in text] == []


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
