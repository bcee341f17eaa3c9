from understudy.paper.drawing import evaluation_and_simulation, ranges


def test_every_box_of_the_first_figure_is_in_its_table():
    figure, boxes = evaluation_and_simulation()
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert set(boxes["box"]) <= texts


def test_ranges_draws_a_panel_for_each_case_and_a_line_for_the_exact_value():
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
    exact = ranges(columns | {"exact": [1.2, 1.2, 3.2, 3.2]}, unit="value").axes
    assert [axes.lines[0].get_xdata()[0] for axes in exact] == [1.2, 3.2]
    assert exact[0].get_xlim() != exact[1].get_xlim()
