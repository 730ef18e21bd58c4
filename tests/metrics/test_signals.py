from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.errors import NotApplicable
from palpate.metrics.signals import changes, channel, conjugate, quat_product, rotation_vector


def random_quats(seed: int) -> np.ndarray:
    return Rotation.random(200, rng=np.random.default_rng(seed)).as_quat(scalar_first=True)


def test_products_and_rotation_vectors_agree_with_scipy() -> None:
    a, b = random_quats(1), random_quats(2)
    turn = Rotation.from_quat(a, scalar_first=True) * Rotation.from_quat(b, scalar_first=True).inv()
    np.testing.assert_allclose(rotation_vector(quat_product(a, conjugate(b))), turn.as_rotvec(), atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-14, 1e-9, 1e-4])
def test_small_turns_keep_their_size(angle: float) -> None:
    quat = np.array([[np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0]])
    np.testing.assert_allclose(rotation_vector(quat)[0, 0], angle, rtol=1e-12, atol=1e-300)


def test_changes_are_found_at_both_ends() -> None:
    starts, ends = changes(np.array([True, True, False, False, True, False, True]))
    assert starts.tolist() == [0, 4, 6]
    assert ends.tolist() == [2, 5]


def test_a_channel_that_is_missing_or_too_short_is_said_by_name(make) -> None:
    with pytest.raises(NotApplicable, match="'q' was not recorded"):
        channel(make([0.0, 1.0], guard=[0, 0]), "q")
    with pytest.raises(NotApplicable, match="fewer than two samples"):
        channel(make([0.0], guard=[0]), "guard")
