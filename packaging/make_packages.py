"""The plain wheel and the source archive in dist/, with a look at what is in them: `make packages`.

A source archive is what others package from: it has the documentation, the tests and the changelog.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
IN_SOURCE = (
    "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "SECURITY.md", "docs/index.md", "docs/conf.py",
    "packaging/constraints.txt", "pyproject.toml", "src/palpate/__init__.py", "tests/conftest.py",
    "tests/hostile/damage.py",
)  # fmt: skip
IN_WHEEL = ("palpate/__init__.py", "palpate/py.typed", "palpate/cli/main.py", "palpate_documents/__init__.py")


def main(tag: str) -> None:
    """Build, look, and compare the version with that of a tag, if one is given."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if tag and tag != f"v{version}":
        sys.exit(f"the tag is {tag}, and pyproject.toml says {version}")
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("palpate-*"):
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, ROOT], check=True)
    source, wheel = DIST / f"palpate-{version}.tar.gz", DIST / f"palpate-{version}-py3-none-any.whl"
    missing = [*absent_from_source(source, version), *absent_from_wheel(wheel)]
    if missing:
        sys.exit(f"missing: {', '.join(missing)}")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", source, wheel], check=True)
    for file in (source, wheel):
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1e6:.1f} MB")


def absent_from_source(file: Path, version: str) -> list[str]:
    """Files that a source archive should have and has not."""
    with tarfile.open(file) as archive:
        names = set(archive.getnames())
    return [name for name in IN_SOURCE if f"palpate-{version}/{name}" not in names]


def absent_from_wheel(file: Path) -> list[str]:
    """Files that a wheel should have and has not; and what it should not have, tests and documentation."""
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    surplus = [f"(surplus) {name}" for name in names if name.split("/")[0] in ("tests", "docs", "benchmarks")]
    return [name for name in IN_WHEEL if name not in names] + surplus


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
