"""Settings of a world refuse what is no world."""

import pytest

from palpate.world.config import FreeObject, Pole, Push, Surface


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Surface(shape="box", size=(1.0,)), "a box has 3 sizes, got 1"),
        (lambda: Surface(shape="sphere", size=(-1.0,)), "must be positive"),
        (lambda: Surface(normal=(0, 0, 0)), "must have a direction"),
        (lambda: Surface(stiffness=float("nan")), "finite"),
        (lambda: Surface.model_validate({"stifness": 3.0}), "Extra inputs"),
        (lambda: Surface(name="my wall"), "pattern"),
        (lambda: FreeObject(name="ball", size=(0.1, 0.1)), "a sphere has 1 positive sizes"),
        (lambda: FreeObject(name="a[0]"), "pattern"),
        (lambda: Push(duration=0.0), "greater than 0"),
        (lambda: Pole(mass=-1.0), "greater than 0"),
    ],
)
def test_a_bad_setting_is_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make()
