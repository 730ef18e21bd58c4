"""Every number of some records, down to the last array, as one image that is taken and put back by compiled code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from palpate.engine.physics import Physics
from palpate.engine.records import Record
from palpate.engine.spans import put_image, spans_of, take_image, words_of

_BUFFERS = ("record", "times", "targets")  # written anew by every run, or kept on purpose

Held = list[tuple[Record, dict[str, Any]]]


class Numbers:
    """Numbers of some records and all records below them, but for their buffers and the engine's own memory.

    Attributes:
        spans: where the arrays lie and how many bytes they have, for `take_image` and `put_image`.
    """

    def __init__(self, *records: Record) -> None:
        """Take the numbers as they are now, which `restore` puts back."""
        self._arrays: list[np.ndarray] = []
        self._held: Held = []
        self._seen: set[int] = set()
        for record in records:
            self._note(record)
        self.spans = spans_of(self._arrays)
        self._image = np.empty(words_of(self.spans), dtype=np.int64)
        take_image(self.spans, self._image, 0)

    def _note(self, record: Record) -> None:
        if id(record) in self._seen or isinstance(record, Physics):
            return
        self._seen.add(id(record))
        self._held.append((record, dict(record._held)))
        self._arrays.append(record._table)
        for name, value in record._held.items():
            if isinstance(value, Record):
                self._note(value)
            elif isinstance(value, tuple):
                for item in value[0]:
                    self._note(item)
            elif name not in _BUFFERS:
                self._arrays.append(value)

    def take_over(self, record: Record, names: Iterable[str]) -> None:
        """Let some fields of a record be from now on as they are now."""
        held = next(held for noted, held in self._held if noted is record)
        which = next(k for k, array in enumerate(self._arrays) if array is record._table)
        start = int(self.spans[1 : 2 * which : 2].sum())
        copy = self._image.view(np.uint8)[start : start + record._table.nbytes].view(np.int64)
        for name in names:
            field = record.fields[name]
            span = slice(field.offset, field.offset + field.words)
            copy[span] = record._table[span]
            if name in record._held:
                held[name] = record._held[name]

    def replaced(self) -> Held:
        """The records of which a field became another array or record, with what they hold now."""
        return [(record, dict(record._held)) for record, _ in self._held if record.replaced]

    def restore(self) -> None:
        """Put everything back as it was."""
        for record, held in self._held:
            if record.replaced:
                record._held.update(held)
                record.replaced = False
        put_image(self.spans, self._image, 0)
