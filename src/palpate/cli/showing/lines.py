"""Lines that `palpate show` prints."""

from __future__ import annotations

from functools import partial

from palpate.cli.tables import WIDTH, say

say_line = partial(say, pipe=WIDTH)
