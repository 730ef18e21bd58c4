"""The rules of the house, held by reading the source: imports, errors, docstrings, sizes, start-up, clean files.

Each rule is a function from source text to complaints; beside the test that the package obeys stands a test that
the rule sees an offence.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import palpate.errors
from palpate import syntax

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "palpate"
DOCUMENTS = ROOT / "src" / "palpate_documents"
CORE, BESIDE = sorted(PACKAGE.rglob("*.py")), sorted(DOCUMENTS.rglob("*.py"))
SOURCES = [*CORE, *BESIDE]

# Who may import whom (docs/index.md draws it). What a room may import, its importers may import too.
# Small modules that every room may use.
FREE = {"errors", "checks", "files", "lazy", "memory", "config", "parquet", "plugins", "syntax", "toml", "user_code"}
MODULES = FREE
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "checks": {"errors"},
    "config": {"errors", "checks"},
    "files": {"errors"},
    "lazy": {"errors"},
    "plugins": {"errors", "user_code"},
    "syntax": set(),
    "toml": {"errors"},
    "user_code": {"errors", "files"},
    "memory": set(),
    "parquet": {"errors", "files", "lazy", "memory"},
    "engine": {"errors", "checks"},
    "spatial": {"engine"},
    "equations": {"spatial", "engine"},
    "robot": {"equations", "spatial", "engine"},
    "derive": {"robot", "equations", "spatial"},
    "review": {"derive", "equations"},
    "control": {"robot", "spatial", "engine"},
    "contact": {"robot", "spatial", "engine"},
    "world": {"robot", "spatial", "engine", "contact"},
    "trace": set(),
    "scenario": {"robot", "control", "world", "trace", "metrics"},
    "run": {"scenario", "robot", "control", "world", "contact", "trace", "engine"},
    "metrics": {"trace", "spatial"},
    "views": {"trace", "metrics", "robot", "spatial"},
    "study": {"run", "metrics", "trace", "scenario"},
    "gym": {"run", "metrics", "scenario"},
}
ARROWS["cli"] = set(ARROWS)
ARROWS["__main__"] = {"cli"}
ARROWS["__init__"] = set(ARROWS)

WITNESSES = {"pinocchio", "pin", "pydrake", "example_robot_data", "roboticstoolbox"}
HEAVY = {"numpy", "numba", "llvmlite", "mujoco", "scipy", "sympy", "matplotlib", "plotly", "rich", "pydantic"}
HEAVY |= {"pyarrow", "viser", "xml"}

LONGEST_FUNCTION, LONGEST_FILE = 60, 600
# "module.py:function": why it may be longer. Loop kernels belong here, nothing else should.
LONG_FUNCTIONS: dict[str, str] = {}


parsed = cache(syntax.parsed)


def complain(complaints: Iterable[str]) -> None:
    found = list(complaints)
    assert not found, f"{len(found)} complaint(s):\n  " + "\n  ".join(found)


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


# ------------------------------------------------------------------ imports point one way


def room_of(module: str) -> str:
    """The room of a dotted module inside palpate: "palpate.robot.ik" is in robot, "palpate" itself in __init__."""
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
            # `from palpate import x` names the room x, or a name of the package itself.
            names = [f"palpate.{a.name}" if a.name in ARROWS else base for a in node.names]
            yield from ((name, node) for name in (names if base == "palpate" else [base]))
        elif isinstance(node, ast.Constant) and re.fullmatch(r"palpate(\.\w+)+", str(node.value)):
            yield from ((name, node) for name in [str(node.value)] if room_of(name) in ARROWS)


def allowed(room: str) -> set[str]:
    """What a room may import: itself, the free modules, its arrows, and theirs in turn."""
    reached: set[str] = set()
    waiting = [room, *(() if room in MODULES else FREE)]
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting += ARROWS[other]
    return reached


def wrong_imports(path: Path, source: str) -> Iterator[str]:
    module = module_of(path)
    room = room_of(module)
    if room not in ARROWS:
        yield f"{path.relative_to(ROOT)}: room {room!r} has no line in ARROWS"
        return
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for name, node in imported(parsed(source), package):
        top = name.split(".")[0]
        if top in WITNESSES:
            yield f"{place(path, node)}: imports {top}, a witness; only tests and benchmarks may"
        elif top == "palpate" and name != "palpate" and room_of(name) not in allowed(room):
            can = ", ".join(sorted(allowed(room) - {room})) or "nothing"
            yield f"{place(path, node)}: {room} imports {name}; it may import {can}"


def test_imports_point_one_way() -> None:
    complain(c for path in CORE for c in wrong_imports(path, path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("spatial/x.py", "import palpate.robot.mechanics.tree"),
        ("control/x.py", "def f():\n    from palpate.world.plant import Plant"),
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
        ("run/loop/loop.py", "from palpate.metrics import force\nfrom ..control import laws"),
        ("cli/x.py", "from palpate import __version__\nimport palpate.views.report"),
        ("views/x.py", "from palpate.spatial import Pose"),
    ],
)
def test_imports_along_the_arrows_are_allowed(file: str, source: str) -> None:
    complain(wrong_imports(PACKAGE / file, source))


# What somebody who writes a law or a command of their own imports besides (docs/extending.md).
FOR_EXTENDING = {"palpate.control.law", "palpate.engine.kernels", "palpate.engine.records", "palpate.cli.tables"}


def inner_imports(path: Path, source: str) -> Iterator[str]:
    """Imports of a package beside palpate that reach deeper than `palpate.control`, or take private names."""
    for node in ast.walk(parsed(source)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        private = False
        if isinstance(node, ast.ImportFrom):
            modules, private = [node.module or ""], any(alias.name.startswith("_") for alias in node.names)
        for name in modules:
            deep = name.startswith("palpate.") and name.count(".") > 1 and name not in FOR_EXTENDING
            if deep or (private and name.split(".")[0] == "palpate"):
                yield f"{place(path, node)}: imports {name}, an inner part of palpate; use what a package exports"


def test_the_documents_stand_on_the_public_interface_and_palpate_knows_nothing_of_them() -> None:
    complain(c for path in BESIDE for c in inner_imports(path, path.read_text(encoding="utf-8")))
    named = re.compile(r"[Dd]ocuments? 00[0-4]|palpate_documents|\b00[0-4]'s")
    complain(
        f"{path.relative_to(ROOT)}:{number}: speaks of the documents: {line.strip()}"
        for path in [*PACKAGE.rglob("*.*")]
        if path.suffix in (".py", ".toml", ".xml", ".js", ".css") and "engine" not in path.parts  # compiles its kernels
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if named.search(line)
    )


def test_an_inner_import_is_seen() -> None:
    for source in ("from palpate.control.laws.passive import Passive", "from palpate.files import _hidden"):
        assert len(list(inner_imports(DOCUMENTS / "x.py", source))) == 1
    complain(inner_imports(DOCUMENTS / "x.py", "import palpate as pp\nfrom palpate.control.law import Law"))


def test_the_arrows_form_no_ring() -> None:
    complain(
        f"{room} and {other} may import each other"
        for room in ARROWS
        for other in ARROWS[room]
        if room in allowed(other)
    )


# ------------------------------------------------------------------ one tree of exceptions

TREE = {
    name
    for name, value in vars(palpate.errors).items()
    if isinstance(value, type) and issubclass(value, palpate.errors.PalpateError)
}


def error_makers(tree: ast.Module) -> set[str]:
    """Functions whose annotation says that they return an error of the tree."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {f.name for f in functions if f.returns is not None and ast.unparse(f.returns).strip("'\"") in TREE}


