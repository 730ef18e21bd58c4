"""The commissioning sheet of an export: one page, to be printed and filled in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from palpate.escape.documents import html_text
from palpate.escape.template import Written
from palpate.files import checksum
from palpate.tools.exporting.code.objects import template
from palpate.tools.exporting.code.records import Code
from palpate.tools.exporting.commissioning import ERROR, FORCE, SHOWN, Expected
from palpate.tools.exporting.draft import LATEST, Draft
from palpate.tools.exporting.guarding import GUARDS

_ENDING = (Code.NOT_FINITE, Code.LATE, Code.EARLY, Code.INTERVAL, Code.JOINT_JUMP, Code.TARGET_JUMP, Code.JOINT_RANGE,
           Code.JOINT_SPEED, Code.STOPPED, Code.NO_POSTURE)  # fmt: skip


def commissioning_sheet(
    draft: Draft, expected: list[Expected], files: dict[str, bytes], facts: dict[str, Any], values: dict[str, Any]
) -> str:
    """The page; `values` are those of the folder's other texts."""
    runs = max((each.runs for each in expected), default=0)
    return template(
        "sheet.html",
        values
        | {
            "RUNS": f"{runs} runs of each: as the scenario, without joint friction, commands two periods later",
            "STEPS": Written("\n".join(_row(k + 1, each) for k, each in enumerate(expected))),
            "ENDS": Written(_ends(draft)),
            "FRICTION_NOTE": _friction_note(expected),
            "HASHES": Written("<br>".join(_hashes(files))),
            "TICKS": facts["ticks"],
            "DIFFERENCE": f"{facts['difference']:.1g}",
            "REPLAY_NOTE": _replay_note(facts),
            "NUMBA": version("numba"),
            "LLVMLITE": version("llvmlite"),
            "NUMPY": version("numpy"),
        },
    )


def _row(number: int, each: Expected) -> str:
    """A step as a row of the table."""
    lines = [
        f"{name.rpartition(', ')[0]}: <b>{_band(band)}</b>&nbsp;{html_text(name.rpartition(', ')[2])}"
        for name, band in each.bands.items()
    ]
    lines += [f'<span class="warn">{html_text(f"{name}: {why}")}</span>' for name, why in each.ended.items()]
    told = "".join(f"<br>{html_text(name)} {_values(values)}" for name, values in each.gains.items())
    title = f"<b>{number}. {html_text(each.step.title)}</b><br>{_seconds(each)}{told}"
    cells = ("<br>".join(lines), _limit(each), "<br>".join("______" for _ in each.bands))
    row = f"<tr><td>{title}</td><td>{cells[0]}</td><td>{cells[1]}</td>"
    return f'{row}<td class="n">{cells[2]}</td><td class="box">☐ pass<br>☐ fail</td></tr>'


def _seconds(each: Expected) -> str:
    cut = each.seconds < each.whole
    return f"the first {each.seconds:.4g} s of {each.whole:.4g} s" if cut else f"{each.seconds:.4g} s"


def _values(values: tuple[float, ...]) -> str:
    """Numbers of a setting, those that repeat once: 40 (3×), 3 (3×)."""
    groups = [(f"{value:.4g}", len(list(same))) for value, same in itertools.groupby(values)]
    return ", ".join(text if count == 1 else f"{text} ({count}×)" for text, count in groups)


def _band(band: tuple[float, float]) -> str:
    low, high = (f"{x:.3g}" if abs(x) >= SHOWN else "0.00" for x in band)
    return low if low == high else f"{low} … {high}"


def _limit(each: Expected) -> str:
    """Where a step is to be ended by hand, beside the guards."""
    force, error = each.end_at(FORCE), each.end_at(ERROR)
    return f"force above {force:.3g}&nbsp;N<br>tool error above {error:.3g}&nbsp;mm<br>hum, knock, a code"


def _friction_note(expected: list[Expected]) -> str:
    most = max((each.friction for each in expected), default=0.0)
    if most < SHOWN:
        return ""
    return (
        "An arm that estimates the force from its joint torques counts joint friction as force, here up to"
        f" {most:.2g} N: the limits contain it, the expected forces do not."
    )


def _ends(draft: Draft) -> str:
    meant = {code: code.meaning.replace("LATEST", f"{LATEST:g}") for code in _ENDING}
    codes = "; ".join(f"{code.name} ({code.value}): {html_text(about)}" for code, about in meant.items())
    off = [name for name in GUARDS if name not in draft.on]
    note = f' <span class="warn">Guards that are off: {", ".join(off)}.</span>' if off else ""
    ramp = "then a ramp to damping with gravity until reset" if "ramp" in draft.on else "then torque 0"
    return f"The library by itself, {ramp}: {codes}.{note} You: the enabling device, or <code>{draft.name}_stop</code>."


def _hashes(files: dict[str, bytes]) -> Iterator[str]:
    for name, data in sorted(files.items()):
        if name.endswith((".a", ".wasm", "vectors.bin")):
            yield f"{html_text(name)} <code>{html_text(checksum(data))}</code>"


def _replay_note(facts: dict[str, Any]) -> str:
    parts = [f"; a guard ends it: {facts['stopped']}"] if facts["stopped"] else []
    parts += [f"; torque or rate cut at {facts['limited_ticks']} ticks"] if facts["limited_ticks"] else []
    return "".join(parts)
