import math

import numpy as np
import pytest

import understudy as us
from understudy.reporting.measurements import measure
from understudy.reporting.off_policy import blocks_of, with_rehearsal


@pytest.fixture(scope="module")
def rehearsed():
    rng = np.random.default_rng(0)
    log = us.Log.from_columns(
        observation=rng.integers(3, size=400), action=rng.integers(2, size=400), reward=rng.random(400),
        propensity=np.full(400, 0.5), ends="every-row",
    )  # fmt: skip
    simulator, make = us.replay(log), lambda seed: us.learners.EpsilonGreedy(2, n_observations=3, seed=seed)
    runs = us.experiment(simulator, make, runs=2, backend="serial")
    return runs, us.off_policy_of_learner(simulator, make, runs=2)


def test_a_block_for_each_set_that_has_estimates_in_the_order_of_the_sets(rehearsed):
    runs, found = rehearsed
    measured = measure({"a": runs, "b": runs, "c": runs})
    blocks = blocks_of(measured, {"c": found, "a": found, "gone": found})
    assert [block.sentence[:3] for block in blocks] == ["“a”", "“c”"]
    assert blocks[0].sentence.endswith(f"{found.sentence}.")
    (alone,) = blocks_of(measure({"a": runs}), {"a": found})
    assert alone.sentence.startswith("At the end")
    assert blocks_of(measured, None) == []


def test_the_table_ends_with_the_rehearsal_where_it_has_an_end(rehearsed):
    found = rehearsed[1]
    *estimates, last = with_rehearsal(found).rows
    assert [row[0] for row in estimates] == ["IPS", "SNIPS", "DM", "DR"]
    assert last[:2] == ("rehearsal, at its end", f"{found.rehearsed:.4g}")
    without = us.LearnedPolicy(found.estimates, math.nan, math.nan, 0.0)
    assert len(with_rehearsal(without).rows) == 4


def test_the_page_has_them_only_where_they_are_given(rehearsed, tmp_path):
    runs, found = rehearsed
    with_them = us.report({"a": runs}, tmp_path / "with.html", off_policy={"a": found}).read_text()
    without = us.report({"a": runs}, tmp_path / "without.html").read_text()
    assert "A second opinion" in with_them
    assert "IPS, SNIPS, DM, DR" in with_them
    assert "off-policy" not in without
