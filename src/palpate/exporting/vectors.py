"""Replay vectors: what the law was told and answered at every tick of the scenario's own run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.control.law import NoMemory, Tick
from palpate.engine.kernels import address_of_record, call_law, kernel
from palpate.engine.records import IntegerMatrix, Matrix, Record, Vector
from palpate.exporting.code.memory import numbers_at, words_at
from palpate.exporting.draft import Draft
from palpate.exporting.interface import Item, field_of
from palpate.run.assemble.assemble import assemble
from palpate.run.simulate import execute_bare
from palpate.trace import Recording, Trace

_ARRAY, _REAL = 0, 1  # what a word of a record's table is: an address, a number; else it is a whole number


@dataclass(frozen=True)
class Played:
    """Every tick of a run: its time, its numbers in the order of the export's input, and the law's terms.

    `trace` holds the run's commands, at every control tick.
    """

    times: Array
    inputs: Array
    terms: Array
    trace: Trace


class Notes(Record):
    """What the loop hands to `_noted_law` as gains: the law and its gains, and room for what it is told and answers."""

    law: int  # addresses
    gains: int
    count: int = 0
    times: Vector
    inputs: Matrix
    terms: Matrix
    answer: Vector  # where the law writes its terms
    sources: IntegerMatrix  # by number of a tick: a record, the word in its table, how many numbers, what that word is


@kernel
def _noted_law(x: Tick, notes: Notes, memory: NoMemory, terms: NoMemory) -> None:
    """The law in the loop, with a look at what it reads and what it writes."""
    row, at = notes.count, 0
    here = row < notes.times.size
    for k in range(notes.sources.shape[0] if here else 0):
        record, place, size, kind = notes.sources[k, 0], notes.sources[k, 1], notes.sources[k, 2], notes.sources[k, 3]
        word = words_at(record, place, 1)[0]
        for i in range(size):
            if kind == _ARRAY:
                notes.inputs[row, at + i] = numbers_at(word, 0, size)[i]
            else:
                notes.inputs[row, at + i] = numbers_at(record, place, 1)[0] if kind == _REAL else float(word)
        at += size
    tick, own, out = address_of_record(x), address_of_record(memory), address_of_record(terms)  # pyright: ignore[reportCallIssue]
    call_law(notes.law, tick, notes.gains, own, out)
    if here:
        notes.times[row] = x.t
        for i in range(notes.answer.size):
            notes.terms[row, i] = notes.answer[i]
        notes.count += 1


def play(made: Draft, most: int) -> Played:
    """Run the scenario up to `most` ticks, and note each tick beside the law in the compiled loop."""
    period = made.run.clock.control_period
    clock = made.run.clock.model_copy(update={"duration": min(made.run.clock.duration, most * period)})
    every = Recording(channels=("command",), stride=clock.ratio)
    assembly = assemble(replace(made.run, clock=clock, record=every, stop=()))
    loop, law = assembly.loop, assembly.law
    rows = min(most, clock.steps // clock.ratio + 1)
    notes = Notes(
        law=loop.law,
        gains=loop.gains,
        times=np.zeros(rows),
        inputs=np.zeros((rows, sum(each.size for each in made.inputs))),
        terms=np.zeros((rows, law.rows.size)),
        answer=law.rows.reshape(-1),
        sources=np.array(list(_sources(loop.tick, made.inputs)), dtype=np.int64),
    )
    assembly.law = replace(law, function=_noted_law, gains=notes)
    loop.law, loop.gains = _noted_law.pointer, notes.address
    for rule in loop.stop:
        rule.bound = np.inf  # a law that has done its work goes on
    trace = execute_bare(assembly)
    times, inputs, terms = (array[: notes.count] for array in (notes.times, notes.inputs, notes.terms))
    return Played(times, inputs, terms.reshape(-1, *law.rows.shape), trace)


def _sources(tick: Tick, items: list[Item]) -> Iterator[tuple[int, int, int, int]]:
    for each in items:
        record, name = field_of(tick, each)
        field = record.fields[name]
        kind = _ARRAY if field.kind.dimensions else _REAL if field.real else _REAL + 1
        yield record.address, field.offset, each.size, kind


def packed(made: Draft, played: Played) -> Array:
    """The inputs as C's structs: rows of 8-byte words."""
    rows = np.zeros((len(played.times), made.plan.input_bytes // 8))
    rows[:, 0].view(np.int64)[:] = made.plan.input_bytes + (made.plan.version << 32)
    rows[:, 1], rows[:, 2:] = played.times, played.inputs
    return rows


def answered(step: Callable[[int, int], int], rows: Array, output_bytes: int) -> Array:
    """What a step function answers to rows of inputs."""
    answers = np.zeros((len(rows), output_bytes // 8))
    for row, answer in zip(rows, answers):
        step(row.ctypes.data, answer.ctypes.data)
    return answers


def vector_file(rows: Array, answers: Array) -> bytes:
    """Inputs and answers tick by tick, after a head of four words: ticks, bytes of an input, of an answer, 0."""
    head = np.array([len(rows), rows.shape[1] * 8, answers.shape[1] * 8, 0], dtype="<i8")
    return head.tobytes() + np.concatenate([rows, answers], axis=1).astype("<f8").tobytes()
