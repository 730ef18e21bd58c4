"""Each line of the promise that data of others never runs names a test, and the test is there."""

from __future__ import annotations

import re

from house_rules import ROOT

HEAD = "## Data of others never runs"


def test_every_line_of_the_promise_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "promises.md").read_text("utf-8")
    section = text[text.index(HEAD) :].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`([\w/]+\.py|…)::(\w+)`", row.rsplit("|", 2)[1])
        assert named, row
        file = ""
        for where, test in named:
            file = file if where == "…" else where
            assert f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8"), (file, test)


def test_the_security_policy_leads_to_the_promise() -> None:
    assert "docs/promises.md#data-of-others-never-runs" in (ROOT / "SECURITY.md").read_text("utf-8")
