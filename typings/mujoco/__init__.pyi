# MuJoCo's compiled members carry no types; its names are checked at run time by the tests instead.
from typing import Any

def __getattr__(name: str) -> Any: ...
