"""The page with sliders, served to this machine alone until closed."""

from __future__ import annotations

import json
import os
import shlex
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from palpate.errors import FileError, InvalidInput, PalpateError, harmless
from palpate.escape.documents import html_text
from palpate.files import write_file
from palpate.scenario.file.load import load_scenario
from palpate.scenario.file.places import seen_from
from palpate.scenario.model import Scenario
from palpate.toml import toml_text
from palpate.tools.play.live import LiveRun
from palpate.tools.play.page import play_html
from palpate.tools.play.session import Session, State
from palpate.views.pages.serve import EVENTS, REPORT, ReplayServer, send_content

LARGEST_REQUEST = 1_000_000  # bytes
MOST_LIVE = 4  # live runs at once; the oldest ends
MOST_NAMES = 1000

Answer = dict[str, Any]


class Playing(ReplayServer):
    """Serves the page of a scenario; every request carries the page's whole state.

    Attributes:
        session: its runs.
    """

    methods = ("GET", "POST")
    protocol = "HTTP/1.1"

    def __init__(self, session: Session, port: int = 0, folder: str | os.PathLike[str] = ".") -> None:
        """Start serving.

        Args:
            session: of the scenario.
            port: of 127.0.0.1; 0 picks a free one.
            folder: where scenarios are saved.

        Raises:
            FileError: the port is taken or not allowed.
        """
        self.session, self._folder = session, Path(folder)
        self._live: dict[str, LiveRun] = {}
        self._numbers, self._living = count(1), threading.Lock()
        self._posts: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
            "offer": lambda asked: session.offered(State.read(asked)),
            "run": session.update,
            "edges": session.edges,
            "law": lambda asked: session.swapped(State.read(asked), str(asked.get("law"))),
            "save": self._save,
            "live": self._begin_live,
            "live/settings": self._change_live,
            "live/push": self._push,
            "live/end": self._end_live,
        }
        super().__init__(play_html(session).encode(), port)

    def close(self) -> None:
        """Stop serving, and end every run."""
        self.session.closed = True
        with self._living:
            runs, self._live = list(self._live.values()), {}
        for live in runs:
            live.close()
        super().close()

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="play {html_text(self.session.scenario.name)}" src="{html_text(self.url)}" '
            'style="width:100%;height:900px;border:0"></iframe>'
        )

    # Requests.

    def answer(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        """Answer a request for the page, a report, the events of a live run, or a run."""
        path, _, query = name.partition("?")
        if handler.command == "POST":
            return self._answer_post(handler, path)
        if path == REPORT:
            return self._answer_report(handler, query)
        if path == EVENTS:
            live = self._live.get(_value(query, "live"))
            return handler.send_error(404) if live is None else live.stream.follow(handler)
        return super().answer(handler, path)

    def _answer_post(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        if path not in self._posts:
            return handler.send_error(404)
        asked = _body(handler)
        if asked is None:
            return handler.send_error(400)
        try:
            answer = self._posts[path](asked)
        except PalpateError as error:
            answer = {"refused": harmless(str(error))}
        except Exception as error:  # it costs this request, not the page
            answer = {"refused": harmless(f"unexpected {type(error).__name__}: {error}")}
        return send_content(handler, json.dumps(answer, allow_nan=False).encode(), "application/json")

    def _answer_report(self, handler: BaseHTTPRequestHandler, query: str) -> None:
        try:
            page = self.session.report(State.read(json.loads(_value(query, "state") or "{}")))
        except (PalpateError, ValueError) as error:
            page = f'<!doctype html><html lang="en"><title>refused</title><p>{html_text(str(error))}</p></html>'
        return send_content(handler, page.encode())

    # Files.

    def _save(self, asked: Mapping[str, Any]) -> Answer:
        """Write a state as a scenario into the folder, under a name that is free."""
        scenario = self.session.scenario_of(State.read(asked))
        stem = scenario.name.removesuffix(".toml")
        with self._living:
            for k in range(1, MOST_NAMES):
                path = self._folder / f"{stem}-play-{k}.toml"
                if not os.path.lexists(path):
                    named = scenario.replace(name=f"{stem[:64]}-play-{k}")
                    write_file(path, toml_text(seen_from(named.changed(), self._folder)))
                    return {"saved": path.name, "command": shlex.join(["palpate", "run", path.name])}
        raise FileError(f"{self._folder} holds {MOST_NAMES} scenarios {stem}-play-… already")

    # Live runs.

    def _begin_live(self, asked: Mapping[str, Any]) -> Answer:
        live = LiveRun(self.session.data_of(State.read(asked)))
        with self._living:
            name = str(next(self._numbers))
            self._live[name] = live
            old = [self._live.pop(key) for key in list(self._live)[:-MOST_LIVE]]
        for one in old:
            one.close()
        live.start()
        return {"live": name, "replay": live.first, "bodies": live.bodies, "compiled": live.assembly.compiled}

    def _running(self, asked: Mapping[str, Any]) -> LiveRun:
        live = self._live.get(str(asked.get("live")))
        if live is None:
            raise InvalidInput("this live run has ended", hint="start it again")
        return live

    def _change_live(self, asked: Mapping[str, Any]) -> Answer:
        live = self._running(asked)
        live.change(self.session.data_of(State.read(asked)))
        return {"said": live.said}

    def _push(self, asked: Mapping[str, Any]) -> Answer:
        live = self._running(asked)
        if asked.get("force") is None:
            live.release()
        else:
            live.push(int(asked.get("body", -1)), asked.get("point") or (), asked["force"])
        return {"time": live.time}

    def _end_live(self, asked: Mapping[str, Any]) -> Answer:
        with self._living:
            live = self._live.pop(str(asked.get("live")), None)
        if live is not None:
            live.close()
        return {}


def _value(query: str, name: str) -> str:
    return parse_qs(query).get(name, [""])[0]


def _body(handler: BaseHTTPRequestHandler) -> dict[str, Any] | None:
    """The JSON object in a request; None where there is none, or it is too large."""
    try:
        length = int(handler.headers.get("Content-Length") or "")
        if not 0 < length <= LARGEST_REQUEST or handler.headers.get_content_type() != "application/json":
            return None
        asked = json.loads(handler.rfile.read(length))
    except (ValueError, RecursionError):
        return None
    return asked if isinstance(asked, dict) else None


def play(source: Scenario | str | os.PathLike[str], *, port: int = 0) -> Playing:
    """Serve a scenario's page with sliders; a notebook shows it below the cell.

    Args:
        source: a scenario, its shipped name or file.
        port: of 127.0.0.1; 0 picks a free one.

    Returns:
        The server: `.url` says where the page is, `.wait()` serves until Ctrl-C, `.close()` ends it.
    """
    scenario = source if isinstance(source, Scenario) else load_scenario(source)
    named = None if isinstance(source, Scenario) else os.fspath(source)
    return Playing(Session(scenario.with_code(), named), port)
