"""Formulas broken on purpose, one at a time, drawn by lot over all packages: does a test notice?

    python tests/mutants.py --count 60 --seed 7        (make mutants)

A mutant is one change of one expression in src/palpate: a sign, a product for a quotient, a factor of two, a sine for a
cosine, the smaller for the larger, a comparison turned round. Only expressions that look like formulas are drawn: those
of at least two operations, or with a decimal number, or in a kernel. Every package gets its share, at least one.

Each mutant is put into a copy of the sources and the tests of its package are run until one fails. What survives is run
once more against the folders that use the package. The last lines list the survivors; the exit code is 1 if there are
more than `--allowed`. The seed is printed: the same seed on the same sources draws the same mutants.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "palpate"
TIMEOUT = 3600.0  # s; clock: an endless loop is noticed too, a hundred times what the slowest folder takes

SWAPPED_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SWAPPED_COMPARISONS = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
SWAPPED_CALLS = {"sin": "cos", "cos": "sin", "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
NO_FORMULA = (ast.List, ast.ListComp, ast.Dict, ast.Set, ast.JoinedStr)

# Folders whose tests also see a package, besides the one of its name; a tool's lie in tests/tools.
USED_BY = {
    "engine": ("spatial", "run", "world"), "spatial": ("robot", "control"), "equations": ("derive", "run"),
    "robot": ("control", "derive", "run"), "control": ("run", "scenario"), "world": ("run", "scenario"),
    "run": ("scenario", "cli"), "contact": ("run",), "trace": ("run", "views"), "metrics": ("run", "study"),
    "scenario": ("run", "cli"), "derive": ("review", "documents"), "views": ("cli", "study"), "study": ("cli",),
    "safety": ("run",), "serving": ("exporting",), "logs": ("cli",), "play": ("cli",), "sheets": ("derive",),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: bytes of a file, and the ones in their place."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str
    function: str

    @property
    def package(self) -> str:
        """The package below palpate, or the module's own name."""
        parts = self.path.relative_to(PACKAGE).parts
        return parts[1 if parts[0] == "tools" and len(parts) > 2 else 0].removesuffix(".py")

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  →  {self.after}"


