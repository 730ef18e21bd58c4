"""Names of robots, links, joints, frames, scenarios and files are text in whatever is generated from them.

What is generated is compiled, parsed and run, and no attack leaves its marker.
"""

from __future__ import annotations

import html
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import palpate as pp
from hostile.conftest import ATTACKS, HARMLESS, MARKER, urdf, written
from palpate.cli.main import main
from palpate.errors import InvalidInput, ModelError
from palpate.robot.catalogue import model_xml
from palpate.tools.exporting.code.objects import TARGETS
from palpate.tools.exporting.draft import draft
from palpate.tools.exporting.writing.texts import texts
from palpate.views.notebook.tables import robot_html, scenario_html, trace_html
from tools.exporting.test_folder import needs, run

STUBS = Path(__file__).parent.parent / "tools" / "exporting" / "stubs"


def no_marker(folder: Path) -> bool:
    return not list(folder.rglob(f"*{MARKER}*"))


def files_of(scenario: Path) -> dict[str, str]:
    made = draft(pp.load_scenario(scenario), "own")
    return texts(made, [TARGETS["x86-64"], TARGETS["wasm32"]], 10)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the harmless twin."""
    return files_of(written(tmp_path_factory.mktemp("plain"), HARMLESS))


# ------------------------------------------------------------ export


@needs("cc", "make")
def test_an_attack_in_a_comment_of_c_works_where_nothing_is_escaped(tmp_path: Path) -> None:
    """The control of the tests below: this attack makes its marker."""
    attack = ATTACKS["c_comment"].replace("MARKER", str(tmp_path / MARKER)).replace("__builtin_system", "system")
    (tmp_path / "x.c").write_text(f"#include <stdlib.h>\n/* {attack} */\nint main(void) {{ return 0; }}\n")
    run("cc", "-o", "x", "x.c", cwd=tmp_path)
    run("./x", cwd=tmp_path)
    assert not no_marker(tmp_path)


@needs("cc", "c++")
def test_headers_of_a_hostile_model_are_c_and_c_plus_plus_and_nothing_more(
    attack: str, plain: dict[str, str], tmp_path: Path
) -> None:
    hostile = files_of(written(tmp_path / "a", attack))
    for name in ("held.h", "main.c"):
        (tmp_path / name).write_text(hostile[name], encoding="utf-8")
        (tmp_path / f"plain_{name}").write_text(plain[name], encoding="utf-8")
    c, cpp = ["cc", "-std=c99", "-trigraphs"], ["c++", "-x", "c++"]
    for words in (c, [*cpp, "-std=c++17"], [*cpp, "-std=c++14", "-trigraphs"]):
        strict = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        run(*words, *strict, "held.h", cwd=tmp_path)
    one, other = (run(*c, "-E", "-P", name, cwd=tmp_path) for name in ("held.h", "plain_held.h"))
    assert one == other  # without comments they are one text


@needs("cc", "make", "cmake")
def test_the_export_of_a_hostile_model_builds_and_runs_without_a_marker(every_attack: str, tmp_path: Path) -> None:
    scenario = written(tmp_path / "a", every_attack)
    assert main(["export", str(scenario), "--out", str(tmp_path / "e")]) == 0
    assert "0 differ" in run("make", "check", cwd=tmp_path / "e")
    run("cmake", "-B", "build", cwd=tmp_path / "e")
    run("cmake", "--build", "build", cwd=tmp_path / "e")
    run("ctest", "--test-dir", "build", cwd=tmp_path / "e")
    pp.load_exported(tmp_path / "e")
    assert no_marker(tmp_path)


def test_xml_and_yaml_of_a_hostile_model_say_its_names_and_nothing_more(
    attack: str, plain: dict[str, str], tmp_path: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    hostile, harmless = files_of(written(tmp_path / "a", attack)), plain
    for name in ("ros2_control/package.xml", "ros2_control/held_controller.xml"):
        one, other = (ElementTree.fromstring(files[name]) for files in (hostile, harmless))
        assert [(e.tag, e.attrib) for e in one.iter()] == [(e.tag, e.attrib) for e in other.iter()]
    robot = pp.load_robot(tmp_path / "a" / "model.urdf")
    description = ElementTree.fromstring(hostile["ros2_control/package.xml"]).findtext("description")
    assert description is not None
    assert robot.name in description
    parameters = yaml.safe_load(hostile["ros2_control/held_parameters.yaml"])["held"]
    assert parameters["joints"]["default_value"] == list(robot.dof_names)
    twin = yaml.safe_load(harmless["ros2_control/held_parameters.yaml"])["held"]
    del parameters["joints"], twin["joints"]
    assert parameters == twin
    for name in ("Makefile", "CMakeLists.txt", "replay.mjs", "ros2_control/CMakeLists.txt", "main.c"):
        assert hostile[name] == harmless[name]  # no name of the model enters these
    assert no_marker(tmp_path)


def test_the_readme_of_a_hostile_model_has_no_html_link_or_image_of_its_own(
    attack: str, plain: dict[str, str], tmp_path: Path
) -> None:
    text = files_of(written(tmp_path, attack))["README.md"]
    assert len(text.splitlines()) == len(plain["README.md"].splitlines())
    about = text.splitlines()[2]
    outside = about.replace("\\\\", "").replace("\\`", "").replace("\\[", "").replace("\\]", "").replace("\\*", "")
    assert not set("<`[]") & set(outside)


@needs("c++")
def test_a_hostile_tool_frame_stays_in_its_comment_of_the_franka_header(every_attack: str, tmp_path: Path) -> None:
    attack = every_attack.replace("MARKER", str(tmp_path / MARKER))
    model = model_xml("panda")
    tool = pp.load_robot("panda").tool_frame
    assert f'name="{tool}"' in model
    renamed = model.replace(f'name="{tool}"', f'name="{html.escape(attack)}"')
    (tmp_path / "panda.xml").write_text(renamed, encoding="utf-8")
    scenario = pp.load_scenario("panda-joint-impedance", [f"robot.model={tmp_path / 'panda.xml'}"])
    scenario = scenario.replace(robot__tool_frame=attack)
    for name, text in texts(draft(scenario, "own"), [TARGETS["x86-64"]], 10).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = ["-Wall", "-Werror", "-fsyntax-only"]
    run("c++", "-x", "c++", "-std=c++17", *words, "franka/panda_joint_impedance_franka.h", cwd=tmp_path)
    (tmp_path / "x.cpp").write_text('#include "franka/panda_joint_impedance_franka.hpp"\n')
    run("c++", "-std=c++17", *words, f"-I{STUBS}", "x.cpp", cwd=tmp_path)
    assert no_marker(tmp_path)


_WORDS = (
    "int short class namespace While true no null linux def None std main stdint math errno string 7dof a.b-c replay"
)


@needs("cc", "c++")
@pytest.mark.parametrize("name", _WORDS.split())
def test_a_scenario_may_have_any_name_of_a_language(name: str, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    made = draft(pp.load_scenario(written(tmp_path / "s", HARMLESS, name)), "own")
    for file, text in texts(made, [TARGETS["x86-64"]], 10).items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    run("cc", "-std=gnu17", "-Wall", "-Werror", "-fsyntax-only", "-I.", "main.c", cwd=tmp_path)
    (root,) = yaml.safe_load((tmp_path / "ros2_control" / f"{made.name}_parameters.yaml").read_text())
    assert root == made.name
    (tmp_path / "x.cpp").write_text(
        f'#include "{made.name}.h"\n#include <cstdint>\n#include <cmath>\n#include <string>\n'
        f"namespace {made.name} {{ struct ParamListener {{}}; }}\n"
        f"namespace {made.name}_control {{ {made.name}::ParamListener x; {made.name}_state state; }}\n"
    )
    run("c++", "-std=gnu++17", "-Wall", "-Werror", "-Wno-unused", "-fsyntax-only", "-I.", "x.cpp", cwd=tmp_path)


# ------------------------------------------------------------ derive


@needs("cc")
def test_c_code_of_a_hostile_model_is_compiled_and_run_without_a_marker(attack: str, tmp_path: Path) -> None:
    written(tmp_path / "a", attack)
    assert main(["derive", str(tmp_path / "a" / "model.urdf"), "--c", str(tmp_path / "c")]) == 0
    sources = sorted(path.name for path in (tmp_path / "c").glob("*.c"))
    run(
        "cc",
        "-std=c99",
        "-trigraphs",
        "-Wall",
        "-Werror",
        "-Wno-comment",
        *sources,
        "-lm",
        "-o",
        "t",
        cwd=tmp_path / "c",
    )
    assert "largest error" in run("./t", cwd=tmp_path / "c")
    assert no_marker(tmp_path)


def test_python_code_of_a_hostile_model_runs_without_a_marker(
    attack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "a", attack)
    assert main(["derive", str(tmp_path / "a" / "model.urdf"), "--python"]) == 0
    (tmp_path / "g.py").write_text(capsys.readouterr().out, encoding="utf-8")
    assert run(sys.executable, "g.py", cwd=tmp_path).startswith("(array(")
    assert no_marker(tmp_path)


@pytest.mark.parametrize("name", ["x); import os #", "a b", '"""', "a\\", "1x", ""])
def test_a_symbol_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="m1"):
        pp.derive("planar2", names={"m1": name})


