"""Plain data as TOML text, with comments where they are wanted, and back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

from palpate.errors import InvalidInput
from palpate.escape.builds import hash_comment

Comment = Callable[[tuple[str | int, ...]], str]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DOTTED = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+")
_MOST_PARTS = 100  # of a dotted key


def toml_data(text: str) -> dict[str, Any]:
    """Data of a TOML text. The time of tomllib grows with the square of the parts of a key: long ones are refused.

    Raises:
        InvalidInput: "is no TOML: …", "is nested too deeply" or "holds a number nobody can read: …".
    """
    for dotted in _DOTTED.finditer(text):
        key = dotted.group()
        if key.count(".") > _MOST_PARTS and len(re.findall(_PART, key)) > _MOST_PARTS:
            raise InvalidInput(f"is nested too deeply: a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"is no TOML: {error}") from error
    except RecursionError as error:
        raise InvalidInput("is nested too deeply") from error
    except ValueError as error:  # a number of more digits than Python reads
        raise InvalidInput(f"holds a number nobody can read: {error}") from error


def toml_text(data: dict[str, Any], comment: Comment = lambda path: "") -> str:
    """TOML that tomllib reads back to equal data; `comment` gives what stands behind a key, by its path."""
    return "\n".join(_table(data, (), (), comment)).strip() + "\n"


def _table(data: dict[str, Any], path: tuple[str | int, ...], header: Sequence[str], comment: Comment) -> list[str]:
    lines, inner = [], []
    for key, value in data.items():
        key_path = (*path, key)
        names = [*header, _key(key)]
        if isinstance(value, dict) and value:
            own = any(not _is_table(item) for item in value.values())
            inner += ["", _noted(f"[{'.'.join(names)}]", comment(key_path))] if own else []
            inner += _table(value, key_path, names, comment)
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for k, item in enumerate(value):
                title = _noted(f"[[{'.'.join(names)}]]", comment(key_path) if k == 0 else "")
                inner += ["", title, *_table(item, (*key_path, k), names, comment)]
        else:
            lines.append(_noted(f"{_key(key)} = {toml_value(value)}", comment(key_path)))
    return lines + inner


def _is_table(value: Any) -> bool:
    tables = isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
    return (isinstance(value, dict) and bool(value)) or tables


def _noted(line: str, comment: str) -> str:
    return f"{line}  # {hash_comment(comment)}" if comment else line


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Any) -> str:
    """One value; floats in the shortest form that reads back exactly."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {toml_value(item)}' for key, item in value.items())}}}"
    raise InvalidInput(f"TOML has no place for {value!r}")
