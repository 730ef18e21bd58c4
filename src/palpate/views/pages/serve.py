"""Pages served to this machine alone: a replay, or a run that is under way.

Other users of the machine can reach the port, too: a page's address contains a token that only its owner is told.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Full, Queue
from types import TracebackType
from typing import Any, Self

from palpate.errors import FileError

_HERE = ("127.0.0.1", "localhost")
FETCHING = 10.0  # s that viewers have to fetch the report before the server ends
MOST_KEPT = 3000  # frames that a viewer who comes late is shown
MOST_WAITING = 2 * MOST_KEPT  # frames that wait for a viewer; one that reads more slowly is let go
MOST_VIEWERS = 20
PATIENCE = 10.0  # s for a request to be complete, or for a viewer to take what is sent
EVENTS, REPORT = "events", "report"  # seen from the page


class ReplayServer:
    """Serves one page on the loopback address until closed.

    Attributes:
        url: where the page is, with the token that a request must carry.
        page: what is served there; nothing until it is given.
        methods: requests that are answered.
        protocol: of HTTP; from 1.1 on connections are kept for further requests.
    """

    methods: tuple[str, ...] = ("GET",)
    protocol = "HTTP/1.0"

    def __init__(self, page: bytes | None = None, port: int = 0) -> None:
        """Start serving.

        Raises:
            FileError: the port is taken or not allowed.
        """
        self.page, self._token = page, secrets.token_urlsafe(16)
        try:
            self._server = ThreadingHTTPServer((_HERE[0], port), _handler(self))
        except (OSError, OverflowError) as error:
            raise FileError(f"cannot serve on port {port}: {error}", hint="port 0 picks a free one") from error
        self.url = f"http://{_HERE[0]}:{self._server.server_address[1]}/{self._token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def receive(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request from this machine, refused unless it knows the token."""
        # A foreign name that resolves here must not read the page through somebody's browser.
        here = (handler.headers.get("Host") or "").rsplit(":", 1)[0] in _HERE
        token, _, name = handler.path.removeprefix("/").partition("/")
        if not here or not secrets.compare_digest(token.encode(), self._token.encode()):
            return handler.send_error(403)
        if handler.command not in self.methods:
            return handler.send_error(405)
        return self.answer(handler, name)

    def answer(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        """Answer a request for something beside the page, or for the page itself, which has no name."""
        if name or self.page is None:
            return handler.send_error(404)
        return send_content(handler, self.page)

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


class Stream:
    """Frames for all viewers, as server-sent events; a late viewer gets the last ones."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._viewers: list[Queue[bytes | None]] = []
        self.changed = threading.Condition()

    @property
    def viewers(self) -> int:
        """How many look."""
        return len(self._viewers)

    def send(self, frame: dict[str, Any]) -> None:
        """Show a frame to everybody who looks."""
        message = f"data: {json.dumps(frame, allow_nan=False, separators=(',', ':'))}\n\n".encode()
        with self.changed:
            self._frames.append(message)
            for viewer in tuple(self._viewers):
                self._hand(viewer, message)

    def end(self, said: dict[str, Any]) -> None:
        """Tell everybody that no more comes."""
        with self.changed:
            for viewer in tuple(self._viewers):
                self._hand(viewer, f"event: end\ndata: {json.dumps(said)}\n\n".encode())
                self._hand(viewer, None)

    def forget(self) -> None:
        """Let new viewers begin with the next frame."""
        with self.changed:
            self._frames.clear()

    def _hand(self, viewer: Queue[bytes | None], message: bytes | None) -> None:
        """Put a message into a viewer's queue; a viewer whose queue is full is let go."""
        try:
            viewer.put_nowait(message)
        except Full:
            self._viewers.remove(viewer)
            while True:
                try:
                    viewer.get_nowait()
                except Empty:
                    break
            viewer.put_nowait(None)

    def wait_for_viewer(self, seconds: float) -> bool:
        """Wait for a viewer; return whether there is one."""
        with self.changed:
            return self.changed.wait_for(lambda: bool(self._viewers), seconds)

    def follow(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer with the frames so far, and then each as it comes, until the run or the viewer is gone."""
        viewer: Queue[bytes | None] = Queue(MOST_WAITING)
        with self.changed:
            if len(self._viewers) >= MOST_VIEWERS:
                return handler.send_error(503)
            for message in self._frames:
                viewer.put(message)
            self._viewers.append(viewer)
            self.changed.notify_all()
        try:
            send_content(handler, b"", "text/event-stream", whole=False)
            while (message := viewer.get()) is not None:
                handler.wfile.write(message)
        except OSError:  # the window was closed, or nobody reads
            with self.changed, contextlib.suppress(ValueError):  # let go already
                self._viewers.remove(viewer)


class LiveServer(ReplayServer):
    """Serves the page of a run under way, sends it frames as server-sent events, and at last the report."""

    def __init__(self, port: int = 0) -> None:
        """Start serving; there is no page before `page` is set."""
        self._stream, self._fetched, self._report = Stream(), 0, b""
        super().__init__(port=port)

    def send(self, frame: dict[str, Any]) -> None:
        """Show a frame to everybody who looks."""
        self._stream.send(frame)

    def wait_for_viewer(self, seconds: float) -> bool:
        """Wait for a viewer; return whether there is one."""
        return self._stream.wait_for_viewer(seconds)

    def finish(self, said: str, report: bytes = b"") -> None:
        """Tell the viewers how the run ended, and wait until each has fetched the report, if there is one."""
        changed = self._stream.changed
        with changed:
            self._report, waiting = report, self._stream.viewers if report else 0
        self._stream.end({"said": said, "report": REPORT if report else None})
        with changed:
            changed.wait_for(lambda: self._fetched >= waiting, FETCHING)

    def answer(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        """Answer a request for the page, its events, or the report."""
        if name == EVENTS:
            return self._stream.follow(handler)
        if name != REPORT or not self._report:
            return super().answer(handler, name)
        try:
            return send_content(handler, self._report)
        finally:
            with self._stream.changed:
                self._fetched += 1
                self._stream.changed.notify_all()


def send_content(
    handler: BaseHTTPRequestHandler, content: bytes, kind: str = "text/html", *, whole: bool = True
) -> None:
    """Answer a request; content that is not whole goes on until the connection is closed."""
    handler.send_response(200)
    handler.send_header("Content-Type", f"{kind}; charset=utf-8")
    handler.send_header("Cache-Control", "no-store")
    handler.send_header("Referrer-Policy", "no-referrer")  # the address is a secret
    if whole:
        handler.send_header("Content-Length", str(len(content)))
    else:
        handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(content)


def _handler(server: ReplayServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = PATIENCE
        protocol_version = server.protocol
        disable_nagle_algorithm = True  # a kept connection would wait for more to send

        def do_GET(self) -> None:
            try:
                server.receive(self)
            except ConnectionError:  # whoever asked is gone
                self.close_connection = True

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Keep the terminal quiet."""

    return Handler
