"""JSON text that carries its own checksum, for files that palpate writes and reads again.

The last key, `sha256`, is that of the text of the others: whatever byte of the file changes is noticed when it is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from palpate.errors import FileError

_KEY = "sha256"


def sealed(content: Mapping[str, Any]) -> str:
    """`content` as JSON text with its checksum; the same text for the same content."""
    return _text({**content, _KEY: _checksum(content)})


def unsealed(text: str, where: str) -> dict[str, Any]:
    """Read a sealed text back; one without a checksum, as older versions wrote it, is taken as it is.

    Raises:
        FileError: no JSON object, or changed after it was written; `where` names the file.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where} is damaged: it is no JSON ({error})") from error
    if not isinstance(content, dict):
        raise FileError(f"{where} is damaged: it holds no JSON object")
    if _KEY in content and content.pop(_KEY) != _checksum(content):
        raise FileError(f"{where} is damaged, or was changed after palpate wrote it: its checksum does not fit")
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(content).encode()).hexdigest()


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, default=list)
