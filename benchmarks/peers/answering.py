"""The peers' side of the conversation with `elsewhere`: runs in the peers' own environment, without palpate.

A first line brings the job as JSON; the answer tells versions and what every call returns. Then each line "NAME COUNT"
asks for so many calls, and the answer is the CPU seconds of one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any


def serve(make: Callable[[Any], Mapping[str, Callable[[], Any]]], packages: tuple[str, ...]) -> None:
    """Answer until nobody asks any more."""
    calls = make(json.loads(sys.stdin.readline()))
    answers = {name: call() for name, call in calls.items()}
    print(json.dumps({"versions": {name: metadata.version(name) for name in packages}, "answers": answers}), flush=True)
    for line in sys.stdin:
        name, count = line.split()
        start = time.process_time()
        for _ in range(int(count)):
            calls[name]()
        print((time.process_time() - start) / int(count), flush=True)
