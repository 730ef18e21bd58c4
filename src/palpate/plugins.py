"""One table for each kind of thing that installed packages may add: laws, metrics, references, scenarios, commands.

A table holds what palpate ships; what other packages declare as entry points of the table's group comes after it:

    [project.entry-points."palpate.laws"]
    tip-spring = "my_package.tip_spring:TipSpring"

A name `my_module:Mine` is that of an object in a module, a file beside the scenario for one; a table knows it once
`palpate.user_code.load` has loaded it, and never loads it itself.

Entry points are read when a name is not among the shipped ones, or when all names are asked for: reading them costs
some ten milliseconds, which a start with a shipped name does not pay. One that cannot be loaded is left out with a
warning that names it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from palpate.errors import InvalidInput
from palpate.user_code import is_address, is_loaded, loaded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
Thing = TypeVar("Thing")


class Table(Mapping[str, T], Generic[T]):
    """Names and what they stand for: the shipped ones, then those of entry points.

    Attributes:
        group: group of the entry points, such as "palpate.laws".
        shipped: what palpate brings along, by name.
        registered: what this process added by `register`; other processes do not know it.
    """

    def __init__(
        self, group: str, shipped: Mapping[str, T], make: Callable[[EntryPoint, Any], T] | None = None
    ) -> None:
        """Make a table.

        Args:
            group: group of the entry points.
            shipped: what palpate brings along.
            make: what the table holds for an entry point and the object it names (the object, if not given); whatever
                it raises tells why the object will not do.
        """
        self.group, self.shipped = group, shipped
        self._make = make or (lambda entry, thing: thing)
        self._entries: dict[str, EntryPoint] | None = None
        self._loaded: dict[str, T] = {}
        self.registered: dict[str, T] = {}

    def register(self, thing: Thing) -> Thing:
        """Add something in this process, a class of a notebook for one; also as a decorator.

        It goes by its `name`, else by its Python name in the table's spelling (TipSpring is "tip-spring"); what was
        registered by that name before is replaced.

        Raises:
            InvalidInput: it is not what the table holds, or its name is a shipped one.
        """
        from importlib.metadata import EntryPoint

        python_name = getattr(thing, "__name__", "")
        spelled = (
            re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", python_name).lower() if isinstance(thing, type) else python_name
        )
        name = vars(thing).get("name") if hasattr(thing, "__dict__") else None
        name = name if isinstance(name, str) else spelled
        if not name or name in self.shipped:
            raise InvalidInput(f"the name {name!r} is one of palpate's own", hint="give it another `name`")
        if isinstance(thing, type):
            thing.name = name  # pyright: ignore[reportAttributeAccessIssue] - not the one of what it derives from
        self.registered[name] = self._make(EntryPoint(name, name, self.group), thing)
        return thing

    def added(self) -> Mapping[str, EntryPoint]:
        """The entry points by name, not loaded; a shipped name, or one that was declared before, is kept."""
        if self._entries is None:
            from importlib.metadata import entry_points

            self._entries = {}
            for entry in entry_points(group=self.group):
                known = self._entries.get(entry.name, entry)
                if entry.name in self.shipped or known != entry:
                    _warn(entry, f"the name is taken by {'palpate' if entry.name in self.shipped else known.value}")
                else:
                    self._entries[entry.name] = entry
        return self._entries

    def __getitem__(self, name: str) -> T:
        if name in self.shipped:
            return self.shipped[name]
        if name in self.registered:
            return self.registered[name]
        if is_address(name):
            from importlib.metadata import EntryPoint

            return self._make(EntryPoint(name, name, self.group), loaded(name))
        if name not in self._loaded:
            entry = self.added()[name]
            try:
                self._loaded[name] = self._make(entry, entry.load())
            except Exception as error:  # whatever another package does must not end the program
                del self._entries[name]  # type: ignore[union-attr]
                _warn(entry, f"{type(error).__name__}: {error}")
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        if name in self.shipped:
            return True
        if is_address(name) and not is_loaded(str(name)):
            return False
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        yield from self.shipped
        yield from self.registered
        yield from [name for name in list(self.added()) if name in self and name not in self.registered]

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _warn(entry: EntryPoint, reason: str) -> None:
    warnings.warn(f"{entry.group}: the entry point {entry.name} = {entry.value} is left out: {reason}", stacklevel=4)


def of_kind(kind: type, entry: EntryPoint, thing: Any) -> Any:
    """The object of an entry point, refused unless it is of a kind, or a class of it, and has the entry's name."""
    if not (isinstance(thing, kind) or (isinstance(thing, type) and issubclass(thing, kind))):
        raise InvalidInput(f"a {kind.__name__} is needed, got {thing!r}")
    if (name := getattr(thing, "name", entry.name)) != entry.name:
        raise InvalidInput(f"it calls itself {name!r}")
    return thing
