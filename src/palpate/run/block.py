"""Runs of one assembly, made ready one after the other and then made in one compiled call.

What differs between runs that are ready is an image of the assembly's numbers. The call puts each image back, resets
the plant, makes the run and takes the image that it leaves, from which its trace is made afterwards. Preparing, running
and reading alternate once for a block instead of once for a run, so that the interpreter's code stays in the cache, and
a thread holds the interpreter's lock only between blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import types

from palpate.control.bound_law import BoundLaw
from palpate.engine.fatal import FATAL
from palpate.engine.kernels import caller, kernel, put
from palpate.engine.library import mj_fwdPosition, mj_resetData
from palpate.engine.physics import Physics
from palpate.engine.records import Integers, Record, Vector
from palpate.engine.spans import put_image, spans_of, take_image, words_of
from palpate.errors import NotKept
from palpate.run.advancing import fill_targets
from palpate.run.after.finish import Read, bare_trace
from palpate.run.after.keep import Channels
from palpate.run.assemble.carrier import EQUATIONS
from palpate.run.assemble.numbers import Held
from palpate.run.assemble.recording import BATCH
from palpate.run.assemble.renew import Renewable
from palpate.run.before.checks import Prediction, check_start
from palpate.run.loop import loop, state as S
from palpate.run.run import Run
from palpate.run.stepping import Ending
from palpate.trace import Channel, Trace
from palpate.world.plants.plant import Plant
from palpate.world.sensing.custom import BoundSensor

MOST_STEPS = 100_000  # physics steps of a block: a fifth of a second, in which Ctrl-C waits
MOST_BYTES = 1e6  # of its samples: each thread of a sweep has a block, and its share of the cache
_OF_SCENE = ("body_", "jnt_", "dof_", "geom_")  # fields of a compiled scene that a run may have changed

_call = caller(types.int64, types.int64, types.int64)


class Images(Record):
    """Runs that are ready: an image of the loop's numbers for each, and what makes runs of them.

    `images` become those of the runs that were made, `status` says how each ended.
    """

    loop: int  # addresses: of the loop, and of the machine code that begins a step and that makes steps
    first_half: int
    run_steps: int
    steps: int
    plant: Physics
    q: Vector
    v: Vector
    spans: Integers
    image_words: int
    images: Integers
    status: Integers


@kernel
def make_runs(R: Images, count: int) -> int:
    """Make the first `count` runs, each as `check_start` and the loop would."""
    p = R.plant
    for k in range(count):
        put_image(R.spans, R.images, k * R.image_words)
        mj_resetData(p.model, p.data)
        put(p.qpos, 0, R.q)
        put(p.qvel, 0, R.v)
        _call(R.first_half, R.loop, 0)
        mj_fwdPosition(p.model, p.data)
        R.status[k] = _call(R.run_steps, R.loop, R.steps)
        take_image(R.spans, R.images, k * R.image_words)
    return 0


class _Ready(NamedTuple):
    """Python's part of a run that is ready."""

    run: Run
    law: BoundLaw
    plant: Plant
    sensors: tuple[BoundSensor, ...]
    held: Held
    prediction: Prediction
    note: Any


