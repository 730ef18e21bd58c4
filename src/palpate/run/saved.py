"""The state of a run between two control ticks: all that the loop goes on from, saved and restored.

    saved = save_state(assembly)
    other = assemble(run)
    restore_state(other, saved)

The second assembly then goes on bit for bit as the first one does. What is saved are the fields that records mark as
carried (`engine.records`), and copies of memories in plain Python; noise and losses are functions of seed and tick.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.engine.carried import CarriedWords, carried_fields, carried_memory
from palpate.engine.records import Record
from palpate.errors import InvalidInput
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop.acting_forces import join_load

_SKIPPED = ("nominal", "truth", "coupled", "model")  # of the loop: written anew at every tick, or seen elsewhere


@dataclass(frozen=True)
class SavedState:
    """A run's state between two control ticks.

    Attributes:
        words: of all carried fields, bit for bit, in the order of `layout`.
        layout: path and shape of every carried field.
        memories: copies of the memories of a law and of sensors in plain Python, by name.
    """

    words: NDArray[np.int64]
    layout: tuple[tuple[str, tuple[int, ...]], ...]
    memories: dict[str, Any]


def carried_words(assembly: Assembly) -> CarriedWords:
    """Every word that an assembled run carries from tick to tick.

    Raises:
        InvalidInput: its contact is exact, whose modes and events are no records.
    """
    if assembly.exact is not None:
        raise InvalidInput("exact contact keeps its modes and events outside of the loop's records")
    fields = carried_fields(assembly.loop, "loop", _SKIPPED)
    if assembly.law.compiled:
        fields += carried_memory(assembly.law.memory, "law")
    for sensor in assembly.sensors:
        if sensor.compiled:
            fields += carried_memory(sensor.memory, f"sensor {sensor.name}")
    return CarriedWords(fields)


def python_memories(assembly: Assembly) -> dict[str, Any]:
    """The memories in plain Python, by whose they are."""
    memories = {} if assembly.law.compiled else {"law": assembly.law.memory}
    return memories | {f"sensor {s.name}": s.memory for s in assembly.sensors if not s.compiled}


def save_state(assembly: Assembly) -> SavedState:
    """The state of a run that stands between two control ticks.

    Raises:
        InvalidInput: it stands within a control period, its contact is exact, or a memory cannot be copied.
    """
    L = assembly.loop
    if L.step % L.ratio != 0:
        raise InvalidInput(
            f"a state is saved between two control ticks; this run stands at physics step {L.step}, with {L.ratio}"
            " steps per tick"
        )
    words = carried_words(assembly)
    return SavedState(words.save(), tuple(words.layout), copied_memories(assembly))


def copied_memories(assembly: Assembly) -> dict[str, Any]:
    """Copies of the memories in plain Python.

    Raises:
        InvalidInput: one cannot be copied.
    """
    copies = {}
    for whose, memory in python_memories(assembly).items():
        try:
            copies[whose] = deepcopy(memory)
        except Exception as error:
            raise InvalidInput(
                f"the memory of the {whose} cannot be copied: {type(error).__name__}: {error}",
                hint="keep numbers, arrays, lists and dictionaries in it",
            ) from error
    return copies


def restore_state(assembly: Assembly, saved: SavedState) -> None:
    """Let an assembled run go on from a saved state.

    Raises:
        InvalidInput: the state is that of another run, or loads that it has not attached yet are attached already.
    """
    words, loads = carried_words(assembly), assembly.loop.loads
    if tuple(words.layout) != saved.layout:
        raise InvalidInput(f"the saved state is that of another run: {_first_difference(words, saved)}")
    before = [load.done for load in loads]
    words.restore(saved.words)
    if any(was and not load.done for was, load in zip(before, loads)):
        raise InvalidInput("a load that is attached cannot be taken off again; assemble the run anew")
    for k, was in enumerate(before):
        if loads[k].done and not was:
            join_load(assembly.loop.address, k)
    restore_memories(assembly, saved.memories)
    assembly.sampled = None


def restore_memories(assembly: Assembly, memories: dict[str, Any]) -> None:
    """Let the memories in plain Python be what they were, in place."""
    for whose, memory in python_memories(assembly).items():
        overwrite(memory, deepcopy(memories[whose]))


def overwrite(memory: Any, by: Any) -> None:
    """Let something that is changed in place be like another; what cannot be changed stays."""
    if isinstance(memory, Record):
        CarriedWords(carried_memory(memory, "")).restore(CarriedWords(carried_memory(by, "")).save())
    elif isinstance(memory, np.ndarray):
        memory[...] = by
    elif isinstance(memory, list):
        memory[:] = by
    elif isinstance(memory, dict | set):
        memory.clear()
        memory.update(by)
    elif hasattr(memory, "__dict__"):
        vars(memory).clear()
        vars(memory).update(vars(by))


def _first_difference(words: CarriedWords, saved: SavedState) -> str:
    own, other = dict(words.layout), dict(saved.layout)
    for path in own | other:
        if own.get(path) != other.get(path):
            return f"{path} is {_shown(other.get(path))} there and {_shown(own.get(path))} here"
    return "its parts stand in another order"


def _shown(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else f"of shape {shape}"
