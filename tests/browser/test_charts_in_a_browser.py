"""Charts are drawn, and can be read, zoomed and changed by mouse and by keyboard."""

import json

import pytest

from understudy.reporting.measurements import measure
from understudy.reporting.page import write_page

COLORED = """figure => {
    const canvas = document.querySelector(figure + ' .main canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let blue = 0, orange = 0;
    for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] > 20 && data[at + 2] - data[at] > 60) blue++;
        if (data[at + 3] > 20 && data[at] - data[at + 2] > 60) orange++;
    }
    return [blue, orange];
}"""
"""How many pixels of a chart are of its first set, and of its second."""


@pytest.fixture
def page(opened):
    return opened()


def charts_of(page):
    return json.loads(page.locator("#chart-data").text_content())


def over(page):
    """The place of the first chart's plot on the screen."""
    plot = page.locator("#chart-1 .main .u-over")
    plot.scroll_into_view_if_needed()
    return plot.bounding_box()


def view(page):
    panels = page.locator("#chart-1 .panels")
    return float(panels.get_attribute("data-from")), float(panels.get_attribute("data-to"))


def step_read(page):
    return int(page.locator("#chart-1 output").text_content().replace(",", ""))


def rows(page):
    return [row.locator("th, td").all_text_contents() for row in page.locator("#chart-1 .readout tbody tr").all()]


def test_curves_are_drawn_in_the_place_of_the_still_figures(page):
    assert page.locator("figure.drawn").count() == len(charts_of(page)) == 2
    for figure in ("#chart-1", "#chart-2"):
        assert min(page.evaluate(COLORED, figure)) > 500
        assert page.locator(f"{figure} .still").bounding_box()["width"] <= 1  # there for screen readers only
    assert page.locator("#chart-1 .still svg[role=img]").first.get_attribute("aria-label").startswith("Mean curves of")
    assert page.locator("#chart-1 .beneath").count() == 3  # runs still going, a ladder's strip, and episodes cut


def test_hovering_reads_values_and_of_how_many_runs_they_are(page):
    box = over(page)
    chart = charts_of(page)[0]["sets"][0]
    low, high = view(page)
    for share in (0.2, 0.5, 0.8):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 30)
        step = step_read(page)
        assert step == pytest.approx(low + share * (high - low), abs=6)  # the nearest reading: they are ten steps apart
        at = chart["x"].index(step)
        first = rows(page)[0]
        assert float(first[1]) == pytest.approx(chart["mean"][at], rel=1e-3)
        assert first[3] == f"{chart['runs'][at]} of 9"
    assert "beyond what can be believed" in first[-1]
    assert "served by rows served before" in rows(page)[1][-1]


def test_the_keyboard_reads_what_the_mouse_does(page):
    slider = page.get_by_label("Read at step")
    slider.focus()
    page.keyboard.press("Home")
    assert step_read(page) == 10
    assert "believable" in rows(page)[0][-1]
    page.keyboard.press("ArrowRight")
    assert step_read(page) == 20
    page.keyboard.press("End")
    assert step_read(page) == 400
    spoken = slider.get_attribute("aria-valuetext")
    assert spoken.startswith("step 400. ")
    assert "8 of 9 runs" in spoken


def test_dragging_zooms_and_a_double_click_shows_all_again(page):
    box, whole = over(page), view(page)
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=4)
    page.mouse.up()
    low, high = view(page)
    assert low == pytest.approx(0.25 * whole[1], rel=0.03)
    assert high == pytest.approx(0.5 * whole[1], rel=0.03)
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 40)
    assert view(page) == whole


def test_the_cursor_begins_where_the_log_can_be_believed(page):
    assert step_read(page) == max(one["trusted"] for one in charts_of(page)[0]["sets"])
    assert any("believable" in row[-1] for row in rows(page))


def test_charts_are_drawn_from_the_top_of_the_page_on(page):
    tops = page.evaluate("[...document.querySelectorAll('figure.drawn')].map((one) => one.id)")
    assert tops[0] == "chart-2"  # what an episode earned comes before the learning curve
    assert page.evaluate("performance.getEntriesByName('first chart drawn').length") == 1


