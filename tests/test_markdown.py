"""Every example in the Markdown files runs, each file's in order: Python in one namespace, and commands."""

import re
import shlex
from pathlib import Path

import pytest

from understudy.cli import main

ROOT = Path(__file__).parents[1]
FILES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLE = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

SESSION = re.compile(r"^\$ understudy ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", re.MULTILINE)
"""A command, and the lines beneath it: some of those that it prints."""


def one_line_each(session):
    """A session whose commands that go on after a backslash are one line each."""
    return re.sub(r" *\\\n *", " ", session)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "example"}
    for match in EXAMPLE.finditer(text):
        if match[1] == "console":
            for command, shown in SESSION.findall(one_line_each(match[2])):
                capsys.readouterr()
                assert main(shlex.split(command)) == 0, command
                printed = [line.rstrip() for line in capsys.readouterr().out.split("\n")]
                assert [line for line in shown.split("\n") if line.rstrip() not in printed] == [], command
            continue
        line = text.count("\n", 0, match.start(2))
        exec(compile("\n" * line + match[2], str(path), "exec"), namespace)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_what_readme_shows_of_a_session_is_what_the_first_page_runs():
    readme, start = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/start.md"))
    shown = re.search(r"^```\n\$ pip install \.\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[1]
    lines = shown.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if line not in start.splitlines()] == []
    assert sum(line.startswith("Deploying ") for line in lines) == 1