class Block:
    """Runs of one assembly that are made together.

    `Renewable.renew` makes the assembly ready for a run, `add` takes it, `traces` makes all that were added.
    """

    def __init__(self, kept: Renewable, offered: Mapping[str, Channel]) -> None:
        """Make room for as many runs as can wait for each other; `offered` are the channels that a run has, by name."""
        self.kept, self._offered = kept, offered
        assembly, L = kept.assembly, kept.assembly.loop
        self.most = max(1, min(MOST_STEPS // max(L.steps, 1), int(MOST_BYTES / max(L.record.nbytes, 1))))
        self._ready: list[_Ready] = []
        model = assembly.plant.model
        fields = (getattr(model, name) for name in dir(model) if name.startswith(_OF_SCENE))
        self._scene = spans_of([array for array in fields if isinstance(array, np.ndarray)])
        spans = np.concatenate([kept.numbers.spans, self._scene])
        self._words = words_of(spans)
        self._records: list[np.ndarray] = []
        self._channels = Channels(assembly)
        self._images = Images(
            loop=L.address,
            first_half=loop.first_half.pointer,
            run_steps=loop.run_steps.pointer,
            steps=L.steps + 1,
            plant=L.plant,
            q=assembly.data.qpos.copy(),
            v=assembly.data.qvel.copy(),
            spans=spans,
            image_words=self._words,
            images=np.empty(self.most * self._words, dtype=np.int64),
            status=np.zeros(self.most, dtype=np.int64),
        )

    @staticmethod
    def possible(kept: Renewable) -> bool:
        """Whether runs of an assembly can be made together: compiled, on equations, and in one batch of samples."""
        assembly = kept.assembly
        plain = assembly.compiled and assembly.exact is None and assembly.carrier.name == EQUATIONS
        return plain and assembly.run.clock.steps <= BATCH

    @property
    def full(self) -> bool:
        """Whether no further run can be added."""
        return len(self._ready) >= self.most

    def add(self, note: Any) -> bool:
        """Add the run that the assembly has just been made ready for; False where it has to be made alone.

        `note` comes back with the run's trace.

        Raises:
            PalpateError: its start is refused.
        """
        assembly, k = self.kept.assembly, len(self._ready)
        if k == len(self._records):
            self._records.append(np.empty_like(assembly.loop.record))
        assembly.loop.replace_all({"record": self._records[k]})
        if not self._sample_targets():
            return False
        if k == 0:
            self._images.q[:], self._images.v[:] = assembly.data.qpos, assembly.data.qvel
        take_image(self._images.spans, self._images.images, k * self._words)
        prediction = check_start(assembly, predict=False)
        held = self.kept.numbers.replaced()
        here = assembly.run, assembly.law, assembly.plant, assembly.sensors
        self._ready.append(_Ready(*here, held, prediction, note))
        return True

    def _sample_targets(self) -> bool:
        """Sample the targets of a whole run; False where they do not stay finite.

        A reference that is not the one sampled last has a table of its own.
        """
        assembly, ending = self.kept.assembly, Ending(S.RUNNING)
        L, asked = assembly.loop, max(1, BATCH // assembly.loop.ratio)
        if assembly.sampled is None or assembly.sampled is assembly.run.reference:
            return fill_targets(assembly, asked, ending) == asked
        known = assembly.sampled, assembly.sampled_span
        L.replace_all({"targets": np.zeros_like(L.targets)})
        whole = fill_targets(assembly, asked, ending) == asked
        assembly.sampled, assembly.sampled_span = known
        return whole

    def traces(self, *, singular: bool, read: set[str]) -> Iterator[tuple[Any, Trace | None]]:
        """Make the runs that were added: the note that each was added with, and its trace for metrics.

        The samples of a trace are gone when the next one is asked for.

        `read` takes the names of the channels that are read. None is given for a run that did not come to its end, or
        of which a channel was read that is not kept: it has to be made alone.
        """
        assembly, ready, scene = self.kept.assembly, self._ready, np.empty(words_of(self._scene), dtype=np.int64)
        self._ready = []
        take_image(self._scene, scene, 0)
        fatal = assembly.rescues.call_on(self._images.address, make_runs, len(ready)) == FATAL
        try:
            for k, one in enumerate(ready):
                made = not fatal and self._images.status[k] in (S.COMPLETED, S.STOPPED)
                yield one.note, self._trace(k, one, singular, (self._offered, read)) if made else None
        finally:
            put_image(self._scene, scene, 0)

    def _trace(self, k: int, one: _Ready, singular: bool, read: Read) -> Trace | None:
        assembly = self.kept.assembly
        put_image(self._images.spans, self._images.images, k * self._words)
        for record, held in one.held:
            record._held.update(held)
            record.replaced = True
        assembly.run, assembly.law, assembly.plant, assembly.sensors = one.run, one.law, one.plant, one.sensors
        ending = Ending(int(self._images.status[k]))
        try:
            arrays = self._channels.take(assembly.loop)
            return bare_trace(assembly, ending, arrays, one.prediction, singular=singular, read=read)
        except NotKept:
            return None
