import re

import matplotlib
import pytest
from matplotlib.figure import Figure

from understudy.reporting.svg import INK, PALETTE, drawn_alike, inline_svg


def line(title="", **options):
    with drawn_alike():
        figure = Figure(figsize=(2, 1))
        axes = figure.add_subplot()
        axes.plot([0, 1], [0.123456, 1], color=PALETTE[0])
        axes.set_title(title, parse_math=False)
    return inline_svg(figure, "a line", **options)


def test_a_figure_is_the_same_each_time():
    assert line() == line()


def test_an_svg_stands_alone_without_prolog_metadata_style_or_script():
    text = line()
    assert text.startswith("<svg")
    assert text.endswith("</svg>")
    for word in ("<?xml", "<metadata", "<style", "<script", "<!--", "<!DOCTYPE"):
        assert word not in text


def test_colors_follow_the_page_and_have_a_fallback():
    assert f"var(--color-1,{PALETTE[0]})" in line()
    assert f"var(--ink,{INK})" in line("title")


@pytest.mark.parametrize("title", ["#0072b2 at 0.123456", ' d="0.123456"', "$x^$", "a --> b"])
def test_what_users_wrote_is_left_as_it_is(title):
    assert title.replace(">", "&gt;") in line(title)


def test_tags_in_a_title_are_escaped():
    assert "<script>" not in line("<script>alert(1)</script>")
    assert "&lt;script&gt;" in line("<script>alert(1)</script>")


def test_a_description_is_escaped_within_its_attribute():
    figure = Figure(figsize=(1, 1))
    assert 'aria-label="&quot;&gt;&lt;b&gt;"' in inline_svg(figure, '"><b>')


def test_salt_tells_the_ids_of_figures_apart():
    clips = [{part.split('"')[0] for part in line(salt=salt).split('clipPath id="')[1:]} for salt in ("1", "2")]
    assert clips[0]
    assert not clips[0] & clips[1]


def test_letters_that_our_font_lacks_are_the_readers_to_draw():
    assert "模拟" in line("模拟")


def test_the_callers_settings_neither_matter_nor_change():
    plain = line("title")
    with matplotlib.rc_context({"text.color": "red", "font.size": 30, "axes.facecolor": "black"}):
        before = dict(matplotlib.rcParams)
        assert line("title") == plain
        assert dict(matplotlib.rcParams) == before


def test_marks_of_one_style_share_it():
    with drawn_alike():
        axes = Figure(figsize=(2, 1)).add_subplot()
        axes.plot(range(5), range(5), "x", color="#123456")
        axes.text(0, 0, '<use style="fill: #123456"/>', parse_math=False)
    text = inline_svg(axes.figure, "marks")
    assert text.count('style="fill: #123456; stroke: #123456"') == 1
    assert len(re.findall(r'<use xlink:href="#\w+" x="[\d.]+" y="[\d.]+"/>', text)) == 5
