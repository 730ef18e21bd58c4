"""A robot and a scenario whose every name is an attack, and their harmless twins."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

MARKER = "marker-of-an-attack"
# Each would do something if it entered generated text as it is; MARKER stands for the file that it would make.
ATTACKS = {
    "c_comment": '*/ __attribute__((constructor)) static void pw(void) { __builtin_system("touch MARKER"); } /*',
    "c_function": '*/ extern int system(const char *); int pw = sizeof(system("touch MARKER")); /*',
    "c_string": '"; system("touch MARKER"); //',
    "line_end": "a\\",
    "trigraph": "a??/",
    "star": "**/ #error pw /*",
    "docstring": '"""; __import__("os").system("touch MARKER"); """',
    "python": "'); __import__('os').system('touch MARKER') #",
    "template": "@NAME@ @ROBOT@ @CODES@ @INPUTS@ @GAINS@",
    "make": "$(shell touch MARKER)",
    "shell": "`touch MARKER`; touch MARKER #",
    "cmake": '" execute_process(COMMAND touch MARKER) "${x}',
    "yaml": "x: !!python/object/apply:os.system ['touch MARKER'] # y",
    "xml": "]]></description><x a='\"'>&y;<!-- --",
    "script": "</script><script>document.title='pw'</script>",
    "image": "<img src=x onerror=alert(1)>\"' onload='x()",
    "markdown": "`x` [y](javascript:z) ![i](http://x/y.png) <b>&amp;",
    "latex": r"\input{x} \write18{touch MARKER} $x$ 100% _{",
    "format": "%s%n {0} {x!r}",
    "terminal": "\u202e\u200b\u00a0",
}
HARMLESS = "harmless"

_LINK = """<link name="{0}"><inertial><origin xyz="0 0 0.1"/><mass value="2"/><inertia ixx="0.02" iyy="0.02"
 izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><box size="0.05 0.05 0.2"/></geometry></visual>
</link>"""
_JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 0.2"/>
 <axis xyz="{3}"/><limit lower="-2" upper="2" velocity="3" effort="80"/></joint>"""


def urdf(robot: str, part: str, joint: str) -> str:
    """A shoulder and an elbow whose robot, links, joints and tool frame have these names."""
    names = {kind: html.escape(f"{kind} {part}") for kind in ("base", "arm", "hand")}
    first, second = html.escape(f"j1 {joint}"), html.escape(f"j2 {joint}")
    return (
        f'<robot name="{html.escape(robot)}"><link name="{names["base"]}"/>'
        + _LINK.format(names["arm"])
        + _LINK.format(names["hand"])
        + _JOINT.format(first, names["base"], names["arm"], "0 0 1")
        + _JOINT.format(second, names["arm"], names["hand"], "0 1 0")
        + "</robot>"
    )


def written(folder: Path, attack: str, name: str = "held") -> Path:
    """A scenario in a folder, with its model beside it; the model's file has a name of its own, too."""
    folder.mkdir(parents=True, exist_ok=True)
    attack = attack.replace("MARKER", str(folder / MARKER))
    in_joints = attack.replace("[", "(").replace("]", ")").replace("\u202e\u200b\u00a0", "x")  # columns of a trace
    (folder / "model.urdf").write_text(urdf(attack, attack, in_joints), encoding="utf-8")
    scenario = folder / f"{name}.toml"
    quoted = attack.replace("\\", "\\\\").replace('"', '\\"')
    scenario.write_text(
        f'name = "{name}"\ndescription = "{quoted}"\n[robot]\nmodel = "model.urdf"\nstart = {{ q = [0.1, 0.2] }}\n'
        '[control]\nlaw = "joint-impedance"\nstiffness = 50\ndamping = 5\n[run]\nduration = 0.05\n'
        f'[[world.pushes]]\nname = "{quoted}"\nframe = "hand {quoted}"\nforce = [1, 0, 0]\nduration = 0.01\n',
        encoding="utf-8",
    )
    return scenario


@pytest.fixture(params=ATTACKS)
def attack(request: pytest.FixtureRequest) -> str:
    """One attack."""
    return ATTACKS[request.param]


@pytest.fixture
def every_attack() -> str:
    """All attacks in one name, those first that end something."""
    return " ".join(ATTACKS[key] for key in ATTACKS if key not in ("line_end", "trigraph")) + " a\\"
