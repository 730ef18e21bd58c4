"""The table of laws, arms and drivers: nothing in it goes wrong in silence."""

import pytest

from driver_table import table


@pytest.mark.slow
def test_every_law_on_every_arm_under_every_driver_is_right_refused_or_warned() -> None:
    wrong = [row for row in table() if row[3] == "wrong"]
    assert not wrong
