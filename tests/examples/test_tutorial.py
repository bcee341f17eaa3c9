"""The tutorial notebook shows what its code does: cells are run again, and what they print is what it shows."""

import contextlib
import io
import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tutorial.ipynb"
CELLS = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def shown(cell, kind):
    """Return what a cell shows of one kind: what it printed, or the outputs that it displayed."""
    return [output for output in cell["outputs"] if output["output_type"] == kind]


def test_every_cell_was_executed_in_order_without_an_error():
    assert [cell["execution_count"] for cell in CELLS] == list(range(1, len(CELLS) + 1))
    assert not [output for cell in CELLS for output in shown(cell, "error")]
    assert all("text/html" in output["data"] for cell in CELLS for output in shown(cell, "execute_result"))


def test_what_cells_print_is_what_the_notebook_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for cell in CELLS:
        with contextlib.redirect_stdout(io.StringIO()) as told:
            exec("".join(cell["source"]), namespace)
        assert told.getvalue() == "".join("".join(output["text"]) for output in shown(cell, "stream"))
    assert (tmp_path / "report.html").stat().st_size > 10_000
