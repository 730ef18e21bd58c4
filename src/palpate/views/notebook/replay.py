"""The replay of a trace in a notebook's cell."""

from __future__ import annotations

import os
from pathlib import Path

from palpate.display import shows
from palpate.trace import Trace
from palpate.views.notebook.markup import framed_page


class ShownReplay:
    """The replay of a trace, as a notebook shows it: a page in a frame, with nothing to serve or to fetch."""

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        return framed_page(self.page, "3D replay", scripts=True)

    def __repr__(self) -> str:
        return f"ShownReplay({len(self.page) / 1e6:.1f} MB; .save(path) writes it as a page)"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the replay as a page."""
        from palpate.files import write_file

        return write_file(path, self.page)


@shows
def shown_replay(trace: Trace) -> ShownReplay:
    """The replay of a trace; see `Trace.replay`."""
    from palpate.views.pages.player import replay_html

    return ShownReplay(replay_html(trace))
