"""Document 001: runs of the stop, by the law as printed and by the fastest stop."""

from __future__ import annotations

import palpate as pp
from palpate_documents.printed_claims import Runs


def stop_runs() -> Runs:
    """The document's arm and state under the law (5)–(6) and under the fastest stop."""
    right = pp.load_scenario("planar3-stop", ["run.duration=0.2"])
    wrong = right.replace(
        control={"law": "as-printed", "axes": "xy", "acceleration": vars(right.control)["acceleration"]}
    )
    return [("as printed: law (5)–(6)", pp.simulate(wrong)), ("right: fastest stop", pp.simulate(right))]
