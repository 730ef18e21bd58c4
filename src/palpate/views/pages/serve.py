"""Pages served to this machine alone: a replay, or a run that is under way."""

from __future__ import annotations

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from palpate.errors import FileError

_HERE = ("127.0.0.1", "localhost")
MOST_KEPT = 3000  # frames that a viewer who comes late is shown
EVENTS, REPORT = "/events", "/report"


class ReplayServer:
    """Serves one page on the loopback address until closed.

    Attributes:
        url: where the page is.
        page: what is served there; nothing until it is given.
    """

    def __init__(self, page: bytes | None = None, port: int = 0) -> None:
        """Start serving.

        Raises:
            FileError: the port is taken or not allowed.
        """
        self.page = page
        try:
            self._server = ThreadingHTTPServer((_HERE[0], port), _handler(self))
        except (OSError, OverflowError) as error:
            raise FileError(f"cannot serve on port {port}: {error}", hint="port 0 picks a free one") from error
        self.url = f"http://{_HERE[0]}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request from this machine."""
        if handler.path != "/" or self.page is None:
            return handler.send_error(404)
        return _send(handler, self.page)

    def wait(self) -> None:
        """Serve until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()


class LiveServer(ReplayServer):
    """Serves the page of a run under way, sends it frames as server-sent events, and at last the report."""

    def __init__(self, port: int = 0) -> None:
        """Start serving; there is no page before `page` is set."""
        self._frames: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._viewers: list[SimpleQueue[bytes | None]] = []
        self._changed, self._fetched, self._report = threading.Condition(), 0, b""
        super().__init__(port=port)

    def send(self, frame: dict[str, Any]) -> None:
        """Show a frame to everybody who looks."""
        message = f"data: {json.dumps(frame, allow_nan=False, separators=(',', ':'))}\n\n".encode()
        with self._changed:
            self._frames.append(message)
            for viewer in self._viewers:
                viewer.put(message)

    def wait_for_viewer(self, seconds: float) -> bool:
        """Wait until somebody looks; whether anybody does."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._viewers), seconds)

    def finish(self, said: str, report: bytes = b"", seconds: float = 10.0) -> None:
        """Tell the viewers how the run ended, and wait until each has fetched the report, if there is one."""
        message = json.dumps({"said": said, "report": REPORT if report else None})
        with self._changed:
            self._report, waiting = report, len(self._viewers) if report else 0
            for viewer in self._viewers:
                viewer.put(f"event: end\ndata: {message}\n\n".encode())
                viewer.put(None)
            self._changed.wait_for(lambda: self._fetched >= waiting, seconds)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request from this machine."""
        if handler.path == EVENTS:
            return self._follow(handler)
        if handler.path != REPORT or not self._report:
            return super().answer(handler)
        try:
            return _send(handler, self._report)
        finally:
            with self._changed:
                self._fetched += 1
                self._changed.notify_all()

    def _follow(self, handler: BaseHTTPRequestHandler) -> None:
        """Frames so far, and then each as it comes, until the run or the viewer is gone."""
        viewer: SimpleQueue[bytes | None] = SimpleQueue()
        _send(handler, b"", "text/event-stream", whole=False)
        with self._changed:
            for message in self._frames:
                viewer.put(message)
            self._viewers.append(viewer)
            self._changed.notify_all()
        try:
            while (message := viewer.get()) is not None:
                handler.wfile.write(message)
        except OSError:  # the window was closed
            with self._changed:
                self._viewers.remove(viewer)


def _send(handler: BaseHTTPRequestHandler, content: bytes, kind: str = "text/html", whole: bool = True) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", f"{kind}; charset=utf-8")
    handler.send_header("Cache-Control", "no-store")
    if whole:
        handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def _handler(server: ReplayServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A foreign name that resolves here must not read the page through somebody's browser.
            if (self.headers.get("Host") or "").rsplit(":", 1)[0] not in _HERE:
                return self.send_error(403)
            return server.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the terminal quiet."""

    return Handler
