"""The page on a phone and on paper, in the dark, without scripts, and to those who do not see it."""

import pytest

import understudy as us
from understudy.reporting.sweep_page import write_sweep_page

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1200, "height": 900}


def test_names_that_are_scripts_are_shown_and_do_nothing(opened, hostile):
    page = opened()
    assert page.title().startswith("</script><img src=x")
    assert page.locator("h1").text_content() == hostile
    assert page.locator("img").count() == 0
    assert page.locator("#chart-1 .set span").nth(1).text_content() == hostile
    assert page.locator("script:not([type])").count() == 2
    assert f"{hostile}={hostile}" in page.locator("main").text_content()  # what to log more of: column and label


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_nothing_is_wider_than_the_screen(opened, until, viewport):
    page = opened(viewport=viewport)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    box = page.locator("#chart-1 .main").bounding_box()
    assert 0.6 * viewport["width"] < box["width"] < viewport["width"]
    narrower = viewport["width"] * 5 // 6 if viewport is PHONE else 800
    page.set_viewport_size({"width": narrower, "height": 700})
    assert until(page, f"document.querySelector('#chart-1 .main').clientWidth < {box['width'] - 30}")
    assert page.evaluate("document.documentElement.scrollWidth") <= narrower


@pytest.mark.parametrize("name", ["short", "a learner_whose_name_is_far_too_long_for_its_column_and_goes_on"])
def test_all_columns_of_a_sweep_are_seen_on_a_desk(opened, tmp_path, name):
    log = us.record(us.envs.Grid(slip=0.1), episodes=30, seed=3)
    learners = {
        name: lambda seed: us.learners.Uniform(5),
        "other": lambda seed: us.learners.QLearning(25, 5, seed=seed),
    }
    settings = {"runs": 6, "max_steps": 60, "every": 20, "backend": "serial", "progress": False}
    found = us.sweep(learners, ["psrs", "qbe"], {f"log of {name}": log}, out=tmp_path / "out", **settings)
    page = opened(write_sweep_page(found, tmp_path / "page.html"), viewport=DESK, java_script_enabled=False)
    tables = page.evaluate("[...document.querySelectorAll('.scroll')].map(e => [e.scrollWidth, e.clientWidth])")
    assert len(tables) == 3
    assert all(needed <= there for needed, there in tables)


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_learners_compared_have_a_chart_of_their_differences(opened, comparison_file, hostile, viewport):
    page = opened(comparison_file, viewport=viewport)
    figure = page.locator("#chart-1")
    assert hostile[:20] in figure.locator(".panel-title").first.text_content()
    assert figure.locator(".set").count() == 1  # the other learner, beside the choice
    assert "0: both earn the same" in figure.locator(".key").text_content()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_on_a_phone_what_is_said_of_a_reading_is_not_cut(opened):
    page = opened(viewport=PHONE)
    note = page.locator("#chart-1 .readout tr.note").first.bounding_box()
    assert note["x"] >= 0
    assert note["x"] + note["width"] <= PHONE["width"]


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_on_paper_there_are_the_still_figures(opened, viewport):
    page = opened(viewport=viewport)
    page.emulate_media(media="print")
    assert page.locator(".live:visible").count() == 0
    shown = "narrow" if viewport is PHONE else "wide"
    assert page.locator(f"#chart-1 .{shown} svg").bounding_box()["height"] > 200
    assert page.locator("details.glossary dd").first.is_visible()  # what folds is open
    assert len(page.pdf()) > 20_000


def test_without_scripts_there_are_the_still_figures(opened):
    page = opened(java_script_enabled=False)
    assert page.locator(".live:visible").count() == 0
    assert page.locator("#chart-1 .wide svg").bounding_box()["height"] > 200
    assert page.locator(".live-only:visible").count() == 0


def test_in_the_dark_charts_are_drawn_in_other_colors(opened, until):
    page = opened(color_scheme="light")
    pixels = "document.querySelector('#chart-1 .main canvas').toDataURL()"
    light = page.evaluate(pixels)
    page.emulate_media(color_scheme="dark")
    assert until(page, f"{pixels} !== {light!r}")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 24)"


def test_words_fold_out_by_keyboard(opened):
    page = opened()
    page.locator("details.glossary summary").first.focus()
    assert not page.locator("details.glossary dd").first.is_visible()
    page.keyboard.press("Enter")
    assert page.locator("details.glossary dd").first.is_visible()


@pytest.mark.parametrize(("viewport", "scheme"), [(PHONE, "light"), (DESK, "dark")], ids=["phone", "desk"])
def test_a_checker_of_accessibility_finds_nothing_serious(opened, axe, viewport, scheme):
    page = opened(viewport=viewport, color_scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations)")
    told = [(one["impact"], one["id"], one["nodes"][0]["html"][:200]) for one in found]
    assert [one for one in told if one[0] in ("serious", "critical")] == []
    assert page.evaluate("axe.version") >= "4"
