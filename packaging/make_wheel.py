"""A wheel for this platform and Python that carries compiled kernels: `make wheel` writes it into dist/.

The kernels are those that runs of the shipped scenarios need, and the equations of every robot of the catalogue,
compiled for any processor of this kind (numba's "generic"). Where the versions at the other end differ, they are passed
over and everything is compiled there as from a plain wheel.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from palpate.engine.compiling.shipped import write_list

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "wheel"
INSIDE = "palpate/engine/shipped"
COMPILE = """
import sys
import palpate as pp
from palpate.robot.catalogue import names
from palpate.scenario.file.folders import shipped
for name in sys.argv[1:] or shipped():
    print(name, flush=True)
    pp.report(pp.simulate(name), "report.html")
for name in names():
    print("equations of", name, flush=True)
    pp.load_robot(name).program.lanes
"""


def main(names: list[str]) -> None:
    """Compile, build, put together."""
    kernels = compile_kernels(names)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", BUILD, ROOT], check=True)
    plain = max(BUILD.glob("palpate-*-none-any.whl"), key=lambda path: path.stat().st_mtime)
    made = put_together(plain, kernels)
    print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.1f} MB, {len(kernels)} files of kernels")


def compile_kernels(names: list[str]) -> list[Path]:
    """Whole runs with their reports in an empty cache; what they compile is kept for the wheel."""
    place = BUILD / "kernels"
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    settings = {"PALPATE_SHIP_KERNELS": place, "NUMBA_CPU_NAME": "generic", "PALPATE_CACHE_DIR": BUILD / "cache"}
    shutil.rmtree(BUILD / "cache", ignore_errors=True)
    environment = os.environ | {key: str(value) for key, value in settings.items()}
    subprocess.run([sys.executable, "-c", COMPILE, *names], check=True, env=environment, cwd=BUILD)
    write_list(place)
    return sorted(place.iterdir())


def put_together(plain: Path, kernels: list[Path]) -> Path:
    """The plain wheel with the kernels inside, marked as one for this platform."""
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{tag}-{tag}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    target = ROOT / "dist" / plain.name.replace("py3-none-any", tag)
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(plain) as source:
        content = {name: source.read(name) for name in source.namelist() if not name.endswith("/")}
    content |= {f"{INSIDE}/{path.name}": path.read_bytes() for path in kernels}
    record = next(name for name in content if name.endswith(".dist-info/RECORD"))
    marks = record.replace("RECORD", "WHEEL")
    text = content[marks].decode().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
    content[marks] = text.replace("py3-none-any", tag).encode()
    del content[record]
    lines = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in content.items()]
    content[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            wheel.writestr(name, data)
    return target


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(sys.argv[1:])
