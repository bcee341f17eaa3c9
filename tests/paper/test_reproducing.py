"""What one results folder holds together, and what is refused; items here are made up, and take no time."""

import json
import sys
from threading import Event
from types import ModuleType

import pytest

import understudy as us
from paper import reproducing
from paper.items import Item, PaperValue
from paper.options import FILE

NAMES = ("one", "two")
ROW = PaperValue("x", 1, 2)


@pytest.fixture
def performed(monkeypatch):
    """Two items instead of the paper's, and a list of those that were run."""
    names = []
    for name in NAMES:
        module = ModuleType(name)
        module.TITLE = name
        module.run = lambda workspace: names.append(workspace.folder.name) or Item("About.", comparisons=[ROW])
        monkeypatch.setitem(sys.modules, f"paper.{name}", module)
    monkeypatch.setattr(reproducing, "ITEMS", NAMES)
    return names


def reproduce(folder, *names, **options):
    """The page, and what was told."""
    told = []
    page = reproducing.reproduce(names, folder, tell=told.append, **options)
    return page.read_text(), told


@pytest.mark.parametrize("other", [{"quick": True}, {"authors": True}, {"search": True}, {"seed": 3}])
def test_unlike_results_are_refused_at_once_and_leave_the_folder_as_it_was(performed, tmp_path, other):
    reproduce(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    with pytest.raises(
        us.ResultsError, match=rf"{next(iter(other))} is .* there and .* here; give another folder with out="
    ):
        reproduce(tmp_path, "one", **other)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before
    assert performed == ["one", "two"]


def test_they_are_refused_though_no_item_was_finished(performed, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules["paper.one"], "run", lambda workspace: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        reproduce(tmp_path)
    with pytest.raises(us.ResultsError, match="quick is False there and True here"):
        reproduce(tmp_path, "two", quick=True)


def test_runs_and_workers_may_differ(performed, tmp_path):
    reproduce(tmp_path, "one")
    page, told = reproduce(tmp_path, "two", runs=20, workers=1)
    assert "`python -m paper`" in page
    assert "This item was run with `--runs 20`." in page
    assert not any("WARNING" in line for line in told)


def test_an_older_folder_tells_by_its_items(performed, tmp_path):
    reproduce(tmp_path, "one", quick=True)
    (tmp_path / FILE).unlink()
    item = json.loads((tmp_path / "one" / "item.json").read_text())
    del item["asked"]["search"]  # as it was then
    (tmp_path / "one" / "item.json").write_text(json.dumps(item))
    for other in ({}, {"quick": True, "search": True}):
        with pytest.raises(us.ResultsError, match="there and"):
            reproduce(tmp_path, "two", **other)
    page, told = reproduce(tmp_path, "two", quick=True)
    assert "WARNING" in told[0]
    assert "made by 2 versions of the code" in page


def test_a_folder_of_other_code_is_told_of_and_so_says_the_page(performed, monkeypatch, tmp_path):
    page, told = reproduce(tmp_path, "one")
    assert "versions of the code" not in page
    monkeypatch.setattr(reproducing, "code_of", lambda: "another")
    for _ in range(2):
        page, told = reproduce(tmp_path, "one")
        assert "WARNING" in told[0]
        assert "made by 2 versions of the code" in page


def test_by_default_each_has_a_folder_of_its_own(performed, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for options in ({}, {"quick": True}, {"search": True}, {"quick": True, "authors": True, "seed": 3}):
        reproduce(None, **options)
    found = {folder.name for folder in tmp_path.iterdir()}
    assert found == {"paper-results", "paper-quick", "paper-search", "paper-quick-authors-seed-3"}


def test_where_an_item_fails_those_before_it_are_on_both_pages(performed, monkeypatch, tmp_path):
    def fail(workspace):
        raise us.ResultsError("no")

    monkeypatch.setattr(sys.modules["paper.two"], "run", fail)
    elsewhere = tmp_path / "docs" / "page.md"
    with pytest.raises(us.ResultsError, match="no"):
        reproduce(tmp_path / "out", page=elsewhere)
    for page in (tmp_path / "out" / "paper.md", elsewhere):
        assert "## one" in page.read_text()
        assert "`python -m paper one`" in page.read_text()


def test_a_long_item_is_heard_of_where_there_is_no_terminal(performed, monkeypatch, tmp_path):
    monkeypatch.setattr("understudy.progress.FIRST_AFTER", 0.001)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    heard = Event()

    def wait(workspace):
        assert heard.wait(5)
        return Item("About.")

    monkeypatch.setattr(sys.modules["paper.one"], "run", wait)
    reproducing.reproduce(["one"], tmp_path, tell=lambda line: "0 runs are finished" in line and heard.set())


def test_an_item_keeps_how_long_it_took(performed, tmp_path):
    reproduce(tmp_path, "one")
    assert json.loads((tmp_path / "one" / "item.json").read_text())["seconds"] >= 0


def test_the_authors_conventions_are_an_option(tmp_path):
    reproducing.reproduce(["exogenous"], tmp_path, quick=True, runs=3, authors=True, tell=lambda text: None)
    page = (tmp_path / "paper.md").read_text()
    assert "--authors" in page
    assert "value of observation 0" in page


HOLDING = (
    'sim1 is a more "accurate"',
    "more efficient than using raw",
    "Both are accurate",
    "unbiased",
    "not an accurate",
    "exogenous algorithm",
)


@pytest.mark.slow
def test_the_claims_that_should_hold_do(tmp_path):
    reproducing.reproduce(["protocol", "discrete", "exogenous"], tmp_path, tell=lambda text: None)
    page = (tmp_path / "paper.md").read_text()
    for words in HOLDING:
        line = next(line for line in page.splitlines() if line.startswith("- **") and words in line)
        assert line.startswith("- **Reproduces**"), line