def private_errors(tree: ast.Module) -> set[str]:
    """Classes of a module that are derived from the tree."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {c.name for c in classes if any(ast.unparse(base).split(".")[-1] in TREE for base in c.bases)}


def wrong_raises(path: Path, source: str, makers: set[str]) -> Iterator[str]:
    tree = parsed(source)
    good = TREE | makers | private_errors(tree)
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    special = {id(r) for f in ast.walk(tree) if _is_getattr(f) for r in ast.walk(f) if _raised(r) == "AttributeError"}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Raise) or node.exc is None or id(node) in special:
            continue
        name = _raised(node)
        reraised = isinstance(node.exc, ast.Name) and name in caught
        leaves = name == "SystemExit" and path == PACKAGE / "cli" / "main.py"
        if not (name in good or reraised or leaves):
            yield f"{place(path, node)}: raises {name}; raise a class of palpate/errors.py, or add one there"


def _raised(node: ast.AST) -> str:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return ""
    target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return ast.unparse(target).split(".")[-1]


def _is_getattr(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "__getattr__"


def test_every_exception_raised_belongs_to_the_tree() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    makers = set().union(*(error_makers(parsed(text)) for text in texts.values()))
    complain(c for path, text in texts.items() for c in wrong_raises(path, text, makers))


@pytest.mark.parametrize(
    "source",
    [
        "raise ValueError('x')",
        "raise NotImplementedError",
        "def f():\n    raise AttributeError('x')",
        "raise SystemExit(2)",
        "error = make()\nraise error",
        "class Mine(Exception): ...\nraise Mine()",
    ],
)
def test_a_foreign_exception_is_seen(source: str) -> None:
    assert len(list(wrong_raises(PACKAGE / "robot" / "x.py", source, set()))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "raise InvalidInput('x') from error",
        "raise errors.BadShape('x')",
        "try: ...\nexcept OSError as error:\n    raise error",
        "try: ...\nexcept OSError:\n    raise",
        "class _Mine(PalpateError): ...\nraise _Mine('x')",
        "def __getattr__(name):\n    raise AttributeError(name)",
        "raise refuse('x')",
    ],
)
def test_errors_of_the_tree_may_be_raised(source: str) -> None:
    complain(wrong_raises(PACKAGE / "robot" / "x.py", source, {"refuse"}))


# ------------------------------------------------------------------ docstrings and sizes


def undocumented(path: Path, source: str) -> Iterator[str]:
    """Public modules, classes, functions and methods without a docstring; what is nested in a function is private."""
    tree = parsed(source)
    if not ast.get_docstring(tree) and tree.body:
        yield f"{path.relative_to(ROOT)}: the module has no docstring"
    waiting: list[tuple[str, ast.stmt]] = [("", node) for node in tree.body]
    while waiting:
        owner, node = waiting.pop()
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not _repeats_another(node):
            yield f"{place(path, node)}: {owner}{node.name} has no docstring"
        if isinstance(node, ast.ClassDef):
            waiting += [(f"{node.name}.", child) for child in node.body]


def _repeats_another(node: ast.AST) -> bool:
    """An overload or a property's setter: the documented twin stands beside it."""
    marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
    return any(mark.split(".")[-1] in ("overload", "setter", "override") for mark in marks)


