"""Imports point one way: between the packages of palpate, and between the folders of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from house_rules import CORE, PACKAGE, ROOT, complain, parsed, position
from palpate import toolbox

# Which package may import which; docs/index.md shows this table. Nothing is inherited: what is not listed is refused.
# Small modules that every package may use.
FREE = {
    "errors", "escape", "checks", "display", "files", "forking", "lazy", "memory", "module_copies", "config",
    "one_thread", "parquet", "plugins", "sealed", "toml", "toolbox", "user_code",
}  # fmt: skip
MODULES = FREE
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "escape": {"errors"},
    "checks": {"errors"},
    "config": {"errors", "checks", "forking"},
    "display": {"views"},  # which registers there what a notebook shows
    "files": {"errors"},
    "forking": set(),
    "lazy": {"errors"},
    "plugins": {"errors", "user_code"},
    "sealed": {"errors"},
    "toml": {"errors", "escape"},
    "toolbox": {"errors"},
    "user_code": {"errors", "lazy"},
    "memory": set(),
    "module_copies": {"user_code"},
    "one_thread": set(),
    "parquet": {"errors", "files", "lazy", "memory"},
    "engine": set(),
    "spatial": {"engine"},
    "equations": {"spatial", "engine"},
    "robot": {"equations", "spatial", "engine"},
    "control": {"robot", "spatial", "engine"},
    "world": {"robot", "equations", "spatial", "engine"},
    "trace": set(),
    "metrics": {"trace", "spatial", "engine"},
    "scenario": {"metrics", "trace", "world", "control", "robot", "spatial"},
    "run": {"scenario", "trace", "world", "control", "robot", "equations", "spatial", "engine"},
    "views": {"metrics", "trace", "robot", "spatial"},
}
ARROWS["cli"] = set(ARROWS) - FREE
# Folders of palpate/tools: each may import the core, and of the other tools what is listed here.
TOOLS: dict[str, set[str]] = {
    "contact": set(),
    "derive": set(),
    "review": {"derive"},
    "sheets": {"review", "derive"},
    "study": set(),
    "exporting": set(),
    "serving": {"exporting"},  # drive reads the sheet of an export
    "gym": set(),
    "play": set(),
    "logs": set(),
    "safety": set(),
}
TIER_ONE = set(ARROWS) - FREE
ARROWS |= {tool: TIER_ONE | others for tool, others in TOOLS.items()}
# Inside a package: which folder may import which of its neighbours. Files that lie beside the folders are not held.
INSIDE: dict[str, dict[str, set[str]]] = {
    "tools/contact": {
        "touch": set(),
        "modes": {"touch"},
        "collision": {"touch", "modes"},
        "motion": {"touch", "modes", "collision"},
        "analysis": {"touch", "modes", "collision", "motion"},
    },
    "cli": {"showing": set()},
    "control": {
        "steps": set(),
        "references": set(),
        "design": {"steps", "references"},
        "solve": {"steps", "design"},
        "laws": {"steps", "design", "solve"},
    },
    "control/design": {"linear": set()},
    "control/solve": {"stopping": set()},
    "tools/derive": {"closed": set(), "writing": {"closed"}},
    "engine": {"compiling": set(), "arithmetic": set()},
    "equations": {
        "algebra": set(),
        "model": {"algebra"},
        "dynamics": {"algebra", "model"},
        "code": {"algebra", "model", "dynamics"},
    },
    "tools/exporting": {"code": set(), "writing": {"code"}},
    "tools/logs": {"readers": set(), "sensors": set()},
    "tools/review": {
        "algebra": set(),
        "read": {"algebra"},
        "mend": {"algebra", "read"},
        "compare": {"algebra", "read", "mend"},
    },
    "robot": {
        "mechanics": set(),
        "catalogue": set(),
        "readers": {"mechanics", "joints"},
        "joints": {"mechanics", "readers"},
    },
    "robot/readers": {"urdf": set(), "mjcf": {"urdf"}, "dh": {"urdf"}},
    "run": {
        "loop": set(),
        "assemble": {"loop"},
        "before": {"assemble", "loop", "tangent"},
        "after": {"before", "assemble", "loop", "tangent"},
        "tangent": {"assemble", "loop"},
        "forecast": {"tangent", "before", "assemble", "loop"},
    },
    "run/after": {"removals": set(), "observed": set()},
    "scenario": {"checking": set(), "library": set(), "file": {"checking", "library"}},
    "tools/sheets": {"books": set(), "commands": {"books"}},
    "tools/safety": {"scenarios": set()},
    "tools/serving": {
        "protocol": set(),
        "arm": {"protocol"},
        "gripper": {"protocol"},
        "commands": {"protocol", "arm", "gripper"},
    },
    "tools/study": {
        "plans": set(),
        "running": {"plans"},
        "analysis": {"plans", "running"},
        "drivers": {"plans", "running", "analysis"},
        "commands": {"plans", "running", "analysis", "drivers"},
    },
    "views": {"pages": set(), "notebook": {"pages"}},
    "views/pages": {"sweep": set()},
    "world": {
        "surfaces": set(),
        "plants": {"surfaces"},
        "forces": {"plants", "surfaces"},
        "rigid": {"plants", "forces", "surfaces"},
        "sensing": {"plants"},
    },
}
ARROWS["__main__"] = {"cli"}
ARROWS["__init__"] = {*ARROWS, "tools"}
ARROWS["tools"] = set()

MOVED = {"run": {"contact"}}  # the old name of palpate.tools.contact.linearise, until 0.3
WITNESSES = {"pinocchio", "pin", "pydrake", "example_robot_data", "roboticstoolbox"}


def package_of(module: str) -> str:
    """The package of a dotted module inside palpate: "palpate.robot.ik" is in robot, "palpate.tools.study" in study."""
    parts = module.split(".")
    if parts[1:2] == ["tools"] and len(parts) > 2:
        return parts[2]
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, package: str) -> Iterator[tuple[str, ast.AST]]:
    """Every module the source names: imports at any depth, relative ones resolved, and dotted names in strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from palpate import x` names the package x, or a name of the package itself.
            names = [f"{base}.{a.name}" if a.name in ARROWS else base for a in node.names]
            yield from ((name, node) for name in (names if base in ("palpate", "palpate.tools") else [base]))
        elif isinstance(node, ast.Constant) and re.fullmatch(r"palpate(\.\w+)+(:\w+)?", str(node.value)):
            # "palpate.views.notebook.plot:plot" names a function that is imported when it is asked for.
            yield from ((name, node) for name in [str(node.value).split(":")[0]] if package_of(name) in ARROWS)


def allowed(package: str) -> set[str]:
    """What a package may import: itself, the free modules and its arrows."""
    return {package} | ARROWS[package] | (set() if package in MODULES else FREE)


def folder_in(package: str, module: str) -> str:
    """The folder of a package that a module lies in: palpate.run.loop.row lies in `loop` of `run`; else nothing."""
    inner = module.removeprefix(f"palpate.{package.replace('/', '.')}.")
    folder = inner.split(".")[0]
    return folder if inner != module and folder in INSIDE[package] else ""


def wrong_neighbours(path: Path, source: str) -> Iterator[str]:
    """Imports between the folders of one package that its table does not list."""
    module = module_of(path)
    for package, arrows in INSIDE.items():
        here = folder_in(package, f"{module}.")
        if not here:
            continue
        for name, node in imported(parsed(source), module.rpartition(".")[0]):
            there = folder_in(package, f"{name}.")
            if there and there != here and there not in arrows[here]:
                can = ", ".join(sorted(arrows[here])) or "none of its neighbours"
                yield f"{position(path, node)}: {package}/{here} imports {package}/{there}; it may import {can}"


def wrong_imports(path: Path, source: str) -> Iterator[str]:
    module = module_of(path)
    package = package_of(module)
    if package not in ARROWS:
        yield f"{path.relative_to(ROOT)}: package {package!r} has no line in ARROWS"
        return
    folder = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for name, node in imported(parsed(source), folder):
        top = name.split(".")[0]
        if top in WITNESSES:
            yield f"{position(path, node)}: imports {top}, a witness; only tests and benchmarks may"
        elif (
            top == "palpate"
            and name != "palpate"
            and package_of(name) not in allowed(package) | MOVED.get(package, set())
        ):
            can = ", ".join(sorted(allowed(package) - {package})) or "nothing"
            yield f"{position(path, node)}: {package} imports {name}; it may import {can}"


def test_imports_point_one_way() -> None:
    complain(c for path in CORE for c in wrong_imports(path, path.read_text(encoding="utf-8")))


def test_imports_between_the_folders_of_a_package_point_one_way() -> None:
    complain(c for path in CORE for c in wrong_neighbours(path, path.read_text(encoding="utf-8")))
    offence = "def f():\n    from palpate.run.after.finish import trace_of"
    assert len(list(wrong_neighbours(PACKAGE / "run/loop/x.py", offence))) == 1


def test_every_folder_of_a_package_is_in_the_table() -> None:
    folders = {
        p.parent.relative_to(PACKAGE).as_posix()
        for pattern in ("*/*/__init__.py", "tools/*/*/__init__.py")
        for p in PACKAGE.glob(pattern)
        if p.parent.parent.name != "tools"
    }
    listed = {f"{package}/{folder}" for package, inner in INSIDE.items() for folder in inner}
    assert folders <= listed | {"scenario/library"}


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("spatial/x.py", "import palpate.robot.mechanics.tree"),
        ("control/x.py", "def f():\n    from palpate.world.plants.plant import Plant"),
        ("robot/x.py", "if TYPE_CHECKING:\n    from palpate import control"),
        ("world/x.py", "from ..control import laws"),
        ("trace/x.py", "from palpate import engine"),
        ("metrics/x.py", "table = {'Robot': 'palpate.robot.robot'}"),
        ("views/x.py", "from palpate.run import loop"),
        ("errors.py", "from palpate.checks import finite_array"),
        ("engine/records.py", "from palpate.robot.robot import Robot"),
        ("robot/x.py", "import pinocchio"),
        ("cli/x.py", "from palpate.tools.study import sweep"),
        ("world/x.py", "def f():\n    from palpate.tools import contact"),
        ("tools/derive/x.py", "import palpate.tools.sheets.judge"),
        ("attic/x.py", ""),
    ],
)
def test_an_import_against_the_arrows_is_seen(file: str, source: str) -> None:
    assert len(list(wrong_imports(PACKAGE / file, source))) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("robot/ik.py", "from palpate.spatial import Pose\nfrom . import tree\nfrom palpate import engine, lazy"),
        ("run/simulate.py", "from palpate.trace import Trace\nfrom ..control import laws"),
        ("cli/x.py", "from palpate import __version__\nimport palpate.views.report"),
        ("views/x.py", "from palpate.spatial import Pose"),
    ],
)
def test_imports_along_the_arrows_are_allowed(file: str, source: str) -> None:
    complain(wrong_imports(PACKAGE / file, source))


def test_the_arrows_form_no_ring() -> None:
    complain(
        f"{package} and {other} may import each other"
        for package in ARROWS
        for other in ARROWS[package]
        if package in allowed(other) and package != "display"  # it is where views registers, and loads them when asked
    )


def test_every_tool_has_a_line_and_says_what_it_is() -> None:
    assert set(toolbox.installed()) == set(TOOLS)
    assert all(tool.about and tool.status in get_args(toolbox.Status) for tool in toolbox.installed().values())


def test_the_tables_of_the_documentation_list_the_same_arrows() -> None:
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE)
    shown = {package: set(re.findall(r"`(\w+)`", imports)) for package, imports in rows if package != "cli"}
    assert shown == {**{name: ARROWS[name] for name in TIER_ONE - {"cli"}}, **TOOLS}
    status = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE))
    assert status == {name: tool.status for name, tool in toolbox.installed().items()}
