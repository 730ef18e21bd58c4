"""How a robot shows itself in a notebook."""

from __future__ import annotations

from palpate.lazy import offered


class Shown:
    """A thing with a table of its own where a notebook shows a result."""

    def _repr_html_(self) -> str:
        return offered("html of a robot")(self)
