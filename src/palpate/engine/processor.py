"""The check that this processor can run MuJoCo's library, before it is loaded: without AVX it kills the process."""

from __future__ import annotations

import platform

from palpate.errors import UnsupportedProcessor

_INFO = "/proc/cpuinfo"


def check_processor(info: str | None = None, machine: str | None = None) -> None:
    """Refuse an x86 processor without AVX; where the system does not tell its flags, nothing is refused.

    Args:
        info: what the system tells of its processors; that of this machine if not given.
        machine: kind of processor, such as "x86_64"; this machine's if not given.

    Raises:
        UnsupportedProcessor: MuJoCo's library would end the process with an illegal instruction (SIGILL).
    """
    if (machine or platform.machine()) not in ("x86_64", "AMD64"):
        return
    lines = (_first_processor() if info is None else info).splitlines()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), None)
    if flags is not None and "avx" not in flags:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "it")
        raise UnsupportedProcessor(
            f"MuJoCo's library needs a processor with AVX, and {model} has none",
            hint="another machine, or a virtual machine that passes AVX on; MuJoCo built from its source runs without",
        )


def _first_processor() -> str:
    try:
        with open(_INFO, encoding="utf-8", errors="replace") as file:
            return file.read(8192)
    except OSError:
        return ""