def long_functions(path: Path, source: str, most: int = LONGEST_FUNCTION) -> Iterator[tuple[str, str]]:
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > most:
                name = f"{path.relative_to(PACKAGE.parent).as_posix().removeprefix('palpate/')}:{node.name}"
                yield name, f"{place(path, node)}: {node.name} has {lines} lines, at most {most}; split it"


def test_every_public_name_has_a_docstring() -> None:
    complain(c for path in SOURCES for c in undocumented(path, path.read_text(encoding="utf-8")))


def test_a_missing_docstring_is_seen() -> None:
    source = '"""m"""\ndef f(): ...\nclass A:\n    """a"""\n    def g(self): ...\n    def _h(self): ...\n'
    assert [c.split(": ")[1] for c in undocumented(PACKAGE / "x.py", source)] == [
        "A.g has no docstring",
        "f has no docstring",
    ]
    assert list(undocumented(PACKAGE / "x.py", "x = 1"))


def test_functions_are_short() -> None:
    found = [pair for path in SOURCES for pair in long_functions(path, path.read_text(encoding="utf-8"))]
    complain(text for name, text in found if name not in LONG_FUNCTIONS)
    stale = set(LONG_FUNCTIONS) - {name for name, _ in found}
    assert not stale, f"no longer long, or gone: delete from LONG_FUNCTIONS: {sorted(stale)}"


