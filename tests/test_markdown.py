"""Every example in the Markdown files runs, each file's in order: Python in one namespace, and commands."""

import re
import shlex
from pathlib import Path

import pytest

from understudy.cli import main

ROOT = Path(__file__).parents[1]
FILES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLE = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "example"}
    for match in EXAMPLE.finditer(text):
        if match[1] == "console":
            for command in re.findall(r"^\$ understudy (.*)$", match[2], re.MULTILINE):
                assert main(shlex.split(command)) == 0, command
            continue
        line = text.count("\n", 0, match.start(2))
        exec(compile("\n" * line + match[2], str(path), "exec"), namespace)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
