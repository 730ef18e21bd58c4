"""A server in the test's process, and a client in another."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from moments import ENDLESS
from palpate.scenario.model import Scenario
from palpate.tools.serving.server import Server
from palpate.trace import Trace

CLIENT = Path(__file__).parent / "franka_client.py"
_addresses = count(2)


def loopback() -> str:
    """An address of this machine that no other test listens on: libfranka's port is always the same."""
    from os import getpid

    number = getpid() * 64 + next(_addresses)
    return f"127.{1 + number // 65536 % 250}.{number // 256 % 256}.{1 + number % 250}"


@pytest.fixture
def served() -> Callable[..., tuple[dict[str, Any], Trace]]:
    """Serve a scenario to one program of `franka_client.py`, and return what it printed and the trace."""
    if importlib.util.find_spec("pylibfranka") is None:
        pytest.skip("pylibfranka is not installed")
    return serve_one


def serve_one(scenario: Scenario, *words: object, pace: float | None = None, **options: Any) -> tuple[Any, Trace]:
    with serving(scenario, pace=pace, **options) as server:
        return with_client(server, *words)


@contextmanager
def serving(scenario: Scenario, grace: float = ENDLESS, **options: Any) -> Iterator[Server]:
    with patient(grace), Server(scenario, host=loopback(), **{"pace": None, "duration": 30.0, **options}) as server:
        yield server


@contextmanager
def patient(grace: float = ENDLESS) -> Iterator[None]:
    """Neither side gives the other up because the machine is busy; `grace`: s of a motion before its first command."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("session.PATIENCE", "protocol.link.HANDSHAKE"):
            patched.setattr(f"palpate.tools.serving.{name}", float(ENDLESS))
        patched.setattr("palpate.tools.serving.session.GRACE", grace)
        yield


def with_client(server: Server, program: object, *words: object) -> tuple[Any, Trace]:
    """One client of a server: what its program printed, and the trace."""
    head, rest = ([program, words[0]], words[1:]) if program == "caught" else ([program], words)
    command = [sys.executable, str(CLIENT), *head, server.address[0], *rest]
    with subprocess.Popen(
        [str(w) for w in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as client:
        trace = server.serve(server.wait(ENDLESS))
        said, complaint = client.communicate(timeout=ENDLESS)
    assert said or program == "die", complaint
    return json.loads(said) if said else None, trace
