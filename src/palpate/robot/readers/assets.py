"""Files a model names, meshes and includes: they must lie below its folder or a declared package root."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

MAX_MESH_BYTES = 256 * 2**20
_STL_HEADER, _STL_FACE = 84, 50
# What the engine's decoders take.
_DRAWABLE = (".stl", ".obj", ".msh")
_MAX_STL_FACES = 200_000
_LEVELS_UP = 6  # how far above the model a package may begin


_recorded_files: ContextVar[set[Path] | None] = ContextVar("files that were found", default=None)


@contextmanager
def noting_files() -> Iterator[set[Path]]:
    """The files that models read inside this block have named, and what lets them be found: for another machine."""
    files: set[Path] = set()
    token = _recorded_files.set(files)
    try:
        yield files
    finally:
        _recorded_files.reset(token)


def _record(path: Path | None) -> None:
    files = _recorded_files.get()
    if files is not None and path is not None:
        files.add(path)


@dataclass(frozen=True)
class Asset:
    """Where a file name of a model leads.

    Attributes:
        path: the existing file, or None.
        escapes: it leads out of every allowed folder, or onto the network.
    """

    path: Path | None
    escapes: bool = False


def find_asset(name: str, folder: Path, package_roots: Sequence[Path] = (), beside: Path | None = None) -> Asset:
    """Looks up a plain name, `file://` or `package://` address without ever leaving the allowed folders.

    Allowed are the model's folder, the declared roots, the ROS package the model lies in (the nearest folder above it
    with a `package.xml`), and for `package://p/…` the folder p itself, found at a root or on the way up from the model.
    Symbolic links are followed first, so a link cannot lead out either.

    Args:
        name: the file name as the model gives it.
        folder: the folder of the model file.
        package_roots: further allowed folders; `package://p/x` is searched as root/p/x, and as root/x where
            the root itself is called p.
        beside: the folder of the included file that names the asset; a plain name is looked up there too.
    """
    home = folder.resolve()
    allowed = [home, *(Path(root).resolve() for root in package_roots), *enclosing_package(home)]
    scheme, _, uri_path = name.partition("://")
    if not uri_path:
        candidates = [folder / name, *([beside / name] if beside else [])]
    elif scheme == "file":
        candidates = [Path(unquote(uri_path))]
    elif scheme in ("package", "model"):
        packages = _packages_above(uri_path.lstrip("/").partition("/")[0], home)
        candidates = _package_candidates(uri_path.lstrip("/"), [*allowed, *packages])
        allowed += packages
    else:
        return Asset(None, escapes=True)
    try:
        resolved = [candidate.resolve() for candidate in candidates]
        inside = [path for path in resolved if any(path.is_relative_to(root) for root in allowed)]
        asset_path = next((path for path in inside if path.is_file()), None)
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL in it, a ring of links
        return Asset(None)
    _record(asset_path)
    return Asset(asset_path, escapes=not inside)


def folders_above(home: Path) -> list[Path]:
    """The folders over the model, nearest first; never the root of the file system."""
    return [home, *(parent for parent in list(home.parents)[:_LEVELS_UP] if parent != parent.parent)]


def enclosing_package(home: Path) -> list[Path]:
    """The ROS package a model lies in, or nothing."""
    try:
        package = next(parent for parent in folders_above(home) if (parent / "package.xml").is_file())
        _record(package / "package.xml")
        return [package]
    except (OSError, StopIteration):
        return []


def _packages_above(package: str, home: Path) -> list[Path]:
    """Folders called `package` on the way up from the model, or beside that way."""
    if package in ("", ".", ".."):
        return []
    try:
        return [
            *(parent for parent in folders_above(home) if parent.name == package),
            *((parent / package).resolve() for parent in folders_above(home) if (parent / package).is_dir()),
        ]
    except (OSError, ValueError):
        return []


def mesh_problem(path: Path) -> str | None:
    """The problem of a mesh file (too large, empty, an STL whose face count does not fit its size), or None."""
    size = path.stat().st_size
    if size > MAX_MESH_BYTES:
        return f"has {size / 2**20:.0f} MiB, the limit is {MAX_MESH_BYTES // 2**20} MiB"
    if size == 0:
        return "is empty"
    faces = _stl_faces(path)
    if faces is not None and _STL_HEADER + faces * _STL_FACE > size:
        return f"claims {faces} faces, its {size} bytes hold {(size - _STL_HEADER) // _STL_FACE}"
    return None


def undrawable(path: Path) -> str | None:
    """Why MuJoCo cannot take a sound mesh file: a format it does not know, or too many faces."""
    if path.suffix.lower() not in _DRAWABLE:
        return f"is of a kind MuJoCo does not read (it reads {', '.join(_DRAWABLE)})"
    faces = _stl_faces(path)
    if path.suffix.lower() == ".stl" and faces is None:
        return "is an STL written as text, and MuJoCo reads binary ones"
    if faces is not None and not 1 <= faces <= _MAX_STL_FACES:
        return f"has {faces} faces, and MuJoCo takes 1 to {_MAX_STL_FACES}"
    return None


def _stl_faces(path: Path) -> int | None:
    """The number of faces a binary STL claims; None for any other file."""
    with path.open("rb") as file:
        header = file.read(_STL_HEADER)
    text = header.startswith(b"solid") and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in header)
    if path.suffix.lower() != ".stl" or len(header) < _STL_HEADER or text:
        return None
    return int(struct.unpack_from("<I", header, 80)[0])


def _package_candidates(package_path: str, allowed: Sequence[Path]) -> list[Path]:
    package, _, inner = package_path.partition("/")
    beside = [root / package_path for root in allowed]
    itself = [root / inner for root in allowed if root.name == package]
    return itself + beside
