"""The tutorials as notebooks: executed by a Jupyter kernel, cell by cell, and what they show is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from moments import ENDLESS

TUTORIALS = sorted((Path(__file__).parent.parent / "docs" / "tutorials").glob("*.md"))
SHOWN = """
import palpate as pp
from IPython.display import display
scenario = pp.load_scenario("panda-wall").replace(run__duration=0.3)
trace = pp.simulate(scenario)
display(pp.load_robot("panda"), scenario, trace, pp.metrics.evaluate(trace, scenario.metrics), trace.replay())
"""

pytestmark = pytest.mark.slow


def executed(cells: list[str], folder: Path) -> Any:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=ENDLESS, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    return client.execute()


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_a_notebook(page: Path, tmp_path: Path) -> None:
    cells = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    notebook = executed(cells, tmp_path)
    errors = [
        out for cell in notebook.cells for out in cell.outputs if out.output_type == "stream" and out.name == "stderr"
    ]
    assert not errors, errors  # no banner, no warning
    assert list(tmp_path.glob("*.png"))


@pytest.mark.filterwarnings("ignore")
def test_things_show_themselves_in_a_notebook(tmp_path: Path) -> None:
    outputs = executed([SHOWN], tmp_path).cells[0].outputs
    shown = [out["data"]["text/html"] for out in outputs if out.output_type == "display_data"]
    assert len(shown) == 5
    for part, html in zip(("<b>panda</b>", "panda-wall", "completed at 0.3 s", "force_peak", "<iframe"), shown):
        assert part in html
