"""How a run is going to end: the loop's own status, or what came from outside."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from palpate.errors import PalpateError
from palpate.run.loop import state as S

INTERRUPTED, RAISED = -1, -3  # beside the loop's own ways to end, and FATAL


@dataclass
class Ending:
    """The status of a run under way.

    Attributes:
        status: RUNNING, or how it ended.
        raised: what the user's Python raised, in one sentence.
        by: whose Python it was: "law" or "reference".
    """

    status: int
    raised: str | None = None
    by: str = ""

    def interrupted(self) -> None:
        """The user wants no more of it; a run that is over already stays what it is."""
        if self.status == S.RUNNING:
            self.status = INTERRUPTED

    @contextmanager
    def noting(self, by: str, step: int) -> Iterator[None]:
        """Note what the user's Python raises instead of losing the run; a misuse at step 0 is raised as it is."""
        try:
            yield
        except PalpateError as error:
            if step == 0:
                raise
            self._note(by, error)
        except Exception as error:
            self._note(by, error)

    def _note(self, by: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        text = " ".join(str(error).split())
        self.by, self.raised = by, f"the {by} raised {type(error).__name__}: {text}{location}"
