"""Parameters of a catalogue robot as the command line takes them."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.cli.tables import key_values

JOINT_CHOICES = {"ideal": "ideal", "as-built": "as_built", "elastic": "elastic"}  # on the command line, and in Python


def parameters_from(pairs: Sequence[str]) -> dict[str, float | list[float]]:
    """length=0.5, mass=5,4,3 or mass=[5,4,3] as keyword arguments."""
    form, hint = "--set takes KEY=VALUE with a number or a list", "write --set length=0.5 mass=[3,2]"
    lists = key_values(pairs, form, _listed, hint=hint)
    return {key: numbers[0] if len(numbers) == 1 else numbers for key, numbers in lists.items()}


def _listed(text: str) -> list[float]:
    bare = text.strip()
    if bare.startswith("[") and bare.endswith("]"):
        bare = bare[1:-1]
    return [float(x) for x in bare.split(",")]
