"""Kernels that come with a wheel, behind those that this machine has compiled.

They are compiled where the wheel was built, for any processor of its kind. `make wheel` puts them into the folder
`engine/shipped/`, with a list of their checksums. A shipped kernel serves where the versions of Python (major and
minor), numba, llvmlite and MuJoCo and the text of every source that it is made of are those of the build; anything else
is compiled as if nothing had been shipped. What this machine has compiled itself is taken first. Files that more people
can write to than to palpate's own modules are not used.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from palpate.engine.compiling.cache import SHAPING, KernelStore, Origin, folder_in_use, packages, stamp
from palpate.engine.compiling.kernel_files import SUFFIX, WRITE_BY_OTHERS, Folder, KeptKernel, checksum
from palpate.engine.compiling.sources import digest_of_files, is_ours, sources_of

_SOURCE_ROOT = Path(__file__).parents[3]
_HERE = Path(__file__).parents[1] / "shipped"  # kernels that come with the wheel
LIST = "checksums.txt"


def shipping_folder() -> Path | None:
    """Where kernels are put to be shipped, while a wheel is built: `PALPATE_SHIP_KERNELS`."""
    named = os.environ.get("PALPATE_SHIP_KERNELS")
    return Path(named) if named else None


@cache
def _shipped_folder() -> Folder | None:
    """The folder of shipped kernels, or the one to fill; None if there is none, or it is less guarded than the code."""
    try:
        folder = Folder.opened(shipping_folder() or _HERE)
    except OSError:
        return None
    mine, code = folder.status(), os.stat(Path(__file__).parent)
    open_to_others = mine.st_mode & ~code.st_mode & WRITE_BY_OTHERS
    return None if open_to_others or mine.st_uid not in (0, code.st_uid) else folder


@cache
def shipped_stamp(file: Path) -> str:
    """A digest of everything that a shipped kernel in `file` is made of; no folder of this machine is in it."""
    python = ".".join(platform.python_version_tuple()[:2])
    return digest_of_files(sources_of(file), ", ".join([python, sys.platform, platform.machine(), *packages()]))


@cache
def shipped_checksums() -> dict[str, str]:
    """The checksum of every shipped kernel, by the name of its file."""
    folder = _shipped_folder()
    text = (folder.read(LIST) if folder is not None else None) or b""
    lines = (line.split() for line in text.decode("ascii", "replace").splitlines())
    return {words[1]: words[0] for words in lines if len(words) == 2}


def write_list(folder: Path) -> None:
    """Write the list of checksums of all kernels in a folder."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix == SUFFIX)
    lines = [f"{checksum((folder / name).read_bytes())}  {name}\n" for name in names]
    (folder / LIST).write_text("".join(lines))


def is_compiled(file: Path, function: str) -> bool:
    """Whether a kernel of these very sources is kept, or came with the wheel."""
    stores = (folder_in_use().folder.names(), stamp(file)), (shipped_checksums(), shipped_stamp(file))
    return any(
        name.startswith(f"{file.stem}.{function}-") and f"-{digest[:12]}-" in name
        for names, digest in stores
        for name in names
    )


class _ShippedStore(KernelStore):
    """The shipped kernels of one origin."""

    def data(self, name: str) -> bytes | None:
        """Content of a file whose checksum is on the list."""
        data = super().data(name) if name in shipped_checksums() else None
        return data if data is not None and checksum(data) == shipped_checksums()[name] else None


class KernelCache:
    """The kept kernels of one origin, with what was shipped behind them, which is made for any processor."""

    def __init__(self, origin: Origin) -> None:
        file, folder = origin.file, _shipped_folder()
        self.kept = KernelStore(origin, folder_in_use().folder, stamp(file), str(file))
        self.shipped = None
        if is_ours(file) and _has_default_settings() and folder is not None:
            self.shipped = _ShippedStore(origin, folder, shipped_stamp(file), file.relative_to(_SOURCE_ROOT).as_posix())

    def read(self, signature: str, processor: str) -> Iterator[KeptKernel]:
        """This machine's kernel, then the shipped one."""
        for store, made_for in ((self.kept, processor), (self.shipped, _any_processor())):
            kernel = store.read(signature, made_for) if store is not None else None
            if kernel is not None:
                yield kernel

    def write(self, signature: str, processor: str, kernel: KeptKernel) -> None:
        """Keep a kernel; to be shipped as well while a wheel is built."""
        self.kept.write(signature, processor, kernel)
        if self.shipped is not None and shipping_folder() is not None:
            self.shipped.write(signature, _any_processor(), kernel)


def _any_processor() -> str:
    return f"{sys.platform} {platform.machine()}"


@cache
def _has_default_settings() -> bool:
    """Whether nothing shapes machine code otherwise than when the wheel was built; there the processor is named."""
    named = [name for name in SHAPING if os.environ.get(f"NUMBA_{name}")]
    return not named or (shipping_folder() is not None and named == ["CPU_NAME"])
