"""Replay vectors: the law's inputs and answers at every tick of the scenario's own run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.control.tick import NoMemory, Tick
from palpate.engine.kernels import address_of_record, call_law, kernel
from palpate.engine.records import IntegerMatrix, Matrix, Record, Vector
from palpate.run.assemble.assemble import assemble
from palpate.run.simulate import execute_bare
from palpate.tools.exporting.code.memory import numbers_at, words_at
from palpate.tools.exporting.draft import Draft
from palpate.tools.exporting.interface import Item, field_of
from palpate.trace import Recording, Trace

_ARRAY, _REAL = 0, 1  # what a word of a record's table is: an address, a number; else it is a whole number


@dataclass(frozen=True)
class RecordedRun:
    """Every tick of a run: its time, its numbers in the order of the export's input, and the law's terms.

    `trace` holds the run's commands, at every control tick.
    """

    times: Array
    inputs: Array
    terms: Array
    trace: Trace


class TickRecorder(Record):
    """Gains of `_recorded_law` in the loop: the law and its gains, and arrays for its inputs and answers."""

    law: int  # addresses
    gains: int
    count: int = 0
    times: Vector
    inputs: Matrix
    terms: Matrix
    answer: Vector  # where the law writes its terms
    sources: IntegerMatrix  # by field of a tick: a record, the word in its table, how many numbers, what that word is


@kernel
def _recorded_law(x: Tick, recorder: TickRecorder, memory: NoMemory, terms: NoMemory) -> None:
    """The law in the loop, with a look at what it reads and what it writes."""
    row, at = recorder.count, 0
    here = row < recorder.times.size
    for k in range(recorder.sources.shape[0] if here else 0):
        source = recorder.sources[k]
        record, offset, size, kind = source[0], source[1], source[2], source[3]
        word = words_at(record, offset, 1)[0]
        for i in range(size):
            if kind == _ARRAY:
                recorder.inputs[row, at + i] = numbers_at(word, 0, size)[i]
            else:
                recorder.inputs[row, at + i] = numbers_at(record, offset, 1)[0] if kind == _REAL else float(word)
        at += size
    tick, own, out = address_of_record(x), address_of_record(memory), address_of_record(terms)  # pyright: ignore[reportCallIssue]
    call_law(recorder.law, tick, recorder.gains, own, out)
    if here:
        recorder.times[row] = x.t
        for i in range(recorder.answer.size):
            recorder.terms[row, i] = recorder.answer[i]
        recorder.count += 1


def record_run(draft: Draft, most: int) -> RecordedRun:
    """Run the scenario up to `most` ticks, and note each tick beside the law in the compiled loop."""
    period = draft.run.clock.control_period
    clock = draft.run.clock.model_copy(update={"duration": min(draft.run.clock.duration, most * period)})
    every = Recording(channels=("command",), stride=clock.ratio)
    assembly = assemble(replace(draft.run, clock=clock, record=every, stop=()))
    loop, law = assembly.loop, assembly.law
    loop.needs.gravity = loop.needs.gravity or any(each.name == "gravity" for each in draft.inputs)
    own = law.rows[: len(draft.bound.rows)]  # without the loop's term of friction
    rows = min(most, clock.steps // clock.ratio + 1)
    recorder = TickRecorder(
        law=loop.law,
        gains=loop.gains,
        times=np.zeros(rows),
        inputs=np.zeros((rows, sum(each.size for each in draft.inputs))),
        terms=np.zeros((rows, own.size)),
        answer=own.reshape(-1),
        sources=np.array(list(_sources(loop.tick, draft.inputs)), dtype=np.int64),
    )
    assembly.law = replace(law, function=_recorded_law, gains=recorder)
    loop.law, loop.gains = _recorded_law.pointer, recorder.address
    for rule in loop.stop:
        rule.bound = np.inf  # a law that has done its work goes on
    trace = execute_bare(assembly)
    times, inputs, terms = (array[: recorder.count] for array in (recorder.times, recorder.inputs, recorder.terms))
    return RecordedRun(times, inputs, terms.reshape(-1, *own.shape), trace)


def _sources(tick: Tick, items: list[Item]) -> Iterator[tuple[int, int, int, int]]:
    for each in items:
        record, name = field_of(tick, each)
        field = record.fields[name]
        kind = _ARRAY if field.kind.dimensions else _REAL if field.real else _REAL + 1
        yield record.address, field.offset, each.size, kind


def packed(draft: Draft, recorded: RecordedRun) -> Array:
    """The inputs as C's structs: rows of 8-byte words."""
    rows = np.zeros((len(recorded.times), draft.plan.input_bytes // 8))
    rows[:, 0].view(np.int64)[:] = draft.plan.input_bytes + (draft.plan.version << 32)
    rows[:, 1], rows[:, 2:] = recorded.times, recorded.inputs
    return rows


def step_answers(step: Callable[[int, int], int], rows: Array, output_bytes: int) -> Array:
    """Answers of a step function to rows of inputs."""
    answers = np.zeros((len(rows), output_bytes // 8))
    for row, answer in zip(rows, answers):
        step(row.ctypes.data, answer.ctypes.data)
    return answers


def vector_file(rows: Array, answers: Array) -> bytes:
    """Inputs and answers tick by tick, after a head of four words: ticks, bytes of an input, of an answer, 0."""
    head = np.array([len(rows), rows.shape[1] * 8, answers.shape[1] * 8, 0], dtype="<i8")
    return head.tobytes() + np.concatenate([rows, answers], axis=1).astype("<f8").tobytes()
