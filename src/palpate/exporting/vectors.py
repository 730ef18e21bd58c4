"""Replay vectors: what the law was told and answered at every tick of the scenario's own run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.law import PythonLaw
from palpate.exporting.draft import Draft
from palpate.exporting.interface import numbers_of
from palpate.run.assemble.assemble import beginning
from palpate.run.simulate import simulate
from palpate.trace import Recording, Trace


@dataclass(frozen=True)
class Played:
    """Every tick of a run: its time, its numbers in the order of the export's input, and the law's terms.

    `trace` holds the run's commands, at every control tick.
    """

    times: Array
    inputs: Array
    terms: Array
    trace: Trace


def play(made: Draft, most: int) -> Played:
    """Run the scenario up to `most` ticks, the law's machine code in the loop, and note each tick."""
    run, ticks = made.run, []
    q, v = run.start()
    bound = made.law.begin(run.robot, beginning(run, q, v))

    def noted(tick: Any, gains: Any, memory: Any) -> dict[str, Array]:
        record = tick._record
        ticks.append((record.t, numbers_of(record, made.inputs)))
        bound.decide(record)
        ticks[-1] = (*ticks[-1], bound.rows.copy())
        return dict(zip(bound.terms, bound.rows))

    duration = min(run.clock.duration, most * run.clock.control_period)
    watched = PythonLaw(noted, bound.terms, bound.command, name=bound.name)
    every = Recording(channels=("command",), stride=run.clock.ratio)
    clock = run.clock.model_copy(update={"duration": duration})
    trace = simulate(replace(run, law=watched, clock=clock, record=every, stop=()))
    times, inputs, terms = (np.array(column) for column in zip(*ticks[:most]))
    return Played(times, inputs, terms, trace)


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
