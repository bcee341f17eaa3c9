from paper.concept_figure import ARROWS, evaluation_and_simulation


def test_every_box_of_the_first_figure_is_in_its_table_and_log_and_policy_both_feed_the_estimator():
    figure, boxes = evaluation_and_simulation()
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert set(boxes["box"]) <= texts
    rows = [dict(zip(boxes, row, strict=True)) for row in zip(*boxes.values(), strict=True)]
    at = {row["box"]: row for row in rows if row["lane"] == "evaluation"}
    starts = [begin for begin, (x, _), *_ in ARROWS if x == at["estimator"]["left"]]
    assert len(starts) == 2
    for box, (_, y) in zip(("log", "fixed policy"), starts, strict=True):
        assert 0 < y - at[box]["top"] < 54
