import pytest

import understudy as us
from paper.options import FILE, PRESENTING, SOURCES, Options, code_of, take_folder

NAMES = ("one", "two")


def test_the_code_is_what_runs_depend_on(tmp_path):
    sources = {name: tmp_path / name for name in ("understudy", "paper")}
    presenting = ("understudy/cli/words.py", "understudy/reporting/plots.py", "paper/page.py")
    for place in (*presenting, "understudy/runs/loop.py", "paper/grids.py"):
        (tmp_path / place).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / place).write_text("1")
    before = code_of(sources)
    for place in presenting:
        (tmp_path / place).write_text("2")
    assert code_of(sources) == before
    digests = {before}
    for place in ("understudy/runs/loop.py", "paper/grids.py"):
        (tmp_path / place).write_text("2")
        digests.add(code_of(sources))
    assert len(digests) == 3


def test_sources_that_runs_do_not_depend_on_are_there():
    """A module that is renamed would otherwise count again."""
    for place in PRESENTING:
        package, _, rest = place.partition("/")
        assert (SOURCES[package] / rest).exists(), place


def test_the_codes_that_a_folder_was_made_by_are_kept_in_order(tmp_path):
    assert take_folder(tmp_path, Options(), NAMES, "a") == ["a"]
    assert take_folder(tmp_path, Options(), NAMES, "b") == ["a", "b"]
    assert take_folder(tmp_path, Options(), NAMES, "a") == ["b", "a"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(us.ResultsError, match=r"cannot make the folder .*file/out"):
        take_folder(tmp_path / "file" / "out", Options(), NAMES, "a")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"asked": {}, "code": 3}'])
def test_a_spoiled_file_is_named(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(us.ResultsError, match=FILE):
        take_folder(tmp_path, Options(), NAMES, "code")
