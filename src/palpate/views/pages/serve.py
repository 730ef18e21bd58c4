"""A page served to this machine alone."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from palpate.errors import FileError

_HERE = ("127.0.0.1", "localhost")


class ReplayServer:
    """Serves one page on the loopback address until closed.

    Attributes:
        url: where the page is.
    """

    def __init__(self, page: bytes, port: int = 0) -> None:
        """Start serving.

        Raises:
            FileError: the port is taken or not allowed.
        """
        try:
            self._server = ThreadingHTTPServer((_HERE[0], port), _handler(page))
        except (OSError, OverflowError) as error:
            raise FileError(f"cannot serve on port {port}: {error}", hint="port 0 picks a free one") from error
        self.url = f"http://{_HERE[0]}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

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


def _handler(page: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A foreign name that resolves here must not read the page through somebody's browser.
            if (self.headers.get("Host") or "").rsplit(":", 1)[0] not in _HERE:
                return self.send_error(403)
            if self.path != "/":
                return self.send_error(404)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            return None

        def log_message(self, format: str, *args: object) -> None:
            """Keep the terminal quiet."""

    return Handler
