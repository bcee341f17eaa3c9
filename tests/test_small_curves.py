import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import understudy as us
from understudy.small_curves import HEIGHT, MOST_LINES, MOST_POINTS, WIDTH, small_curve


def points_of(html, tag):
    drawn = ElementTree.fromstring(html).iter(tag)
    return [np.array([point.split(",") for point in one.get("points").split()], float) for one in drawn]


def test_values_keep_their_order_and_stay_within_the_picture():
    (line,) = points_of(small_curve([0, 10, 30], [np.array([1.0, 3.0, 2.0])]), "polyline")
    assert line[1, 1] < line[2, 1] < line[0, 1]  # an SVG counts from the top
    assert line[1, 0] - line[0, 0] == pytest.approx((line[2, 0] - line[0, 0]) / 3, abs=0.1)
    assert ((line >= 0) & (line <= [WIDTH, HEIGHT])).all()


def test_a_line_has_a_gap_where_it_is_not_known():
    lines = points_of(small_curve(range(6), [np.array([0.0, 1.0, np.nan, 2.0, 3.0, 4.0])]), "polyline")
    assert list(map(len, lines)) == [2, 3]


def test_the_band_goes_there_and_back():
    mean = np.array([1.0, 2.0, 3.0])
    html = small_curve([1, 2, 3], [mean], (mean - 1, mean + 1))
    (band,) = points_of(html, "polygon")
    assert len(band) == 6
    assert "from 0 to 4 over steps 1 to 3" in html


def test_long_curves_and_many_runs_stay_small():
    html = small_curve(np.arange(100_000), np.random.default_rng(0).random((200, 100_000)))
    lines = points_of(html, "polyline")
    assert len(lines) == MOST_LINES
    assert max(map(len, lines)) == MOST_POINTS


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, np.nan], [np.inf, np.nan, 1.0]])
def test_what_cannot_be_drawn_is_left_out(values):
    assert small_curve(range(len(values)), [np.array(values)]) == ""


def test_a_constant_is_drawn():
    (line,) = points_of(small_curve([1, 2], [np.array([5.0, 5.0])]), "polyline")
    assert np.isfinite(line).all()


def test_results_show_curves_in_notebooks_and_names_of_probes_are_escaped():
    env = us.envs.Grid()
    log = us.record(env, episodes=60, seed=0)
    probes = {"<b>value</b>": us.probes.start_value(env)}
    runs = us.experiment(
        us.psrs(log), lambda seed: us.learners.QLearning(25, 5, seed=seed), runs=3, probes=probes, every=50
    )
    html = runs._repr_html_()
    assert len(re.findall("<polyline", html)) == 3
    assert "&lt;b&gt;value" in html
    assert "<b>" not in html
    assert "<polyline" in us.mean_curve(runs, "<b>value</b>")._repr_html_()
