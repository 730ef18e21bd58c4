"""Names that load their module on first use, so that `palpate --help` starts without the heavy libraries."""

from __future__ import annotations

import ast
import gc
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any

from palpate.errors import MissingExtra, nearest


def check_extra(module: str, extra: str, what: str) -> None:
    """Refuse what needs a package of an extra, unless that package is there.

    Raises:
        MissingExtra: it is not.
    """
    try:
        importlib.import_module(module)
    except ImportError as error:
        reason = f"{what} needs {module}, which is not installed"
        raise MissingExtra(reason, hint=f'pip install "palpate[{extra}]"') from error


def lazy_names(
    package: str,
    further: Mapping[str, str] = MappingProxyType({}),
    moved: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the imports under its own `if TYPE_CHECKING:`.

    So each public name is written once, where type checkers read it too (`X as X` tells them that it is public).

    Args:
        package: its `__name__`.
        further: names that stand in no such import, or elsewhere, each with its module.
        moved: old names with the modules they live in now: they are warned of, and not listed.
    """
    table = {**_declared(package), **further}

    def __getattr__(name: str) -> object:  # noqa: N807 - becomes the package's own
        if name in moved:
            warnings.warn(f"{package}.{name} is {moved[name]}.{name} now", DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(moved[name]), name)
        if name not in table:
            near = nearest(name, table)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module = importlib.import_module(table[name])
        if table[name] == f"{package}.{name}":
            return module
        return getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{table[name]}.{name}")

    return __getattr__, lambda: sorted(table), sorted(table)


class MovedPackages(MetaPathFinder):
    """Packages by their old dotted names: `import palpate.study` gives `palpate.tools.study`, with a warning.

    Args:
        above: dotted name of the package that they were in.
        moved: their names.
        below: dotted name of the package that they are in.
    """

    def __init__(self, above: str, moved: str, below: str) -> None:
        self._old, self._new, self._moved = f"{above}.", f"{below}.", set(moved.split())

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The new module, for an old name."""
        name = fullname.removeprefix(self._old)
        if name == fullname or name.partition(".")[0] not in self._moved:
            return None
        warnings.warn(f"{fullname} is {self._new}{name} now", DeprecationWarning, stacklevel=2)
        return ModuleSpec(fullname, _Loaded(importlib.import_module(self._new + name)))


class _Loaded(Loader):
    """A module that is there already, under its second name."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the machinery has put that of the old name there


def parsed(source: str | bytes) -> ast.Module:
    """A source as a tree; without the collector, whose finalisers can spoil CPython 3.11's count of nested nodes."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if was_on:
            gc.enable()


def may_read(function: Any, argument: int, attribute: str) -> bool:
    """Whether a function may read an attribute of its argument of that position, by its source.

    True as well where the source is not known, and where the argument is used in any other way than `name.attribute`:
    handed on, stored, looked through.
    """
    import inspect
    import textwrap

    inner = getattr(function, "py_func", function)  # a kernel's function, or a plain one
    try:
        definition = parsed(textwrap.dedent(inspect.getsource(inner))).body[0]
    except (OSError, TypeError, SyntaxError):
        return True
    if not isinstance(definition, ast.FunctionDef) or argument >= len(definition.args.args):
        return True
    name = definition.args.args[argument].arg
    nodes = list(ast.walk(definition))
    reads = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    return any(reads.get(id(node), attribute) == attribute for node in uses)


def _declared(package: str) -> dict[str, str]:
    """Name → module of the imports under `if TYPE_CHECKING:`; a module of the package itself is its own module."""
    loader: Any = sys.modules[package].__loader__
    blocks = [node for node in parsed(loader.get_source(package)).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{alias.name}" if node.module == package else str(node.module)
        for node in imports
        for alias in node.names
    }
