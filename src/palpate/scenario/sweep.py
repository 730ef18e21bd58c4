"""The [sweep] table of a scenario: what varies, and how its runs are chosen."""

from __future__ import annotations

from typing import Any, Literal

from palpate.config import Config, setting


class SweepSettings(Config):
    """What `palpate sweep` does with this scenario when nothing else is said; `palpate run` takes no notice of it."""

    vary: dict[str, str | tuple[Any, ...]] = setting(
        {}, "1", "by key: a range 100:2000:20, a list of values, or a distribution such as normal(1, 0.05)"
    )
    method: Literal["grid", "random", "latin", "sobol", "saltelli", "map"] | None = setting(
        None, "1", "how runs are chosen; a grid where every key has a list, else random"
    )
    runs: int | None = setting(None, "1", "how many; a grid knows itself", ge=1)
    repeat: int = setting(1, "1", "runs of each point, with different seeds", ge=1)
    seed: int = setting(0, "1", "of the draws", ge=0, lt=2**63)
    metric: str | None = setting(None, "1", "what ranks the runs; the first metric with a bound if not given")
    traces: Literal["none", "all", "failing", "best", "worst"] = setting("none", "1", "which traces are kept")
    until: str | None = setting(None, "1", "failure<0.01 or width<0.02: stop as soon as this is known")
    rare: str | None = setting(None, "1", "force_peak>40: estimate a small probability by importance sampling")
