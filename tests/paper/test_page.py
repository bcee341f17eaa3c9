import json

from paper.page import write_page
from paper.workspace import Workspace
from paper.writing import write_item


def test_the_page_shows_what_is_there_and_takes_pictures_along(item, tmp_path):
    out, docs = tmp_path / "out", tmp_path / "docs"
    docs.mkdir()
    write_item(out / "it", "It", item, Workspace(out / "it", quick=True))
    page = write_page(out, ["missing", "it"], docs / "paper.md").read_text()
    assert "`python -m paper it --quick`" in page
    assert "not\ncomparable with the paper's column" in page
    assert "`it/item.json`, `it/comparisons.csv`, `it/line.csv`, `it/lengths.csv`" in page
    assert "**Does not reproduce**: A claim. Evidence." in page
    assert "| ratio | about 2 | 1.20 | 1.00 to 1.40 | 0.1 |" in page
    assert "(paper/it/line.png)" in page
    assert (docs / "paper" / "it" / "line.png").exists()
    assert "(it/line.png)" in write_page(out, ["it"], out / "paper.md").read_text()


def test_the_head_states_the_flags_of_all_and_a_section_its_own(item, tmp_path):
    for name, options in {"one": {"seed": 3, "search": True}, "two": {"seed": 3, "search": True, "runs": 20}}.items():
        write_item(tmp_path / name, name, item, Workspace(tmp_path / name, **options))
    page = write_page(tmp_path, ["one", "two"], tmp_path / "paper.md").read_text()
    assert "`python -m paper --search --seed 3`" in page
    one, two = page.split("## one")[1].split("## two")
    assert "This item was run with" not in one
    assert "This item was run with `--runs 20`." in two
    assert "comparable" not in page


def test_the_page_ends_with_the_authors_conventions_and_tells_no_times(item, tmp_path):
    write_item(tmp_path / "it", "It", item, Workspace(tmp_path / "it"), seconds=1234.5)
    page = write_page(tmp_path, ["it"], tmp_path / "paper.md").read_text()
    assert "1,000 steps" in page.split("## The authors' conventions")[1]
    assert "1234" not in page
    assert "1,234.5" not in page
    assert json.loads((tmp_path / "it" / "item.json").read_text())["seconds"] == 1234.5
