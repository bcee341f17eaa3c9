import numpy as np

from paper.range_figure import ranges


def test_ranges_draws_a_panel_for_each_case_from_zero_and_prints_middles():
    columns = {
        "strip": ["one"] * 4,
        "panel": ["a", "a", "b", "b"],
        "set": ["PSRS", "QBE"] * 2,
        "middle": [1.0, 2.0, 3.0, 4.0],
        "low": [0.5, 1.5, 2.5, 3.5],
        "high": [1.5, 2.5, 3.5, 4.5],
    }
    alike = ranges(columns, unit="steps").axes
    assert [axes.get_title(loc="left") for axes in alike] == ["a", "b"]
    assert alike[0].get_xlim() == alike[1].get_xlim()
    assert alike[0].get_xlim()[0] == 0
    assert "2" in {text.get_text() for text in alike[0].texts}  # the middle of QBE, printed


def test_ranges_with_an_exact_value_are_drawn_minus_it_on_one_axis_a_strip():
    columns = {
        "strip": ["one"] * 2,
        "panel": ["a", "b"],
        "set": ["PSRS"] * 2,
        "middle": [1.0, 3.0],
        "low": [0.5, 2.5],
        "high": [1.5, 3.5],
        "exact": [1.2, 3.4],
    }
    a, b = ranges(columns, unit="value").axes
    assert a.get_xlim() == b.get_xlim()
    drawn = [line.get_xdata() for line in b.lines]
    assert np.allclose(drawn[1], [-0.9, 0.1])
    assert np.allclose(drawn[2], [-0.4])
    assert b.get_title(loc="left") == "b\nexact (line): 3.400"
