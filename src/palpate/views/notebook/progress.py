"""The progress bar below a notebook's cell."""

from __future__ import annotations

import time
from typing import Any

from palpate.display import shows


@shows
class NotebookProgress:
    """A bar below the cell while a run or a sweep takes longer than a second; gone when it has ended."""

    def __init__(self) -> None:
        self.started = self.drawn = time.monotonic()
        self.handle: Any = None

    def __call__(self, done: float, total: float, failed: int = 0) -> None:
        """Show how far it is: simulated seconds of a run, or runs of a sweep with those that did not pass."""
        now = time.monotonic()
        if total <= 0 or (now - self.drawn < 0.2 and done < total) or (self.handle is None and now - self.started < 1):
            return
        self.drawn = now
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        bar = HTML(_bar(done, total, failed, now - self.started) if done < total else "")
        if self.handle is None and done < total:
            self.handle = display(bar, display_id=True)
        elif self.handle is not None:
            self.handle.update(bar)


def _bar(done: float, total: float, failed: int, elapsed: float) -> str:
    left = elapsed * (total / done - 1) if done > 0 else float("nan")
    text = f"{done:.4g} of {total:.4g}, {left:.0f} s left" + (f", {failed} did not pass" if failed else "")
    return f'<progress value="{done:g}" max="{total:g}" style="width:50%"></progress> {text}'
