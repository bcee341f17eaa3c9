from paper.fidelity_and_efficiency import fidelity_and_efficiency_picture, fidelity_and_efficiency_table
from understudy.contracts import Stop
from understudy.runs import Run, Runs

JUDGED = {
    "set": ["short", "cut", "untold"],
    "debiased error": [0.1, 0.3, None],
    "95%": [(0.05, 0.2), (0.2, 0.4), None],
    "margin": [0.15, 0.15, None],
}


def sets(runs_of):
    cut = runs_of([60] * 3)
    stopped = Runs(tuple(Run(**{**vars(run), "stopped": Stop("max steps")}) for run in cut), cut.about)
    return {"short": runs_of([10, 20, 60]), "cut": stopped, "untold": runs_of([5, 5])}


def test_a_line_has_the_error_and_the_length_of_a_set_and_sets_without_an_error_have_none(runs_of):
    table = fidelity_and_efficiency_table(sets(runs_of), JUDGED)
    assert table["set"] == ["short", "cut"]
    assert table["error, high"] == [0.2, 0.4]
    assert [table["steps, low"][0], table["steps"][0], table["steps, high"][0]] == [15.0, 20.0, 40.0]
    assert table["cut"] == [False, True]


def test_the_picture_says_its_margin_and_that_runs_were_cut(runs_of):
    picture = fidelity_and_efficiency_picture("Figure 0", sets(runs_of), JUDGED)
    assert picture.caption.startswith("Figure 0: fidelity")
    assert "the margin, 0.15" in picture.caption
    assert "open where runs were cut" in picture.caption
    fidelity, efficiency = picture.figure.axes
    assert [label.get_text() for label in fidelity.get_yticklabels()] == ["short", "cut"]
    assert [bar.get_width() for bar in efficiency.patches if bar.get_height() == 0.5] == [20.0, 60.0]
    assert [text.get_text() for text in efficiency.texts] == ["cut"]
    uncut = fidelity_and_efficiency_picture(
        "Figure 0", {"short": sets(runs_of)["short"]}, {k: v[:1] for k, v in JUDGED.items()}
    )
    assert "cut" not in uncut.caption
