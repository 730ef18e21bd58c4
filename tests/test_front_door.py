"""What `import palpate` offers: sixteen names, packages, and old names that still work for a while."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import palpate as pp
from house_rules import ROOT


def test_the_front_door_holds_sixteen_names() -> None:
    assert len(pp.__all__) == 16
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
    with pytest.raises(AttributeError, match="mean 'simulate'"):
        pp.simulat  # type: ignore[attr-defined]  # noqa: B018


LAZY = sorted(
    "palpate" + path.parent.as_posix().replace("/", ".").rpartition("src.palpate")[2]
    for path in (ROOT / "src").rglob("__init__.py")
    if "lazy_names(" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("package", LAZY)
def test_every_public_name_of_a_package_can_be_loaded(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    missing = [name for name in {*module.__all__, *dir(module)} if not hasattr(module, name)]
    assert missing == []


def test_packages_that_became_tools_are_found_by_their_old_names_with_a_warning() -> None:
    code = """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always", DeprecationWarning)
    import palpate.study
    from palpate.contact.touch.contacts import Plane
import palpate.tools.contact.touch.contacts as contacts, palpate.tools.study as study
assert palpate.study is study and Plane is contacts.Plane
assert study.__spec__.name == "palpate.tools.study"
assert "palpate.study is palpate.tools.study now" in [str(one.message) for one in told]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
