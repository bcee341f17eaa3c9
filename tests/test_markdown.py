"""Every Python example in the Markdown files runs, each file's in order and in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace = {"__name__": "example"}
    for match in EXAMPLE.finditer(text):
        line = text.count("\n", 0, match.start(1))
        exec(compile("\n" * line + match.group(1), str(path), "exec"), namespace)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
