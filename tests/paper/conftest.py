"""The quick form of each item, run once for all tests that look at it."""

from importlib import import_module

import pytest

from paper.workspace import Workspace


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    found = {}

    def item(name):
        if name not in found:
            workspace = Workspace(tmp_path_factory.mktemp(name), quick=True)
            found[name] = workspace, import_module(f"paper.{name}").run(workspace)
        return found[name]

    return item
