"""A verified law as a C library: the machine code that was proved is the machine code that runs."""

from palpate.lazy import lazy_names

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Exported": "palpate.exporting.folder",
        "export": "palpate.exporting.folder",
        "load_exported": "palpate.exporting.load",
    },
)
