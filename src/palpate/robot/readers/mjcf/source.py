"""An MJCF file with its includes put in place, and every file it names looked at before MuJoCo may open it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from palpate.robot.readers.assets import Asset, find_asset, mesh_problem
from palpate.robot.readers.findings import UNDRAWN, quoted
from palpate.robot.readers.xmlfile import Element, Report, Source, parse, read_bytes

_MAX_INCLUDES = 100
_LOOKS = ("texture", "skin")


@dataclass
class MjcfSource:
    """An MJCF file with its includes.

    Attributes:
        root: its root element, or None.
        safe: whether MuJoCo may open the file: no path escapes the model's folder, no include is broken.
        missing: meshes that are not there, by name, each with the element that names it.
    """

    root: Element | None
    safe: bool
    missing: dict[str, Element] = field(default_factory=dict)


def load_mjcf(path: Path, report: Report, package_roots: Sequence[Path] = ()) -> MjcfSource:
    """The file, includes resolved and every file it names looked up."""
    loader = _Loader(path, report, package_roots)
    root = loader.root(path)
    if root is not None and root.tag != "mujoco":
        report.error(root, f"the root element is <{root.tag}>", "an MJCF file starts with <mujoco>", line=root.line)
        return MjcfSource(None, False)
    if root is not None:
        loader.resolve(root, (path.resolve(),))
        loader.check_files(root)
    return MjcfSource(root, loader.safe and root is not None, loader.missing)


class _Loader:
    def __init__(self, path: Path, report: Report, package_roots: Sequence[Path], attached: bool = False) -> None:
        self.folder, self.report, self.package_roots, self.attached = path.parent, report, package_roots, attached
        self.safe = True
        self.count = 0
        self.missing: dict[str, Element] = {}
        self.folders: dict[str, Path] = {}  # of each file that was read, by its name

    def root(self, path: Path, name: str | None = None) -> Element | None:
        report = Report(name or self.report.file)
        data = read_bytes(path, report)
        root = parse(Source(report.file, data), report) if data else None
        self.folders[report.file] = path.parent
        self.report.findings += report.findings
        self.safe = self.safe and root is not None
        return root

    def resolve(self, root: Element, chain: tuple[Path, ...]) -> None:
        """Puts the content of every include where it stands; `chain` are the files being read."""
        for element in list(root.walk()):
            if any(child.tag == "include" for child in element.children):
                children = element.children[:]
                element.children.clear()
                for child in children:
                    element.children += self._included(child, chain) if child.tag == "include" else [child]
                for child in element.children:
                    child.parent = element

    def _included(self, include: Element, chain: tuple[Path, ...]) -> list[Element]:
        name = include.attributes.get("file", "")
        asset = find_asset(name, self.folder, self.package_roots, chain[-1].parent)
        if asset.escapes or asset.path is None:
            self._refuse_path(include, name, asset.escapes)
            return []
        if asset.path in chain:
            way = " → ".join(path.name for path in (*chain, asset.path))
            return self._refuse(include, f"the include chain {way} is cyclic", "a file cannot include itself")
        self.count += 1
        if self.count > _MAX_INCLUDES:
            return self._refuse(include, f"more than {_MAX_INCLUDES} includes", "the limit protects the engine")
        root = self.root(asset.path, self._shown(asset.path))
        if root is None:
            return []
        self.resolve(root, (*chain, asset.path))
        return root.children

    def check_files(self, root: Element) -> None:
        """Follows every file name: meshes, textures, height fields, sub-models."""
        folders = self._asset_folders(root)
        for element in root.walk():
            for attribute, name in element.attributes.items():
                if attribute.startswith("file") and name:
                    self._check_file(element, name, folders)

    def _asset_folders(self, root: Element) -> dict[str, str]:
        folders: dict[str, str] = {}
        for compiler in root.all("compiler"):
            for key in ("assetdir", "meshdir", "texturedir"):
                if key in compiler.attributes:
                    folders[key] = compiler.attributes[key]
        return folders

    def _check_file(self, element: Element, name: str, folders: dict[str, str]) -> None:
        key = "meshdir" if element.tag in ("mesh", "skin", "flexcomp") else "texturedir"
        folder = folders.get(key, folders.get("assetdir", "")) if element.tag != "model" else ""
        asset = self._found(element, str(Path(folder) / name), name)
        if element.tag in _LOOKS:
            return  # never opened: textures and skins are taken off before the model is compiled
        if asset.path is None and element.tag == "mesh" and not self.attached:
            self._note_missing(element, name, asset.escapes)
        elif asset.path is None:
            self._refuse_path(element, name, asset.escapes)
        elif element.tag == "model":
            self._check_submodel(element, asset.path)
        elif problem := mesh_problem(asset.path):
            self._refuse(element, f"file={quoted(name)}", f"the mesh {problem}")

    def _found(self, element: Element, path: str, name: str) -> Asset:
        """As MuJoCo looks it up: in the model's asset folder, then beside the included file that names it."""
        asset = find_asset(path, self.folder, self.package_roots)
        own = self.folders.get(element.source.file, self.folder)
        return asset if asset.path or own == self.folder else find_asset(name, own, [self.folder, *self.package_roots])

    def _note_missing(self, element: Element, name: str, escapes: bool) -> None:
        """A mesh is only looks, unless a body's mass is computed from it: then the compilation refuses."""
        called = element.attributes.get("name") or name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
        self.missing[called] = element
        rule = "the path escapes the model's folder" if escapes else "file not found"
        hint = "declare its folder as a package root" if escapes else ""
        self.report.warning(element, f"file={quoted(name)}", f"{rule}; {UNDRAWN}", hint)

    def _shown(self, path: Path) -> str:
        home = self.folder.resolve()
        return str(path.relative_to(home)) if path.is_relative_to(home) else str(path)

    def _check_submodel(self, element: Element, path: Path) -> None:
        """A sub-model is another file's whole model: it is checked for its paths alone, MuJoCo reads the rest."""
        self.count += 1
        if self.count > _MAX_INCLUDES:
            self._refuse(element, f"more than {_MAX_INCLUDES} files", "the limit protects the engine")
            return
        root = self.root(path, self._shown(path))
        if root is not None:
            inner = _Loader(path, self.report, self.package_roots, attached=True)
            inner.count = self.count
            inner.resolve(root, (path,))
            inner.check_files(root)
            self.safe = self.safe and inner.safe
            self.count = inner.count

    def _refuse_path(self, element: Element, name: str, escapes: bool) -> None:
        if escapes:
            hint = "move the file below the model's folder, or declare its folder as a package root"
            self._refuse(element, f"file={quoted(name)}", "the path escapes the model's folder", hint)
        else:
            self._refuse(element, f"file={quoted(name)}", "file not found")

    def _refuse(self, element: Element, problem: str, rule: str, hint: str = "") -> list[Element]:
        self.safe = False
        self.report.error(element, problem, rule, hint)
        return []
