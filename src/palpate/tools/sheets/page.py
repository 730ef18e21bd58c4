"""A judged document as a page: as it is written, every formula marked, mistakes circled, corrections beside them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from palpate.escape.documents import html_text
from palpate.tools.sheets.result import Finding, Sheet

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WORDS = {
    "agrees": "right", "differs": "wrong", "convention": "another convention", "skipped": "not judged", "used": "used",
}  # fmt: skip


def sheet_page(sheet: Sheet) -> str:
    """The page as HTML; it needs nothing else."""
    style = (resources.files("palpate.tools.sheets") / "page.css").read_text(encoding="utf-8")
    title = html_text(sheet.source.name)
    rows = "\n".join(_rows(sheet))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{style}</style></head><body><header><h1>{title}</h1>{_head(sheet)}</header>"
        f"<main>{rows}</main></body></html>\n"
    )


def _head(sheet: Sheet) -> str:
    counts = [
        (len(sheet.of("agrees")), "right"), (len(sheet.of("differs")), "wrong"),
        (len(sheet.of("convention")), "in another convention than the rest"), (len(sheet.of("skipped")), "not judged"),
    ]  # fmt: skip
    parts = [f'<span class="count"><b>{count}</b> {words}</span>' for count, words in counts if count]
    once = "".join(f"<p>Throughout: {html_text(one)}</p>" for one in sheet.throughout)
    return f"<p>{''.join(parts)}</p>{once}"


def _rows(sheet: Sheet) -> Iterator[str]:
    text = sheet.source.text
    marks = _changes(sheet)
    at = 0
    for line in text.split("\n"):
        end = at + len(line)
        begun = [one for one in sheet.findings if at <= one.start <= end and one.mark != "used"]
        number = sheet.source.line(at)
        noted = " noted" if any(one.mark in ("differs", "convention") for one in begun) else ""
        yield (
            f'<div class="row{noted}"><div class="n">{number}</div><pre>{_marked(text, at, end, marks)}</pre>'
            f"<aside>{''.join(map(_note, begun))}</aside></div>"
        )
        at = end + 1


def _changes(sheet: Sheet) -> list[tuple[int, str, str]]:
    """Where the marking changes: from each position on, the mark and whether it is a slip."""
    points = {0}
    for one in sheet.findings:
        points |= {one.start, one.end}
        points |= {edge for span in one.spans for edge in span}
    slips = [span for one in sheet.findings for span in one.spans if one.mark == "differs"]
    made = []
    for at in sorted(points):
        mark = next((one.mark for one in sheet.findings if one.start <= at < one.end), "")
        slip = any(first <= at < last and last - first < _LONG for first, last in slips)
        made.append((at, str(mark), "slip" if slip else ""))
    return made


_LONG = 80  # characters: a slip in a longer part (a missing term) is not circled


def _marked(text: str, start: int, end: int, changes: list[tuple[int, str, str]]) -> str:
    """A line of the document with its marks."""
    edges = [at for at, *_ in changes if start < at < end]
    made = ""
    for first, last in zip([start, *edges], [*edges, end]):
        _, mark, slip = max(change for change in changes if change[0] <= first)
        piece = html_text(text[first:last])
        piece = f'<i class="slip">{piece}</i>' if slip and piece.strip() else piece
        made += f'<mark class="{mark}">{piece}</mark>' if mark and piece else piece
    return made or " "


def _note(one: Finding) -> str:
    """The note beside a formula."""
    number = f" ({html_text(one.number)})" if one.number else ""
    title = html_text(one.title or one.label)
    head = f'<b class="{one.mark}">{_WORDS[one.mark]}</b> {title}{number}'
    lines = [head]
    if one.mark == "skipped":
        lines = [f"<small>{_WORDS['skipped']}: {html_text(one.reason)}</small>"]
    lines += [f"<br>{html_text(slip)}" for slip in one.slips if one.mark == "differs"]
    if one.correction:
        lines.append(f"<code>{html_text(one.correction)}</code>")
    if one.verdict is not None and one.verdict.convention:
        lines.append(f"<br><small>{html_text(one.verdict.convention)}</small>")
    lines += [f"<br><small>{html_text(note)}</small>" for note in one.notes if not note.endswith("of 6")]
    return f'<div class="{one.mark}">{"".join(lines)}</div>'
