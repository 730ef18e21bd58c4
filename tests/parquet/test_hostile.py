"""Files made to hang a reader or to fill its memory are refused, quickly and in little memory.

The encoder here is a second one, which writes whatever it is told: negative numbers, wrong types, lists without an end.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

from moments import ENDLESS
from palpate.trace import Channel, Outcome, Trace
from palpate.trace.header import header_text

Content = bytes | Callable[[Path], None]
I32, I64, BYTES, LIST, STRUCT = 5, 6, 8, 9, 12
ROWS = 100
ZEROS = bytes(8 * ROWS)
EMPTY = Trace(np.zeros(0), {Channel("x", "1"): np.zeros(0)}, Outcome("completed", "end", 0.0, 0))
HEADER = header_text(EMPTY)
BOMB = 300_000_000

MOST_CALLS, MOST_BYTES = 5_000_000, 200e6  # calls: of functions, some ten million a second
ADDRESS_SPACE = 2 << 30  # what the child may have: a file that needs more is refused, not tried
CHILD = f"""
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
from pathlib import Path
from palpate.errors import PalpateError
from palpate.parquet import read_columns
from palpate.trace import load_trace
from palpate.trace.header import peek
calls = [0]
def count(frame, event, argument):
    calls[0] += event in ("call", "c_call")
def tried(read, path):
    calls[0] = 0
    sys.setprofile(count)
    try:
        outcome = f"read {{len(read(path))}}"
    except PalpateError as error:
        outcome = "refused " + error.args[0][-200:]
    finally:
        sys.setprofile(None)
    return outcome, calls[0]
for line in sys.stdin:
    path = Path(line.rstrip("\\n"))
    readers = [load_trace] if path.suffix == ".parts" else [load_trace, lambda p: peek(p).channels, read_columns]
    results = [tried(read, path) for read in readers]
    peak = next(1024 * int(row.split()[1]) for row in open("/proc/self/status") if row.startswith("VmHWM"))
    print(json.dumps([path.stem, results, peak]), flush=True)
