import pydoc
import re
import sys
import tomllib
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest

import understudy as us
from understudy.extras import NEEDED, how_to_install, import_extra, installed

ROOT = Path(__file__).parents[1]


class Refusing(MetaPathFinder):
    """An installation whose modules are there and cannot be imported."""

    def find_spec(self, name, path=None, target=None):
        if name == "broken":
            raise ImportError("a library it needs is not there")


def test_a_module_that_is_there_and_cannot_be_imported_is_missing_too(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match=r'^Step needs broken: pip install "broken"') as caught:
        import_extra("understudy.contracts", "Step", "extras", "broken")
    assert "a library it needs" in str(caught.value.__cause__)


def test_a_module_that_is_hidden_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'^PPO needs torch: pip install "torch>=2.2" '):
        import_extra("understudy.learners", "PPO", "ppo", "torch")


@pytest.mark.parametrize(("room", "name"), [(us.learners, "PPO"), (us.encoders, "Forward")])
def test_help_tells_of_all_others_where_an_extra_is_missing(monkeypatch, room, name):
    """`help` asks a module for each of its names, and ended with the first that needs torch."""
    assert (name in dir(room)) == installed("torch")
    monkeypatch.setattr("understudy.extras.find_spec", lambda module: None)
    assert name not in dir(room)
    told = pydoc.plain(pydoc.render_doc(room))
    assert "CLASSES" in told


@pytest.mark.parametrize("extra", NEEDED)
def test_what_is_said_can_be_typed_wherever_understudy_was_installed_from(extra):
    """From a wheel there is no folder of the source: the packages of the extra are named."""
    line = how_to_install(extra)
    assert '".[' not in line
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert sorted(NEEDED[extra].values()) == sorted(extras[extra])
    assert all(f'"{package}"' in line for package in extras[extra])
    assert (ROOT / "constraints.txt").exists()


def test_nothing_says_to_install_by_name_what_is_on_no_index():
    files = [*ROOT.glob("understudy/**/*.py"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    assert len(files) > 50
    said = re.compile(r"pip install[^`\n]*understudy")
    assert [file for file in files if said.search(file.read_text(encoding="utf-8"))] == []