def test_a_long_function_is_seen() -> None:
    source = "def f():\n" + "    x = 1\n" * 3
    assert [name for name, _ in long_functions(PACKAGE / "robot" / "x.py", source, most=3)] == ["robot/x.py:f"]
    assert not list(long_functions(PACKAGE / "robot" / "x.py", source, most=4))


def test_files_are_short() -> None:
    files = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    complain(
        f"{path.relative_to(ROOT)} has {length} lines, at most {LONGEST_FILE}; give part of it a file of its own"
        for path, length in lengths.items()
        if length > LONGEST_FILE
    )


# ------------------------------------------------------------------ start-up


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from palpate.cli.main import main; main(['--help']); print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    help_text, _, loaded = done.stdout.rpartition("LOADED")
    assert "usage: palpate" in help_text
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    brought = set(loaded.split()) - set(bare.stdout.split())  # a .pth file of the environment is not our doing
    assert not HEAVY & brought


# ------------------------------------------------------------------ clean files

# Character classes keep these patterns from finding themselves.
MACHINE_PATH = re.compile(r"(?<![\w.>~-])/(?:home|root|work|Users|mnt|tmp|opt)/[\w.-]+|\b[A-Z]:\\Users\\")
REGISTRY = re.compile(r"pypi[.]|pythonhosted[.]|anaconda[.]org|npmjs[.]|artifact[o]ry|--(?:extra-)?index-url", re.I)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def unclean(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in ((MACHINE_PATH, "a path of one machine"), (REGISTRY, "a package registry")):
            if found := pattern.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: names {what}: {found[0]}"


def test_no_file_names_a_machine_or_a_registry() -> None:
    complain(c for path in tracked_files() for c in unclean(path, path.read_text(encoding="utf-8", errors="ignore")))


@pytest.mark.parametrize(
    "line", ["see /ho" "me/me/arm.urdf", "('/ro" "ot/x')", "https://py" "pi.org/simple", "pip --index-" "url x"]
)  # fmt: skip
def test_a_machine_path_or_registry_is_seen(line: str) -> None:
    assert len(list(unclean(ROOT / "README.md", line))) == 1


@pytest.mark.parametrize(
    "line", ["#!/usr/bin/env bash", "tests/work/x", "robot/home/x", "and/or", "</root>", "a /work b"]
)
def test_ordinary_text_is_clean(line: str) -> None:
    complain(unclean(ROOT / "README.md", line))


# ------------------------------------------------------------------ compiled code reads like its equation


def place_constants(path: Path, source: str) -> Iterator[str]:
    """Constants such as G_POSTURE: a place in an array that should be a field of a record."""
    for node in ast.walk(parsed(source)):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        frame = re.fullmatch(r"[XRVFJ]_[A-Z]{2}", name)  # X_WE: a pose, not a place; O_…: the operating system's
        if re.fullmatch(r"_?[A-NP-Z]_[A-Z][A-Z_0-9]+", name) and not frame:
            yield f"{place(path, node)}: {name} is a place in an array; give it a name in a record"


def byte_offsets(path: Path, source: str) -> Iterator[str]:
    """Addresses with an offset, such as `address + 24 * body`, anywhere but in the engine."""
    if "engine" in path.parts:
        return
    for number, line in enumerate(source.splitlines(), 1):
        if re.search(r"\+ (?:8|16|24|36|48|72) \* ", line):
            yield f"{path.relative_to(ROOT)}:{number}: a byte offset; read a field of a record"


def wide_functions(path: Path, source: str) -> Iterator[str]:
    """Functions of more than eight positional parameters."""
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef) and len(node.args.posonlyargs) + len(node.args.args) > 8:
            yield f"{place(path, node)}: {node.name} takes {len(node.args.args)} parameters; put them in a record"


def untyped(source: str) -> tuple[int, int]:
    """How many parameters there are, and how many without a type."""
    total = bare = 0
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                if argument.arg not in ("self", "cls"):
                    total += 1
                    bare += argument.annotation is None
    return total, bare


@pytest.mark.parametrize("rule", [place_constants, byte_offsets, wide_functions])
def test_compiled_code_has_names_for_its_places(rule) -> None:
    complain(complaint for path in SOURCES for complaint in rule(path, path.read_text()))


