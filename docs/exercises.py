"""The exercises as notebooks: `python docs/exercises.py` writes one beside every page of docs/teaching."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_CODE = re.compile(r"^```python\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
_INSTALL = 'Run once: `pip install "palpate[figures]" pandas`\n'


def main() -> None:
    """Write every notebook."""
    for page in pages():
        page.with_suffix(".ipynb").write_text(notebook(page.read_text(encoding="utf-8")), encoding="utf-8")


def pages() -> list[Path]:
    """The pages of the exercises."""
    return sorted((HERE / "teaching").glob("*.md"))


def notebook(text: str) -> str:
    """A page as a notebook: its text in cells of Markdown, its Python in cells of code, as nbformat 4.5 has them."""
    text = re.sub(r"^<!-- check\n.*?^-->\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\[Download as a notebook\]\(.*\)\n", _INSTALL, text, flags=re.MULTILINE)
    parts = _CODE.split(text)
    cells = [_cell(number, part.strip("\n")) for number, part in enumerate(parts) if part.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    data = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, source: str) -> dict[str, Any]:
    kind = "code" if number % 2 else "markdown"
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": source.splitlines(True),
    }
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell


if __name__ == "__main__":
    main()
