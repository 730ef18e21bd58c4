"""What `import palpate` offers: fifteen names, packages, and old names that still work for a while."""

from __future__ import annotations

import importlib

import pytest

import palpate as pp


def test_the_front_door_holds_fifteen_names() -> None:
    assert len(pp.__all__) == 15
    assert [name for name in pp.__all__ if getattr(pp, name) is None] == []


@pytest.mark.parametrize(("package", "name"), [(p, n) for p, names in pp._MOVED.items() for n in names.split()])
def test_a_name_that_moved_still_works_and_says_where_it_is(package: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"palpate\.{name} is palpate\.{package}\.{name} now"):
        old = getattr(pp, name)
    module = importlib.import_module(f"palpate.{package}")
    assert old is getattr(module, name)
    assert name in module.__all__
    assert name not in dir(pp)


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean 'simulate'"):
        pp.simulat  # type: ignore[attr-defined]  # noqa: B018
