"""A worker of a local sweep, as a process of its own: `python -m palpate.study.serve`.

It reads chunks from its standard input and answers on its standard output, each message a length and a pickle. It ends
when its input ends, so that it never outlives the sweep that started it.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
from typing import Any, BinaryIO

from palpate.errors import PalpateError

_LENGTH = struct.Struct("<Q")


def send(stream: BinaryIO, message: object) -> None:
    """Write one message."""
    content = pickle.dumps(message, protocol=5)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; EOFError where there is none."""
    head = stream.read(_LENGTH.size)
    size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
    content = stream.read(size)
    return pickle.loads(content if len(content) == size else b"")  # EOFError on nothing: a half message is none


def main() -> None:
    """Answer chunks until there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the sweep's to handle
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not get between the messages
    from palpate.study.worker import run_chunk

    send(answers, "ready")
    while True:
        try:
            job, tasks = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            send(answers, run_chunk(job, tasks))
            if gc.get_freeze_count() == 0:  # what the first chunk has made stays: it need not be looked through again
                gc.collect()
                gc.freeze()
        except PalpateError as error:
            send(answers, error)
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
