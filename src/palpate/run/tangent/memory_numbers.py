"""Numbers with a fraction in memories that are plain Python: read and written as one vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.engine.carried import CarriedWords, carried_memory
from palpate.engine.records import Record
from palpate.errors import InvalidInput
from palpate.run.assemble.assemble import Assembly
from palpate.run.saved import copied_memories, python_memories, restore_memories

_STEP = 1e-6  # of a number of size 1


class MemoryNumbers:
    """Numbers in memories that are plain Python: floats and arrays of floats in dictionaries, lists and objects.

    Attributes:
        names: of the numbers, such as "law['integral'][2]".
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self.names = tuple(name for name, _, _ in self._leaves())

    def __len__(self) -> int:
        return len(self.names)

    def _leaves(self) -> Iterator[tuple[str, Callable[[], float], Callable[[float], None]]]:
        for whose, memory in python_memories(self._assembly).items():
            yield from _leaves(whose, memory)

    def read(self) -> Array:
        """The numbers now."""
        numbers = np.array([get() for _, get, _ in self._leaves()])
        if len(numbers) != len(self.names):
            raise InvalidInput(f"a memory in plain Python has {len(numbers)} numbers now, and had {len(self.names)}")
        return numbers

    def write(self, numbers: Array) -> None:
        """Let them be others."""
        for (_, _, put), number in zip(list(self._leaves()), numbers):
            put(float(number))

    def saved(self) -> dict[str, Any]:
        """Copies of the memories."""
        return copied_memories(self._assembly)

    def restore(self, saved: dict[str, Any]) -> None:
        """Let the memories be what they were."""
        restore_memories(self._assembly, saved)

    def step(self, numbers: Array) -> Array:
        """How far each is moved."""
        return _STEP * np.maximum(np.abs(numbers), 1.0)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Callable[[], float], Callable[[float], None]]]:
    if isinstance(value, Record):
        words = CarriedWords(carried_memory(value, name))
        for k, field in enumerate(words.fields):
            if field.real and field.how.moves:
                view = field.record.view(field.path.rpartition(".")[2])
                for i in range(field.size):
                    yield words.name_of(int(words.starts[k]) + i), *_item(view, i)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            for index in np.ndindex(value.shape):
                yield f"{name}{list(index) if index else ''}", *_item(value, index)
    elif isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _inner(f"{name}[{key!r}]", value[key], *_item(value, key))
    elif hasattr(value, "__dict__"):
        inside = vars(value)
        for key in inside:
            yield from _inner(f"{name}.{key}", inside[key], *_item(inside, key))


def _inner(
    name: str, value: Any, get: Callable[[], float], put: Callable[[float], None]
) -> Iterator[tuple[str, Callable[[], float], Callable[[float], None]]]:
    if isinstance(value, float):
        yield name, get, put
    else:
        yield from _leaves(name, value)


def _item(container: Any, key: Any) -> tuple[Callable[[], float], Callable[[float], None]]:
    return lambda: float(container[key]), lambda number: container.__setitem__(key, number)
