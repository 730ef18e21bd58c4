"""The functions of `palpate.escape`: what a language reads back is the text that went in, or nothing of it acts."""

from __future__ import annotations

import ast
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from hostile.conftest import ATTACKS
from palpate.escape.builds import cmake_string, hash_comment, json_text, make_text, yaml_string
from palpate.escape.c import HEADERS_OF_C, WORDS_OF_C, c_comment, c_field, c_identifier, c_string
from palpate.escape.documents import html_json, html_text, latex_text, markdown_code, markdown_text, xml_text
from palpate.escape.python import python_docstring, python_identifier, python_string
from palpate.escape.template import Written, fill
from palpate.escape.text import control_characters
from tools.exporting.test_folder import needs, run

PIECES = ["*", "/", "\\", "?", '"', "'", "@NAME@", "$", "#", "`", "<", ">", "&", "\n", "\r", "\x00", "\u2028", "{", "}",
          "%", "a", " ", "]", "é", "\U0001f600", "-", "|", ";", "\x1b", "~"]  # fmt: skip


def texts(count: int = 400) -> list[str]:
    """Attacks, and random texts of the pieces that they are made of."""
    draw = random.Random(1)
    return [*ATTACKS.values(), *("".join(draw.choices(PIECES, k=draw.randint(0, 8))) for _ in range(count))]


def test_an_ordinary_name_comes_out_as_it_went_in() -> None:
    for name in ("panda", "iiwa14", "UR5e", "link_3", "tool0", "KUKA LBR iiwa 14", "große-Hand", "a.b"):
        for write in (c_comment, python_docstring, hash_comment, xml_text, html_text,
                      markdown_text, cmake_string, make_text, json_text):  # fmt: skip
            assert write(name) == name
        assert markdown_code(name) == f"`{name}`"
        assert yaml_string(name) == python_string(name) == f'"{name}"'


def test_a_value_of_a_template_is_not_filled_again() -> None:
    values = {"A": "@B@ @A@", "B": Written("</b>"), "N": 3}
    assert fill("@A@ @B@ @N@ you@example.org $@ @a@", values, str) == "@B@ @A@ </b> 3 you@example.org $@ @a@"
    assert fill("@A@@B@", {"A": "<", "B": Written("<")}, html_text) == "&lt;<"


def test_a_template_without_a_value_is_a_defect() -> None:
    with pytest.raises(KeyError):
        fill("@MISSING@", {}, str)


@needs("cc")
def test_comments_of_c_end_where_they_should(tmp_path: Path) -> None:
    lines = [f"/*{c_comment(t)}*/ int a{k}; // {c_comment(t)}\nint b{k};" for k, t in enumerate(texts())]
    (tmp_path / "x.c").write_text("\n".join(lines), encoding="utf-8")
    for mode in (["-std=c99"], ["-std=c99", "-trigraphs"], ["-std=gnu17"]):
        done = run("cc", *mode, "-Wall", "-Werror", "-E", "-P", "x.c", cwd=tmp_path)
        assert re.findall(r"int (\w+);", done) == [f"{letter}{k}" for k in range(len(lines)) for letter in "ab"]
        assert not re.sub(r"int \w+;", "", done).strip()


@needs("cc")
def test_strings_of_c_hold_the_bytes_of_the_text(tmp_path: Path) -> None:
    given = [text.replace("\0", "").replace("\r", "") for text in texts(100)]
    literals = ",\n".join(map(c_string, given))
    (tmp_path / "x.c").write_text(
        f"#include <stdio.h>\n#include <string.h>\nstatic const char *all[] = {{{literals}}};\nint main(void) {{\n"
        "for (unsigned k = 0; k < sizeof all / sizeof *all; k++) fwrite(all[k], 1, strlen(all[k]) + 1, stdout);\n}\n"
    )
    run("cc", "-std=c99", "-trigraphs", "-Wall", "-Werror", "x.c", "-o", "x", cwd=tmp_path)
    assert run("./x", cwd=tmp_path).split("\0")[:-1] == given


def test_literals_are_read_back_as_the_text() -> None:
    yaml = pytest.importorskip("yaml")
    for text in texts():
        assert ast.literal_eval(python_string(text)) == text
        assert json.loads(f'"{json_text(text)}"') == text
        assert yaml.safe_load(f"a: {yaml_string(text)}\nb: 1") == {"a": text, "b": 1}
        body = ast.parse(f'"""{python_docstring(text)}"""\nx = 1').body
        assert len(body) == 2
        assert len(hash_comment(text).splitlines()) <= 1
        assert not hash_comment(text).endswith("\\")


def test_elements_hold_the_text_and_no_other_element() -> None:
    for text in texts():
        written = xml_text(text)
        element = ElementTree.fromstring(f'<a b="{written}">{written}</a>')
        assert len(element) == 0
        assert len(element.text or "") == len(text)
        assert not set(html_text(text)) & set("<>\"'")
        assert "<" not in html_json({"a": text})
        assert json.loads(html_json({"a": text})) == {"a": text}


@needs("cmake")
def test_strings_of_cmake_hold_the_text(tmp_path: Path) -> None:
    given = [text for text in texts(60) if text.isprintable()]
    lines = [f'file(WRITE out{k} "{cmake_string(text)}")' for k, text in enumerate(given)]
    (tmp_path / "x.cmake").write_text("\n".join(lines), encoding="utf-8")
    run("cmake", "-P", "x.cmake", cwd=tmp_path)
    assert [(tmp_path / f"out{k}").read_text("utf-8") for k in range(len(given))] == given


@needs("make")
def test_text_in_a_makefile_expands_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for text in (*(attack.replace("MARKER", str(marker)) for attack in ATTACKS.values()), "$(shell touch marker)"):
        (tmp_path / "Makefile").write_text(f"X := {make_text(text)}\nall:\n\t@echo done\n", encoding="utf-8")
        assert run("make", "--no-print-directory", cwd=tmp_path).endswith("done\n")
    assert not marker.exists()


def test_identifiers_are_names_of_their_language_and_no_word_of_it() -> None:
    import keyword

    for text in (*texts(), *WORDS_OF_C, *HEADERS_OF_C, *keyword.kwlist, "²", "ﬁ", "µ", "été"):
        made = c_identifier(text, prefix="law_")
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", made)
        assert made.lower() not in WORDS_OF_C | HEADERS_OF_C
        assert re.fullmatch(r"\w*", c_field(text), re.ASCII)
        python = python_identifier(text)
        assert python.isidentifier()
        assert not keyword.iskeyword(python)


def test_code_of_markdown_is_one_span() -> None:
    for text in texts():
        span = markdown_code(text)
        ticks = re.match("`+", span)
        assert ticks is not None
        runs = re.findall("`+", span)
        assert span.endswith(ticks[0])
        assert runs.count(ticks[0]) == 2
        assert "\n" not in span


def test_text_of_latex_has_no_command_but_those_of_escapes() -> None:
    for text in texts():
        written = latex_text(text)
        assert not re.search(r"(?<!\\)[$&#%_^~]", written.replace("{}", ""))
        assert set(re.findall(r"\\([A-Za-z]+)", written)) <= {"textbackslash", "textasciicircum", "textasciitilde"}


@pytest.mark.parametrize("bad", ["\n", "\t", "\r", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\ud800"])
def test_control_characters_are_named(bad: str) -> None:
    assert len(control_characters(f"a{bad}b{bad}")) == 1
    assert not control_characters("größe 1 ☃")
