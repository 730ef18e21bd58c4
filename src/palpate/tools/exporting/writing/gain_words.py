"""Unit and meaning of a gain."""

from __future__ import annotations

import numpy as np

from palpate.tools.exporting.code.image import Part
from palpate.tools.exporting.draft import Draft
from palpate.tools.exporting.gain_table import gain_about

LARGEST = np.finfo(float).max


def gain_words(draft: Draft, part: Part) -> tuple[str, str]:
    """Unit and meaning of a gain: of the setting that it is, else of the table."""
    field = type(draft.law).model_fields.get(part.path[-1]) if part.name in draft.bounds else None
    if field is not None and len(part.path) == 1 and isinstance(field.json_schema_extra, dict):
        return str(field.json_schema_extra.get("unit", "1")), str(field.description)
    told = gain_about(part)
    return told.unit, told.about
