"""The page of a sweep shows its curves and tables, and escapes every name."""

import json
import re
from importlib.resources import files

import jsonschema
import pytest

import understudy as us
from understudy.reporting.sweep_page import draw_curves, write_sweep_page

NAME = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    log = us.record(us.envs.Grid(slip=0.1), episodes=30, seed=3)

    def fails(seed):
        raise ValueError(NAME)

    learners = {"a": lambda seed: us.learners.Uniform(5), NAME: lambda seed: us.learners.QLearning(25, 5, seed=seed)}
    out = tmp_path_factory.mktemp("page") / "out"
    settings = {"runs": 6, "max_steps": 60, "every": 20, "backend": "serial", "progress": False}
    with pytest.warns(us.FailedRunsWarning):
        return us.sweep({**learners, "fails": fails}, ["psrs"], {f"{NAME}&": log}, out=out, **settings)


def test_the_page_has_curves_comparison_combinations_and_failures(found, tmp_path):
    page = write_sweep_page(found, tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2  # at two widths
    for heading in ("Which learner is ahead", "Learning curves", "Combinations", "Runs that failed"):
        assert f"<h2>{heading}</h2>" in page
    assert "ValueError" in page
    assert "is ahead at step" in page.split("<h2>Which learner is ahead</h2>")[0]  # first, in words
    assert "How far to believe this was not tested" in page


def test_names_are_escaped(found, tmp_path):
    page = write_sweep_page(found, tmp_path / "page.html", title=NAME).read_text()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 5
    assert not re.search(r'(src|href)="http', page)


def test_curves_have_a_line_each(found):
    curves = {name: found.mean_curve(learner=name) for name in ("a", NAME)}
    figure = draw_curves(curves, "psrs", 900)
    assert len(figure.axes) == 1
    assert len({line.get_color() for line in figure.axes[0].lines}) == 2


def test_the_json_file_beside_it_has_the_tables_and_curves_of_the_page(found, tmp_path):
    page = write_sweep_page(found, tmp_path / "page.html")
    content = json.loads((tmp_path / "page.json").read_text())
    schema = json.loads((files("understudy.reporting") / "sweep_report_schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(content)
    assert {one["learner"] for one in content["curves"]} == {"a", NAME}
    assert [row[0] for row in content["combinations"]["rows"]] == [row[0] for row in found.table().rows]
    assert len(content["failed"]["rows"]) == 6
    assert content["decision"] == [f"{line}." for line in found.compare().sentences]
    origin = dict(content["origin"]["rows"])
    assert origin["fingerprint of the log"] == found.about(learner="a").log
    write_sweep_page(found, page)  # a page of ours may be replaced, and another file may not
    (tmp_path / "notes.html").write_text("mine")
    with pytest.raises(us.SettingError, match="is not a page of ours"):
        write_sweep_page(found, tmp_path / "notes.html")
