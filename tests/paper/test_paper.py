"""The command as a whole; the full form takes minutes."""

import pytest

from understudy.cli import main
from understudy.paper import ITEMS, reproduce


def test_an_unknown_item_is_refused_with_the_names_of_all(capsys, tmp_path):
    assert main(["paper", "protokol", "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert all(name in printed for name in ("protokol", *ITEMS))
    assert not (tmp_path / "out").exists()


def test_items_are_added_to_the_page_and_found_again(capsys, tmp_path):
    arguments = ["paper", "exogenous", "--quick", "--runs", "4", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    first = (tmp_path / "page.md").read_text()
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == first
    assert "## exogenous" in first
    assert "## protocol" not in first
    assert (tmp_path / "page" / "exogenous" / "curves.png").exists()
    assert "paper.md" in capsys.readouterr().out


def test_the_authors_conventions_are_an_option(tmp_path):
    reproduce(["exogenous"], tmp_path, quick=True, runs=3, authors=True, tell=lambda text: None)
    page = (tmp_path / "paper.md").read_text()
    assert "--authors" in page
    assert "value of observation 0" in page


HOLDING = (
    "sim1 is a more accurate",
    "lasts longer",
    "Both are accurate",
    "unbiased",
    "not an accurate",
    "exogenous algorithm",
)


@pytest.mark.slow
def test_the_claims_that_should_hold_do(tmp_path):
    reproduce(["protocol", "discrete", "exogenous"], tmp_path, tell=lambda text: None)
    page = (tmp_path / "paper.md").read_text()
    for words in HOLDING:
        line = next(line for line in page.splitlines() if line.startswith("- **") and words in line)
        assert line.startswith("- **Reproduces**"), line