@pytest.mark.parametrize("name", ["lambda", "class", "np", "shape", "None", "match"])
def test_a_symbol_may_be_a_word_of_python(name: str, tmp_path: Path) -> None:
    derivation = pp.derive("planar2", names={"m1": name})
    (tmp_path / "g.py").write_text(derivation.python("M"), encoding="utf-8")
    run(sys.executable, "g.py", cwd=tmp_path)


def test_latex_of_a_hostile_model_has_the_commands_of_a_harmless_one(attack: str, tmp_path: Path) -> None:
    folders = [written(tmp_path / one, name).parent for one, name in (("a", attack), ("b", HARMLESS))]
    made = [pp.load_robot(folder / "model.urdf") for folder in folders]
    known = {"textbackslash", "textasciicircum", "textasciitilde"}
    commands = [set(re.findall(r"\\([A-Za-z]+)", pp.derive(robot).steps_latex())) for robot in made]
    assert commands[0] - known <= commands[1]
    text = pp.derive(made[0]).steps_latex().replace("\\%", "").replace("\\#", "").replace("\\&", "")
    assert not set("%#") & set(text)


# ------------------------------------------------------------ pages


class Tags(HTMLParser):
    """The elements of a page and the names of their attributes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[Any] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(key for key, _ in attrs)))


def same_elements(hostile: str, harmless: str) -> bool:
    one, other = Tags(hostile).tags, Tags(harmless).tags
    assert len(other) > 3
    return one == other


def test_pages_of_a_hostile_run_have_the_elements_of_a_harmless_one(attack: str, tmp_path: Path) -> None:
    pages = {}
    for name, one in (("a", attack), ("b", HARMLESS)):
        folder = written(tmp_path / name, one).parent
        trace = pp.simulate(folder / "held.toml")
        runs = ["<img src=x onerror=y()>", "</script>"] if name == "a" else ["one", "two"]
        pp.views.compare([trace, trace], runs, folder / "compare.html")
        pp.views.replay(trace, folder / "replay.html")
        pp.report(trace, folder / "report.html")
        pp.derive(folder / "model.urdf").html(folder / "derive.html", steps=True)
        robot, scenario = pp.load_robot(folder / "model.urdf"), pp.load_scenario(folder / "held.toml")
        notebook = (trace_html(trace), robot_html(robot), scenario_html(scenario))
        pages[name] = [*(path.read_text("utf-8") for path in sorted(folder.glob("*.html"))), *notebook]
    assert len(pages["a"]) == 7
    for hostile, harmless in zip(pages["a"], pages["b"]):
        assert same_elements(hostile, harmless)


def test_the_page_of_a_sweep_over_a_hostile_scenario_has_the_elements_of_a_harmless_one(
    every_attack: str, tmp_path: Path
) -> None:
    pages = []
    for name, one in (("a", every_attack), ("b", HARMLESS)):
        scenario, out = written(tmp_path / name, one), tmp_path / f"{name}-swept"
        words = ["sweep", str(scenario), "--vary", "control.stiffness=40,50,60", "--workers", "0", "--out", str(out)]
        assert main(words) == 0
        pages.append((out / "report.html").read_text("utf-8"))
    assert same_elements(*pages)


# ------------------------------------------------------------ refused when read


@pytest.mark.parametrize("bad", ["a&#10;b", "a&#9;b", "a&#13;b", "a\x85b", "a\u2028b", "a\x7fb"])
@pytest.mark.parametrize("role", ["robot", "part", "joint"])
def test_a_name_with_a_control_character_is_refused_with_its_line(
    role: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"robot": HARMLESS, "part": HARMLESS, "joint": HARMLESS, role: "PLACEHOLDER"}
    (tmp_path / "m.urdf").write_text(urdf(**names).replace("PLACEHOLDER", bad), encoding="utf-8")
    with pytest.raises(ModelError, match=r"m\.urdf:\d+: error: .*control characters"):
        pp.load_robot(tmp_path / "m.urdf")
    assert main(["check", str(tmp_path / "m.urdf")]) == 2
    assert "control characters" in capsys.readouterr().out


@pytest.mark.parametrize(
    "body",
    [
        '<body name="a&#10;b"/>',
        '<body name="arm"><joint name="j&#10;k"/><geom size="0.1"/></body>',
        '<body name="arm"><site name="s&#10;t"/></body>',
    ],
)
def test_an_mjcf_name_with_a_control_character_is_refused_with_its_line(body: str, tmp_path: Path) -> None:
    inner = '<body name="x"><joint name="k" axis="0 0 1"/><geom size="0.1"/></body>'
    (tmp_path / "m.xml").write_text(f'<mujoco model="m"><worldbody>\n{body}{inner}</worldbody></mujoco>')
    with pytest.raises(ModelError, match=r"m\.xml:2: error: .*control characters"):
        pp.load_robot(tmp_path / "m.xml")


def test_a_name_with_a_control_character_is_refused_at_every_other_door_too() -> None:
    body = '<body name="a&#10;b"><joint name="k"/><geom size="0.1"/></body>'
    text = f'<mujoco model="m"><worldbody>{body}</worldbody></mujoco>'
    with pytest.raises(ModelError, match="control characters"):
        pp.Robot.from_mjcf_text(text)
    with pytest.raises(ModelError, match="control characters"):
        pp.Robot.from_mjcf_text(text.replace("&#10;", ""), name="x\ny")
    with pytest.raises(ModelError, match="control characters"):
        pp.load_robot("panda").with_tool(0.1, [0, 0, 0], name="tip\n")


def test_attacks_are_kept_in_the_data_as_they_are(attack: str, tmp_path: Path) -> None:
    """Nothing is cut out of a name: it is escaped where it is written, and nowhere else."""
    scenario = written(tmp_path, attack)
    expected = attack.replace("MARKER", str(tmp_path / MARKER))
    assert pp.load_robot(tmp_path / "model.urdf").name == expected
    assert pp.load_scenario(scenario).description == expected
    assert os.fspath(tmp_path) in expected or "MARKER" not in attack