@pytest.mark.parametrize(
    ("rule", "offence"),
    [
        (place_constants, "def f(gains):\n    return gains[G_POSTURE]"),
        (byte_offsets, "x = vector(handle + 24 * body, 3)"),
        (wide_functions, "def f(a, b, c, d, e, f, g, h, i):\n    pass"),
    ],
)
def test_a_place_without_a_name_is_seen(rule, offence: str) -> None:
    assert len(list(rule(PACKAGE / "run" / "loop.py", offence))) == 1


def test_at_least_95_percent_of_all_parameters_have_a_type() -> None:
    counts = [untyped(path.read_text()) for path in SOURCES]
    total, bare = sum(n for n, _ in counts), sum(n for _, n in counts)
    assert bare <= 0.05 * total, f"{bare} of {total} parameters have no type"
    assert untyped("def f(self, a, b: int, *, c): pass") == (3, 2)


# ---------------------------------------------------------------------------------------------- writing

# Calls that make or change a file; files.py alone may use them, so that no link is followed and no file is half there.
WRITING = {
    "write_text", "write_bytes", "savefig", "symlink_to", "hardlink_to", "mkstemp", "NamedTemporaryFile",
    "tofile", "savetxt", "savez", "savez_compressed", "copyfile", "copy2", "copytree", "makedirs", "mkdir",
    "os.replace", "os.rename", "os.open", "os.link", "os.symlink", "shutil.copy", "shutil.move", "np.save",
}  # fmt: skip
# Where such a call is none of a user's files, and why.
MAY_WRITE = {
    "files.py": "the one door",
    "engine": "the kernel cache: a folder that is the user's own, checked there",
    "cli/main.py:os.open": "the null device",
}


def writes(path: Path, source: str) -> Iterator[str]:
    """Complaints about what makes or changes a file by itself."""
    name = path.relative_to(PACKAGE.parent).as_posix().removeprefix("palpate/")
    if any(name == one or name.startswith(f"{one}/") for one in MAY_WRITE):
        return
    for node in ast.walk(parsed(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        known = called if called in WRITING else called.split(".")[-1] if "." in called else ""
        bad = known in WRITING and f"{name}:{known}" not in MAY_WRITE and not (known == "savefig" and _to_memory(node))
        if bad or (called.split(".")[-1] in ("open", "fdopen") and _for_writing(node)):
            yield f"{place(path, node)}: {called} writes by itself; use what files.py offers"


def _to_memory(call: ast.Call) -> bool:
    """Whether a figure goes to an open file: by the names that these have everywhere."""
    return bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id in ("file", "buffer", "out")


def _for_writing(call: ast.Call) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    modes = [a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    archive = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "archive"
    pipe = ast.unparse(call.func) == "os.fdopen" and bool(call.args) and ast.unparse(call.args[0]).startswith("os.dup(")
    writing = any(re.fullmatch(r"[rwaxbt+]{1,3}", mode) and set(mode) & set("wax+") for mode in modes)
    return writing and not (archive or pipe)


def test_files_are_written_through_one_door() -> None:
    complain(c for path in SOURCES for c in writes(path, path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "source",
    [
        "open(path, 'w')",
        "open(path, mode='a+b')",
        "path.open('xb')",
        "path.write_text('x')",
        "figure.savefig(path)",
        "folder.mkdir()",
        "os.replace(a, b)",
        "os.open(path, os.O_WRONLY)",
        "np.savez(path, x=x)",
        "tempfile.NamedTemporaryFile(dir=folder)",
    ],
)
def test_another_way_to_write_is_seen(source: str) -> None:
    assert len(list(writes(PACKAGE / "views" / "x.py", source))) == 1


@pytest.mark.parametrize(
    "source",
    ["open(path)", "open(path, 'rb')", "write_file(path, 'x')", "text.replace('a', 'b')", "figure.savefig(file)"],
)
def test_reading_and_the_door_itself_are_allowed(source: str) -> None:
    complain(writes(PACKAGE / "views" / "x.py", source))
