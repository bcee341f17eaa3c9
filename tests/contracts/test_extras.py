import sys
from importlib.abc import MetaPathFinder

import pytest

from understudy.contracts.extras import opened


class Refusing(MetaPathFinder):
    """An installation whose modules are there and cannot be imported."""

    def find_spec(self, name, path=None, target=None):
        if name == "broken":
            raise ImportError("a library it needs is not there")


def test_a_module_that_is_there_and_cannot_be_imported_is_missing_too(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match=r'^Step needs broken: pip install "understudy\[broken\]"$') as caught:
        opened("understudy.contracts", "Step", "extras", "broken")
    assert "a library it needs" in str(caught.value.__cause__)


def test_a_module_that_is_hidden_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'^PPO needs torch: pip install "understudy\[torch\]"$'):
        opened("understudy.learners", "PPO", "ppo", "torch")
