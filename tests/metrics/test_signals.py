from __future__ import annotations

import numpy as np
import pytest

from palpate.errors import NotApplicable
from palpate.metrics.signals import changes, channel


def test_changes_are_found_at_both_ends() -> None:
    starts, ends = changes(np.array([True, True, False, False, True, False, True]))
    assert starts.tolist() == [0, 4, 6]
    assert ends.tolist() == [2, 5]


def test_a_channel_that_is_missing_or_too_short_is_said_by_name(make) -> None:
    with pytest.raises(NotApplicable, match=r"'q'.*not recorded"):
        channel(make([0.0, 1.0], guard=[0, 0]), "q")
    with pytest.raises(NotApplicable, match=r"fewer.*samples"):
        channel(make([0.0], guard=[0]), "guard")
