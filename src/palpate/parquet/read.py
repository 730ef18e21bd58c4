"""Reading a Parquet file that palpate wrote: its footer without its pages, or some of its columns.

The reader is strict. Every length is compared with the file, with the limits of `layout` and with free memory before
anything is allocated, and pages must follow each other without gaps, so that no file costs more than its own size
explains.
"""

from __future__ import annotations

from collections.abc import Sequence

from palpate.errors import DamagedTable
from palpate.parquet.column import Values, column_of
from palpate.parquet.footer import FOOTER_END, Footer, check_memory, footer_of, groups_with_rows, needed_bytes
from palpate.parquet.section import Source, footer_bytes, opened_section


def is_ours(source: Source) -> bool:
    """Whether a file ends as those that palpate writes, by the creator that its footer names."""
    with opened_section(source) as section:
        return footer_bytes(section)[0].endswith(FOOTER_END)


def read_footer(source: Source, start: int = 0, size: int | None = None) -> Footer:
    """Read the footer of a Parquet file; nothing is unpacked.

    Args:
        source: the file.
        start, size: the bytes of the file that hold the table; all of them by default.

    Raises:
        DamagedTable: it is no Parquet file that palpate wrote, or damaged.
        FileError: a folder, FIFO or device, or it cannot be read.
    """
    with opened_section(source, start, size) as section:
        return footer_of(section)


def read_columns(
    source: Source,
    names: Sequence[str] | None = None,
    rows: tuple[int, int] | None = None,
    start: int = 0,
    size: int | None = None,
) -> dict[str, Values]:
    """Columns of a Parquet file, all of them if not said, in the order asked for; or rows from … to of them.

    Raises:
        DamagedTable: it is no Parquet file that palpate wrote, damaged, or lacks a column.
        TooLarge: it does not fit into memory.
        FileError: a folder, FIFO or device, or it cannot be read.
    """
    with opened_section(source, start, size) as section:
        footer, cut = footer_of(section, whole=names is None and rows is None), slice(None)
        if rows is not None:
            footer, cut = groups_with_rows(footer, *rows)
        wanted = list(footer.columns if names is None else names)
        for name in wanted:
            if name not in footer._columns:
                raise DamagedTable(f"it has no column {name!r}")
        check_memory(needed_bytes(footer, wanted))
        columns = {name: column_of(section, footer, name) for name in wanted}
    return columns if rows is None else {name: values[cut] for name, values in columns.items()}
