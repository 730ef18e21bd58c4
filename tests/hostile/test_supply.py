"""Where the gate's and a release's parts come from: each is named by version or commit."""

from __future__ import annotations

import importlib.metadata
import re
import runpy
import tomllib

import pytest

from house_rules import ROOT
from palpate.engine import bounds

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _constraints() -> dict[str, str]:
    lines = (ROOT / "packaging" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {_normal(name): version for name, version in pairs}


def _required() -> set[str]:
    """Names of all packages that the gate asks for."""
    extras = [
        one for name, listed in PROJECT["project"]["optional-dependencies"].items() if name != "all" for one in listed
    ]
    groups = [one for name in ("dev", "docs", "witness") for one in PROJECT["dependency-groups"][name]]
    asked = [*PROJECT["project"]["dependencies"], *extras, *(one for one in groups if isinstance(one, str))]
    return {_normal(found[0]) for one in asked if (found := _NAME.match(one))}


def test_every_package_that_the_gate_asks_for_has_a_known_version():
    assert _required() - _constraints().keys() == set()


def test_known_versions_are_not_below_the_floors():
    floors = runpy.run_path(str(ROOT / "packaging" / "floors.py"))["floors"]
    lowest = dict(line.split("==") for line in floors((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    known = _constraints()
    for name, floor in lowest.items():
        assert bounds._parts(known[_normal(name)]) >= bounds._parts(floor), name


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_named_by_commit_and_jobs_have_few_rights(workflow):
    text = workflow.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    assert re.search(r"^permissions:\n  contents: read\n", text, re.MULTILINE)


def test_an_action_has_one_commit_in_all_workflows():
    used = {found for path in WORKFLOWS for found in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))}
    names = [action.partition("@")[0] for action in used]
    assert len(names) == len(set(names))


def _versions(**installed: str):
    def version(name: str) -> str:
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    return version


@pytest.mark.parametrize(
    ("installed", "lines"),
    [
        ({"mujoco": "4.0.0", "mujoco-core": "4.0.1"}, 1), ({"mujoco": "4.0.1", "mujoco-core": "4.0.1"}, 0),
        ({"mujoco-core": "4.0.1"}, 0), ({}, 0),
    ],
)  # fmt: skip
def test_two_mujocos_in_one_folder_are_noticed_with_one_line(
    installed: dict[str, str], lines: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PALPATE_NOTES_PRINTED", raising=False)
    bounds.note_two_mujocos(_versions(**installed))
    told = capsys.readouterr().err
    assert told.count("\n") == lines
    assert all(version in told for version in installed.values()) or not lines
