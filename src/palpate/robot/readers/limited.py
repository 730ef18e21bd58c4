"""Runs one of our scripts within limits of time and memory, and perhaps without the right to write files.

Called as `python -I limited.py SECONDS BYTES WRITES SCRIPT ARGUMENT…`, WRITES being 0 or 1. It imports nothing of
palpate, so that start-up stays short, and sets the limits before the script loads a library.
"""

import contextlib
import math
import runpy
import sys

if __name__ == "__main__":
    seconds, memory, writes, *sys.argv = sys.argv[1:]
    with contextlib.suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        cpu = math.ceil(float(seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2))  # a signal first, then the end
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if writes == "0":
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    runpy.run_path(sys.argv[0], run_name="__main__")
