"""The day of an export and the revision of palpate that made it."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import palpate


def today() -> str:
    """The day of an export, by SOURCE_DATE_EPOCH where that is set."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()


@cache
def revision() -> str:
    """The first digits of a hash of palpate's sources."""
    digest, root = hashlib.sha256(), Path(palpate.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]
