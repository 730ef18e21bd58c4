"""Settings made in Python complain in the house's own words."""

from __future__ import annotations

import pytest

from palpate.config import Config, setting
from palpate.errors import InvalidInput


class Spring(Config):
    """A spring."""

    stiffness: float = setting(1.0, "N/m", "k", gt=0)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"stiffness": -1.0}, "Spring: stiffness: Input should.*greater.*0, got -1.0"),
        ({"stifness": 2.0}, "stifness: .*mean 'stiffness'"),
        ({"stiffness": float("nan")}, "stiffness: Input should.*finite.*nan"),
        ({"stiffness": "soft"}, "stiffness: .*got 'soft'"),
    ],
)
def test_a_bad_setting_is_an_error_of_the_house_that_names_it(values: dict, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        Spring(**values)


def test_every_field_tells_its_unit_and_help() -> None:
    field = Spring.model_fields["stiffness"]
    assert field.json_schema_extra == {"unit": "N/m"}
    assert field.description == "k"
