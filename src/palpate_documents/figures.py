"""The documents' figures, drawn again, and with the corrected physics where it differs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from palpate.files import atomic_write, make_folder
from palpate.lazy import check_extra
from palpate_documents.d000.figures import draw_balancing
from palpate_documents.d001.figures import draw_geometry, draw_rates, draw_stop
from palpate_documents.d002.figures import draw_coded_force, draw_true_force
from palpate_documents.d003.figures import draw_pendulum, draw_planar_arm
from palpate_documents.d004.figures import admittance_drawing, draw_fall
from palpate_documents.library import DOCUMENTS


def draw_figures(folder: str | os.PathLike[str], numbers: Sequence[str] = ()) -> list[Path]:
    """Draw the figures of some documents (all by default) as PNG files into a folder; their paths.

    Raises:
        FileError: the folder cannot be made or written to.
    """
    directory = Path(folder)
    check_extra("matplotlib", "figures", "a figure as a file")
    make_folder(directory)
    made = []
    for number in numbers or DOCUMENTS:
        for name, make in FIGURES[number].items():
            path = directory / f"{number}-{name}.png"
            drawing = make()
            atomic_write(path, lambda file, drawn=drawing: drawn.savefig(file, format="png", dpi=130))
            made.append(path)
    return made


FIGURES: dict[str, dict[str, Callable[[], Any]]] = {
    "000": {"balancing": draw_balancing},
    "001": {"figure-2": draw_rates, "figure-3": draw_geometry, "stop": draw_stop},
    "002": {"tip-force-as-coded": draw_coded_force, "tip-force-true-arm": draw_true_force},
    "003": {"pendulum": draw_pendulum, "planar-arm": draw_planar_arm},
    "004": {
        "figure-2": draw_fall,
        "figure-3": admittance_drawing("3"),
        "figure-4": admittance_drawing("4"),
        "figure-5": admittance_drawing("5"),
    },
}
