"""The pictures of the documentation: small, readable by all, fetching nothing, and what their functions draw today."""

import re
from xml.etree import ElementTree

import pytest

from benchmarks.pictures.__main__ import FOLDER, PICTURES

SVG = "{http://www.w3.org/2000/svg}"


def test_every_picture_has_a_function_that_draws_it():
    assert {path.stem for path in FOLDER.iterdir()} == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
class TestPicture:
    def test_is_small(self, name):
        assert (FOLDER / f"{name}.svg").stat().st_size < 40_000

    def test_has_a_title_and_a_description(self, name):
        picture = ElementTree.parse(FOLDER / f"{name}.svg").getroot()
        assert picture.get("role") == "img"
        assert len(picture.find(f"{SVG}title").text) > 20
        assert len(picture.find(f"{SVG}desc").text) > 60
        assert set(picture.get("aria-labelledby").split()) == {"title", "desc"}

    def test_has_colors_for_light_and_dark(self, name):
        text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert "prefers-color-scheme:dark" in text
        assert "var(--paper)" in text

    def test_fetches_nothing(self, name):
        text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert not re.search(r"@import|@font-face|url\((?!#)|href=\"(?!#)|<script|<image", text)


@pytest.mark.parametrize("name", ["queues", "rejection", "rungs"])
def test_what_is_drawn_is_what_is_shown(name):
    assert PICTURES[name]() == (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
