"""Forget compiled kernels whose sources changed.

Numba's cache watches only the file a kernel stands in, not the files whose functions were compiled into it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

_KERNELS = re.compile(rb"\b(register_jitable|kernel|njit|law_kernel|intrinsic)\b")
_IMPORT = re.compile(rb"^from palpate\.([\w.]+) import", re.MULTILINE)
_ROOMS = ("spatial", "robot", "contact", "world", "control", "run")


def drop_stale_kernels(package: Path) -> None:
    """Delete the cached kernels of every file that, or whose kernel imports, changed since they were compiled."""
    stamp = package / "__pycache__" / "kernels.json"
    now = _fingerprints(package)
    try:
        before = json.loads(stamp.read_text()) if stamp.is_file() else {}
        changed = {name for name in now if before.get(name) != now[name]}
        if not changed:
            return
        for name in changed:
            source = package / name
            for cached in (source.parent / "__pycache__").glob(f"{source.stem}.*.nb[ic]"):
                cached.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(json.dumps(now, indent=0, sort_keys=True))
    except (OSError, ValueError):
        return  # where nobody may write beside the sources there is no cache there, and sources do not change


def _fingerprints(package: Path) -> dict[str, str]:
    """For each file with kernels: a digest of itself and of every file with kernels it leads to."""
    texts = {}
    for file in [package / "engine.py", *(f for room in _ROOMS for f in sorted((package / room).glob("**/*.py")))]:
        text = file.read_bytes()
        if _KERNELS.search(text) or file.name == "engine.py":
            texts[str(file.relative_to(package).as_posix())] = text
    links = {name: _imports(text) & texts.keys() for name, text in texts.items()}
    return {name: _digest(name, texts, links) for name in texts}


def _imports(text: bytes) -> set[str]:
    return {found.decode().replace(".", "/") + ".py" for found in _IMPORT.findall(text)}


def _digest(name: str, texts: dict[str, bytes], links: dict[str, set[str]]) -> str:
    reached, waiting = {name}, [name]
    while waiting:
        fresh = links[waiting.pop()] - reached
        reached |= fresh
        waiting += fresh
    digest = hashlib.sha256()
    for part in sorted(reached):
        digest.update(part.encode() + b"\0" + texts[part])
    return digest.hexdigest()