"""


def varint(number: int) -> bytes:
    number &= (1 << 70) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def value(kind: int, content: Any) -> bytes:
    if kind in (I32, I64):
        return zigzag(content)
    if kind == BYTES:
        return varint(len(content)) + content
    if kind == LIST:
        inner, items = content
        return bytes([0xF0 | inner]) + varint(len(items)) + b"".join(value(inner, item) for item in items)
    return content if isinstance(content, bytes) else struct(content)


def struct(fields: dict[int, tuple[int, Any]]) -> bytes:
    out, last = b"", 0
    for number, (kind, content) in fields.items():
        out += bytes([(number - last) << 4 | kind]) + value(kind, content)
        last = number
    return out + b"\0"


def signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def page(body: bytes, count: int = ROWS, packed: bytes | None = None, **other: Any) -> bytes:
    """A page as palpate writes it, but for what is said otherwise."""
    packed = zstd.compress(body) if packed is None else packed
    head = {
        1: (I32, other.get("kind", 0)),
        2: (I32, other.get("size", len(body))),
        3: (I32, other.get("packed_size", len(packed))),
        4: (I32, signed(zlib.crc32(packed))),
        5: (STRUCT, {1: (I32, count), 2: (I32, other.get("encoding", 0)), 3: (I32, 3), 4: (I32, 3)}),
    }
    return struct(head) + packed


def chunk(at: int, length: int, name: bytes = b"x", **other: Any) -> dict[int, Any]:
    about = {
        1: (I32, other.get("type", 5)),
        2: (LIST, (I32, [0, 3])),
        3: (LIST, (BYTES, other.get("path", [name]))),
        4: (I32, other.get("codec", 6)),
        5: (I64, other.get("count", ROWS)),
        6: (I64, other.get("size", len(ZEROS) + 32)),
        7: (I64, other.get("packed", length)),
        9: (I64, other.get("start", at)),
    }
    return {2: (I64, 0), 3: (STRUCT, about)}


def leaf(name: bytes, kind: int = 5, repetition: int = 0) -> dict[int, Any]:
    text = {6: (I32, 0), 10: (STRUCT, {1: (STRUCT, {})})} if kind == 6 else {}
    return {1: (I32, kind), 3: (I32, repetition), 4: (BYTES, name), **text}


def file(pages: list[bytes], footer: bytes, length: int | None = None) -> bytes:
    size = len(footer) if length is None else length
    return b"PAR1" + b"".join(pages) + footer + size.to_bytes(4, "little") + b"PAR1"


def footer(schema: Any, groups: Any, rows: int = ROWS, header: str = HEADER, **other: Any) -> bytes:
    pair = {1: (BYTES, b"palpate"), 2: (BYTES, header.encode())}
    return struct(
        {
            1: (I32, other.get("version", 2)),
            2: (LIST, schema) if isinstance(schema, tuple) else (LIST, (STRUCT, schema)),
            3: (I64, rows),
            4: (LIST, groups) if isinstance(groups, tuple) else (LIST, (STRUCT, groups)),
            5: (LIST, (STRUCT, other.get("pairs", [pair]))),
            6: (BYTES, other.get("creator", b"palpate")),
        }
    )


def schema(*leaves: dict[int, Any], children: int | None = None) -> list[Any]:
    return [{4: (BYTES, b"schema"), 5: (I32, len(leaves) if children is None else children)}, *leaves]


def one(content: bytes, column: dict[int, Any] | None = None, rows: int = ROWS, **other: Any) -> bytes:
    """A file of one column and one page."""
    group = {1: (LIST, (STRUCT, [chunk(4, len(content), count=other.pop("count", rows), **other)])),
             2: (I64, len(content)), 3: (I64, rows)}  # fmt: skip
    return file([content], footer(schema(column or leaf(b"x")), [group], rows))


def two(x: bytes, rows: int = ROWS, **other: Any) -> bytes:
    """A file of the columns time and x: the second page is the strange one."""
    time = page(np.arange(rows, dtype=float).tobytes(), rows)
    first = chunk(
        4,
        len(time),
        b"time",
        count=rows,
        size=8 * rows + len(time) - len(zstd.compress(np.arange(rows, dtype=float).tobytes())),
    )
    second = chunk(4 + len(time), len(x), count=other.pop("count", rows), **other)
    group = {1: (LIST, (STRUCT, [first, second])), 2: (I64, len(time) + len(x)), 3: (I64, rows)}
    return file([time, x], footer(schema(leaf(b"time"), leaf(b"x")), [group], rows))


def levels(*runs: tuple[int, int]) -> bytes:
    content = b"".join(varint(count << 1) + bytes([level]) for count, level in runs)
    return len(content).to_bytes(4, "little") + content


def empty_groups(count: int, group: dict[int, Any]) -> tuple[int, list[Any]]:
    return STRUCT, [struct(group)] * count


def many_columns(count: int) -> bytes:
    content = page(ZEROS)
    listed = [leaf(b"c%d" % k) for k in range(count)]
    group = {
        1: (LIST, (STRUCT, [chunk(4, len(content), b"c%d" % k) for k in range(count)])),
        2: (I64, 9),
        3: (I64, ROWS),
    }
    return file([content], footer(schema(*listed), [group]))


def many_groups(count: int, rows: int) -> bytes:
    """Groups that all show the same page."""
    body = page(bytes(8 * rows), rows)
    group = {
        1: (LIST, (STRUCT, [chunk(4, len(body), count=rows, size=8 * rows + 32)])),
        2: (I64, len(body)),
        3: (I64, rows),
    }
    return file([body], footer(schema(leaf(b"x")), empty_groups(count, group), rows * count))


def honest_groups(count: int) -> bytes:
    """Groups of 65 536 zeros each, everything right: more numbers than memory."""
    rows = 1 << 16
    pages = [page(np.zeros(rows).tobytes(), rows), page(np.zeros(rows).tobytes(), rows)]
    sizes = [8 * rows + len(p) - len(zstd.compress(np.zeros(rows).tobytes())) for p in pages]
    both = b"".join(pages)
    groups = []
    for k in range(count):
        at = 4 + k * len(both)
        chunks = [chunk(at, len(pages[0]), b"time", count=rows, size=sizes[0]),
                  chunk(at + len(pages[0]), len(pages[1]), b"x", count=rows, size=sizes[1])]  # fmt: skip
        groups.append({1: (LIST, (STRUCT, chunks)), 2: (I64, len(both)), 3: (I64, rows)})
    return file([both] * count, footer(schema(leaf(b"time"), leaf(b"x")), groups, rows * count))


def foreign(table: pa.Table, **how: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"palpate": HEADER}), buffer, **how)
    return buffer.getvalue()


def claimed(content: bytes) -> bytes:
    """A foreign file that says at its end that palpate wrote it."""
    end = b"\x07palpate\0"
    length = int.from_bytes(content[-8:-4], "little") + len(end)
    return content[:-8] + end + length.to_bytes(4, "little") + b"PAR1"


def sparse(size: int, content: bytes, head: int = 200) -> Callable[[Path], None]:
    """A file with a hole up to `size` bytes behind its first bytes."""

    def write(path: Path) -> None:
        with open(path, "wb") as out:
            out.write(content[:head])
            out.seek(size)
            out.write(content[head:])

    return write


def part(content: bytes, length: int | None = None) -> bytes:
    return (len(content) if length is None else length).to_bytes(8, "little") + content


def parts(*pieces: bytes, header: str = HEADER) -> bytes:
    return b"palpate parts\n" + part(header.encode()) + b"".join(part(piece) for piece in pieces)


def replaced_header(**changes: str) -> str:
    """The description with some of its JSON replaced by a text."""
    text = json.dumps(json.loads(HEADER) | {key: f"<{key}>" for key in changes})
    for key, replacement in changes.items():
        text = text.replace(f'"<{key}>"', replacement)
    return text


def described(header: str) -> bytes:
    return file([], footer(schema(leaf(b"time"), leaf(b"x")), [], 0, header))


SNAPPY = varint(10_000_000) + b"\x00x" + b"\xfe\x01\x00" * 150_000  # copies of 64 bytes, one byte back


def tables() -> Iterator[tuple[str, Content]]:
    """Names and contents of hostile Parquet files."""
    yield from _footers()
    yield from _counts()
    yield from _pages()
    yield from _texts()
    yield from _descriptions()
    yield from _foreign()


def _footers() -> Iterator[tuple[str, Content]]:
    yield "footer longer than the file", file([], b"\0" * 50, length=1 << 31)
    yield (
        "footer of 60 MB of empty structs",
        file([], b"\x19\xfc" + varint(60_000_000) + bytes(60_000_000) + b"\x07palpate\0"),
    )
    yield (
        "footer of 30 MB of empty structs",
        file([], b"\x15\x04\x19\xfc" + varint(30_000_000) + bytes(30_000_000) + b"\x07palpate\0"),
    )
    yield "footer of 60 MB of text", file([], footer(schema(leaf(b"x" * 60_000_000)), []))
    yield "footer of 20 MB of names", file([], footer(schema(leaf(b"x" * 20_000_000)), []))
    yield "structs a million deep", file([], b"\x15\x04" + b"\x1c" * 1_000_000 + b"\x07palpate\0")
    yield "lists a million deep", file([], b"\x15\x04" + b"\x19\x19" * 500_000 + b"\x07palpate\0")
    yield "schema a thousand deep", file([], footer(schema(*[{4: (BYTES, b"n"), 5: (I32, 1)}] * 1000, children=1), []))
    yield "a list of 2^60 items", file([], b"\x15\x04\x19\xfc" + varint(1 << 60) + b"\0" * 20 + b"\x07palpate\0")
    yield "a number without an end", file([], b"\x15" + b"\xff" * 1_000_000 + b"\x07palpate\0")
    yield "a negative field number", file([], b"\x05\x03\x02" + b"\x07palpate\0")
    yield "three million unknown fields", file([], b"\x13\x00" * 3_000_000 + b"\x07palpate\0")
    yield "40 000 columns", many_columns(40_000)
    yield "19 000 columns over one page", many_columns(19_000)
    yield "a million empty groups", file([], footer(schema(leaf(b"x")), empty_groups(1_000_000, {}), 0))
    yield (
        "a million groups without rows",
        file([], footer(schema(leaf(b"x")), empty_groups(1_000_000, {3: (I64, 0)}), 0)),
    )
    yield "200 000 groups of one row", many_groups(200_000, 1)
    yield "200 000 groups over one page", many_groups(200_000, 65_536)
    yield (
        "no columns, many groups",
        file([], footer(schema(), empty_groups(200_000, {1: (LIST, (STRUCT, [])), 2: (I64, 0), 3: (I64, 9)}), 0)),
    )
    yield "two columns of one name", file([], footer(schema(leaf(b"x"), leaf(b"x")), [], 0))
    yield (
        "a million pairs",
        file([], footer(schema(leaf(b"x")), [], 0, pairs=[struct({1: (BYTES, b"k"), 2: (BYTES, b"")})] * 1_000_000)),
    )
    yield "a name that is no text", file([], footer(schema(leaf(b"\xff\xfe")), [], 0))
    yield "another version", file([], footer(schema(leaf(b"x")), [], 0, version=7))
    yield "another creator", file([], footer(schema(leaf(b"x")), [], 0, creator=b"somebody"))


def _counts() -> Iterator[tuple[str, Content]]:
    good = page(ZEROS)
    yield "negative rows", one(good, rows=-5)
    yield "3e8 rows in one page", one(good, rows=BOMB)
    yield "negative values", one(good, count=-1)
    yield "negative length of a part", one(good, packed=-len(good))
    yield "negative start of a part", one(good, start=-4)
    yield "negative size of a part", one(good, size=-1)
    yield "a part beyond the end", one(good, packed=1 << 40)
    yield "a part of 2^62 bytes", one(good, size=1 << 62, packed=1 << 62)
    yield "more memory than there is", honest_groups(1200)
    yield "a hole of 8 GB", sparse(8 << 30, two(good))
    yield "a hole of 60 GB", sparse(60 << 30, two(good))


def _pages() -> Iterator[tuple[str, Content]]:
    head = len(page(ZEROS, packed=b""))
    for kind in (0, 1, 2, 3):
        content = page(ZEROS, kind=kind, packed_size=-head)
        yield f"a negative page of kind {kind}", two(content, size=8 * ROWS + head)
    yield "a page of negative size", two(page(ZEROS, size=-1), size=head - 1)
    yield "a page of 2 GB", two(page(ZEROS, size=(1 << 31) - 1), size=1 << 31)
    huge = zstd.compress(bytes(BOMB))
    yield "zstd of 300 MB", two(page(ZEROS, packed=huge), size=8 * ROWS + 34)
    pledged = _streamed(bytes(BOMB))
    yield "zstd of 300 MB that does not tell its size", two(page(ZEROS, packed=pledged), size=8 * ROWS + 34)
    some = levels((ROWS, 1)) + bytes(60_000_000)
    wide = {zstd.CompressionParameter.window_log: 27}
    for name, packed in (
        ("zstd of 300 MB for 60 MB", huge),
        ("zstd of 300 MB for 60 MB that does not tell its size", pledged),
        ("zstd of two frames", zstd.compress(some) + huge),
        ("zstd of 60 MB of empty texts", zstd.compress(some)),
        ("zstd with a window of 128 MB", _streamed(some, wide)),
        ("zstd cut in the middle", zstd.compress(some)[:-500]),
    ):
        content = page(some, packed=packed)
        size = len(content) - len(packed) + len(some)
        yield name, one(content, leaf(b"x", 6, 1), type=6, size=size)
    unknown = struct({1: (I32, 9), 2: (I32, 0), 3: (I32, 0), 4: (I32, 0)}) * 3_000_000
    yield "three million pages of no kind", two(unknown)
    yield "a thousand pages", two(page(b"", 0) * 1000)
    for codec, name in (
        (0, "no"),
        (1, "Snappy"),
        (2, "gzip"),
        (3, "LZO"),
        (4, "Brotli"),
        (5, "LZ4"),
        (-1, "a negative"),
    ):
        packed = {1: SNAPPY, 2: zlib.compress(bytes(50_000_000))}.get(codec, ZEROS)
        yield f"{name} compression", two(page(ZEROS, packed=packed), codec=codec)
    for encoding in (2, 4, 5, 8, 9):
        yield f"encoding {encoding}", two(page(ZEROS, encoding=encoding), size=8 * ROWS + head)
    dictionary = page(bytes(80_000_000), 10_000_000, kind=2)
    yield "a dictionary of 1e7 numbers", two(dictionary + page(b"\x20" + b"\xff" * 400, encoding=8), size=80_000_000)
    for kind in (3, 4, 7, 77):
        yield f"values of type {kind}", one(page(ZEROS), leaf(b"x", kind), type=kind)


def _streamed(content: bytes, options: dict[Any, int] | None = None) -> bytes:
    """A frame that does not tell the size of its content."""
    packer = zstd.ZstdCompressor(options=options)
    return packer.compress(content) + packer.flush()


def _texts() -> Iterator[tuple[str, Content]]:
    optional = leaf(b"x", 5, 1)
    missing = page(levels((BOMB, 0)), BOMB)
    yield "3e8 missing rows", one(missing, optional, rows=BOMB, size=100)
    text = leaf(b"x", 6, 1)
    head = len(page(b"", packed=b""))
    empties = levels((65_536, 1)) + bytes(400_000_000)
    yield (
        "1e8 empty texts",
        one(page(empties, 100_000_000), text, rows=65_536, type=6, count=100_000_000, size=len(empties)),
    )
    yield "1e8 empty texts in few rows", one(page(empties, 65_536), text, rows=65_536, type=6, size=len(empties) + head)
    listed = [{3: (I32, 1), 4: (BYTES, b"x"), 5: (I32, 1), 6: (I32, 3), 10: (STRUCT, {3: (STRUCT, {})})},
              {3: (I32, 2), 4: (BYTES, b"list"), 5: (I32, 1)}, leaf(b"element", 6, 1)]  # fmt: skip
    for name, body, count in (
        ("lists of 1e8 texts", levels((1, 0), (10**8 - 1, 1)) + levels((10**8, 3)) + bytes(60_000_000), 10**8),
        ("half a million levels", levels((1, 0), *[(1, 1), (1, 0)] * 250_000) + levels((500_001, 3)), 500_001),
        ("lists that begin in the middle", levels((ROWS, 1)) + levels((ROWS, 3)) + bytes(4 * ROWS), ROWS),
        ("runs of nothing", levels(*[(0, 1)] * 2_000_000) + levels((ROWS, 3)), ROWS),
        ("a run of 2^60", levels((1 << 60, 1)) + levels((1 << 60, 3)), ROWS),
        ("packed levels", b"\x02\0\0\0\xff\xff" + levels((ROWS, 3)), ROWS),
        ("a level of 200", levels((ROWS, 200)) + levels((ROWS, 200)), ROWS),
    ):
        content = page(body, count)
        size = len(content) - len(zstd.compress(body)) + len(body)
        about = chunk(4, len(content), path=[b"x", b"list", b"element"], type=6, count=count, size=size)
        group = {1: (LIST, (STRUCT, [about])), 2: (I64, len(content)), 3: (I64, ROWS)}
        yield name, file([content], footer([{4: (BYTES, b"schema"), 5: (I32, 1)}, *listed], [group]))


def _descriptions() -> Iterator[tuple[str, Content]]:
    for name, header in descriptions():
        yield name, described(header)


def descriptions() -> Iterator[tuple[str, str]]:
    """Descriptions of traces that cost more than they say."""
    yield "30 MB of brackets", "[" * 30_000_000
    yield "ten million empty tables", "[" + "{}," * 10_000_000 + "{}]"
    yield "a million numbers too many", '{"kind":"trace","a":[' + "0," * 1_100_000 + "0]}"
    yield "a number of 20 MB", replaced_header(events="[" + "1" * 20_000_000 + "]")
    yield "a channel of 1e9 columns", replaced_header(channels='[{"name":"x","unit":"1","shape":[1000000000]}]')
    yield (
        "a channel of many dimensions",
        replaced_header(channels='[{"name":"x","unit":"1","shape":[' + "2," * 90_000 + "2]}]"),
    )
    yield (
        "100 000 channels",
        replaced_header(channels="[" + '{"name":"x","unit":"1"},' * 100_000 + '{"name":"y","unit":"1"}]'),
    )
    yield "tables a thousand deep", replaced_header(info='{"world":' + '{"a":' * 1000 + "1" + "}" * 1000 + "}")


def _foreign() -> Iterator[tuple[str, Content]]:
    numbers = pa.table({"time": np.arange(1000.0), "x": np.zeros(1000)})
    for how in (
        {"compression": "snappy"}, {"compression": "gzip"}, {"compression": "brotli"}, {"compression": "lz4"},
        {"compression": "zstd", "data_page_version": "2.0"}, {"compression": "none", "row_group_size": 1},
    ):  # fmt: skip
        name = " ".join(f"{key} {value}" for key, value in how.items())
        yield f"written by pyarrow: {name}", foreign(numbers, **how)
        yield f"written by pyarrow, and it says by palpate: {name}", claimed(foreign(numbers, **how))


def partial_files() -> Iterator[tuple[str, Content]]:
    """Names and contents of hostile .parts files."""
    yield "nothing but the magic", b"palpate parts\n"
    yield "a description of 2^63 bytes", b"palpate parts\n" + part(b"", (1 << 63) - 1) + bytes(100)
    yield "a description of 60 MB", b"palpate parts\n" + part(b"[" * 60_000_000)
    yield (
        "a description in a hole of 60 GB",
        sparse(60 << 30, b"palpate parts\n" + part(b"x" * 300, 59 << 30) + bytes(200)),
    )
    for name, header in descriptions():
        yield f"description: {name}", parts(header=header)
    other = file([], footer(schema(leaf(b"y")), [], 0))
    yield "other columns", parts(other)
    yield (
        "other columns than the description's, 19 000",
        parts(file([], footer(schema(*[leaf(b"c%d" % k) for k in range(19_000)]), [], 0))),
    )
    yield "more parts than memory holds", parts(*[honest_groups(1)] * 1200)


def partial_files_without_samples() -> Iterator[tuple[str, Content]]:
    """Hostile .parts files whose description is good: what comes before the damage, nothing, is what they hold."""
    head = len(page(ZEROS, packed=b""))
    for kind in (0, 1, 2, 3):
        content = two(page(ZEROS, kind=kind, packed_size=-head), size=8 * ROWS + head)
        yield f"a negative page of kind {kind}", parts(content)
    yield "4 × 3e8 rows", parts(*[one(page(levels((BOMB, 0)), BOMB), leaf(b"x", 5, 1), rows=BOMB, size=100)] * 4)
    yield "40 000 columns", parts(many_columns(40_000))
    yield "a million empty parts", parts() + bytes(8) * 1_000_000
    yield "a million parts of one byte", parts() + part(b"x") * 1_000_000
    yield "200 000 groups", parts(many_groups(200_000, 1))
    yield "Snappy", parts(two(page(ZEROS, packed=SNAPPY), codec=1))
    yield "zstd of 300 MB", parts(two(page(ZEROS, packed=zstd.compress(bytes(BOMB))), size=8 * ROWS + 34))
    yield "a part of 2^63 bytes", parts() + part(b"PAR1", (1 << 63) - 1)
    yield "a part in a hole of 60 GB", sparse(60 << 30, parts() + part(two(page(ZEROS)), 59 << 30), len(parts()) + 100)


def write(folder: Path, name: str, content: Content, suffix: str) -> Path:
    path = folder / f"{name.replace('/', '_')}{suffix}"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    return path


def tried(folder: Path, files: Iterable[tuple[str, Content]], suffix: str) -> list[Any]:
    """Each file read in a child process: its name, what came of it and the calls it took, the peak so far in bytes."""
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    results = []
    for name, content in files:
        path = write(folder, name, content, suffix)
        child.stdin.write(f"{path}\n")
        child.stdin.flush()
        results.append(json.loads(child.stdout.readline()))
        path.unlink()
    child.stdin.close()
    child.wait()
    child.stdout.close()
    return results


def check_cost(results: list[Any]) -> None:
    slow = [(name, outcome, calls) for name, each, _ in results for outcome, calls in each if calls > MOST_CALLS]
    large = [(name, peak / 1e6) for name, _, peak in results if peak > MOST_BYTES]
    assert not slow
    assert not large


def test_hostile_tables_are_refused_by_little_work_in_200_megabytes(tmp_path: Path) -> None:
    results = tried(tmp_path, tables(), ".parquet")
    assert len(results) > 80
    described = {name for name, _ in descriptions()}  # tables that are good, of traces that are not
    for name, (trace, _, table), _ in results:
        assert trace[0].startswith("refused"), name
        assert table[0].startswith("refused") != (name in described), (name, table)
    check_cost(results)


def test_hostile_partial_files_are_refused_by_little_work_in_200_megabytes(tmp_path: Path) -> None:
    results = tried(tmp_path, partial_files(), ".parts")
    assert not [(name, each[0]) for name, each, _ in results if not each[0][0].startswith("refused")]
    check_cost(results)


def test_of_a_partial_file_with_hostile_samples_nothing_is_believed(tmp_path: Path) -> None:
    results = tried(tmp_path, partial_files_without_samples(), ".parts")
    assert not [(name, each[0]) for name, each, _ in results if each[0][0] != "read 0"]
    check_cost(results)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_list_of_runs_waits_for_no_fifo_and_no_large_footer(tmp_path: Path) -> None:
    (tmp_path / "runs" / "fifo").mkdir(parents=True)
    os.mkfifo(tmp_path / "runs" / "fifo" / "trace.parquet")
    (tmp_path / "runs" / "large").mkdir()
    large = dict(_footers())["footer of 60 MB of empty structs"]
    write(tmp_path / "runs" / "large", "trace", large, ".parquet")
    done = subprocess.run(
        [sys.executable, "-m", "palpate", "list", "runs"], cwd=tmp_path, capture_output=True, text=True, timeout=ENDLESS
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("damaged") == 2
