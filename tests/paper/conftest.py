"""The quick form of each item, run once for all tests that look at it, and a made-up one."""

from importlib import import_module

import pytest
from matplotlib.figure import Figure

from paper.items import Claim, Item, ItemTable, PaperValue, Picture
from paper.workspace import Workspace


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    found = {}

    def run(name):
        if name not in found:
            workspace = Workspace(tmp_path_factory.mktemp(name), quick=True)
            found[name] = workspace, import_module(f"paper.{name}").run(workspace)
        return found[name]

    return run


@pytest.fixture
def item():
    """A small item, with one of everything."""
    figure = Figure()
    figure.add_subplot().plot([0, 1])
    return Item(
        about="What was run.",
        claims=[Claim("A claim.", False, "Evidence.")],
        comparisons=[
            PaperValue("rows", 134_925, 130_000),
            PaperValue("ratio", "about 2", 1.2, floor=0.1, interval=(1.0, 1.4)),
        ],
        pictures=[Picture("line", "A line.", figure, {"step": [0, 1], "mean": [0.0, 1.0]})],
        tables=[ItemTable("lengths", "Lengths.", {"set": ["PSRS"], "steps": [1234.0], "range": [(1.0, 2.0)]})],
    )
