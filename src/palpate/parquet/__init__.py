"""Tables of columns as Parquet files, which pandas, Polars and DuckDB open: written and read here, in NumPy.

What is written is plain: one checksummed page, compressed by zstd, for each column of a group of rows. Exactly that is
read back, every length checked before anything is allocated; tables of other programs are read through pyarrow
(docs/decisions/0008).
"""

from palpate.parquet.column import Values
from palpate.parquet.footer import Footer, check_memory
from palpate.parquet.foreign import read_numbers
from palpate.parquet.layout import Column
from palpate.parquet.read import is_ours, read_columns, read_footer
from palpate.parquet.write import ParquetWriter

__all__ = [
    "Column", "Footer", "ParquetWriter", "Values", "check_memory", "is_ours", "read_columns", "read_footer",
    "read_numbers",
]  # fmt: skip
