"""The rules of the house, held by reading the source: imports, errors, docstrings, sizes, start-up, clean files.

Each rule is a function from source text to complaints; beside the test that the package obeys stands a test that
the rule sees an offence.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import palpate.errors
import words
from house_rules import BESIDE, CORE, DOCUMENTS, PACKAGE, ROOT, SOURCES, complain, parsed, position

HEAVY = {"numpy", "numba", "llvmlite", "mujoco", "scipy", "sympy", "matplotlib", "plotly", "rich", "pydantic"}
HEAVY |= {"pyarrow", "viser", "xml"}

LONGEST_FUNCTION, LONGEST_FILE = 60, 600
# "module.py:function": why it may be longer. Loop kernels belong here, nothing else should.
LONG_FUNCTIONS: dict[str, str] = {}


# ------------------------------------------------------------------ the documents' package

# What somebody who writes a law or a command of their own imports besides (docs/extending.md).
FOR_EXTENDING = {"palpate.control.law", "palpate.engine.kernels", "palpate.engine.records", "palpate.cli.tables"}


def inner_imports(path: Path, source: str) -> Iterator[str]:
    """Imports of a package beside palpate deeper than `palpate.control` or `palpate.tools.study`, and private names."""
    for node in ast.walk(parsed(source)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        private = False
        if isinstance(node, ast.ImportFrom):
            modules, private = [node.module or ""], any(alias.name.startswith("_") for alias in node.names)
        for name in modules:
            deep = name.removeprefix("palpate.tools.").removeprefix("palpate.").count(".") > 0 and name.startswith(
                "palpate."
            )
            deep = deep and name not in FOR_EXTENDING
            if deep or (private and name.split(".")[0] == "palpate"):
                yield f"{position(path, node)}: imports {name}, an inner part of palpate; use what a package exports"


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
            yield f"{position(path, node)}: raises {name}; raise a class of palpate/errors.py, or add one there"


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
            yield f"{position(path, node)}: {owner}{node.name} has no docstring"
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
                yield name, f"{position(path, node)}: {node.name} has {lines} lines, at most {most}; split it"


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


# ------------------------------------------------------------------ names in docstrings

REFERENCE = re.compile(r"`([A-Za-z_][\w.]*)`")


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every name that code defines, uses or has in a short text."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if len(text) < 40:
                yield from re.findall(r"\w+", text)


def members_in(tree: ast.AST) -> dict[str, set[str]]:
    """What each class of a module defines or sets."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {node.name: set(names_in(node)) for node in classes}


def dead_references(path: Path, source: str, known: set[str], members: dict[str, set[str]]) -> Iterator[str]:
    """Names in backticks in docstrings that no code has: of a function, a field, a module, a member of a class."""
    for node in ast.walk(parsed(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        for name in set(REFERENCE.findall(ast.get_docstring(node) or "")):
            parts = name.split(".")
            foreign = len(parts) == 2 and parts[1] not in members.get(parts[0], {parts[1]})
            if foreign or not known.issuperset(parts):
                yield f"{position(path, node)}: `{name}` in a docstring is nothing in the code"


def test_names_in_docstrings_exist() -> None:
    known, members = set(), {}
    for path in (path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")):
        tree = parsed(path.read_text(encoding="utf-8"))
        known |= {*names_in(tree), *path.with_suffix("").parts}
        for name, found in members_in(tree).items():
            members[name] = members.get(name, set()) | found
    complain(c for path in SOURCES for c in dead_references(path, path.read_text(encoding="utf-8"), known, members))


def test_a_dead_reference_is_seen() -> None:
    source = '"""Of `gone`, `Arm.gone`, `Arm.mass` and `mass`."""\nclass Arm:\n    mass = 1\n'
    known = set(names_in(parsed(source)))
    found = list(dead_references(PACKAGE / "x.py", source, known | {"gone"}, members_in(parsed(source))))
    assert [c.split("`")[1] for c in found] == ["Arm.gone"]
    found = dead_references(PACKAGE / "x.py", source, known, members_in(parsed(source)))
    assert {c.split("`")[1] for c in found} == {"gone", "Arm.gone"}


# ------------------------------------------------------------------ sentences have one owner

# Texts in tests that quote three or more words in a row of a sentence of palpate's. There may be fewer, not more.
MOST_QUOTATIONS = 525


def test_no_more_tests_quote_a_sentence() -> None:
    said = words.spoken()
    texts = ((path, path.read_text(encoding="utf-8")) for path in words.test_modules())
    found = [f"{position(path, node)}: {quoted}" for path, s in texts for node, quoted in words.quotations(s, said)]
    assert len(found) <= MOST_QUOTATIONS, (
        f"{len(found)} texts in tests quote a sentence, at most {MOST_QUOTATIONS}: match numbers and names instead,"
        " such as match=r'joint5.*24'; python tests/words.py --quotations lists them"
    )


# ------------------------------------------------------------------ one package escapes

ESCAPES = re.compile(r"\bhtml\.escape\b|\bfrom html import\b|\bxml\.sax\.saxutils\b")


def own_escapes(path: Path, source: str) -> Iterator[str]:
    """Escaping by itself, in place of what `palpate.escape` has for the language and position."""
    for number, line in enumerate(source.splitlines(), 1):
        if ESCAPES.search(line) and PACKAGE / "escape" not in path.parents:
            yield f"{path.relative_to(ROOT)}:{number}: escapes by itself; use palpate/escape"


def test_text_of_others_is_escaped_by_one_package() -> None:
    complain(c for path in CORE for c in own_escapes(path, path.read_text(encoding="utf-8")))
    assert len(list(own_escapes(PACKAGE / "views" / "x.py", "from html import escape"))) == 1


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
    if shutil.which("git") is None:
        pytest.skip("no git here to list the files with")
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
            yield f"{position(path, node)}: {name} is a place in an array; give it a name in a record"


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
            yield f"{position(path, node)}: {node.name} takes {len(node.args.args)} parameters; put them in a record"


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
            yield f"{position(path, node)}: {called} writes by itself; use what files.py offers"


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