def mutants_of(path: Path, source: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node in _formulas(ast.parse(source)):
        for changed in _changes(node):
            before, after = ast.unparse(node), ast.unparse(changed)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            yield Mutant(path, node.lineno, start, end, before, f"({after})", function)


def _formulas(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Expressions inside functions that look like formulas, each part of them too, with the function's name."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        kernel = any("kernel" in ast.unparse(mark) for mark in function.decorator_list)
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call) and _is_formula(node, kernel):
                    yield function.name, node


def _is_formula(node: ast.expr, kernel: bool) -> bool:
    parts = list(ast.walk(node))
    if any(isinstance(part, NO_FORMULA) for part in parts):
        return False
    if any(isinstance(part, ast.Constant) and isinstance(part.value, str | bytes) for part in parts):
        return False
    operations = sum(isinstance(part, ast.BinOp) and type(part.op) in SWAPPED_OPERATORS for part in parts)
    decimal = any(isinstance(part, ast.Constant) and isinstance(part.value, float) for part in parts)
    return operations >= 2 or (operations >= 1 and (decimal or kernel))


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED_OPERATORS:
        yield ast.BinOp(node.left, SWAPPED_OPERATORS[type(node.op)](), node.right)
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, float) and node.left.value:
            yield ast.BinOp(ast.Constant(2.0 * node.left.value), node.op, node.right)
        if isinstance(node.right, ast.Constant) and isinstance(node.right.value, float) and node.right.value:
            yield ast.BinOp(node.left, node.op, ast.Constant(2.0 * node.right.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPPED_COMPARISONS:
        yield ast.Compare(node.left, [SWAPPED_COMPARISONS[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SWAPPED_CALLS:
            swapped = SWAPPED_CALLS[name]
            function = (
                ast.Attribute(node.func.value, swapped) if isinstance(node.func, ast.Attribute) else ast.Name(swapped)
            )
            yield ast.Call(function, node.args, node.keywords)


@cache
def every() -> tuple[Mutant, ...]:
    """Every mutant of the sources."""
    return tuple(m for path in sorted(PACKAGE.rglob("*.py")) for m in mutants_of(path, path.read_text("utf-8")))


def drawn(count: int, seed: int, only: str = "") -> list[Mutant]:
    """Mutants by lot: one of every package, the others by the number of its formulas."""
    chance, by_package = random.Random(seed), defaultdict(list)
    for mutant in every():
        if not only or mutant.package == only:
            by_package[mutant.package].append(mutant)
    first = [chance.choice(mutants) for _, mutants in sorted(by_package.items())]
    rest = sorted(
        (m for mutants in by_package.values() for m in mutants), key=lambda m: (str(m.path), m.start, m.after)
    )
    chance.shuffle(first)
    return (first + chance.sample(rest, max(0, min(len(rest), count - len(first)))))[:count]


class Copy:
    """Sources and tests beside the real ones, in which one expression at a time is broken."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("src", "tests", "docs", "benchmarks", "packaging", "typings"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "api"))
        for file in ROOT.iterdir():
            if file.is_file():
                shutil.copy2(file, folder)

    def notices(self, mutant: Mutant, packages: tuple[str, ...]) -> bool:
        """Whether a test of these packages fails with the mutant in place."""
        path = self.folder / mutant.path.relative_to(ROOT)
        whole = path.read_bytes()
        path.write_bytes(whole[: mutant.start] + mutant.after.encode() + whole[mutant.end :])
        try:
            return not self._passes(self._tests(mutant, packages))
        finally:
            path.write_bytes(whole)

    def _tests(self, mutant: Mutant, packages: tuple[str, ...]) -> list[str]:
        """Test files of these packages: first those that name the broken function or its module."""
        words = [re.compile(rf"\b{re.escape(name)}\b") for name in (mutant.function, mutant.path.stem)]
        ranked = []
        for number, package in enumerate(packages):
            for folder in (self.folder / "tests" / package, self.folder / "tests" / "tools" / package):
                for file in sorted(folder.rglob("test_*.py")):
                    text = file.read_text(encoding="utf-8")
                    ranked.append((number, not words[0].search(text), not words[1].search(text), str(file)))
        return [str(Path(file).relative_to(self.folder)) for *_, file in sorted(ranked)]

    def _passes(self, paths: list[str]) -> bool:
        if not paths:
            return True
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths]
        env = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        env["PALPATE_CACHE_DIR"] = str(self.folder / "cache")
        try:
            ended = subprocess.run(
                command, cwd=self.folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return False
        return ended.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="how many mutants (60)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the lot")
    parser.add_argument("--allowed", type=int, default=3, help="how many may survive (3)")
    parser.add_argument("--only", default="", metavar="PACKAGE", help="of one package alone")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    args = parser.parse_args()
    mutants = drawn(args.count, args.seed, args.only)
    print(f"{len(mutants)} mutants, seed {args.seed}", flush=True)
    if args.list:
        print(*mutants, sep="\n")
        return 0
    copy, survivors = Copy(ROOT / "build" / "mutants"), []
    for number, mutant in enumerate(mutants, 1):
        noticed = copy.notices(mutant, (mutant.package,)) or copy.notices(mutant, USED_BY.get(mutant.package, ()))
        print(f"{number:3}/{len(mutants)} {'killed  ' if noticed else 'SURVIVES'} {mutant}", flush=True)
        survivors += [] if noticed else [mutant]
    print(f"{len(mutants)} mutants, seed {args.seed}: {len(survivors)} survive", *survivors, sep="\n")
    return int(len(survivors) > args.allowed)


if __name__ == "__main__":
    sys.exit(main())
