"""The quick form of each item, run once for all tests that look at it."""

from importlib import import_module

import pytest

from understudy.paper.stage import Stage


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    found = {}

    def item(name):
        if name not in found:
            stage = Stage(tmp_path_factory.mktemp(name), quick=True)
            found[name] = stage, import_module(f"understudy.paper.{name}").run(stage)
        return found[name]

    return item
