"""Tables of columns as Parquet files, which pandas, Polars and DuckDB open: written and read here, in NumPy.

What is written is plain: one checksummed page, compressed by zstd, for each column of a group of rows. What others
write is read as far as tables of numbers, texts and lists of texts need it (docs/decisions/0008).
"""

from palpate.parquet.read import Footer, Values, read_columns, read_footer
from palpate.parquet.write import Column, ParquetWriter

__all__ = ["Column", "Footer", "ParquetWriter", "Values", "read_columns", "read_footer"]
