"""Imports point one way: between the packages of palpate, and between the folders of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from house_rules import CORE, PACKAGE, ROOT, complain, parsed, position

# Which package may import which; docs/index.md shows this table. Nothing is inherited: what is not listed is refused.
# Small modules that every package may use.
FREE = {
    "errors", "escape", "checks", "files", "forking", "lazy", "memory", "config", "one_thread", "parquet",
    "plugins", "sealed", "toml", "user_code",
}  # fmt: skip
MODULES = FREE
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "escape": {"errors"},
    "checks": {"errors"},
    "config": {"errors", "checks", "forking"},
    "files": {"errors"},
    "forking": set(),
    "lazy": {"errors"},
    "plugins": {"errors", "user_code"},
    "sealed": {"errors"},
    "toml": {"errors", "escape"},
    "user_code": {"errors", "lazy"},
    "memory": set(),
    "one_thread": set(),
    "parquet": {"errors", "files", "lazy", "memory"},
    "engine": set(),
    "spatial": {"engine"},
    "equations": {"spatial", "engine"},
    "robot": {"equations", "spatial", "engine"},
    "derive": {"robot", "equations", "spatial", "engine"},
    "review": {"equations"},
    "sheets": {"review", "robot", "equations"},
    "control": {"robot", "spatial", "engine"},
    "contact": {"robot", "spatial", "engine"},
    "world": {"contact", "robot", "equations", "spatial", "engine"},
    "trace": set(),
    "metrics": {"trace", "spatial", "engine"},
    "scenario": {"metrics", "trace", "world", "control", "robot", "spatial"},
    "run": {"scenario", "trace", "world", "contact", "control", "robot", "equations", "spatial", "engine"},
    "views": {"metrics", "trace", "robot", "spatial"},
    "study": {"run", "scenario", "metrics", "trace", "world", "control"},
    "gym": {"run", "scenario", "metrics", "spatial", "views"},
    "play": {"run", "scenario", "metrics", "trace", "control", "views", "cli"},
    "serving": {"run", "scenario", "trace", "world", "control", "robot", "spatial", "engine"},
    "exporting": {"run", "scenario", "trace", "control", "world", "robot", "equations", "engine", "spatial"},
    "logs": {"cli", "run", "scenario", "metrics", "trace", "views", "world", "control", "robot", "spatial", "engine"},
}
# Inside a package: which folder may import which of its neighbours. Files that lie beside the folders are not held.
INSIDE: dict[str, dict[str, set[str]]] = {
    "contact": {
        "touch": set(),
        "modes": {"touch"},
        "collision": {"touch", "modes"},
        "motion": {"touch", "modes", "collision"},
        "analysis": {"touch", "modes", "collision", "motion"},
    },
    "control": {
        "steps": set(),
        "references": set(),
        "design": {"steps", "references"},
        "solve": {"steps", "design"},
        "laws": {"steps", "design", "solve"},
    },
    "control/design": {"linear": set()},
    "derive": {"closed": set(), "writing": {"closed"}},
    "engine": {"compiling": set()},
    "equations": {
        "algebra": set(),
        "model": {"algebra"},
        "dynamics": {"algebra", "model"},
        "code": {"algebra", "model", "dynamics"},
    },
    "exporting": {"code": set()},
    "logs": {"readers": set()},
    "review": {
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
    "scenario": {"checking": set(), "library": set(), "file": {"checking", "library"}},
    "sheets": {"books": set()},
    "study": {"plans": set(), "running": {"plans"}, "analysis": {"plans", "running"}},
    "views": {"pages": set()},
    "world": {
        "surfaces": set(),
        "plants": {"surfaces"},
        "forces": {"plants", "surfaces"},
        "sensing": {"plants"},
    },
}
# Tools that bring their commands along import the command line; it knows them by the names in its table alone.
ARROWS["cli"] = set(ARROWS) - {"play", "logs"}
ARROWS["__main__"] = {"cli"}
ARROWS["__init__"] = set(ARROWS)

WITNESSES = {"pinocchio", "pin", "pydrake", "example_robot_data", "roboticstoolbox"}


def package_of(module: str) -> str:
    """The package of a dotted module inside palpate: "palpate.robot.ik" is in robot, "palpate" itself in __init__."""
    parts = module.split(".")
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
            names = [f"palpate.{a.name}" if a.name in ARROWS else base for a in node.names]
            yield from ((name, node) for name in (names if base == "palpate" else [base]))
        elif isinstance(node, ast.Constant) and re.fullmatch(r"palpate(\.\w+)+(:\w+)?", str(node.value)):
            # "palpate.views.notebook:plot" names a function that is imported when it is asked for.
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
        elif top == "palpate" and name != "palpate" and package_of(name) not in allowed(package):
            can = ", ".join(sorted(allowed(package) - {package})) or "nothing"
            yield f"{position(path, node)}: {package} imports {name}; it may import {can}"


def test_imports_point_one_way() -> None:
    complain(c for path in CORE for c in wrong_imports(path, path.read_text(encoding="utf-8")))


def test_imports_between_the_folders_of_a_package_point_one_way() -> None:
    complain(c for path in CORE for c in wrong_neighbours(path, path.read_text(encoding="utf-8")))
    offence = "def f():\n    from palpate.run.after.finish import trace_of"
    assert len(list(wrong_neighbours(PACKAGE / "run/loop/x.py", offence))) == 1


def test_every_folder_of_a_package_is_in_the_table() -> None:
    folders = {p.parent.relative_to(PACKAGE).as_posix() for p in PACKAGE.glob("*/*/__init__.py")}
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
        if package in allowed(other)
    )


def test_the_table_of_the_documentation_lists_the_same_arrows() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE)
    shown = {package: set(re.findall(r"`(\w+)`", imports)) for package, imports in rows if package != "cli"}
    assert shown == {name: ARROWS[name] for name in ARROWS if name not in FREE | {"cli", "__main__", "__init__"}}
