"""What the pages show is what happens: every Python block and every `palpate` command of the docs is run.

A page's Python blocks run top to bottom in one namespace, in an empty folder. A block is left out only by an HTML
comment `<!-- not run -->` on the line directly above it. A number that a page states of a run is asserted by its
blocks; where an assertion would not be read, it stands in a comment, `<!-- check` … `-->`, which runs as a block.
`docs/asserted.md` lists all of them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.pages import CHECK, NOT_RUN, PAGES, ROOT, blocks

from moments import ENDLESS
from palpate.cli.main import main

REPOSITORY = "https://github.com/palpate/palpate"
SHELLS = ("console", "sh", "bash", "shell")
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def commands(text: str) -> list[str]:
    """The `palpate` commands of a page's shell blocks, continued lines joined."""
    shells = [block.text.replace("\\\n", " ") for block in blocks(text) if block.language in SHELLS]
    lines = [line.strip().removeprefix("$ ") for shell in shells for line in shell.splitlines()]
    return [line for line in lines if line.split(" ")[0] in ("palpate", ".venv/bin/palpate")]


def run_python(page: Path, text: str) -> dict[str, object]:
    """Run a page's Python blocks; a traceback shows the page's own line numbers."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(text):
        if block.language in ("python", CHECK):
            padded = "\n" * (block.line - 1) + block.text
            exec(compile(padded, str(page), "exec"), namespace)
    return namespace


def test_the_list_of_what_pages_assert_is_up_to_date() -> None:
    from tests.asserted import PAGE, asserted

    assert PAGE.read_text("utf-8") == asserted(), "python -m tests.asserted writes it"


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


PYTHON_PAGES = [page for page in PAGES if any(b.language in ("python", CHECK) for b in blocks(page.read_text("utf-8")))]
COMMANDS = [(page, command) for page in PAGES for command in commands(page.read_text("utf-8"))]


COLUMNS = 92  # of code on a page of the site; README is read elsewhere
SITE_PAGES = [page for page in PAGES[1:] if page.stem not in ("export", "8-export")]


@pytest.mark.parametrize("page", SITE_PAGES, ids=_name)
def test_the_code_of_a_page_is_not_cut_off_at_its_right_edge(page: Path) -> None:
    text = page.read_text("utf-8").replace(NOT_RUN, "")
    lines = [
        (block.line + k, line)
        for block in blocks(text)
        if block.language != CHECK
        for k, line in enumerate(block.text.splitlines())
    ]
    assert [f"line {number}: {line}" for number, line in lines if len(line) > COLUMNS] == []


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=_name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(page, page.read_text("utf-8"))


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{_name(page)}: {text}" for page, text in COMMANDS])
def test_a_command_of_a_page_succeeds(
    page: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command, comments=True)
    if words[0].startswith("."):  # as typed into a fresh shell in a clone after `make demo`
        (tmp_path / ".venv").symlink_to(sys.prefix)
        code = subprocess.run(words, timeout=ENDLESS).returncode
    else:
        code = main(words[1:])
    told = re.search(r"# ends with (\d)", command)
    assert code == (int(told[1]) if told else 0), f"{command} ended with {code}:\n{''.join(capfd.readouterr())}"


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT"))],
    ids=_name,
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing, f"{_name(page)} links to nothing: {missing}"


def test_the_readme_is_read_elsewhere_too_so_its_links_are_absolute_and_lead_to_files() -> None:
    links = _LINK.findall((ROOT / "README.md").read_text("utf-8"))
    files = [re.sub(r"^https://\S+?/palpate/palpate/(?:blob/)?main/", "", link) for link in links]
    assert links
    assert not [link for link, file in zip(links, files) if link == file], "relative, or of another repository"
    assert not [file for file in files if not (ROOT / file).is_file()]


def test_every_file_that_names_the_version_names_the_same() -> None:
    from palpate import __version__

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    day = re.search(r"^date-released: (\S+)$", cited, re.MULTILINE)
    assert day is not None
    assert project["version"] == __version__
    assert f"\nversion: {__version__}\n" in cited
    assert f"version = {{{__version__}}}" in (ROOT / "docs" / "cite.md").read_text("utf-8")
    assert f"\n## [{__version__}] - {day[1]}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert set(project["urls"].values()) >= {REPOSITORY, f"{REPOSITORY}/issues"}


@pytest.mark.parametrize("name", ["README.md", "docs/tutorials/1-wall.md"])
def test_who_follows_the_first_pages_needs_nothing_on_the_path(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert not [command for command in commands(text) if command.startswith("palpate ")], "write .venv/bin/palpate"
    assert commands(text)


def test_the_readme_shows_code_and_commands_in_its_first_sixty_lines() -> None:
    start = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:60])
    assert any(block.language == "python" for block in blocks(start))
    assert commands(start)


SAMPLE = """
```python
a = 1
```
<!-- not run -->
```python
a = 2
```
```python
b = a + 1
```
```console
$ palpate show iiwa14 \\
    --json
$ palpated nothing
robots: palpate
```
"""


def test_blocks_share_names_and_marked_ones_are_left_out() -> None:
    names = run_python(Path("sample.md"), SAMPLE)
    assert (names["a"], names["b"]) == (1, 2)


def test_a_failing_block_fails_at_its_own_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_python(Path("sample.md"), "text\n\n```python\nx = 1\n1 / 0\n```\n")
    assert caught.traceback[-1].lineno + 1 == 5  # pytest counts from 0


def test_commands_are_found_and_joined() -> None:
    assert [command.split() for command in commands(SAMPLE)] == [["palpate", "show", "iiwa14", "--json"]]


def test_every_law_has_a_page_and_every_page_a_law() -> None:
    from palpate.control import LAWS

    assert {page.stem for page in (ROOT / "docs" / "laws").glob("*.md")} == set(LAWS.shipped)
