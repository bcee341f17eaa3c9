import re
from pathlib import Path

import pytest

import understudy.reporting
from understudy.reporting.glossary import WORDS, explained

TEMPLATE = (Path(understudy.reporting.__file__).parent / "templates" / "report.html.j2").read_text(encoding="utf-8")


def test_every_word_is_explained_on_the_page_and_no_other_is_asked_for():
    calls = re.findall(r"\{\{ words\((.*?)\) \}\}", TEMPLATE)
    used = {word for call in calls for word in re.findall(r'"([A-Z][^"]*|)"', call)} - {""}
    assert used == set(WORDS)


def test_words_without_a_meaning_are_an_error():
    assert explained("Run", "")[0] == ("Run", WORDS["Run"])
    with pytest.raises(KeyError):
        explained("Buffer")