def test_the_keyboard_zooms_moves_and_shows_all_again(page):
    whole = view(page)
    figure = page.locator("#chart-1")

    def press(name):
        figure.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press("Enter")

    press("in")
    low, high = view(page)
    assert high - low == pytest.approx((whole[1] - whole[0]) / 2)
    press("earlier")
    assert view(page)[0] < low
    page.get_by_label("Read at step").focus()
    page.keyboard.press("Home")  # out of view: the view follows the cursor
    assert view(page)[0] == 0
    press("out")
    press("show all")
    assert view(page) == whole


def test_sets_are_switched_off_and_on_by_keyboard(page):
    page.locator("#chart-1 .set input").first.focus()
    page.keyboard.press("Space")
    assert len(rows(page)) == 1
    blue, orange = page.evaluate(COLORED, "#chart-1")
    assert blue == 0
    assert orange > 500
    page.keyboard.press("Space")
    assert len(rows(page)) == 2
    assert page.evaluate(COLORED, "#chart-1")[0] > 500


def test_median_and_bands_are_chosen_by_keyboard(page):
    figure = page.locator("#chart-1")
    chart = charts_of(page)[0]["sets"][0]
    page.get_by_label("Read at step").focus()
    page.keyboard.press("Home")
    figure.get_by_label("mean", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert float(rows(page)[0][1]) == pytest.approx(chart["median"][0], rel=1e-3)
    figure.get_by_label("of the mean").focus()
    page.keyboard.press("ArrowRight")
    low, high = map(float, rows(page)[0][2].split(" to "))
    assert (low, high) == pytest.approx((chart["run_low"][0], chart["run_high"][0]), rel=1e-3)
    with_band = page.evaluate(COLORED, "#chart-1")[0]
    page.keyboard.press("ArrowRight")
    assert rows(page)[0][2] == "–"  # noqa: RUF001
    assert page.evaluate(COLORED, "#chart-1")[0] < with_band


def test_single_runs_are_shown_all_or_one(page):
    page.get_by_label("Which single runs to show").first.focus()
    page.locator("#chart-1 .controls").get_by_label("none", exact=True).check()  # without bands
    before = page.evaluate(COLORED, "#chart-1")[0]
    page.locator("#chart-1-single").select_option("all")
    assert page.evaluate(COLORED, "#chart-1")[0] > before
    page.locator("#chart-1-single").select_option("8")
    assert "run 9" in page.locator("#chart-1 .readout thead").text_content()
    page.get_by_label("Read at step").focus()
    page.keyboard.press("Home")
    single = charts_of(page)[0]["sets"][0]["single"]
    assert float(rows(page)[0][4]) == pytest.approx(single["values"][8][0], rel=1e-3)
    page.keyboard.press("End")
    assert rows(page)[0][4] == "–"  # noqa: RUF001 (it stopped at step 300)


OPAQUE = """() => {
    const canvas = document.querySelector('#chart-1 .main canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let opaque = 0, any = 0;
    for (let at = 0; at < data.length; at += 4) {
        const blue = data[at + 2] - data[at];
        if (blue > 60 && data[at + 3] > 100) any++;
        if (blue > 60 && data[at + 3] > 220) opaque++;
    }
    return [opaque, any];
}"""
"""How many pixels of the first chart have the full color of its first set, and how many any of it."""


def test_a_curve_that_cannot_be_believed_is_pale_and_said_to_be(opened, tmp_path, halved_of):
    believed, doubted = (
        write_page(
            measure({"psrs": halved_of([400] * 8, [400] * 4, shift=shift)}, margin=0.3), tmp_path / f"{shift}.html"
        )
        for shift in (0.0, 5.0)
    )
    page = opened(believed)
    assert page.evaluate(OPAQUE)[0] > 500
    assert all("believable" in row[-1] and "not" not in row[-1] for row in rows(page))
    page = opened(doubted)
    opaque, any_blue = page.evaluate(OPAQUE)
    assert opaque < 200  # the triangle at the longest run
    assert any_blue > 500
    assert all("not shown to be believable" in row[-1] for row in rows(page))
    assert "gray: not shown to be believable at any step" in page.locator("#chart-1 .key").text_content()
