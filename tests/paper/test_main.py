"""The command as a whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from paper.__main__ import main
from paper.reproducing import ITEMS


def test_an_unknown_item_is_refused_with_the_names_of_all(capsys, tmp_path):
    assert main(["protokol", "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert all(name in printed for name in ("protokol", *ITEMS))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_items_are_added_to_the_page_and_found_again(capsys, tmp_path):
    arguments = ["exogenous", "--quick", "--runs", "4", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    first = (tmp_path / "page.md").read_text()
    assert main([*arguments, "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == first
    assert "## exogenous" in first
    assert "## protocol" not in first
    assert (tmp_path / "page" / "exogenous" / "curves.png").exists()
    assert "paper.md" in capsys.readouterr().out


def refused(capsys, *arguments):
    """What the command says when it is refused at once, in one line and before any item."""
    assert main([*map(str, arguments)]) == 2
    printed = capsys.readouterr()
    assert "..." not in printed.out
    assert printed.err.count("\n") == 1
    return printed.err


def test_help_names_every_item(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert all(words in printed for words in (*ITEMS, "half an hour", "20 epochs", "paper-quick", "reward 0"))


def test_too_few_runs_and_seeds_below_0_are_refused(capsys, tmp_path):
    assert "runs is 2" in refused(capsys, "exogenous", "--runs", "2", "--out", tmp_path / "out")
    assert "seed is -1" in refused(capsys, "exogenous", "--seed", "-1", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_torch_items_that_need_it_are_refused_before_any_is_run(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    said = refused(capsys, "--quick", "--out", tmp_path / "out")
    assert 'paper continuous encoder rollouts needs torch: pip install "torch>=2.2" ' in said
    assert "paper protocol discrete exogenous runs without it" in said
    assert not (tmp_path / "out").exists()
    assert main(["exogenous", "--quick", "--runs", "3", "--out", str(tmp_path / "out")]) == 0


def test_a_page_that_is_no_markdown_file_is_refused(capsys, tmp_path):
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "taken").touch()
    for name, words in {"page": "such as", "folder.md": "is a folder", "taken.md": "which is a file"}.items():
        assert words in refused(capsys, "exogenous", "--out", tmp_path / "out", "--page", tmp_path / name)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "page").exists()


def test_an_interrupt_is_a_sentence_and_its_own_exit_code(capsys, monkeypatch, tmp_path):
    def interrupt(workspace):
        raise KeyboardInterrupt

    monkeypatch.setattr("paper.exogenous.run", interrupt)
    assert main(["exogenous", "--quick", "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err == (
        "paper: interrupted; finished runs are kept, and the same command goes on from there\n"
    )


def test_it_is_run_as_a_module_from_the_folder_of_the_source(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "paper", "protokol"], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith("paper: the paper has no item protokol; there is protocol, discrete")
